"""The limits that constraints and occupancy read: one table, each limit with its reserve and its evidence."""

from __future__ import annotations

from typing import Final

from policygen.model.dimensions import format_value
from policygen.model.fact_names import FACT_NAMES
from policygen.model.facts import EffectiveFact
from policygen.plan.limits import LIMIT_NAMES
from policygen.review.section import Column
from policygen.review.section import Row
from policygen.review.section import Section
from policygen.review.subject import Subject

_RESERVE: Final = "reserved_smem_per_block"
_RESERVED: Final = {
    "max_smem_per_block": "beside it",
    "max_smem_per_block_optin": "beside it",
    "smem_per_sm": "of it for each block",
}
"""The limits that a reserve bears on, and how."""

COLUMNS: Final = (Column("limit"), Column("value", right=True), Column("reserve"), Column("evidence"), Column("source"))


def limits_section(subject: Subject) -> Section:
    """What a block and a multiprocessor of the target have."""
    facts = subject.instance.facts
    reserve = facts.get(_RESERVE)
    return Section(
        id="limits",
        title=f"Limits of {subject.instance.name}",
        columns=COLUMNS,
        rows=tuple(_row(name, facts.get(name), reserve) for name in LIMIT_NAMES),
        notes=("what is not known limits nothing for certain: an occupancy that rests on it is an upper bound",)
        if any((fact := facts.get(name)) is None or fact.value is None for name in LIMIT_NAMES)
        else (),
    )


def _row(name: str, fact: EffectiveFact | None, reserve: EffectiveFact | None) -> Row:
    reserved = reserve.value if reserve is not None and name in _RESERVED else None
    data = {
        "limit": name,
        "description": FACT_NAMES[name].description,
        "value": None if fact is None else fact.value,
        "unit": FACT_NAMES[name].dimension.value,
        "plausible": [] if fact is None else list(fact.plausible),
        "reserve": reserved,
        "evidence": None if fact is None or fact.kind is None else fact.kind.value,
        "source": _source(fact),
    }
    cells = (name, _value(fact), _reserve(name, reserve), data["evidence"] or "", _source(fact))
    return Row(tuple(str(cell) for cell in cells), data)


def _value(fact: EffectiveFact | None) -> str:
    if fact is None or fact.value is None:
        return "unknown"
    shown = format_value(fact.dimension, fact.value)
    others = [format_value(fact.dimension, value) for value in fact.plausible if value != fact.value]
    return f"{shown}, or {', '.join(others)}" if others else shown


def _reserve(name: str, reserve: EffectiveFact | None) -> str:
    if name not in _RESERVED:
        return ""
    if reserve is None or reserve.value is None:
        return "unknown"
    return f"{format_value(reserve.dimension, reserve.value)} {_RESERVED[name]}" if reserve.value else "none"


def _source(fact: EffectiveFact | None) -> str:
    if fact is None:
        return "the target does not state it"
    return (fact.unknown or "") if fact.reading is None else fact.reading.source
