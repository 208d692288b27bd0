"""What the specs say that kernels use: the models that the compiler's figures are held against."""

from __future__ import annotations

from typing import Final

from attrs import frozen

from policygen.lang.evaluate import LazyNames
from policygen.lang.evaluate import compiled
from policygen.plan.kernel_resources import KernelResources
from policygen.plan.occupancy import most_registers
from policygen.prove.cases import KernelCase
from policygen.prove.cases import PolicyCase
from policygen.resolve.candidate import Overlay
from policygen.resolve.occupancy import limits_of
from policygen.resolve.passes import evaluators
from policygen.resolve.specialise import Rules

_NO_LIMIT: Final = 2**31 - 1


@frozen
class Predicted:
    """What a spec says of one kernel.

    Attributes:
        shared: bytes of static shared memory; None where there is no model, or it does not know.
        registers: an upper bound of registers a thread; None likewise.
    """

    shared: int | None
    registers: int | None


class Models:
    """The models of one algorithm, for the architecture that is compiled for."""

    def __init__(self, rules: Rules) -> None:
        """Takes the rules of that architecture: a chip that is compiled for a proxy has other facts than the proxy."""
        self._lets = evaluators(rules)
        self._constraints = {c.id: c for c in (*rules.constraints, *rules.fit)}
        self._facts = rules.instance.facts
        self._limits = limits_of(rules.instance)

    def predicted(self, case: PolicyCase, kernel: KernelCase) -> Predicted:
        """What is to be expected of a kernel."""
        names = Overlay(LazyNames(case.row.resolution.key, self._lets), case.policy)
        wanted = self._need(kernel.kernel.registers, names)
        registers = None if wanted is None else min(wanted, self._most_registers(kernel.threads))
        return Predicted(self._need(kernel.kernel.shared, names), registers)

    @property
    def static_limit(self) -> int | None:
        """Bytes of shared memory that a kernel may declare; None where the architecture does not say."""
        fact = self._facts.get("max_smem_per_block")
        return None if fact is None else fact.value

    def _most_registers(self, threads: int) -> int:
        """The registers that launch bounds leave a thread: one block of so many threads is resident."""
        if threads <= 0:
            return _NO_LIMIT
        most = most_registers(self._limits, KernelResources(kernel="", threads=threads))
        return _NO_LIMIT if most is None else most

    def _need(self, name: str, names: Overlay) -> int | None:
        constraint = self._constraints.get(name)
        if constraint is None or constraint.need is None or not compiled(constraint.when)(names):
            return None
        if constraint.unknown is not None and compiled(constraint.unknown)(names):
            return None
        return int(compiled(constraint.need)(names))
