"""What the evidence says against the specs: models that are off, and policies that spill."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from policygen.prove.cases import cases
from policygen.prove.compiler_report import Resources
from policygen.prove.evidence import Evidence
from policygen.prove.models import Models
from policygen.prove.models import Predicted
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
    spilling: list[tuple[int, str]] = []
    for case in found:
        figures = {k.kernel.name: evidence.of(case.id, k.kernel.name) for k in case.kernels}
        compiled += all(figure is not None for figure in figures.values())
        for kernel in case.kernels:
            name = kernel.kernel.name
            figure = figures[name]
            if figure is None:
                continue
            said = _said(figure, models.predicted(case, kernel))
            warnings += [f"{case}: {name} {text} ({evidence.source})" for text in said]
            if figure.spills:
                spilling.append((figure.spill_stores, f"{name} of {case}"))
    if spilling:
        bytes_a_thread, worst = max(spilling)
        most = f"{worst} the most, {bytes_a_thread} bytes a thread"
        warnings.append(f"{_kernels(len(spilling))} of {len(found)} policies: {most} ({evidence.source})")
    return Held(len(found), compiled, tuple(warnings))


def _said(figure: Resources, predicted: Predicted) -> Iterator[str]:
    if predicted.shared is not None and predicted.shared != figure.shared:
        yield f"takes {figure.shared:,} bytes of static shared memory, and the model says {predicted.shared:,}"
    if predicted.registers is not None and predicted.registers < figure.registers:
        yield f"takes {figure.registers} registers a thread, and the bound is {predicted.registers}"


def _kernels(number: int) -> str:
    return "1 kernel spills registers," if number == 1 else f"{number} kernels spill registers,"
