"""The tiles of scan: each point at 1, 2, 4 and 8 bytes, what its kernel needs of shared memory, and whether it fits."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any
from typing import Final

from policygen.lang.evaluate import Evaluator
from policygen.lang.evaluate import LazyNames
from policygen.lang.evaluate import compiled
from policygen.resolve.key import KeyReader
from policygen.resolve.resolver import Resolution
from policygen.resolve.resolver import Resolver
from policygen.resolve.specialise import Rules
from policygen.resolve.trace import Shrunk
from policygen.resolve.trace import reason_of_shrink
from policygen.review.needs import Need
from policygen.review.needs import Needs
from policygen.review.point_counts import StatedCounts
from policygen.review.point_counts import stated_counts
from policygen.review.section import Column
from policygen.review.section import Row
from policygen.review.section import Section
from policygen.review.subject import Subject
from policygen.scaling import Nominal
from policygen.scaling import Resolved
from policygen.scaling import scale
from policygen.spec import Counts
from policygen.spec import Point
from policygen.spec import RuleSet
from policygen.spec import Status
from policygen.spec import SubPolicy

SIZES: Final = (1, 2, 4, 8)
"""Bytes of an accumulator at which CUB's points are shown."""

TYPES: Final = {1: "int8", 2: "int16", 4: "int32", 8: "int64", 16: "int128"}

_CONSTRAINT: Final = "shared-memory"

COLUMNS: Final = (
    Column("point"),
    Column("bytes", right=True),
    Column("as stated", right=True),
    Column("its bytes", right=True),
    Column("resolved", right=True),
    Column("tile bytes", right=True),
    Column("kernel needs", right=True),
    Column("of the limit", right=True),
    Column("verdict"),
)


def scan_tiles_section(subject: Subject) -> Section | None:
    """Rows for the target's own points, then for CUB's at the capability that the target reads."""
    if "scan" not in subject.rules:
        return None
    rules = subject.rules["scan"]
    needs = Needs(rules)
    rows: list[Row] = []
    if "scan" in subject.instance.target.rules:
        rows += _own_rows(Resolver(rules), needs)
    own = len(rows)
    reference = subject.instance.target.reference
    rule_set = subject.spec.references.get(reference, {}).get("scan")
    if rule_set is not None:
        rows += _reference_rows(reference, rule_set, rules, needs)
    if not rows:
        return None
    name = subject.instance.name
    return Section("scan_tiles", f"Tiles of scan on {name}", COLUMNS, tuple(rows), tuple(_notes(rows[own:])))


def _notes(rows: list[Row]) -> Iterator[str]:
    yield (
        "the kernel needs the largest of its load, its store (16 bytes more than the load, and a padding where items "
        "are a power of two above 4) and its scan with the prefix"
    )
    unscaled = {row.data["point"] for row in rows if _exceeds(row.data["stated_bytes"], row)}
    scaled = {row.data["point"] for row in rows if _exceeds(row.data["needs"], row)}
    if unscaled:
        yield (
            f"{len(unscaled)} of {len({row.data['point'] for row in rows})} points of the reference would exceed the "
            f"limit at {max(SIZES)} bytes if their nominal counts were final, and {len(scaled) or 'none'} "
            f"{'does' if len(scaled) < 2 else 'do'} once scaled: overflows of nominal counts do not exist"
        )


def _exceeds(need: int, row: Row) -> bool:
    limit = row.data["limit"]
    return row.data["size"] == max(SIZES) and limit is not None and need > limit


def _own_rows(resolver: Resolver, needs: Needs) -> Iterator[Row]:
    for size, element in TYPES.items():
        key = {"input_type": element, "accum_type": element, "operation_t": "plus", "offset_size": 4}
        resolution = resolver.resolve(key)
        stated = next(stated_counts(resolution.point_rule), None)
        if stated is None or not resolution.policy.lookback.threads_per_block:
            continue
        lookback = resolution.policy.lookback
        found = Resolved(lookback.threads_per_block, lookback.items_per_thread)
        need = needs.of(_CONSTRAINT, key, resolution.policy)
        point = f"{resolution.origin}/{resolution.point}"
        yield _row(point, resolution.point_rule, size, stated, found, need, _shrunk(resolution))


