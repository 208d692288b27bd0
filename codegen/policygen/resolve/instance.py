"""Targets by the names that people use: `bi100`, `h200`, `sm_90` and its spellings."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence

from attrs import evolve
from attrs import field
from attrs import frozen

from policygen.lang.evaluate import evaluate
from policygen.lang.parse import parse
from policygen.lang.tree import Scope
from policygen.loading.quantities import QuantityError
from policygen.loading.quantities import parse_compute_capability
from policygen.loading.quantities import parse_quantity
from policygen.model.fact_names import FACT_NAMES
from policygen.model.facts import EffectiveFact
from policygen.model.problems import did_you_mean
from policygen.model.types import INT64
from policygen.model.types import Version
from policygen.resolve.facts import effective_facts
from policygen.resolve.facts import override
from policygen.spec import Spec
from policygen.spec import Target


class UnknownTarget(ValueError):  # noqa: N818 - it says what the name is
    """No target has that name; the message names the nearest."""


@frozen
class TargetInstance:
    """A target as a command names it.

    Attributes:
        name: the name of its folder among the generated files.
        target: what its file says; a family's file for one of its architectures.
        cc: the packed capability that reference ladders see.
        facts: its effective facts by name.
    """

    name: str
    target: Target = field(repr=False)
    cc: int
    facts: Mapping[str, EffectiveFact] = field(repr=False)

    @property
    def capability(self) -> int | None:
        """The packed capability of the hardware, not the one its ladders are read as; None if it has none."""
        if "compute_capability" in self.facts:
            return self.facts["compute_capability"].value
        return self.cc if self.target.is_family else None


def target_instance(spec: Spec, name: str, assumed: Mapping[str, str] | None = None) -> TargetInstance:
    """Finds a target.

    Args:
        spec: all specs.
        name: a target's name, or an architecture of a family in any spelling (`sm_90`, `90`, `9.0`, `sm_90a`).
        assumed: facts to take instead of the specs', such as {"nvcc": "13.4"}.

    Raises:
        UnknownTarget: with the nearest names.
        ValueError: an assumed fact that is none, or whose value cannot be read.
    """
    target, cc, shown = _found(spec, name)
    facts = target.facts
    for fact, text in (assumed or {}).items():
        if fact not in FACT_NAMES:
            raise ValueError(f"unknown fact {fact}{did_you_mean(fact, tuple(FACT_NAMES))}")
        dimension = FACT_NAMES[fact].dimension
        value: object = int(text) if text.isdecimal() else text
        try:
            facts = override(facts, fact, parse_quantity(value, dimension), f"--set {fact}={text}")
        except QuantityError as error:
            raise ValueError(f"--set {fact}={text}: {error}") from None
    return TargetInstance(shown, evolve(target, facts=facts), cc, effective_facts(facts, _formula, cc=cc))


def family_members(target: Target) -> tuple[TargetInstance, ...]:
    """A target with one set of files for several architectures, as it is on each of them, ascending."""
    return tuple(
        TargetInstance(target.name, target, cc, effective_facts(target.facts, _formula, cc=cc))
        for cc in target.architectures
    )


def common_facts(members: Sequence[TargetInstance]) -> dict[str, EffectiveFact]:
    """The facts on which the architectures of a family agree."""
    first, *others = members
    return {
        name: fact
        for name, fact in first.facts.items()
        if all(name in m.facts and m.facts[name].value == fact.value for m in others)
    }


def _found(spec: Spec, name: str) -> tuple[Target, int, str]:
    target = spec.targets.get(name)
    if target is not None and target.reference_cc is not None:
        return target, target.reference_cc, target.name
    if target is not None and target.architectures:
        first = Version.COMPUTE_CAPABILITY.unpack(target.architectures[0])
        raise UnknownTarget(f'"{name}" is a family of architectures: name one of them, such as {first}')
    # sm_90 is an architecture of sm, whatever other families there are
    apart = (t for t in spec.targets.values() if t.is_family and not t.architectures)
    families = sorted(apart, key=lambda t: not name.startswith(f"{t.name}_"))
    reason = ""
    for family in families:
        try:
            cc = _capability(family, name)
        except QuantityError as error:
            reason = str(error)
            continue
        if cc in family.capabilities:
            return family, cc, f"{family.name}_{cc}"
    chips = sorted(t.name for t in spec.targets.values() if not t.is_family)
    near = did_you_mean(name, chips)
    raise UnknownTarget(
        f'unknown target "{name}"{near}'
        if near and not reason.startswith("no ") and not _numeric(name)
        else reason or f'unknown target "{name}"{near}'
    )


def _capability(family: Target, name: str) -> int:
    try:
        return parse_compute_capability(name)
    except QuantityError:
        own = name.removeprefix(f"{family.name}_")
        if own == name or family.name == "sm":
            raise
        return parse_compute_capability(own)


def _numeric(name: str) -> bool:
    return name.removeprefix("sm_").removeprefix("compute_")[:1].isdigit()


def _formula(text: str, values: Mapping[str, int | None]) -> int | None:
    if None in values.values():
        return None
    expr = parse(text, Scope(dict.fromkeys(values, INT64)))
    value = evaluate(expr, dict(values))
    return int(value)
