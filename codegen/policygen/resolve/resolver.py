"""Resolution: from a key to a policy, by the rules of one target."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from policygen.lang.evaluate import Evaluator
from policygen.lang.evaluate import LazyNames
from policygen.lang.evaluate import compiled
from policygen.model.record import Record
from policygen.resolve import passes
from policygen.resolve.candidate import Candidate
from policygen.resolve.key import KeyReader
from policygen.resolve.specialise import Rules
from policygen.resolve.trace import Step
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
        self._lets: dict[str, Evaluator] = passes.evaluators(rules)
        for name, used, fields in rules.uses:
            self._lets[name] = _used_policy(Resolver(used), {field: compiled(expr) for field, expr in fields})
        self._passes: list[passes.Pass] = []
        ran = rules.instance.target.passes
        if "adapt" in ran:
            self._passes.append(passes.adapt(rules))
        self._passes.append(passes.constrain(rules) if "constrain" in ran else passes.judge(rules))
        if "canonicalise" in ran:
            self._passes.append(passes.canonicalise(rules))

    def resolve(self, key: Mapping[str, Any]) -> Resolution:
        """Resolves a key.

        Args:
            key: fields by name; those with a default may be left out.

        Raises:
            InvalidKey: the key is not of the declared domains.
            NoPolicy: no policy of this target works for the key.
        """
        whole = self._keys.read(key)
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
        candidate = passes.select(self.rules, LazyNames(key, self._lets))
        for run in self._passes:
            candidate = run(candidate)
        return candidate

    def matching_point(self, key: Mapping[str, Any]) -> Point:
        """The point that answers a whole, checked key; nothing beyond selection is judged."""
        return passes.select(self.rules, LazyNames(key, self._lets)).point

    def whole_key(self, key: Mapping[str, Any]) -> dict[str, Any]:
        """The key with its defaults. Raises InvalidKey."""
        return self._keys.read(key)


def _used_policy(resolver: Resolver, key: Mapping[str, Evaluator]) -> Evaluator:
    def evaluate_used(names: Mapping[str, Any]) -> Any:
        whole = resolver.whole_key({field: evaluate(names) for field, evaluate in key.items()})
        return resolver.candidate(whole).policy

    return evaluate_used
