"""The points that were tried for a key, and why each did not answer: computed when somebody asks, for that key alone.

The resolver tries the rules of one target, from which whatever cannot match there is gone. Here the ladders are read
as the specs have them, so that a point for another architecture is told like one for another key.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any

from attrs import evolve

from policygen.lang.evaluate import Evaluator
from policygen.lang.evaluate import LazyNames
from policygen.lang.evaluate import compiled
from policygen.lang.evaluate import evaluate
from policygen.lang.text import text_of
from policygen.lang.tree import Expr
from policygen.loading.targets import present
from policygen.model.capabilities import HIGHEST_CAPABILITY
from policygen.model.capabilities import LOWEST_CAPABILITY
from policygen.model.ranges import Interval
from policygen.model.types import Version
from policygen.resolve.backends import absence
from policygen.resolve.candidate import Candidate
from policygen.resolve.candidate import Overlay
from policygen.resolve.selection import UNKNOWN_ITEMS
from policygen.resolve.selection import Selection
from policygen.resolve.specialise import Rules
from policygen.resolve.trace import Judged
from policygen.resolve.trace import Matched
from policygen.resolve.trace import NotMatched
from policygen.resolve.trace import Step
from policygen.resolve.trace import Tried
from policygen.resolve.trace import Unmet
from policygen.resolve.unmet import unmet
from policygen.spec import Ladder
from policygen.spec import Point
from policygen.spec import RuleSet
from policygen.spec import Spec
from policygen.spec import Status


def tried(spec: Spec, rules: Rules, candidate: Candidate) -> tuple[Step, ...]:
    """Every ladder that was looked at, and every point up to the one that answered.

    Args:
        spec: where the ladders are as they were written.
        rules: those that were resolved by.
        candidate: what they selected for the key.
    """
    return tuple(_steps(spec, rules, candidate))


def _steps(spec: Spec, rules: Rules, candidate: Candidate) -> Iterator[Step]:
    target, algorithm = rules.instance.target, rules.algorithm
    reference = algorithm.rules or spec.references.get(target.reference, {}).get(algorithm.name)
    for rule_set in (target.rules.get(algorithm.name), reference):
        for ladder in () if rule_set is None else rule_set.ladders:
            assert rule_set is not None
            trial = _Trial(rules, rule_set, candidate)
            yield from trial.ladder(ladder)
            if (ladder.origin, ladder.id) == (candidate.ladder.origin, candidate.ladder.id):
                return


class _Trial:
    """The rules of one file, on one key."""

    def __init__(self, rules: Rules, rule_set: RuleSet, candidate: Candidate) -> None:
        self._rules = rules
        self._candidate = candidate
        self._lets: dict[str, Expr] = {let.name: let.expr for let in (*rules.algorithm.lets, *rule_set.lets)}
        self._names = _names(rules, candidate, self._lets)

    def ladder(self, ladder: Ladder) -> Iterator[Step]:
        """What became of a ladder: it was not entered, none of its points matched, or one did."""
        lacking = next((f for f in ladder.requires if not self._has(f)), None)
        if lacking is not None:
            yield Tried(ladder, lacks=f"it needs {lacking}: {absence(lacking, self._rules.instance)}")
            return
        if not evaluate(ladder.when, self._names):
            yield Tried(ladder, entry=unmet(ladder.when, self._names, self._lets))
            return
        missed: list[NotMatched] = []
        for point in ladder.points:
            reason = self._reason(point)
            if reason is None:
                yield from [Tried(ladder, tuple(missed))] if missed else []
                yield from self._matched(ladder, point)
                return
            missed.append(reason)
        yield Tried(ladder, tuple(missed))

    def _has(self, feature: str) -> bool:
        return present(self._rules.instance.target, feature, self._rules.instance.cc)

    def _reason(self, point: Point) -> NotMatched | None:
        """Why a point does not answer; None where it does."""
        if point.status is Status.UNREACHABLE:
            return NotMatched(point, other="unreachable")
        cc = self._rules.instance.cc
        if point.cc is not None and not point.cc.low <= cc <= point.cc.high:
            unpack = Version.COMPUTE_CAPABILITY.unpack
            return NotMatched(point, (Unmet("cc", unpack(cc), (_capabilities(point.cc),)),))
        try:
            matches = evaluate(point.when, self._names)
        except KeyError as error:
            # another condition decides for this target, or there would be no rules
            return NotMatched(point, other=f"{error.args[0]} is not known")
        if not matches:
            return NotMatched(point, unmet(point.when, self._names, self._lets))
        if point.num_items is not None:
            items = self._names["num_items"]
            if items == UNKNOWN_ITEMS or not point.num_items.low <= items <= point.num_items.high:
                value = "unknown" if items == UNKNOWN_ITEMS else f"{items:,}"
                return NotMatched(
                    point, (Unmet("num_items", value, (f"{point.num_items.low:,} to {point.num_items.high:,}",)),)
                )
        if point.status is Status.DISABLED:
            return NotMatched(point, other=f"disabled: {point.reason}")
        return None

    def _matched(self, ladder: Ladder, point: Point) -> Iterator[Step]:
        yield Matched(ladder, point)
        if ladder.accept is None:
            return
        kept = next(k for k in self._rules.ladders if (k.origin, k.id) == (ladder.origin, ladder.id))
        alone = evolve(kept, accept=None, points=tuple(p for p in kept.points if p.id == point.id))
        scaled = Selection(evolve(self._rules, ladders=(alone,))).candidate(self._candidate.names)
        names = Overlay(self._names, scaled.policy)
        accepted = evaluate(ladder.accept, names)
        yield Judged(ladder, point, text_of(ladder.accept), () if accepted else unmet(ladder.accept, names, self._lets))


def _names(rules: Rules, candidate: Candidate, lets: Mapping[str, Expr]) -> LazyNames:
    """What rules as they are written see: the key, and the target's facts as values."""
    key = {field.name: candidate.names[field.name] for field in rules.algorithm.key}
    known = {name: fact.value for name, fact in rules.instance.facts.items() if fact.value is not None}
    values: dict[str, Any] = {**key, "cc": rules.instance.cc, "target": known}
    if "nvcc" in known:
        values["nvcc"] = known["nvcc"]
    used: dict[str, Evaluator] = {
        name: lambda _, name=name: candidate.names[name]  # type: ignore[misc]
        for name, _, _ in rules.uses
    }
    return LazyNames(values, {**{name: compiled(expr) for name, expr in lets.items()}, **used})


def _capabilities(range_: Interval) -> str:
    unpack = Version.COMPUTE_CAPABILITY.unpack
    if range_.high == HIGHEST_CAPABILITY:
        return f">= {unpack(range_.low)}"
    if range_.low == LOWEST_CAPABILITY:
        return f"<= {unpack(range_.high)}"
    return unpack(range_.low) if range_.low == range_.high else f"{unpack(range_.low)} to {unpack(range_.high)}"
