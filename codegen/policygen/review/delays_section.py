"""What lookback delays do: kinds by the ids of benchmark strings, and scan's own policies at planned grids."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from policygen.loading.targets import present
from policygen.model.record import Record
from policygen.plan.counts import ceil_div
from policygen.plan.lookback_delay import GATED_DELAYS
from policygen.plan.lookback_delay import GRID_THRESHOLD
from policygen.plan.lookback_delay import DelayActivity
from policygen.plan.lookback_delay import delay_activity
from policygen.plan.lookback_delay import first_ungated_items
from policygen.review.consequences import PROBLEM_SIZES
from policygen.review.section import Column
from policygen.review.section import Row
from policygen.review.section import Section
from policygen.review.subject import Subject

DELAYS: Final = "LookbackDelayAlgorithm"
"""The enumeration whose order is the delay id of benchmark strings."""

_SLEEPS: Final = "nanosleep"
_SOME_NS: Final = 1
_LEAST_CAPABILITY: Final = 70

KIND_COLUMNS: Final = (
    Column("id", right=True),
    Column("kind"),
    Column("class"),
    Column(f"below {GRID_THRESHOLD} blocks: first"),
    Column("each poll"),
    Column(f"from {GRID_THRESHOLD} on: first"),
    Column("each poll"),
)

POLICY_COLUMNS: Final = (
    Column("keys", right=True),
    Column("policy"),
    Column("delay"),
    Column("ns", right=True),
    Column("L2 ns", right=True),
    Column("sleeps"),
    Column("from items", right=True),
    *(Column(f"2^{size.bit_length() - 1} items") for size in PROBLEM_SIZES),
)


def delay_kinds_section(subject: Subject) -> Section | None:
    """A row for each kind of delay: whether it waits for the size of the grid."""
    enumeration = subject.spec.vocabulary.enumerations.get(DELAYS)
    if enumeration is None or not any(_delays(row.policy) for t in subject.tables.values() for row in t.rows):
        return None
    rows = tuple(_kind(subject, number, kind) for number, kind in enumerate(enumeration.names))
    notes = (
        "a gated delay fences below the threshold and sleeps from it on; an exponential one sleeps at any grid: the "
        "sleep is in the machine code of all, and the grid is read when the kernel runs",
        "first: before a tile looks at its predecessors (the latency of an L2 write); each poll: while one is not "
        "ready; both with lengths that are not zero",
        *_sleep_notes(subject),
    )
    return Section("delay_kinds", "Lookback delays by kind", KIND_COLUMNS, rows, notes)


def scan_delays_section(subject: Subject) -> Section | None:
    """A row for each delay and tile of scan's common policies, at the grids of problems of some sizes."""
    table = subject.tables.get("scan")
    if table is None:
        return None
    entries: dict[tuple[int, int, str, int, int], int] = {}
    for row in table.rows:
        counts = row.policy.lookback
        delay = counts.lookback_delay
        if counts.threads_per_block:
            entry = (counts.threads_per_block, counts.items_per_thread, delay.kind, delay.delay, delay.l2_write_latency)
            entries[entry] = entries.get(entry, 0) + 1
    if not entries:
        return None
    rows = tuple(_policy(subject, keys, *entry) for entry, keys in entries.items())
    notes = ("a block takes one tile, so the grid is the tiles of the problem, whatever the multiprocessors",)
    title = f"Scan's lookback delay on {subject.instance.name}, at planned grids"
    return Section("scan_delays", title, POLICY_COLUMNS, rows, notes)


def _delays(policy: Record) -> bool:
    return any(
        _delays(value) if "l2_write_latency" not in value else True
        for value in policy.values()
        if isinstance(value, Record)
    )


def _sleep_notes(subject: Subject) -> Iterator[str]:
    target = subject.instance.target
    if not present(target, _SLEEPS, subject.instance.cc):
        why = target.withheld.get(_SLEEPS, "the target does not have it")
        yield f"told for an architecture with {_SLEEPS}; on {subject.instance.name}: {why}"


def _activity(subject: Subject, kind: str, delay: int, latency: int, grid: int) -> DelayActivity:
    return delay_activity(
        kind, delay_ns=delay, l2_write_latency_ns=latency, grid=grid, compute_capability=subject.instance.cc
    )


def _kind(subject: Subject, number: int, kind: str) -> Row:
    gated = kind in GATED_DELAYS
    below = _activity(subject, kind, _SOME_NS, _SOME_NS, GRID_THRESHOLD - 1)
    above = _activity(subject, kind, _SOME_NS, _SOME_NS, GRID_THRESHOLD)
    effects = [effect for found in (below, above) for effect in (found.before, found.each_poll)]
    # the last kind is upstream's own, beyond the ids that a benchmark may name
    named = kind != "reduce_by_key"
    cells = (str(number) if named else "none", kind, "gated" if gated else "never gated", *effects)
    data = {
        "id": number if named else None,
        "kind": kind,
        "gated": gated,
        "below": {"first": effects[0], "each_poll": effects[1]},
        "from": {"first": effects[2], "each_poll": effects[3]},
    }
    return Row(cells, data)


def _policy(subject: Subject, keys: int, threads: int, items: int, kind: str, delay: int, latency: int) -> Row:
    tile = threads * items
    small = _activity(subject, kind, delay, latency, GRID_THRESHOLD - 1)
    large = _activity(subject, kind, delay, latency, GRID_THRESHOLD)
    sleeps = "at any grid" if small.sleeps else f"from {GRID_THRESHOLD} blocks" if large.sleeps else "never"
    first = 1 if small.sleeps else first_ungated_items(tile) if large.sleeps else None
    planned = []
    for size in PROBLEM_SIZES:
        grid = ceil_div(size, tile)
        found = _activity(subject, kind, delay, latency, grid)
        planned.append({"items": size, "grid": grid, "first": found.before, "each_poll": found.each_poll})
    cells = (
        str(keys),
        f"{threads} x {items}",
        kind,
        str(delay),
        str(latency),
        sleeps,
        "" if first is None else f"{first:,}",
        *(f"{plan['grid']:,} blocks: {plan['first']}, {plan['each_poll']}" for plan in planned),
    )
    data = {
        "keys": keys,
        "threads": threads,
        "items": items,
        "kind": kind,
        "delay_ns": delay,
        "l2_write_latency_ns": latency,
        "sleeps": sleeps,
        "sleeps_from_items": first,
        "planned": planned,
    }
    return Row(cells, data)
