"""Select and scale: the first point that answers a key, and its policy with upstream's counts.

The rules are compiled once, since these two passes run for every key: constants are laid out, conditions and fields
become closures, and the steps of the trace that no key changes are made beforehand.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from functools import lru_cache
from typing import Any
from typing import TypeAlias

from policygen.lang.evaluate import Evaluator
from policygen.lang.evaluate import LazyNames
from policygen.lang.evaluate import compiled
from policygen.lang.tree import TRUE
from policygen.lang.tree import Const
from policygen.lang.tree import Expr
from policygen.lang.tree import free_names
from policygen.model.ranges import Interval
from policygen.model.types import Role
from policygen.resolve.candidate import Candidate
from policygen.resolve.candidate import NoPolicy
from policygen.resolve.candidate import Overlay
from policygen.resolve.specialise import Rules
from policygen.resolve.specialise import roles_of
from policygen.resolve.trace import Kept
from policygen.resolve.trace import Left
from policygen.resolve.trace import Matched
from policygen.resolve.trace import NotEntered
from policygen.resolve.trace import Scaled
from policygen.resolve.trace import Step
from policygen.scaling import Literal
from policygen.scaling import Nominal
from policygen.scaling import keep
from policygen.scaling import scale
from policygen.spec import Counts
from policygen.spec import Ladder
from policygen.spec import Path
from policygen.spec import Point
from policygen.spec import Scale
from policygen.spec import SubPolicy

UNKNOWN_ITEMS = -1

Part: TypeAlias = Callable[[Mapping[str, Any], Mapping[str, Any], list[Step]], Any]
"""Gives one field of a policy from the names without and with the policy so far; appends to the trace."""

Finish: TypeAlias = Callable[[dict[str, Any], Mapping[str, Any], Mapping[str, Any], list[Step]], None]
"""Turns the counts of a filled record into resolved ones, in place; appends to the trace."""


class Selection:
    """The ladders of some rules, compiled."""

    def __init__(self, rules: Rules) -> None:
        roots = frozenset(field.name for field in rules.algorithm.policy.fields)
        self._ladders = tuple(_Ladder(ladder, roots) for ladder in rules.ladders)

    def candidate(self, names: LazyNames) -> Candidate:
        """The first point whose scaled candidate its ladder accepts, scaled.

        Args:
            names: key, lets and used policies by name.

        Raises:
            NoPolicy: no point answers the key.
        """
        before: list[Step] = []
        for ladder in self._ladders:
            point = ladder.first(names)
            if point is None:
                before.append(ladder.not_entered)
                continue
            steps = [*before, point.matched]
            policy = point.fill(names, steps)
            if ladder.accepts is None or ladder.accepts(Overlay(names, policy)):
                return Candidate(names, ladder.ladder, point.point, policy, tuple(steps))
            before.append(point.left)
        raise NoPolicy("no point answers this key")


@lru_cache(maxsize=64)
def selection_of(rules: Rules) -> Selection:
    """The selection of some rules, compiled when first asked for."""
    return Selection(rules)


class _Ladder:
    def __init__(self, ladder: Ladder, roots: frozenset[str]) -> None:
        self.ladder = ladder
        self.not_entered = NotEntered(ladder)
        self.accepts = None if ladder.accept is None else compiled(ladder.accept)
        self._when = _condition(ladder.when, None)
        self._points = tuple(_Point(ladder, point, roots) for point in ladder.points)

    def first(self, names: LazyNames) -> _Point | None:
        if self._when is None or self._when(names):
            for point in self._points:
                if point.when is None or point.when(names):
                    return point
        return None


class _Point:
    def __init__(self, ladder: Ladder, point: Point, roots: frozenset[str]) -> None:
        self.point = point
        self.matched = Matched(ladder, point)
        self.left = Left(ladder, point)
        self.when = _condition(point.when, point.num_items)
        self.fill = _root(point.policy, roots)


def _condition(when: Expr, num_items: Interval | None) -> Evaluator | None:
    """None for what always holds."""
    condition = None if when == TRUE else compiled(when)
    if num_items is None:
        return condition
    low, high = num_items.low, num_items.high

    def in_range(names: Mapping[str, Any]) -> bool:
        # an unknown size lies in no range
        items = names["num_items"]
        return items != UNKNOWN_ITEMS and low <= items <= high and (condition is None or bool(condition(names)))

    return in_range


def _root(policy: SubPolicy, roots: frozenset[str]) -> Callable[[LazyNames, list[Step]], dict[str, Any]]:
    """Fills the whole policy. Root fields see the root fields before them."""
    constants, parts = _laid_out(policy, (), roots)
    finish = _finish(policy, (), roots)
    overlaid = any(not roots.isdisjoint(names) for names in _names_of(policy))

    def fill(names: LazyNames, steps: list[Step]) -> dict[str, Any]:
        filled = constants.copy()
        visible = Overlay(names, filled) if overlaid else names
        for name, part in parts:
            value = part(names, visible, steps)
            filled[name] = value
            if overlaid:
                visible[name] = value
        if finish is not None:
            finish(filled, names, visible, steps)
        return filled

    return fill


def _record(policy: SubPolicy, path: Path, roots: frozenset[str]) -> Part:
    constants, parts = _laid_out(policy, path, roots)
    finish = _finish(policy, path, roots)

    def fill(names: Mapping[str, Any], visible: Mapping[str, Any], steps: list[Step]) -> dict[str, Any]:
        filled = constants.copy()
        for name, part in parts:
            filled[name] = part(names, visible, steps)
        if finish is not None:
            finish(filled, names, visible, steps)
        return filled

    return fill


def _laid_out(
    policy: SubPolicy, path: Path, roots: frozenset[str]
) -> tuple[dict[str, Any], tuple[tuple[str, Part], ...]]:
    """Every field in the struct's order, with its value where it is the same for all keys; and what gives the rest."""
    constants: dict[str, Any] = {}
    parts: list[tuple[str, Part]] = []
    for name, value in policy.fields:
        constants[name] = _constant(value)
        if constants[name] is None:
            at = (*path, name)
            parts.append((name, _record(value, at, roots) if isinstance(value, SubPolicy) else _value(value, roots)))
    return constants, tuple(parts)