def _shrunk(resolution: Resolution) -> str:
    return "; ".join(
        f"{path.rpartition('.')[2]} {before} -> {after}: {reason_of_shrink(step)}"
        for step in resolution.trace
        if isinstance(step, Shrunk)
        for path, before, after in step.changes
    )


def _reference_rows(reference: str, rule_set: RuleSet, rules: Rules, needs: Needs) -> Iterator[Row]:
    """CUB's lookback points of the block of capabilities that is read first."""
    cc = rules.instance.cc
    lets = {let.name: compiled(let.expr) for let in (*rules.algorithm.lets, *rule_set.lets)}
    points = [
        (point, counts)
        for ladder in rule_set.ladders
        for point in ladder.points
        if point.status is Status.ACTIVE and point.cc is not None and point.cc.low <= cc <= point.cc.high
        for counts in stated_counts(point)
        if counts.kind is Counts.NOMINAL
    ]
    newest = max((point.cc.low for point, _ in points if point.cc is not None), default=None)
    for point, counts in points:
        if point.cc is None or point.cc.low != newest or counts.scale is None:
            continue
        for size in SIZES:
            found = scale(Nominal(counts.threads, counts.items), counts.scale.rule, size)
            element = TYPES[size]
            key = {"input_type": element, "accum_type": element, "operation_t": "plus", "offset_size": 4}
            need = needs.of(_CONSTRAINT, key, _policy(rules, lets, point, found, key))
            yield _row(f"{reference}/{point.id}", point, size, counts, found, need, "")


def _policy(rules: Rules, lets: Mapping[str, Evaluator], point: Point, counts: Resolved, key: Mapping[str, Any]) -> Any:
    """What the shared memory of a lookback scan rests on, as a point has it for a key."""
    lookback = dict(point.policy.fields)["lookback"]
    assert isinstance(lookback, SubPolicy)
    names = LazyNames({**KeyReader(rules.algorithm).read(key), "cc": rules.instance.cc}, lets)
    fields = {name: expr for name, expr in lookback.fields if name.endswith("_algorithm")}
    return {
        "algorithm": "lookback",
        "lookback": {
            "threads_per_block": counts.threads_per_block,
            "items_per_thread": counts.items_per_thread,
            **{name: compiled(expr)(names) for name, expr in fields.items() if not isinstance(expr, SubPolicy)},
        },
    }


def _row(name: str, point: Point, size: int, stated: StatedCounts, found: Resolved, need: Need, shrunk: str) -> Row:
    stated_bytes = stated.threads * stated.items * size
    tile_bytes = found.threads_per_block * found.items_per_thread * size
    verdict = {True: "fits", False: "DOES NOT FIT", None: "the limit is not known"}[need.fits]
    cells = (
        name,
        str(size),
        f"{stated.kind.value} {stated.threads} x {stated.items}",
        f"{stated_bytes:,}",
        f"{found.threads_per_block} x {found.items_per_thread}",
        f"{tile_bytes:,}",
        f"{need.need:,}",
        "unknown" if need.limit is None else f"{need.need / need.limit:.1%}",
        f"{verdict}: {shrunk}" if shrunk else verdict,
    )
    data = {
        "point": name,
        "place": str(point.location),
        "size": size,
        "stated": stated.kind.value,
        "stated_threads": stated.threads,
        "stated_items": stated.items,
        "stated_bytes": stated_bytes,
        "threads": found.threads_per_block,
        "items": found.items_per_thread,
        "tile_bytes": tile_bytes,
        "needs": need.need,
        "limit": need.limit,
        "fits": need.fits,
        "shrunk": shrunk,
        "benchmark": point.benchmark,
    }
    return Row(cells, data)
