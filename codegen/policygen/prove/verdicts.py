"""Holds what the compiler says of a kernel against the spec's models and against the evidence that there is."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from enum import Enum
from typing import Final

from attrs import frozen

from policygen.prove.compiler_report import Outcome
from policygen.prove.compiler_report import Overflow
from policygen.prove.compiler_report import Rejected
from policygen.prove.compiler_report import Resources
from policygen.prove.evidence import Evidence
from policygen.prove.models import Predicted
from policygen.prove.translation_unit import Instance

CLOSE: Final = 24
"""Registers that a bound may lie above the compiler's figure to count as close."""


class Fault(Enum):
    """What is wrong with a kernel."""

    OVERFLOW = "overflow"
    SPILLS = "spills"
    REJECTED = "rejected"
    SHARED_MODEL = "shared-memory model"
    REGISTER_BOUND = "register bound"


@frozen
class Verdict:
    """One kernel, compiled and judged.

    Attributes:
        instance: which kernel of which policy.
        outcome: what the compiler says.
        predicted: what the spec says.
        faults: each with one sentence that has the numbers; empty where all is well.
        known_spills: whether it spills and the evidence says so already.
    """

    instance: Instance
    outcome: Outcome
    predicted: Predicted
    faults: tuple[tuple[Fault, str], ...]
    known_spills: bool = False

    @property
    def model_agrees(self) -> bool | None:
        """Whether the model of static shared memory gives the compiler's figure; None without one of the two."""
        if self.predicted.shared is None or not isinstance(self.outcome, Resources):
            return None
        return self.predicted.shared == self.outcome.shared

    @property
    def bound_is_close(self) -> bool | None:
        """Whether the register bound holds and is close; None without a bound or a figure."""
        if self.predicted.registers is None or not isinstance(self.outcome, Resources):
            return None
        return 0 <= self.predicted.registers - self.outcome.registers <= CLOSE

    @property
    def fits(self) -> bool:
        """Whether the kernel compiles and keeps everything in registers, or spills as the evidence says it does."""
        return not any(fault in (Fault.OVERFLOW, Fault.SPILLS, Fault.REJECTED) for fault, _ in self.faults)


def judged(
    instance: Instance, outcome: Outcome, predicted: Predicted, known: Evidence | None, *, accept_spills: bool = False
) -> Verdict:
    """Judges a kernel.

    Args:
        instance: which.
        outcome: what the compiler says of it.
        predicted: what the spec says of it.
        known: the evidence of its algorithm, if there is any; spills that it records are not new.
        accept_spills: no spills are new.
    """
    match outcome:
        case Overflow(need, limit):
            said = f"needs {need:,} bytes of static shared memory of {limit:,}"
            return Verdict(instance, outcome, predicted, ((Fault.OVERFLOW, said),))
        case Rejected(said):
            return Verdict(instance, outcome, predicted, ((Fault.REJECTED, f"does not compile: {said}"),))
        case Resources():
            recorded = None if known is None else known.of(instance.policy.id, instance.kernel.kernel.name)
            is_known = accept_spills or (recorded is not None and recorded.spills)
            return _compiled(instance, outcome, predicted, is_known)


def _compiled(instance: Instance, found: Resources, predicted: Predicted, spills_are_known: bool) -> Verdict:
    faults: list[tuple[Fault, str]] = []
    if predicted.shared is not None and predicted.shared != found.shared:
        said = f"the model says {predicted.shared:,} bytes of static shared memory, the compiler {found.shared:,}"
        faults.append((Fault.SHARED_MODEL, said))
    if predicted.registers is not None and predicted.registers < found.registers:
        said = f"the bound is {predicted.registers} registers a thread, the compiler takes {found.registers}"
        faults.append((Fault.REGISTER_BOUND, said))
    known_spills = found.spills and spills_are_known
    if found.spills and not known_spills:
        said = f"spills {found.spill_stores} bytes a thread: {found.registers} registers do not do"
        faults.append((Fault.SPILLS, said))
    return Verdict(instance, found, predicted, tuple(faults), known_spills)


@frozen
class Tally:
    """The verdicts of one algorithm in numbers.

    Attributes:
        policies, kernels: how many were compiled.
        shared_equal, shared_unknown: kernels whose model gives the compiler's figure; without a model.
        bounds_close, bounds_far, bounds_unknown: kernels whose register bound holds and is close; holds and is not;
            without a bound.
        spilling: kernels that spill as the evidence says.
        faulty: kernels with a fault.
    """

    policies: int
    kernels: int
    shared_equal: int
    shared_unknown: int
    bounds_close: int
    bounds_far: int
    bounds_unknown: int
    spilling: int
    faulty: int


def tally(verdicts: Iterable[Verdict]) -> Tally:
    """Counts verdicts."""
    each = tuple(verdicts)
    return Tally(
        policies=len({verdict.instance.policy.id for verdict in each}),
        kernels=len(each),
        shared_equal=sum(verdict.model_agrees is True for verdict in each),
        shared_unknown=sum(verdict.predicted.shared is None for verdict in each),
        bounds_close=sum(verdict.bound_is_close is True for verdict in each),
        bounds_far=sum(_is_far(verdict) for verdict in each),
        bounds_unknown=sum(verdict.predicted.registers is None for verdict in each),
        spilling=sum(verdict.known_spills for verdict in each),
        faulty=sum(bool(verdict.faults) for verdict in each),
    )


def _is_far(verdict: Verdict) -> bool:
    bound, found = verdict.predicted.registers, verdict.outcome
    return bound is not None and isinstance(found, Resources) and bound - found.registers > CLOSE


def by_algorithm(verdicts: Iterable[Verdict]) -> Mapping[str, tuple[Verdict, ...]]:
    """Verdicts by the names of their algorithms, in their order."""
    found: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        found.setdefault(verdict.instance.policy.algorithm.name, []).append(verdict)
    return {name: tuple(own) for name, own in found.items()}
