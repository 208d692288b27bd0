"""What the evidence says against the specs: models that are off, and policies that spill."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from policygen.prove.cases import cases
from policygen.prove.evidence import Evidence
from policygen.prove.models import Models
from policygen.resolve.resolver import Resolver


@frozen
class Held:
    """Policies of common keys, held against the evidence that there is.

    Attributes:
        policies: how many differ, or have elements of other sizes.
        compiled: for how many of them there is evidence.
        warnings: what the evidence says against model or policy, a line each.
    """

    policies: int
    compiled: int
    warnings: tuple[str, ...]


def held_against(resolver: Resolver, models: Models, evidence: Evidence) -> Held:
    """Holds the common policies of an algorithm against the evidence.

    Args:
        resolver: gives the policies.
        models: those of the architecture that the evidence is for.
        evidence: what the compiler said of the algorithm's policies on this target.
    """
    found = cases(resolver).policies
    compiled = 0
    warnings: list[str] = []
    for case in found:
        figures = {k.kernel.name: evidence.of(case.id, k.kernel.name) for k in case.kernels}
        compiled += all(figure is not None for figure in figures.values())
        for kernel in case.kernels:
            figure = figures[kernel.kernel.name]
            if figure is not None:
                predicted = models.predicted(case, kernel)
                said = _said(
                    figure.shared, predicted.shared, figure.registers, predicted.registers, figure.spill_stores
                )
                warnings += [f"{case}: {kernel.kernel.name} {text} ({evidence.source})" for text in said]
    return Held(len(found), compiled, tuple(warnings))


def _said(shared: int, modelled: int | None, registers: int, bound: int | None, spilled: int) -> Iterator[str]:
    if modelled is not None and modelled != shared:
        yield f"takes {shared:,} bytes of static shared memory, and the model says {modelled:,}"
    if bound is not None and bound < registers:
        yield f"takes {registers} registers a thread, and the bound is {bound}"
    if spilled:
        yield f"spills {spilled} bytes a thread at {registers} registers"
