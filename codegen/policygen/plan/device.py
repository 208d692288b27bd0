"""What the plan of a launch reads of a device."""

from __future__ import annotations

from attrs import frozen

from policygen.plan.counts import round_up
from policygen.plan.residency import Residency


@frozen(kw_only=True)
class Device:
    """A device, and how many blocks of the kernel it holds; None for what is not known.

    Attributes:
        residency: blocks of the kernel that the plan is about.
        compute_capability: major x 10 + minor that the kernel is compiled for; None if the device is no NVIDIA one.
        max_smem_per_block: bytes of shared memory that a block gets without opting in to more.
        max_smem_per_block_optin: bytes that it can opt in to.
        smem_per_sm: bytes of shared memory of a multiprocessor.
        reserved_smem_per_block: bytes of it that each resident block costs beside its own.
        smem_allocation_unit: bytes that a block's shared memory is rounded up to.
    """

    residency: Residency
    compute_capability: int | None = None
    max_smem_per_block: int | None = None
    max_smem_per_block_optin: int | None = None
    smem_per_sm: int | None = None
    reserved_smem_per_block: int | None = None
    smem_allocation_unit: int | None = None

    def known(self, name: str) -> int:
        """A limit by its name. Raises ValueError if it is not known."""
        value = getattr(self, name)
        if value is None:
            raise ValueError(f"the device does not know {name}, which this plan needs")
        return int(value)

    def residency_with(self, smem_bytes: int) -> Residency | None:
        """The residency if a block has dynamic shared memory besides, to which it does not opt in.

        Args:
            smem_bytes: bytes of it.

        Returns:
            None if no block fits.

        Raises:
            ValueError: a limit of shared memory is not known.
        """
        if smem_bytes > self.known("max_smem_per_block"):
            return None
        allocated = round_up(smem_bytes + self.known("reserved_smem_per_block"), self.known("smem_allocation_unit"))
        fitting = self.known("smem_per_sm") // allocated if allocated else self.residency.occupancy
        if fitting == 0:
            return None
        return Residency(
            sm_count=self.residency.sm_count,
            occupancy=min(self.residency.occupancy, fitting),
            subscription_factor=self.residency.subscription_factor,
        )
