"""The explanation of one resolution: key, steps, occupancy, facts with their evidence, and what is in conflict."""

from __future__ import annotations

import json
from typing import Any

from attrs import frozen

from policygen.model.dimensions import format_value
from policygen.model.facts import EffectiveFact
from policygen.plan.kernel_resources import KernelResources
from policygen.plan.limits import Limits
from policygen.plan.occupancy import occupancy
from policygen.resolve.backends import effect_of
from policygen.resolve.occupancy import limits_of
from policygen.resolve.occupancy import occupancy_data
from policygen.resolve.occupancy import occupancy_line
from policygen.resolve.resolver import Resolution
from policygen.resolve.specialise import Rules


@frozen
class Explanation:
    """A resolution, told. `as_dict` is the same for programs.

    Attributes:
        facts: those that the rules looked at.
        limits: what the target has of threads, registers and shared memory.
        kernels: what the kernels behind the policy take of them.
        not_in_effect: of a table of the engine, why nothing runs with the policy; empty where something does.
    """

    target: str
    algorithm: str
    resolution: Resolution
    facts: tuple[EffectiveFact, ...]
    limits: Limits
    kernels: tuple[KernelResources, ...] = ()
    not_in_effect: str = ""

    def lines(self) -> list[str]:
        """The explanation as text, a line each."""
        key = ", ".join(f"{name}={as_given(value)}" for name, value in self.resolution.key.as_dict().items())
        found = [f"{self.algorithm} on {self.target}", f"key: {key}"]
        found += [str(step) for step in self.resolution.trace]
        found += [f"policy: {line}" for line in _policy_lines(self.resolution.policy.as_dict())]
        found += [f"not in effect: {self.not_in_effect}"] if self.not_in_effect else []
        found += [f"occupancy: {occupancy_line(occupancy(self.limits, kernel))}" for kernel in self.kernels]
        found += [f"fact: {_fact(fact)}" for fact in self.facts]
        found += [f"conflict: {conflict}" for fact in self.facts for conflict in fact.conflicts]
        return found

    def as_dict(self) -> dict[str, Any]:
        """The explanation as data."""
        return {
            "target": self.target,
            "algorithm": self.algorithm,
            "key": self.resolution.key.as_dict(),
            "policy": self.resolution.policy.as_dict(),
            "point": {
                "id": self.resolution.point,
                "origin": self.resolution.origin,
                "location": str(self.resolution.point_rule.location),
                "benchmark": self.resolution.point_rule.benchmark,
                "reason": self.resolution.point_rule.reason,
                "source": self.resolution.point_rule.source,
            },
            "trace": [str(step) for step in self.resolution.trace],
            "occupancy": [occupancy_data(occupancy(self.limits, kernel)) for kernel in self.kernels],
            "not_in_effect": self.not_in_effect,
            "facts": {fact.name: _fact(fact) for fact in self.facts},
            "conflicts": [str(conflict) for fact in self.facts for conflict in fact.conflicts],
        }


def explanation(rules: Rules, resolution: Resolution, kernels: tuple[KernelResources, ...] = ()) -> Explanation:
    """Explains a resolution by the rules that gave it, and how many blocks of its kernels are resident."""
    facts = rules.instance.facts
    used = tuple(facts[name] for name in rules.facts_used if name in facts)
    effect = effect_of(rules.algorithm, rules.instance)
    limits = limits_of(rules.instance)
    return Explanation(rules.target, rules.algorithm.name, resolution, used, limits, kernels, effect.reason)


def _fact(fact: EffectiveFact) -> str:
    if fact.value is None:
        return f"{fact.name} is not known: {fact.unknown}"
    text = f"{fact.name} = {format_value(fact.dimension, fact.value)}"
    if fact.kind is not None and fact.reading is not None:
        text += f", {fact.kind.value} {fact.reading.date} ({fact.reading.source})"
    if len(fact.plausible) > 1:
        text += f"; must hold for {', '.join(format_value(fact.dimension, v) for v in fact.plausible)}"
    return text


def as_given(value: Any) -> str:
    """A value as one writes it with --key: enumerators bare, lists and records as JSON."""
    return value if isinstance(value, str) else json.dumps(value)


def _policy_lines(policy: dict[str, Any], at: str = "") -> list[str]:
    own = ", ".join(f"{name} {as_given(value)}" for name, value in policy.items() if not isinstance(value, dict))
    found = [f"{at or 'root'}: {own}"] if own else []
    for name, value in policy.items():
        if isinstance(value, dict):
            found += _policy_lines(value, f"{at}.{name}" if at else name)
    return found
