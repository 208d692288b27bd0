"""What the kernels of common policies take, and how many blocks of each are resident."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from policygen.fold.table import PolicyTable
from policygen.fold.table import Row as TableRow
from policygen.model.facts import EvidenceKind
from policygen.model.record import Record
from policygen.plan.kernel_resources import KernelResources
from policygen.plan.limits import LIMIT_NAMES
from policygen.plan.limits import Limits
from policygen.plan.occupancy import Occupancy
from policygen.plan.occupancy import occupancy
from policygen.prove.resources import KernelUse
from policygen.resolve.occupancy import limiting_text
from policygen.resolve.occupancy import limits_of
from policygen.resolve.occupancy import occupancy_data
from policygen.resolve.occupancy import registers_text
from policygen.resolve.specialise import Rules
from policygen.resolve.telling import as_given
from policygen.review.section import Column
from policygen.review.section import Row
from policygen.review.section import Section
from policygen.review.subject import Subject

COLUMNS: Final = (
    Column("algorithm"),
    Column("kernel"),
    Column("threads", right=True),
    Column("registers", right=True),
    Column("static B", right=True),
    Column("dynamic B", right=True),
    Column("blocks a SM", right=True),
    Column("warps", right=True),
    Column("limited by"),
    Column("spare registers", right=True),
    Column("spare B", right=True),
    Column("keys", right=True),
    Column("for example"),
)

_BOUND: Final = {(False, False): "", (True, False): "<= ", (False, True): ">= ", (True, True): "~ "}
"""What a number of blocks is where there may be fewer, and where there may be more."""


def kernels_section(subject: Subject) -> Section:
    """A row for each kernel of each distinct policy of common keys."""
    limits = limits_of(subject.instance)
    rows: list[Row] = []
    without: list[str] = []
    for name, rules in subject.rules.items():
        use = KernelUse(rules, subject.evidence.get(name))
        found = list(_rows(rules, subject.tables[name], limits, use))
        rows += found
        if not found:
            without.append(name)
    return Section(
        id="kernels",
        title=f"Kernels of common policies on {subject.instance.name}",
        columns=COLUMNS,
        rows=tuple(rows),
        notes=tuple(_notes(limits, rows, without)),
    )


def _notes(limits: Limits, rows: list[Row], without: list[str]) -> Iterator[str]:
    if any(row.data["at_most"] for row in rows):
        yield "<= is an upper bound: what decides the number is not known, and the spare figures hold for the bound"
    if any(row.data["at_least"] for row in rows):
        yield ">= is a lower bound: registers limit, and they are the model's upper bound; ~ is both"
    if any(row.data["registers"] is None for row in rows):
        yield "where the registers of a thread are unknown, as many as the figure in brackets allow the blocks"
    missing = limits.unknown(*LIMIT_NAMES)
    if missing and rows:
        yield f"not known of the target: {', '.join(missing)}"
    if without:
        yield f"the specs do not say which kernels {', '.join(without)} has"


def _rows(rules: Rules, table: PolicyTable, limits: Limits, use: KernelUse) -> Iterator[Row]:
    """Keys with one policy and kernels that take the same are one entry."""
    entries: dict[tuple[Record, tuple[KernelResources, ...]], list[TableRow]] = {}
    for row in table.rows:
        entries.setdefault((row.policy, use.of(row.resolution)), []).append(row)
    for (_, kernels), keys in entries.items():
        for kernel in kernels:
            yield _row(rules, occupancy(limits, kernel), keys)


def _row(rules: Rules, found: Occupancy, keys: list[TableRow]) -> Row:
    first, kernel = keys[0], found.kernel
    cells = (
        rules.algorithm.name,
        kernel.kernel,
        _number(kernel.threads),
        _registers(found),
        _number(kernel.static_smem),
        _number(kernel.dynamic_smem),
        f"{_BOUND[found.at_most, found.at_least]}{_number(found.blocks)}",
        "" if found.warps is None else f"{found.warps} of {found.max_warps}",
        limiting_text(found),
        _spare(found, found.spare_registers),
        _spare(found, found.spare_shared_memory),
        _number(len(keys)),
        ", ".join(f"{name}={as_given(value)}" for name, value in first.given.items()),
    )
    resolution = first.resolution
    data = {
        "algorithm": rules.algorithm.name,
        "point": f"{resolution.origin}/{resolution.point}",
        "keys": len(keys),
        "first_key": dict(first.given),
        **occupancy_data(found),
    }
    return Row(cells, data)


def _registers(found: Occupancy) -> str:
    if found.kernel.registers_are is EvidenceKind.DERIVED:
        return f"<= {found.kernel.registers} (model)"
    if found.kernel.registers is None and found.keeps is not None and found.keeps.registers is not None:
        return f"unknown ({found.keeps.registers})"
    return registers_text(found.kernel)


def _spare(found: Occupancy, value: int | None) -> str:
    return "" if found.keeps is None else _number(value)


def _number(value: int | None) -> str:
    return "unknown" if value is None else f"{value:,}"
