"""Resolution: from a key to a policy, by the rules of one target."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from attrs import evolve
from attrs import frozen

from policygen.lang.evaluate import Evaluator
from policygen.lang.evaluate import LazyNames
from policygen.lang.evaluate import compiled
from policygen.lang.tree import Expr
from policygen.model.record import Record
from policygen.resolve import passes
from policygen.resolve.backends import effect_of
from policygen.resolve.candidate import Candidate
from policygen.resolve.candidate import NoPolicy
from policygen.resolve.key import KeyReader
from policygen.resolve.selection import selection_of
from policygen.resolve.specialise import Rules
from policygen.resolve.trace import Step
from policygen.resolve.trace import Used
from policygen.spec import Ladder
from policygen.spec import Point


@frozen
class Resolution:
    """A policy, the point it comes from and how it came about.

    Attributes:
        key: the whole key, defaults included.
        policy: fields by CUB's names, nested as in CUB's struct.
        origin: the reference or target whose point answered.
    """

    key: Record
    policy: Record
    origin: str
    ladder: Ladder
    point_rule: Point
    trace: tuple[Step, ...]

    @property
    def point(self) -> str:
        """Id of the point that answered."""
        return self.point_rule.id


class Resolver:
    """Resolves the keys of one algorithm on one target."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self._keys = KeyReader(rules.algorithm)
        self._selection = selection_of(rules)
        self._lets: dict[str, Evaluator] = passes.evaluators(rules)
        self._uses = tuple(_Use(name, Resolver(used), fields) for name, used, fields in rules.uses)
        self._passes: list[passes.Pass] = []
        ran = rules.passes
        if "adapt" in ran:
            self._passes.append(passes.adapt(rules))
        self._passes.append(passes.constrain(rules) if "constrain" in ran else passes.judge(rules))
        if "canonicalise" in ran:
            self._passes.append(passes.canonicalise(rules))
        if rules.derived:
            self._passes.append(passes.derive(rules))

    def resolve(self, key: Mapping[str, Any]) -> Resolution:
        """Resolves a key.

        Args:
            key: fields by name; those with a default may be left out.

        Raises:
            InvalidKey: the key is not of the declared domains.
            NoPolicy: no policy of this target works for the key.
        """
        whole = self._keys.read(key)
        effect = effect_of(self.rules.algorithm, self.rules.instance)
        if not effect.applicable:
            raise NoPolicy(f"not applicable: {effect.reason}")
        candidate = self.candidate(whole)
        return Resolution(
            key=Record(whole),
            policy=Record(candidate.policy),
            origin=candidate.ladder.origin,
            ladder=candidate.ladder,
            point_rule=candidate.point,
            trace=candidate.trace,
        )

    def candidate(self, key: Mapping[str, Any]) -> Candidate:
        """The last candidate of a whole, checked key."""
        candidate = self.selected(key)
        for run in self._passes:
            candidate = run(candidate)
        return candidate

    def selected(self, key: Mapping[str, Any]) -> Candidate:
        """The candidate of a whole, checked key after select and scale: upstream's policy, for a reference's point."""
        if not self._uses:
            return self._selection.candidate(LazyNames(key, self._lets))
        # a used policy is resolved when a rule first asks for it, and then the trace begins with it
        used: list[Step] = []
        names = LazyNames(key, {**self._lets, **{use.name: partial(use.policy, used) for use in self._uses}})
        candidate = self._selection.candidate(names)
        return evolve(candidate, trace=(*used, *candidate.trace))

    def matching_point(self, key: Mapping[str, Any]) -> Point:
        """The point that answers a whole, checked key; nothing beyond selection is judged."""
        return self.selected(key).point

    def whole_key(self, key: Mapping[str, Any]) -> dict[str, Any]:
        """The key with its defaults. Raises InvalidKey."""
        return self._keys.read(key)


class _Use:
    """The policy of another algorithm, for the key that this one's key gives it."""

    def __init__(self, name: str, resolver: Resolver, key: tuple[tuple[str, Expr], ...]) -> None:
        self.name = name
        self._resolver = resolver
        self._key = tuple((field, compiled(expr)) for field, expr in key)

    def policy(self, used: list[Step], names: Mapping[str, Any]) -> Mapping[str, Any]:
        key = self._resolver.whole_key({field: evaluate(names) for field, evaluate in self._key})
        candidate = self._resolver.candidate(key)
        used.append(Used(self.name, self._resolver.rules.algorithm.name, candidate.point, candidate.trace))
        return candidate.policy
