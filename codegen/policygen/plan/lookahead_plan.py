"""The launch of a lookahead scan: its stages, their shared memory and its temporary storage."""

from __future__ import annotations

from typing import Final

from attrs import frozen

from policygen.plan.counts import ceil_div
from policygen.plan.counts import checked
from policygen.plan.counts import checked_items
from policygen.plan.counts import round_up
from policygen.plan.residency import Residency
from policygen.plan.residency import Waves
from policygen.plan.temporary_storage import NO_STORAGE
from policygen.plan.temporary_storage import size_query_bytes

_WARP_THREADS: Final = 32
_BARRIER_BYTES: Final = 8
_PHASES: Final = 2  # of each resource: filled by one squad, read by the next
_BLOCK_INDEX_BYTES: Final = 16
_COPY_BYTES: Final = 16  # granule of a bulk copy, also the room for an unaligned start
_COUNTER_BYTES: Final = 4
_STATUS_BYTES: Final = 4


@frozen(kw_only=True)
class LookaheadCounts:
    """What a plan reads of `ScanLookaheadPolicy`.

    Attributes:
        reduce_and_scan_warps: warps that reduce, and as many that scan.
        items_per_thread: items of a thread of these.
        lookahead_stages: stages of the lookahead squad; 0 or less is added to the stages of the tile buffer.
        block_idx_stages: stages of the block indices; likewise.
    """

    reduce_and_scan_warps: int
    items_per_thread: int
    lookahead_stages: int = 2
    block_idx_stages: int = -1

    def __attrs_post_init__(self) -> None:
        checked("reduce_and_scan_warps", self.reduce_and_scan_warps, 1)
        checked("items_per_thread", self.items_per_thread, 1)

    @property
    def tile_items(self) -> int:
        """Items of a tile."""
        return self.items_per_thread * self.reduce_and_scan_warps * _WARP_THREADS


@frozen(kw_only=True)
class ElementLayout:
    """Bytes and alignments of the types of a scan.

    Attributes:
        input_size: bytes of an input element.
        input_alignment: its alignment.
        output_alignment: alignment of an output element.
        accum_size: bytes of the accumulator.
        accum_alignment: its alignment.
    """

    input_size: int
    input_alignment: int
    output_alignment: int
    accum_size: int
    accum_alignment: int

    def __attrs_post_init__(self) -> None:
        checked("input_size", self.input_size, 1)
        checked("accum_size", self.accum_size, 1)
        for alignment in (self.input_alignment, self.output_alignment, self.accum_alignment):
            if alignment < 1 or alignment & (alignment - 1):
                raise ValueError(f"an alignment is a power of two, not {alignment}")


@frozen(kw_only=True)
class LookaheadPlan:
    """The launch of a lookahead scan.

    Attributes:
        num_items: items to scan.
        tile_items: items of a tile.
        num_tiles: tiles of the problem.
        grid: blocks of the scan kernel; 0 for no items, where nothing is launched.
        num_stages: stages of the tile buffer.
        smem_bytes: dynamic shared memory of a block.
        tile_state_bytes: bytes of the tile states.
        allocation_bytes: what the scan's size query answers.
        waves: how the scan kernel runs.
    """

    num_items: int
    tile_items: int
    num_tiles: int
    grid: int
    num_stages: int
    smem_bytes: int
    tile_state_bytes: int
    allocation_bytes: int
    waves: Waves


def lookahead_smem_bytes(counts: LookaheadCounts, num_stages: int, layout: ElementLayout) -> int:
    """Dynamic shared memory of a block at a number of stages, in bytes (`detail::scan::smem_for_stages`)."""
    tile_alignment = max(_COPY_BYTES, layout.input_alignment, layout.output_alignment)
    tile_bytes = round_up(counts.tile_items * layout.input_size + _COPY_BYTES, tile_alignment)
    # A sum a thread and a sum a warp.
    sum_bytes = counts.reduce_and_scan_warps * (_WARP_THREADS + 1) * layout.accum_size
    block_idx_stages = _stages(counts.block_idx_stages, num_stages)
    lookahead_stages = _stages(counts.lookahead_stages, num_stages)
    end = tile_bytes * num_stages
    end = round_up(end, _BLOCK_INDEX_BYTES) + _BLOCK_INDEX_BYTES * block_idx_stages
    end = round_up(end, layout.accum_alignment) + layout.accum_size * lookahead_stages
    end = round_up(end, layout.accum_alignment) + sum_bytes * num_stages
    barriers = _PHASES * (2 * num_stages + block_idx_stages + lookahead_stages)
    return round_up(end, _BARRIER_BYTES) + _BARRIER_BYTES * barriers


def _stages(wanted: int, num_stages: int) -> int:
    return wanted if wanted > 0 else max(1, num_stages + wanted)


def lookahead_tile_state_bytes(accum_size: int, accum_alignment: int) -> int:
    """Bytes of the state of one tile: a status and a value, padded to a power of two (`warpspeed::tile_state_t`)."""
    alignment = max(_STATUS_BYTES, accum_alignment)
    size = round_up(round_up(_STATUS_BYTES, accum_alignment) + accum_size, alignment)
    return 1 << (size - 1).bit_length()


def lookahead_plan(
    num_items: int,
    *,
    counts: LookaheadCounts,
    layout: ElementLayout,
    sm_count: int,
    max_dynamic_smem: int,
    atomic_scheduling: bool = False,
    occupancy: int = 1,
) -> LookaheadPlan:
    """Plans a lookahead scan that the host launches.

    Stages are added while the next one fits and there are no more than an even workload asks for,
    ceil(num_items / (sm_count x tile)) + 1; counting starts at one stage, so there may be one more than that.

    Args:
        num_items: items to scan, 0 to 2^62.
        counts: of the policy.
        layout: of the types.
        sm_count: multiprocessors.
        max_dynamic_smem: dynamic shared memory that a block of the kernel may ask for, in bytes.
        atomic_scheduling: whether blocks draw tiles from a counter instead of having one each.
        occupancy: resident blocks a multiprocessor; upstream counts on one.

    Raises:
        ValueError: an argument is out of bounds; one stage does not fit; or there are more tiles than upstream counts.
    """
    num_items = checked_items(num_items)
    sm_count = checked("sm_count", sm_count, 1)
    smem_bytes = lookahead_smem_bytes(counts, 1, layout)
    if smem_bytes > max_dynamic_smem:
        raise ValueError(f"one stage takes {smem_bytes} bytes of shared memory, and a block has {max_dynamic_smem}")
    num_tiles = checked("the number of tiles", ceil_div(num_items, counts.tile_items), 0)
    num_stages = 1
    if num_tiles:
        most = ceil_div(num_items, checked("sm_count x tile", sm_count * counts.tile_items, 1)) + 1
        while num_stages <= most and (more := lookahead_smem_bytes(counts, num_stages + 1, layout)) <= max_dynamic_smem:
            num_stages, smem_bytes = num_stages + 1, more
    state_bytes = num_tiles * lookahead_tile_state_bytes(layout.accum_size, layout.accum_alignment)
    grid = min(sm_count, num_tiles) if atomic_scheduling else num_tiles
    return LookaheadPlan(
        num_items=num_items,
        tile_items=counts.tile_items,
        num_tiles=num_tiles,
        grid=grid,
        num_stages=num_stages,
        smem_bytes=smem_bytes,
        tile_state_bytes=state_bytes,
        allocation_bytes=size_query_bytes(state_bytes, _COUNTER_BYTES) if num_tiles else NO_STORAGE,
        waves=Residency(sm_count=sm_count, occupancy=occupancy).waves(grid),
    )
