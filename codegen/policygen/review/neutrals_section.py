"""Knobs without effect: fields that provably do nothing, with the proof, and the policies that have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from policygen.fold.table import Row as TableRow
from policygen.lang.evaluate import LazyNames
from policygen.lang.evaluate import compiled
from policygen.resolve.candidate import Overlay
from policygen.resolve.candidate import value_at
from policygen.resolve.passes import evaluators
from policygen.resolve.telling import as_given
from policygen.resolve.trace import Neutralised
from policygen.review.section import Column
from policygen.review.section import Row
from policygen.review.section import Section
from policygen.review.subject import Subject
from policygen.spec import Neutral

_SHOWN: Final = 8
"""Values without effect that are named in a cell; data has all."""

COLUMNS: Final = (
    Column("algorithm"),
    Column("knob"),
    Column("neutral value"),
    Column("proof"),
    Column("does nothing for keys", right=True),
    Column("set to neutral", right=True),
    Column("values that had no effect"),
)


def neutrals_section(subject: Subject) -> Section | None:
    """A row for each knob that a spec proves to be neutral under a condition; None where there is none."""
    rows = tuple(
        _row(subject, algorithm, neutral)
        for algorithm, rules in subject.rules.items()
        for neutral in rules.algorithm.neutrals
    )
    if not rows:
        return None
    notes: tuple[str, ...] = ()
    if "canonicalise" not in subject.instance.target.passes:
        name = subject.instance.name
        notes = (f"{name} takes upstream's policies as they are, values without effect included",)
    return Section("neutrals", f"Knobs without effect on {subject.instance.name}", COLUMNS, rows, notes)


def _row(subject: Subject, algorithm: str, neutral: Neutral) -> Row:
    rows = subject.tables[algorithm].rows
    holds, value = _judge(subject, algorithm, neutral)
    idle = [row for row in rows if holds(row)]
    set_neutral = [before for row in rows if (before := _before(row, neutral)) is not None]
    left = [value_at(row.policy, neutral.path) for row in idle]
    values = list(dict.fromkeys([*set_neutral, *(as_given(one) for one in left if one != value)]))
    more = len(values) - _SHOWN
    shown = ", ".join(values[:_SHOWN])
    cells = (
        algorithm,
        ".".join(neutral.path),
        as_given(value),
        neutral.proof,
        f"{len(idle)} of {len(rows)}",
        str(len(set_neutral)),
        shown if more <= 0 else f"{shown} and {more} more",
    )
    data = {
        "algorithm": algorithm,
        "knob": ".".join(neutral.path),
        "neutral": value,
        "proof": neutral.proof,
        "place": str(neutral.location),
        "keys": len(idle),
        "of_keys": len(rows),
        "set_to_neutral": len(set_neutral),
        "values_without_effect": values,
    }
    return Row(cells, data)


def _judge(subject: Subject, algorithm: str, neutral: Neutral) -> tuple[Callable[[TableRow], bool], object]:
    """Whether the condition of a knob holds for a row, and the neutral value (of any row: it is the same)."""
    rules, facts = subject.rules[algorithm], subject.instance.facts
    lets, when = evaluators(rules), compiled(neutral.when)
    known = {"cc": subject.instance.cc, "target": {name: fact.value for name, fact in facts.items()}}

    def names(row: TableRow) -> Overlay:
        return Overlay(LazyNames({**known, **row.resolution.key}, lets), row.policy)

    rows = subject.tables[algorithm].rows
    value = compiled(neutral.value)(names(rows[0])) if rows else None
    return (lambda row: bool(when(names(row)))), value


def _before(row: TableRow, neutral: Neutral) -> str | None:
    """What the pass that sets knobs to neutral found; None where it had nothing to do."""
    for step in row.resolution.trace:
        if isinstance(step, Neutralised) and step.neutral.path == neutral.path:
            return as_given(step.before)
    return None
