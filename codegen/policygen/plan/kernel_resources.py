"""What a block of a kernel takes of a multiprocessor."""

from __future__ import annotations

from attrs import frozen

from policygen.model.facts import EvidenceKind
from policygen.plan.counts import checked


@frozen(kw_only=True)
class KernelResources:
    """What a block of a kernel takes.

    Attributes:
        kernel: its name.
        threads: of a block, 1 or more.
        registers: 32-bit registers a thread; None if not known.
        registers_are: how they are known: compiled, or derived from a model, which gives an upper bound; None if they
            are not known.
        static_smem: bytes of static shared memory a block; None if not known.
        dynamic_smem: bytes of dynamic shared memory a block.
    """

    kernel: str
    threads: int
    registers: int | None = None
    registers_are: EvidenceKind | None = None
    static_smem: int | None = None
    dynamic_smem: int = 0

    def __attrs_post_init__(self) -> None:
        checked("threads", self.threads, 1)
        checked("dynamic_smem", self.dynamic_smem, 0)
        for name, value in (("registers", self.registers), ("static_smem", self.static_smem)):
            if value is not None:
                checked(name, value, 0)

    @property
    def shared_memory(self) -> int | None:
        """Bytes of shared memory a block, static and dynamic; None if not known."""
        return None if self.static_smem is None else self.static_smem + self.dynamic_smem
