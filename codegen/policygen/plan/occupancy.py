"""Blocks of a kernel that a multiprocessor holds at once: what limits them, and the room that is left.

The rules are those of NVIDIA's occupancy calculator (`cuda_occupancy.h` of the CUDA toolkit, which answers as
`cudaOccupancyMaxActiveBlocksPerMultiprocessor` does):

- threads: a block is whole warps, and a multiprocessor holds `max_threads_per_sm / warp_size` of them.
- blocks: `max_blocks_per_sm`.
- registers: a warp gets those of its threads, rounded up to `register_allocation_unit`, from one of the `sm_partitions`
  parts of the multiprocessor; each part has an equal share. A block whose warps, rounded up to `warp_allocation_unit`,
  need more than `max_registers_per_block` is never launched.
- shared memory: a block gets its static and dynamic bytes and `reserved_smem_per_block`, rounded up to
  `smem_allocation_unit`. The limits of a block leave the reserve out. A kernel with dynamic shared memory is taken to
  opt in to `max_smem_per_block_optin`; static shared memory stays within `max_smem_per_block`.

As in the calculator's defaults, the multiprocessor gives to shared memory all that it can. Clusters are not counted,
nor named barriers beyond the one that every block has.

What is not known never counts as zero and never fits: whatever needs it is an upper bound, and says so. Registers that
a model derives are an upper bound themselves: where they alone limit, the blocks are a lower one.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final

from attrs import frozen

from policygen.model.facts import EvidenceKind
from policygen.plan.counts import ceil_div
from policygen.plan.counts import round_up
from policygen.plan.kernel_resources import KernelResources
from policygen.plan.limits import Limits

REGISTERS_UNKNOWN: Final = "registers of the kernel"
STATIC_SMEM_UNKNOWN: Final = "static shared memory of the kernel"


class Resource(Enum):
    """What a multiprocessor can run out of."""

    THREADS = "threads"
    BLOCKS = "blocks"
    REGISTERS = "registers"
    SHARED_MEMORY = "shared memory"


@frozen
class Bound:
    """Blocks a multiprocessor that one resource allows.

    Attributes:
        blocks: the number; None where the resource sets no bound, or none that is known.
        unknown: what is not known, so that the resource may allow fewer.
    """

    blocks: int | None
    unknown: tuple[str, ...] = ()


@frozen
class Room:
    """The most that a kernel may use for some number of blocks a multiprocessor; None for what is not known.

    Attributes:
        registers: a thread.
        shared_memory: bytes a block, static and dynamic.
    """

    registers: int | None
    shared_memory: int | None


@frozen(kw_only=True)
class Occupancy:
    """Blocks of one kernel on one multiprocessor.

    Attributes:
        kernel: what its block takes.
        blocks: resident blocks, 0 where not even one fits; None if nothing that is known bounds them.
        at_most: something is not known, so there may be fewer.
        at_least: registers limit, and they are a model's upper bound, so there may be more.
        warps_per_block: None if the warp size is not known.
        max_warps: warps that the multiprocessor holds; None if not known.
        limited_by: the resources that allow no more.
        bounds: what each resource allows.
        keeps: what the kernel may use without losing a block; None if none fits, or nothing is known.
        one_more: what it may use so that one more block fits; None where threads or blocks stand in the way.
    """

    kernel: KernelResources
    blocks: int | None
    at_most: bool
    at_least: bool
    warps_per_block: int | None
    max_warps: int | None
    limited_by: tuple[Resource, ...]
    bounds: Mapping[Resource, Bound]
    keeps: Room | None
    one_more: Room | None

    @property
    def warps(self) -> int | None:
        """Resident warps."""
        return None if self.blocks is None or self.warps_per_block is None else self.blocks * self.warps_per_block

    @property
    def fraction(self) -> float | None:
        """Resident warps over those that the multiprocessor holds: 0 to 1."""
        return None if self.warps is None or self.max_warps is None else self.warps / self.max_warps

    @property
    def unknown(self) -> tuple[str, ...]:
        """What is not known, each once."""
        return tuple(dict.fromkeys(name for bound in self.bounds.values() for name in bound.unknown))

    @property
    def spare_registers(self) -> int | None:
        """How many more registers a thread keep the blocks."""
        if self.keeps is None or self.keeps.registers is None or self.kernel.registers is None:
            return None
        return self.keeps.registers - self.kernel.registers

    @property
    def spare_shared_memory(self) -> int | None:
        """How many more bytes of shared memory a block keep the blocks."""
        used = self.kernel.shared_memory
        if self.keeps is None or self.keeps.shared_memory is None or used is None:
            return None
        return self.keeps.shared_memory - used


def occupancy(limits: Limits, kernel: KernelResources) -> Occupancy:
    """How many blocks of a kernel a multiprocessor holds.

    Args:
        limits: of the target.
        kernel: what a block takes.
    """
    bounds = {
        Resource.THREADS: _by_threads(limits, kernel),
        Resource.BLOCKS: Bound(limits.max_blocks_per_sm, limits.unknown("max_blocks_per_sm")),
        Resource.REGISTERS: _by_registers(limits, kernel),
        Resource.SHARED_MEMORY: _by_shared_memory(limits, kernel),
    }
    blocks = min((bound.blocks for bound in bounds.values() if bound.blocks is not None), default=None)
    limited_by = tuple(r for r, bound in bounds.items() if blocks is not None and bound.blocks == blocks)
    warp, threads = limits.warp_size, limits.max_threads_per_sm
    return Occupancy(
        kernel=kernel,
        blocks=blocks,
        at_most=blocks != 0 and any(bound.unknown for bound in bounds.values()),
        at_least=kernel.registers_are is EvidenceKind.DERIVED and limited_by == (Resource.REGISTERS,),
        warps_per_block=None if warp is None else ceil_div(kernel.threads, warp),
        max_warps=None if warp is None or threads is None else threads // warp,
        limited_by=limited_by,
        bounds=bounds,
        keeps=_room(limits, kernel, bounds, blocks) if blocks else None,
        one_more=None if blocks is None else _room(limits, kernel, bounds, blocks + 1),
    )


def _by_threads(limits: Limits, kernel: KernelResources) -> Bound:
    most = limits.max_threads_per_block
    if most is not None and kernel.threads > most:
        return Bound(0)
    unknown = limits.unknown("warp_size", "max_threads_per_block", "max_threads_per_sm")
    if limits.max_threads_per_sm is None:
        return Bound(None, unknown)
    warp = _Warps.of(limits, kernel)
    return Bound(limits.max_threads_per_sm // warp.size // warp.count, unknown)


def _by_registers(limits: Limits, kernel: KernelResources) -> Bound:
    unknown = limits.unknown(
        "warp_size",
        "max_registers_per_thread",
        "max_registers_per_block",
        "registers_per_sm",
        "register_allocation_unit",
        "warp_allocation_unit",
        "sm_partitions",
    )
    registers = kernel.registers
    if registers is None:
        return Bound(None, (REGISTERS_UNKNOWN, *unknown))
    if limits.max_registers_per_thread is not None and registers > limits.max_registers_per_thread:
        return Bound(0)
    if registers == 0:
        return Bound(None)
    warp = _Warps.of(limits, kernel)
    each = round_up(registers * warp.size, warp.unit)
    if limits.max_registers_per_block is not None and each * warp.checked_count > limits.max_registers_per_block:
        return Bound(0)
    if limits.registers_per_sm is None:
        return Bound(None, unknown)
    return Bound(limits.registers_per_sm // warp.partitions // each * warp.partitions // warp.count, unknown)


def _by_shared_memory(limits: Limits, kernel: KernelResources) -> Bound:
    # what is not known of the kernel is at least nothing
    static = kernel.static_smem or 0
    used = static + kernel.dynamic_smem
    if limits.max_smem_per_block is not None and static > limits.max_smem_per_block:
        return Bound(0)
    most = _most_of_a_block(limits, kernel)
    if most is not None and used > most:
        return Bound(0)
    unknown: tuple[str, ...] = (STATIC_SMEM_UNKNOWN,) if kernel.static_smem is None else ()
    names = ["max_smem_per_block"]
    if kernel.dynamic_smem and (limits.max_smem_per_block is None or used > limits.max_smem_per_block):
        names.append("max_smem_per_block_optin")
    unknown += limits.unknown(*names, "reserved_smem_per_block")
    allocated = round_up(used + (limits.reserved_smem_per_block or 0), limits.smem_allocation_unit or 1)
    if allocated == 0:
        return Bound(None, unknown)
    unknown += limits.unknown("smem_allocation_unit", "smem_per_sm")
    return Bound(None if limits.smem_per_sm is None else limits.smem_per_sm // allocated, unknown)


def _room(limits: Limits, kernel: KernelResources, bounds: Mapping[Resource, Bound], blocks: int) -> Room | None:
    """What a kernel of these threads may use so that one or more blocks are resident; None if they cannot be."""
    for resource in (Resource.THREADS, Resource.BLOCKS):
        bound = bounds[resource].blocks
        if bound is not None and blocks > bound:
            return None
    room = Room(_most_registers(limits, kernel, blocks), _most_shared_memory(limits, kernel, blocks))
    # the reserve alone may be too much for so many blocks
    return None if room.shared_memory is not None and room.shared_memory < 0 else room


def _most_registers(limits: Limits, kernel: KernelResources, blocks: int) -> int | None:
    if limits.registers_per_sm is None:
        return None
    warp = _Warps.of(limits, kernel)
    each = limits.registers_per_sm // warp.partitions // ceil_div(blocks * warp.count, warp.partitions)
    if limits.max_registers_per_block is not None:
        each = min(each, limits.max_registers_per_block // warp.checked_count)
    most = each // warp.unit * warp.unit // warp.size
    return most if limits.max_registers_per_thread is None else min(most, limits.max_registers_per_thread)


def _most_shared_memory(limits: Limits, kernel: KernelResources, blocks: int) -> int | None:
    most = _most_of_a_block(limits, kernel)
    if limits.smem_per_sm is None or most is None:
        return None
    unit = limits.smem_allocation_unit or 1
    return min(most, limits.smem_per_sm // blocks // unit * unit - (limits.reserved_smem_per_block or 0))


def _most_of_a_block(limits: Limits, kernel: KernelResources) -> int | None:
    """Bytes that a block may have; a kernel that has dynamic shared memory can have more of it."""
    return limits.max_smem_per_block_optin if kernel.dynamic_smem else limits.max_smem_per_block


@frozen
class _Warps:
    """The warps of a block and the units of their registers; what is not known is taken as it limits least.

    Attributes:
        size: threads of a warp.
        count: warps of a block.
        checked_count: warps for which the registers of a block are held against their limit.
        unit: registers, of which a warp gets a whole multiple.
        partitions: parts of the multiprocessor that registers come from.
    """

    size: int
    count: int
    checked_count: int
    unit: int
    partitions: int

    @classmethod
    def of(cls, limits: Limits, kernel: KernelResources) -> _Warps:
        size = limits.warp_size
        if size is None:
            # warps of one thread: nothing is rounded
            return cls(1, kernel.threads, kernel.threads, 1, 1)
        count = ceil_div(kernel.threads, size)
        return cls(
            size,
            count,
            round_up(count, limits.warp_allocation_unit or 1),
            limits.register_allocation_unit or 1,
            limits.sm_partitions or 1,
        )
