"""The explanation of one resolution: key, steps, occupancy, facts with their evidence, and what is in conflict."""

from __future__ import annotations

from typing import Any

from attrs import frozen

from policygen.model.facts import EffectiveFact
from policygen.plan.kernel_resources import KernelResources
from policygen.plan.limits import Limits
from policygen.plan.occupancy import occupancy
from policygen.resolve.backends import effect_of
from policygen.resolve.occupancy import limits_of
from policygen.resolve.occupancy import occupancy_data
from policygen.resolve.occupancy import occupancy_line
from policygen.resolve.occupancy import unknown_limits
from policygen.resolve.proof import Told
from policygen.resolve.proof import proof
from policygen.resolve.resolver import Resolution
from policygen.resolve.resolver import Resolver
from policygen.resolve.specialise import Rules
from policygen.resolve.telling import as_given
from policygen.resolve.telling import fact_lines
from policygen.resolve.telling import fact_text
from policygen.resolve.telling import policy_lines
from policygen.resolve.telling import step_lines
from policygen.spec import Spec


@frozen
class Contract:
    """What an engine may take from one of its tables, and whether anything runs with it.

    Attributes:
        function: where its Python module has it: `attention.decode`.
        returns: what the function answers.
        backend: the feature that runs with it; empty for what the engine computes itself.
        in_effect: whether something runs with it.
        reason: why not; of a precompiled kernel that its own numbers are fixed. Empty where it is in effect.
        units: what each integer of the policy counts, by its name.
    """

    function: str
    returns: str
    backend: str
    in_effect: bool
    reason: str
    units: tuple[tuple[str, str], ...]

    def lines(self) -> list[str]:
        """The contract as text."""
        runs = f"runs with {self.backend}" if self.backend else "computed by the engine itself"
        effect = "in effect" if self.in_effect else f"not in effect: {self.reason}"
        return [
            f"contract: {self.function} answers {self.returns}; {runs}; {effect}",
            f"units: {'; '.join(self._by_unit())}",
        ]

    def _by_unit(self) -> list[str]:
        names: dict[str, list[str]] = {}
        for name, unit in self.units:
            names.setdefault(unit, []).append(name)
        return [f"{unit}: {', '.join(of_unit)}" for unit, of_unit in names.items()]

    def as_dict(self) -> dict[str, Any]:
        """The contract as data."""
        return {
            "function": self.function,
            "returns": self.returns,
            "backend": self.backend,
            "in_effect": self.in_effect,
            "reason": self.reason,
            "units": dict(self.units),
        }


@frozen
class Explanation:
    """A resolution, told. `as_dict` is the same for programs.

    Attributes:
        facts: those that the rules looked at.
        limits: what the target has of threads, registers and shared memory.
        steps: how the policy came about, from the first point that was tried.
        kernels: what the kernels behind the policy take of them.
        contract: of a table of an engine; None for an algorithm.
    """

    target: str
    algorithm: str
    resolution: Resolution
    facts: tuple[EffectiveFact, ...]
    limits: Limits
    steps: tuple[Told, ...]
    kernels: tuple[KernelResources, ...] = ()
    contract: Contract | None = None

    def lines(self) -> list[str]:
        """The explanation as text, a line each."""
        key = ", ".join(f"{name}={as_given(value)}" for name, value in self.resolution.key.as_dict().items())
        found = [f"{self.algorithm} on {self.target}", f"key: {key}"]
        found += step_lines(self.steps)
        found += policy_lines(self.resolution.policy.as_dict())
        found += self._point_lines()
        found += [] if self.contract is None else self.contract.lines()
        found += self._occupancy_lines()
        found += fact_lines(self.facts)
        return found

    def _occupancy_lines(self) -> list[str]:
        resident = [occupancy(self.limits, kernel) for kernel in self.kernels]
        unknown = dict.fromkeys(name for found in resident for name in unknown_limits(found))
        told = [f"occupancy: {occupancy_line(found, tell_unknown=False)}" for found in resident]
        return [*told, f"occupancy: not known of {self.target}: {', '.join(unknown)}"] if unknown else told

    def _point_lines(self) -> list[str]:
        point = self.resolution.point_rule
        told = {"from": point.source, "benchmark": point.benchmark, "evidence": point.evidence}
        parts = [f"{name} {text}" for name, text in told.items() if text]
        return [f"point: {self.resolution.origin}/{point.id}: {'; '.join(parts)}"] if parts else []

    def as_dict(self) -> dict[str, Any]:
        """The explanation as data."""
        point = self.resolution.point_rule
        return {
            "target": self.target,
            "algorithm": self.algorithm,
            "key": self.resolution.key.as_dict(),
            "policy": self.resolution.policy.as_dict(),
            "point": {
                "id": self.resolution.point,
                "origin": self.resolution.origin,
                "location": str(point.location),
                "benchmark": point.benchmark,
                "reason": point.reason,
                "source": point.source,
                "evidence": point.evidence,
            },
            "trace": [str(step) for step in self.resolution.trace],
            "steps": [step.as_dict() for step in self.steps],
            "occupancy": [occupancy_data(occupancy(self.limits, kernel)) for kernel in self.kernels],
            "contract": None if self.contract is None else self.contract.as_dict(),
            "not_in_effect": "" if self.contract is None else self.contract.reason,
            "facts": {fact.name: fact_text(fact) for fact in self.facts},
            "conflicts": [str(conflict) for fact in self.facts for conflict in fact.conflicts],
        }


def explanation(
    spec: Spec, resolver: Resolver, resolution: Resolution, kernels: tuple[KernelResources, ...] = ()
) -> Explanation:
    """Explains a resolution.

    Args:
        spec: where the ladders are as they were written.
        resolver: gave the resolution.
        resolution: what is explained.
        kernels: what the kernels behind the policy take of a multiprocessor.
    """
    rules = resolver.rules
    facts = rules.instance.facts
    used = tuple(facts[name] for name in rules.facts_used if name in facts)
    selected = resolver.selected(resolution.key)
    steps = proof(spec, rules, selected, resolution.policy.as_dict(), resolution.trace)
    limits = limits_of(rules.instance)
    return Explanation(
        rules.target, rules.algorithm.name, resolution, used, limits, tuple(steps), kernels, _contract(rules)
    )


def _contract(rules: Rules) -> Contract | None:
    engine = rules.algorithm.engine
    if engine is None:
        return None
    effect = effect_of(rules.algorithm, rules.instance)
    units = tuple((field.name, field.unit) for field in rules.algorithm.policy.fields if field.unit)
    function = f"{engine.module}.{engine.function}"
    return Contract(function, engine.returns, engine.backend, not effect.reason, effect.reason, units)
