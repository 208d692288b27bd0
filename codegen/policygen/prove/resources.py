"""What the kernels behind a policy take of a multiprocessor: the compiler's figures where there are any, or models."""

from __future__ import annotations

from policygen.fold.table import Row
from policygen.model.facts import EvidenceKind
from policygen.plan.kernel_resources import KernelResources
from policygen.prove.cases import CaseMaker
from policygen.prove.cases import KernelCase
from policygen.prove.compiler_report import Resources
from policygen.prove.evidence import Evidence
from policygen.prove.models import Models
from policygen.resolve.resolver import Resolution
from policygen.resolve.specialise import Rules


class KernelUse:
    """Says what kernels take, for the policies of one algorithm on one target."""

    def __init__(self, rules: Rules, evidence: Evidence | None) -> None:
        """Takes the rules that give the policies, and what the compiler said of them.

        Figures that were found for a proxy are no figures of the target: registers are then what the model says.
        """
        self._cases = CaseMaker(rules)
        self._models = Models(rules)
        self._evidence = None if evidence is None or rules.instance.target.proxy is not None else evidence

    def of(self, resolution: Resolution) -> tuple[KernelResources, ...]:
        """The kernels that are launched for a policy. None for a key that C++ has no types for."""
        row = Row({}, resolution)
        try:
            case = self._cases.case(row, self._cases.arguments(row), 1)
        except ValueError:
            return ()
        found: list[KernelResources] = []
        for kernel in case.kernels:
            if kernel.threads < 1:
                continue
            predicted = self._models.predicted(case, kernel)
            known = None if self._evidence is None else self._evidence.of(case.id, kernel.kernel.name)
            found.append(_resources(kernel, predicted.registers, predicted.shared, known))
        return tuple(found)


def _resources(
    kernel: KernelCase, registers: int | None, shared: int | None, known: Resources | None
) -> KernelResources:
    kind = None if registers is None else EvidenceKind.DERIVED
    if known is not None:
        registers, shared, kind = known.registers, known.shared, EvidenceKind.COMPILED
    return KernelResources(
        kernel=kernel.kernel.name,
        threads=kernel.threads,
        registers=registers,
        registers_are=kind,
        static_smem=shared,
        dynamic_smem=kernel.dynamic,
    )