def _constant(value: Expr | SubPolicy) -> Any:
    if isinstance(value, Const):
        return value.value
    if not isinstance(value, SubPolicy) or value.counts in (Counts.NOMINAL, Counts.LITERAL):
        return None
    fields = {name: _constant(field) for name, field in value.fields}
    return None if None in fields.values() else fields


def _value(expr: Expr, roots: frozenset[str]) -> Part:
    value = compiled(expr)
    if roots.isdisjoint(free_names(expr)):
        return lambda names, _visible, _steps: value(names)
    return lambda _names, visible, _steps: value(visible)


def _names_of(policy: SubPolicy) -> list[frozenset[str]]:
    found = [] if policy.scale is None else [free_names(policy.scale.by)]
    for _, value in policy.fields:
        found += _names_of(value) if isinstance(value, SubPolicy) else [free_names(value)]
    return found


def _finish(policy: SubPolicy, path: Path, roots: frozenset[str]) -> Finish | None:
    where = ".".join(path) or policy.struct.name
    roles = roles_of(policy.struct)
    threads, items = roles.get(Role.THREADS), roles.get(Role.ITEMS)
    match policy.counts:
        case Counts.NOMINAL:
            assert policy.scale is not None
            return _scaling(policy.scale, where, threads, items, roots)
        case Counts.LITERAL:
            return _keeping(where, threads, items)
        case _:
            return None


def _scaling(scaling: Scale, where: str, threads: str | None, items: str | None, roots: frozenset[str]) -> Finish:
    rule, size_of = scaling.rule, _value(scaling.by, roots)

    @lru_cache(maxsize=1024)
    def scaled(nominal_threads: int, nominal_items: int, size: int) -> Scaled:
        nominal = Nominal(nominal_threads, nominal_items)
        return Scaled(where, rule, size, nominal, scale(nominal, rule, size))

    def finish(filled: dict[str, Any], names: Mapping[str, Any], visible: Mapping[str, Any], steps: list[Step]) -> None:
        step = scaled(filled[threads] if threads else 1, filled[items] if items else 1, size_of(names, visible, steps))
        steps.append(step)
        if threads:
            filled[threads] = step.resolved.threads_per_block
        if items:
            filled[items] = step.resolved.items_per_thread

    return finish


def _keeping(where: str, threads: str | None, items: str | None) -> Finish:
    @lru_cache(maxsize=1024)
    def kept(literal_threads: int, literal_items: int) -> Kept:
        counts = keep(Literal(literal_threads, literal_items))
        return Kept(where, counts.threads_per_block if threads else None, counts.items_per_thread if items else None)

    def finish(
        filled: dict[str, Any], _names: Mapping[str, Any], _visible: Mapping[str, Any], steps: list[Step]
    ) -> None:
        steps.append(kept(filled[threads] if threads else 0, filled[items] if items else 0))

    return finish
