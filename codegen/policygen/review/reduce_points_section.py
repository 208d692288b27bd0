"""CUB's points of reduce, each scaled to elements of 4 and of 8 bytes, with the tile's bytes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from policygen.review.point_counts import StatedCounts
from policygen.review.point_counts import stated_counts
from policygen.review.section import Column
from policygen.review.section import Row
from policygen.review.section import Section
from policygen.review.subject import Subject
from policygen.scaling import TILE_BYTES
from policygen.scaling import Nominal
from policygen.scaling import scale
from policygen.spec import Counts
from policygen.spec import Point
from policygen.spec import RuleSet
from policygen.spec import Status

SIZES: Final = (4, 8)
"""Bytes of an element."""

COLUMNS: Final = (
    Column("point"),
    Column("nominal", right=True),
    Column("vector", right=True),
    Column("bytes", right=True),
    Column("scaled", right=True),
    Column("tile bytes", right=True),
    Column(f"of {TILE_BYTES:,}", right=True),
    Column("benchmark"),
)


def reduce_points_section(subject: Subject) -> Section | None:
    """Two rows for each point with a benchmark, and for the fallbacks of the capability that the target reads."""
    reference = subject.instance.target.reference
    rule_set = subject.spec.references.get(reference, {}).get("reduce")
    if "reduce" not in subject.rules or rule_set is None:
        return None
    rows = tuple(
        _row(reference, point, counts, size)
        for point, counts in _points(rule_set, subject.instance.cc)
        for size in SIZES
    )
    notes = (
        "the tile lives in registers: its bytes are what the rule aims at, no need of shared memory",
        "what a point gives for a size that it does not answer is no policy of any key: it shows the rule, as the "
        "source notes have it",
    )
    return Section("reduce_points", f"{reference}'s points of reduce, scaled", COLUMNS, rows, notes)


def _points(rule_set: RuleSet, cc: int) -> Iterator[tuple[Point, StatedCounts]]:
    """Tuned points, then fallbacks of a capability; one for all fallbacks with the same counts."""
    fallbacks: dict[tuple[int, int], tuple[Point, StatedCounts]] = {}
    for ladder in reversed(rule_set.ladders):
        answered = False
        for point in ladder.points:
            found = next((c for c in stated_counts(point) if c.kind is Counts.NOMINAL), None)
            if found is None or point.status is not Status.ACTIVE:
                continue
            if point.benchmark:
                yield point, found
            elif not answered and (point.cc is None or point.cc.low <= cc <= point.cc.high):
                fallbacks.setdefault((found.threads, found.items), (point, found))
                answered = True
    yield from fallbacks.values()


def _row(reference: str, point: Point, counts: StatedCounts, size: int) -> Row:
    assert counts.scale is not None
    found = scale(Nominal(counts.threads, counts.items), counts.scale.rule, size)
    tile_bytes = found.threads_per_block * found.items_per_thread * size
    cells = (
        f"{reference}/{point.id}",
        f"{counts.threads} x {counts.items}",
        "" if counts.vector is None else str(counts.vector),
        str(size),
        f"{found.threads_per_block} x {found.items_per_thread}",
        f"{tile_bytes:,}",
        f"{tile_bytes / TILE_BYTES:.1%}",
        point.benchmark,
    )
    data = {
        "point": point.id,
        "place": str(point.location),
        "nominal_threads": counts.threads,
        "nominal_items": counts.items,
        "vector": counts.vector,
        "size": size,
        "threads": found.threads_per_block,
        "items": found.items_per_thread,
        "tile_bytes": tile_bytes,
        "benchmark": point.benchmark,
    }
    return Row(cells, data)
