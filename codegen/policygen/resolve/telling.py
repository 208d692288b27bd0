"""An explanation as lines: steps, records and facts that say the same are told once, with all that they are about."""

from __future__ import annotations

import json
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from policygen.model.dimensions import format_value
from policygen.model.facts import Conflict
from policygen.model.facts import EffectiveFact
from policygen.resolve.proof import Told

_OF = " of "
"""Between the id of a constraint and the sub-policy that it is about."""


def step_lines(steps: Sequence[Told]) -> list[str]:
    """Steps, a line each; literal counts in one, constraints of one kind with the same figures in one."""
    found: dict[tuple[str, ...], list[Told]] = {}
    for number, step in enumerate(steps):
        found.setdefault(_same_line(step) or (str(number),), []).append(step)
    return [_line(group) for group in found.values()]


def _same_line(step: Told) -> tuple[str, ...] | None:
    """What steps have in common that are told in one line; None for one that is told alone."""
    if "literal" in step.data:
        return ("literal",)
    kind, of, _ = str(step.data.get("constraint", "")).partition(_OF)
    return (kind, step.text.partition(": ")[2]) if of else None


def _line(group: Sequence[Told]) -> str:
    first = group[0]
    if "literal" in first.data:
        counts = ", ".join(f"{step.data['field']} {step.data['literal']}" for step in group)
        return f"{first.stage}: literal and never scaled: {counts}"
    if "passed_over" in first.data:
        return f"{first.stage}: do not apply: {'; '.join(_by_kind(first.data['passed_over']))}"
    if len(group) == 1:
        return str(first)
    (name,) = _by_kind([step.data["constraint"] for step in group])
    return f"{first.stage}: {name}: {first.text.partition(': ')[2]}"


def _by_kind(ids: Sequence[str]) -> list[str]:
    """Ids of constraints, those of one kind together: `threads-per-block of upsweep, downsweep`."""
    kinds: dict[str, list[str]] = {}
    for name in ids:
        kind, of, part = name.partition(_OF)
        kinds.setdefault(kind, []).extend([part] if of else [])
    return [f"{kind}{_OF}{', '.join(parts)}" if parts else kind for kind, parts in kinds.items()]


def policy_lines(policy: Mapping[str, Any]) -> list[str]:
    """The records of a policy, a line each; records with the same fields in one."""
    same: dict[str, list[str]] = {}
    for at, fields in _records(policy, ""):
        same.setdefault(fields, []).append(at or "root")
    return [f"policy: {', '.join(names)}: {fields}" for fields, names in same.items()]


def _records(policy: Mapping[str, Any], at: str) -> Iterator[tuple[str, str]]:
    own = ", ".join(f"{name} {as_given(value)}" for name, value in policy.items() if not isinstance(value, dict))
    if own:
        yield at, own
    for name, value in policy.items():
        if isinstance(value, dict):
            yield from _records(value, f"{at}.{name}" if at else name)


def fact_lines(facts: Sequence[EffectiveFact]) -> list[str]:
    """Facts with the evidence behind them, those with the same evidence in one line; then the readings not used."""
    same: dict[str, list[str]] = {}
    for fact in facts:
        value, evidence = _told(fact)
        same.setdefault(evidence, []).append(value)
    found = [f"fact: {', '.join(values)}{evidence}" for evidence, values in same.items()]
    return [*found, *(f"conflict: {_conflict(c)}" for fact in facts for c in fact.conflicts)]


def fact_text(fact: EffectiveFact) -> str:
    """A fact with the evidence behind it."""
    return "".join(_told(fact))


def _told(fact: EffectiveFact) -> tuple[str, str]:
    """The value of a fact, and the evidence behind it."""
    if fact.value is None:
        return f"{fact.name} is not known", f": {fact.unknown}"
    value = f"{fact.name} = {format_value(fact.dimension, fact.value)}"
    evidence = ""
    if fact.kind is not None and fact.reading is not None:
        evidence = f", {fact.kind.value} {fact.reading.date} ({fact.reading.source})"
    if len(fact.plausible) > 1:
        evidence += f"; must hold for {', '.join(format_value(fact.dimension, v) for v in fact.plausible)}"
    return value, evidence


def _conflict(conflict: Conflict) -> str:
    """The reading that is not used; the other is told with its fact."""
    other = conflict.other
    value = "unknown" if other.value is None else format_value(conflict.dimension, other.value)
    reason = f": {conflict.used.effective}" if conflict.used.effective else ""
    return f"{conflict.fact} is not {value} ({other.evidence()}){reason}"


def as_given(value: Any) -> str:
    """A value as one writes it with --key: enumerators bare, lists and records as JSON."""
    return value if isinstance(value, str) else json.dumps(value)
