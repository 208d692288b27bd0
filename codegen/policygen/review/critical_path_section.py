"""The critical path of the engine, phase by phase: what weighs how much, and what a target has for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from policygen.resolve.backends import effect_of
from policygen.review.section import Column
from policygen.review.section import Row
from policygen.review.section import Section
from policygen.review.subject import Subject
from policygen.review.weights import PHASES
from policygen.review.weights import Phase

COLUMNS: Final = (
    Column("phase"),
    Column("weight", right=True),
    Column("share", right=True),
    Column("place", right=True),
    Column("algorithm or table"),
    Column("what it is"),
    Column("policies", right=True),
    Column("in effect"),
)


def critical_path_section(subject: Subject) -> Section | None:
    """A row for each algorithm and table that is under review and on the critical path."""
    rows = tuple(_rows(subject))
    if not rows:
        return None
    beside = [name for name in subject.rules if all(name not in phase.path for phase in PHASES)]
    notes = [
        "weights are those of the served model's tokens in throughput (source notes); every table of this audit has "
        "the same order"
    ]
    if beside:
        notes.append(f"on no phase's path: {', '.join(beside)}")
    return Section("critical_path", "Critical path and weights", COLUMNS, rows, tuple(notes))


def _rows(subject: Subject) -> Iterator[Row]:
    place = 0
    for phase in PHASES:
        for name in phase.path:
            place += 1
            if name in subject.rules or name in subject.engine:
                yield _row(subject, phase, place, name)


def _row(subject: Subject, phase: Phase, place: int, name: str) -> Row:
    rules = subject.rules.get(name) or subject.engine[name]
    table = subject.tables.get(name)
    policies = None if table is None else len(table.distinct)
    reason = effect_of(rules.algorithm, subject.instance).reason
    share = f"{phase.share:.1%}"
    cells = (
        phase.name,
        f"{phase.weight:g}",
        share,
        str(place),
        name,
        rules.algorithm.title,
        "" if policies is None else str(policies),
        f"no: {reason}" if reason else "yes",
    )
    data = {
        "phase": phase.name,
        "weight": phase.weight,
        "share": round(phase.share, 6),
        "place": place,
        "name": name,
        "title": rules.algorithm.title,
        "policies": policies,
        "not_in_effect": reason,
    }
    return Row(cells, data)
