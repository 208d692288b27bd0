"""Which point a difference comes from.

A point whose numbers are wrong answers wrongly itself. A point whose condition is wrong is noticed elsewhere: another
one answers in its place. So what CCCL gives is compared with what each point would give for the key, were it to
answer. Where that leaves several points, `policygen.parity.compare` takes the one that explains most differences.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any
from typing import TypeAlias

from attrs import evolve
from attrs import frozen

from policygen.lang.tree import TRUE
from policygen.resolve.candidate import Candidate
from policygen.resolve.instance import TargetInstance
from policygen.resolve.resolver import Resolver
from policygen.resolve.specialise import rules_for
from policygen.resolve.trace import Left
from policygen.spec import Ladder
from policygen.spec import Path
from policygen.spec import Point
from policygen.spec import RuleSet
from policygen.spec import Spec
from policygen.spec import Status

_Place: TypeAlias = tuple[int, int]
"""The position of a ladder among the ladders, and of a point in it."""


@frozen
class _Alone:
    """A point with what it gives for a key where nothing stands before it."""

    place: _Place
    point: Point
    policy: Callable[[Mapping[str, Any]], Mapping[str, Any] | None]


class Suspects:
    """The points of one reference on one target."""

    def __init__(self, spec: Spec, instance: TargetInstance, algorithm: str) -> None:
        self._spec = spec
        self._instance = evolve(instance, target=evolve(instance.target, rules={}))
        self._algorithm = algorithm
        rule_set = spec.references[instance.target.reference][algorithm]
        self._points = {
            point.id: self._alone(rule_set, ladder, point, (row, column))
            for row, ladder in enumerate(rule_set.ladders)
            for column, point in enumerate(ladder.points)
            if point.status is Status.ACTIVE
        }

    def of(self, key: Mapping[str, Any], candidate: Candidate, theirs: Mapping[str, Any]) -> tuple[Point, ...]:
        """The points one of which has to be edited so that the key gets CCCL's policy, those that were tried first.

        Args:
            key: a whole key.
            candidate: what it gets.
            theirs: what CCCL gives.
        """
        tried = [step.point for step in candidate.trace if isinstance(step, Left)] + [candidate.point]
        matched = {place[0]: place[1] for place in (self._points[p.id].place for p in tried)}
        answer = self._points[candidate.point.id].place
        found: dict[str, Point] = {}
        for alone in self._points.values():
            if alone.policy(key) != theirs:
                continue
            row, column = alone.place
            if row > answer[0]:
                suspect = candidate.point  # it should not have answered
            elif row not in matched or column <= matched[row]:
                suspect = alone.point  # it should have answered
            else:
                suspect = next(p for p in tried if self._points[p.id].place == (row, matched[row]))  # it stood before
            found[suspect.id] = suspect
        if not found:
            return (self._nearest(key, tried, theirs),)
        return tuple(sorted(found.values(), key=lambda point: all(point.id != p.id for p in tried)))

    def _nearest(self, key: Mapping[str, Any], tried: list[Point], theirs: Mapping[str, Any]) -> Point:
        """The one of the points tried whose policy has the fewest fields to change; the last of equals."""

        def distance(point: Point) -> int:
            policy = self._points[point.id].policy(key)
            return len(list(differences(policy, theirs)))

        return min(reversed(tried), key=distance)

    def _alone(self, rule_set: RuleSet, ladder: Ladder, point: Point, place: _Place) -> _Alone:
        free = evolve(point, cc=None, num_items=None, when=TRUE)
        free_ladder = evolve(ladder, when=TRUE, requires=(), points=(free,), accept=None)
        free_rules = evolve(rule_set, ladders=(free_ladder,))
        reference = self._instance.target.reference
        references = {reference: {**self._spec.references[reference], self._algorithm: free_rules}}
        resolver: list[Resolver] = []

        def policy(key: Mapping[str, Any]) -> Mapping[str, Any] | None:
            if not resolver:
                spec = evolve(self._spec, references={**self._spec.references, **references})
                resolver.append(Resolver(rules_for(spec, self._instance, self._algorithm)))
            try:
                return resolver[0].selected(key).policy
            except (ArithmeticError, ValueError):
                return None  # the point's condition excludes keys that its formulas are not made for

        return _Alone(place, point, policy)


def differences(ours: Any, theirs: Any, path: Path = ()) -> Iterator[tuple[Path, Any, Any]]:
    """The fields that differ, each with both values; elements of a list by position."""
    if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
        for name in dict.fromkeys((*ours, *theirs)):
            yield from differences(ours.get(name), theirs.get(name), (*path, name))
    elif isinstance(ours, tuple) and isinstance(theirs, tuple) and len(ours) == len(theirs):
        for index, (our_element, their_element) in enumerate(zip(ours, theirs, strict=True)):
            yield from differences(our_element, their_element, (*path, str(index)))
    elif ours != theirs:
        yield path, ours, theirs
