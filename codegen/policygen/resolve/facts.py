"""From the readings of a target to the values it goes by."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from graphlib import CycleError
from graphlib import TopologicalSorter
from typing import TypeAlias

from attrs import evolve

from policygen.lang.parse import ExpressionError
from policygen.model.dimensions import format_value
from policygen.model.fact_names import FACT_NAMES
from policygen.model.facts import EffectiveFact
from policygen.model.facts import EvidenceKind
from policygen.model.facts import Fact
from policygen.model.facts import Reading
from policygen.model.facts import effective
from policygen.model.facts import formula_names
from policygen.model.facts import weakest
from policygen.model.problems import Problem
from policygen.model.problems import SpecError
from policygen.model.types import INT64_MAX

Evaluate: TypeAlias = Callable[[str, Mapping[str, "int | None"]], "int | None"]
"""Evaluates a formula with the values of the facts it names; None where one that matters is unknown."""


def effective_facts(
    facts: Mapping[str, Fact], evaluate: Evaluate, *, cc: int | None = None
) -> dict[str, EffectiveFact]:
    """Chooses the effective value of every fact; derived readings are recomputed first, inputs before results.

    Args:
        facts: The facts of a target by name, joined with those of the target it extends.
        evaluate: Evaluator of formulas. ValueError and ArithmeticError of it become problems.
        cc: Compute capability as major * 10 + minor, for a family of targets.

    Returns:
        Every fact by name, sorted by name. A fact that a formula names and the target does not state is unknown.

    Raises:
        SpecError: Every problem of every fact: formulas in a circle, a stored value that differs from the recomputed
            one, readings that leave the choice open, plausible values without a reading.
    """
    values: dict[str, EffectiveFact] = {}
    problems: list[Problem] = []
    for name in _inputs_first(facts, cc):
        try:
            values[name] = effective(_recomputed(facts[name], values, evaluate, cc), cc)
        except SpecError as error:
            problems += error.problems
    if problems:
        raise SpecError(problems)
    return {name: values[name] for name in sorted(values)}


def _inputs(fact: Fact, cc: int | None) -> set[str]:
    formulas = [
        reading.formula
        for reading in fact.readings
        if reading.formula and reading.withdrawn is None and reading.holds_for(cc)
    ]
    return {name for formula in formulas for name in formula_names(formula)}


def _inputs_first(facts: Mapping[str, Fact], cc: int | None) -> list[str]:
    inputs = {name: sorted(_inputs(facts[name], cc) & facts.keys()) for name in sorted(facts)}
    try:
        return list(TopologicalSorter(inputs).static_order())
    except CycleError as error:
        # graphlib lists inputs before results; people follow a formula to its inputs.
        circle = list(reversed(error.args[1]))
        least = circle.index(min(circle))
        circle = [*circle[least:-1], *circle[:least], circle[least]]
        fact = facts[circle[0]]
        reason = f"formulas depend on one another: {' -> '.join(circle)}"
        raise SpecError([Problem.at(fact.location, fact.key, reason)]) from None


def _recomputed(fact: Fact, values: Mapping[str, EffectiveFact], evaluate: Evaluate, cc: int | None) -> Fact:
    problems: list[Problem] = []
    readings: list[Reading] = []
    for reading in fact.readings:
        if reading.formula is None or reading.withdrawn is not None or not reading.holds_for(cc):
            readings.append(reading)
            continue
        names = formula_names(reading.formula)
        known = {name: values[name].value if name in values else None for name in names}
        try:
            value = evaluate(reading.formula, known)
        except (ExpressionError, ValueError, ArithmeticError) as error:
            problems.append(_formula_problem(fact, reading, f"has no value: {error}"))
            continue
        least = 0 if FACT_NAMES[fact.name].may_be_zero else 1
        if value is not None and not least <= value <= INT64_MAX:
            problems.append(_formula_problem(fact, reading, f"gives {value}: expected {least} to 2^63 - 1"))
        elif value is not None and reading.value is not None and value != reading.value:
            stored, computed = format_value(fact.dimension, reading.value), format_value(fact.dimension, value)
            reason = f"gives {computed} but {stored} is stored: write that, or leave the value out"
            problems.append(_formula_problem(fact, reading, reason))
        else:
            kinds = [kind for name in names if name in values and (kind := values[name].kind) is not None]
            basis = weakest(kinds) if value is not None and kinds else None
            readings.append(evolve(reading, value=value, basis=basis))
    if problems:
        raise SpecError(problems)
    return evolve(fact, readings=tuple(readings))


def _formula_problem(fact: Fact, reading: Reading, reason: str) -> Problem:
    return Problem.at(reading.location, f"{fact.key}.formula", f'"{reading.formula}" {reason}')


def extend(parent: Mapping[str, Fact], child: Mapping[str, Fact]) -> dict[str, Fact]:
    """Joins the facts of a target with those of the target it extends.

    Readings of the child are appended to those of the parent. The child's list of plausible values, where it has one,
    takes the place of the parent's; a reading that the child marks effective takes the place of the parent's mark.
    A child that gives a reading lifts the parent's `unknown`.

    Returns:
        The joined facts by name, sorted by name; none has withdrawals left.

    Raises:
        SpecError: A withdrawal names no reading of the parent.
    """
    problems: list[Problem] = []
    joined: dict[str, Fact] = {}
    for name in sorted({*parent, *child}):
        base, own = parent.get(name), child.get(name)
        if own is None:
            assert base is not None
            joined[name] = base
            continue
        readings = () if base is None else base.readings
        for withdrawal in own.withdrawals:
            named = [reading.withdrawn is None and withdrawal.names(reading) for reading in readings]
            if not any(named):
                value = format_value(own.dimension, withdrawal.value)
                reason = f"withdraws a reading {value} that the extended target does not have"
                problems.append(Problem.at(withdrawal.location, f"{own.key}.withdraw", reason))
            readings = tuple(
                evolve(reading, withdrawn=withdrawal.reason) if hit else reading
                for reading, hit in zip(readings, named, strict=True)
            )
        if any(reading.effective for reading in own.readings):
            readings = tuple(evolve(reading, effective=None) for reading in readings)
        inherited = None if base is None or own.readings else base.unknown
        joined[name] = evolve(
            own,
            readings=(*readings, *own.readings),
            plausible=own.plausible or (() if base is None else base.plausible),
            unknown=own.unknown or inherited,
            withdrawals=(),
        )
    if problems:
        raise SpecError(problems)
    return joined


def override(facts: Mapping[str, Fact], name: str, value: int, source: str) -> dict[str, Fact]:
    """Sets a fact for one run of a command.

    The value is effective and the only plausible one; the readings of the target stay, so that the conflict shows.

    Args:
        facts: The facts of a target by name.
        name: A name in `FACT_NAMES`; the target need not state it.
        value: The value in the unit of the fact's dimension.
        source: What set it, for people: "--set warp_size=32".

    Returns:
        All facts by name, sorted by name.
    """
    fact = facts.get(name) or Fact(name, FACT_NAMES[name].dimension, ())
    kept = tuple(evolve(reading, effective=None) for reading in fact.readings)
    reading = Reading(value, EvidenceKind.ASSUMED, None, source, fact.location, effective="set for this run")
    changed = evolve(fact, readings=(*kept, reading), plausible=(), unknown=None)
    merged = {**facts, name: changed}
    return {key: merged[key] for key in sorted(merged)}
