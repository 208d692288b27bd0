"""Evidence in conflict: readings of a fact that disagree, and quantities that are taken for one another; each once."""

from __future__ import annotations

from typing import Final

from policygen.model.dimensions import format_value
from policygen.model.facts import Conflict
from policygen.model.facts import EffectiveFact
from policygen.model.facts import formula_names
from policygen.review.section import Column
from policygen.review.section import Row
from policygen.review.section import Section
from policygen.review.subject import Subject
from policygen.review.weights import by_weight

APART: Final = (("memory_bandwidth", "achieved_bandwidth"),)
"""Quantities of one unit that are not readings of each other: neither takes the other's place."""

_PLANNED: Final = ("sm_count", "blocks_per_sm", "subscription_factor")
"""What every plan of a grid reads (`residency_from_facts`), though no rule of a policy does."""

_SHOWN: Final = 6
"""Of the algorithms that a fact bears on, so many are named in a cell."""

COLUMNS: Final = (
    Column("fact"),
    Column("used"),
    Column("evidence"),
    Column("not"),
    Column("evidence against"),
    Column("why"),
    Column("bears on"),
)


def conflicts_section(subject: Subject) -> Section | None:
    """A row for each value that a fact does not go by; those that decode rests on first. None where there is none."""
    found: list[tuple[tuple[int, str], Row]] = []
    for fact in subject.instance.facts.values():
        bears = _bears_on(subject, fact.name)
        order = min((by_weight(name) for name in bears), default=by_weight(""))
        found += [((order[0], fact.name), _row(conflict, bears)) for conflict in fact.conflicts]
    for nominal, achieved in APART:
        row = _apart(subject, nominal, achieved)
        if row is not None:
            found.append((by_weight(""), row))
    if not found:
        return None
    rows = tuple(row for _, row in sorted(found, key=lambda item: item[0]))
    notes = (
        "a fact goes by the reading marked effective, else by the strongest kind of evidence, newest first; every "
        "value that it does not go by is one row",
    )
    return Section("conflicts", f"Evidence in conflict on {subject.instance.name}", COLUMNS, rows, notes)


def _row(conflict: Conflict, bears: list[str]) -> Row:
    used, other = conflict.used, conflict.other
    values = [
        "unknown" if reading.value is None else format_value(conflict.dimension, reading.value)
        for reading in (used, other)
    ]
    why = used.effective or ("stronger evidence" if used.strength is not other.strength else "newer")
    cells = (conflict.fact, values[0], used.evidence(), values[1], other.evidence(), why, _told(bears))
    data = {
        "fact": conflict.fact,
        "used": used.value,
        "used_evidence": used.evidence(),
        "not": other.value,
        "not_evidence": other.evidence(),
        "why": why,
        "bears_on": bears,
    }
    return Row(cells, data)


def _apart(subject: Subject, nominal: str, achieved: str) -> Row | None:
    facts = [subject.instance.facts.get(name) for name in (nominal, achieved)]
    known = [fact for fact in facts if fact is not None and fact.reading is not None and fact.value]
    if len(known) != 2:
        return None
    first, second = known
    assert first.reading is not None
    assert second.reading is not None
    assert first.value is not None
    assert second.value is not None
    why = f"two quantities: a copy achieves {second.value / first.value:.0%} of the nominal one{_each(subject, known)}"
    bears = sorted({*_bears_on(subject, nominal), *_bears_on(subject, achieved)}, key=by_weight)
    cells = (
        nominal,
        format_value(first.dimension, first.value),
        first.reading.evidence(),
        format_value(second.dimension, second.value),
        f"{achieved}: {second.reading.evidence()}",
        why,
        _told(bears),
    )
    data = {
        "fact": nominal,
        "used": first.value,
        "used_evidence": first.reading.evidence(),
        "not": second.value,
        "not_evidence": f"{achieved}: {second.reading.evidence()}",
        "why": why,
        "bears_on": bears,
    }
    return Row(cells, data)


def _each(subject: Subject, facts: list[EffectiveFact]) -> str:
    """What both quantities come to for a multiprocessor."""
    sm_count = subject.instance.facts.get("sm_count")
    if sm_count is None or not sm_count.value:
        return ""
    shares = [format_value(f.dimension, f.value // sm_count.value) for f in facts if f.value is not None]
    return f", {' against '.join(reversed(shares))} for each of {sm_count.value} multiprocessors"


def _bears_on(subject: Subject, fact: str) -> list[str]:
    """Algorithms and tables whose rules rest on a fact, those of the engine's weight first; `plans` for grids."""
    names = [
        name
        for name, rules in (*subject.rules.items(), *subject.engine.items())
        if any(_rests_on(subject, used, fact) for used in rules.facts_used)
    ]
    names.sort(key=by_weight)
    return [*names, *(["the grids of plans"] if any(_rests_on(subject, used, fact) for used in _PLANNED) else [])]


def _rests_on(subject: Subject, name: str, fact: str) -> bool:
    """Whether a fact is another, or is effective by a formula that rests on it."""
    if name == fact:
        return True
    found = subject.instance.facts.get(name)
    formula = None if found is None or found.reading is None else found.reading.formula
    return any(_rests_on(subject, one, fact) for one in formula_names(formula or "") if one != name)


def _told(bears: list[str]) -> str:
    more = len(bears) - _SHOWN
    return ", ".join(bears) if more <= 0 else f"{', '.join(bears[:_SHOWN])} and {more} more"
