"""The notes' tiles of reduce from a budget of registers, beside what a target and CUB select."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from typing import Final

from policygen.model.record import Record
from policygen.resolve.resolver import Resolver
from policygen.review.register_budget import REFERENCE_ITEMS
from policygen.review.register_budget import SIZES
from policygen.review.register_budget import BudgetTile
from policygen.review.register_budget import budget_tile
from policygen.review.section import Column
from policygen.review.section import Row
from policygen.review.section import Section
from policygen.review.subject import Subject

_TYPES: Final = {1: "int8", 2: "float16", 4: "float32", 8: "float64", 16: "int128"}

COLUMNS: Final = (
    Column("bytes", right=True),
    Column("budget", right=True),
    Column("vector", right=True),
    Column("registers", right=True),
    Column("tile items", right=True),
    Column("target", right=True),
    Column("tile items", right=True),
    Column("point"),
    Column("CUB", right=True),
    Column("notes' CUB items", right=True),
    Column("difference"),
)


def register_budget_section(subject: Subject) -> Section | None:
    """A row for each size of an accumulator; None where the target has no points of its own for reduce."""
    if "reduce" not in subject.rules or "reduce" not in subject.instance.target.rules:
        return None
    resolver = Resolver(subject.rules["reduce"])
    rows = tuple(_row(subject, resolver, budget_tile(size)) for size in SIZES)
    return Section(
        "register_budget",
        f"Reduce by the notes' budget of registers, and what {subject.instance.name} has",
        COLUMNS,
        rows,
        tuple(_notes(rows)),
    )


def _notes(rows: tuple[Row, ...]) -> Iterator[str]:
    yield "the budget derives, the points state: what a point says counts, and the derivation is shown beside it"
    wrong = [row.data for row in rows if row.data["upstream"]["items"] != row.data["noted_upstream_items"]]
    if wrong:
        told = ", ".join(
            f"{row['noted_upstream_items']} at {row['size']} bytes (CUB has {row['upstream']['items']})"
            for row in wrong
        )
        yield f"the reference that the budget starts from is not CUB's: {told}"


def _row(subject: Subject, resolver: Resolver, budget: BudgetTile) -> Row:
    key = {"accum_t": _TYPES[budget.size], "operation_t": "plus", "offset_size": 4}
    own = resolver.resolve(key)
    upstream = subject.upstream.resolve("10.0", "reduce", **key)
    counts, theirs = own.policy.multi_tile, upstream.policy.multi_tile
    differences = list(_differences(budget, counts))
    cells = (
        str(budget.size),
        f"{budget.threads_per_block} x {budget.items_per_thread}",
        str(budget.vec_size),
        str(budget.registers),
        f"{budget.tile_items:,}",
        f"{counts.threads_per_block} x {counts.items_per_thread}",
        f"{counts.threads_per_block * counts.items_per_thread:,}",
        f"{own.origin}/{own.point}",
        f"{theirs.threads_per_block} x {theirs.items_per_thread}",
        str(REFERENCE_ITEMS[budget.size]),
        ", ".join(differences) or "none",
    )
    return Row(cells, _data(budget, counts, f"{own.origin}/{own.point}", theirs, differences))


def _differences(budget: BudgetTile, counts: Record) -> Iterator[str]:
    for name, derived in (
        ("threads_per_block", budget.threads_per_block),
        ("items_per_thread", budget.items_per_thread),
        ("vec_size", budget.vec_size),
    ):
        if derived != counts[name]:
            yield f"{name} {derived}, the point has {counts[name]}"


def _data(budget: BudgetTile, counts: Record, point: str, theirs: Record, differences: list[str]) -> dict[str, Any]:
    return {
        "size": budget.size,
        "budget": {
            "threads": budget.threads_per_block,
            "items": budget.items_per_thread,
            "vector": budget.vec_size,
            "registers": budget.registers,
            "tile_items": budget.tile_items,
        },
        "target": {
            "threads": counts.threads_per_block,
            "items": counts.items_per_thread,
            "vector": counts.vec_size,
            "tile_items": counts.threads_per_block * counts.items_per_thread,
            "point": point,
        },
        "upstream": {"threads": theirs.threads_per_block, "items": theirs.items_per_thread},
        "noted_upstream_items": REFERENCE_ITEMS[budget.size],
        "differences": differences,
    }
