"""The launches of a copy of many buffers, and who copies a buffer: a thread, a warp or blocks.

Source: `dispatch_batch_memcpy.cuh`; the classes are those of `agent_batch_memcpy.cuh`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from attrs import frozen

from policygen.plan.counts import MAX_ITEMS
from policygen.plan.counts import ceil_div
from policygen.plan.counts import checked
from policygen.plan.counts import checked_items
from policygen.plan.residency import Residency
from policygen.plan.residency import Waves
from policygen.plan.scan_plan import INIT_KERNEL_THREADS
from policygen.plan.scan_plan import tile_state_bytes
from policygen.plan.temporary_storage import size_query_bytes

COPIED_BY_NOBODY: Final = "nobody"
COPIED_BY_THREADS: Final = "threads"
COPIED_BY_A_WARP: Final = "warp"
COPIED_BY_BLOCKS: Final = "blocks"

COPY_CLASSES: Final = (COPIED_BY_NOBODY, COPIED_BY_THREADS, COPIED_BY_A_WARP, COPIED_BY_BLOCKS)
"""Who copies a buffer, from the smallest on."""

_MOST_BUFFERS: Final = 512 * 1024 * 1024
_POINTER_BYTES: Final = 8
_BLOCK_OFFSET_BYTES: Final = 4


@frozen(kw_only=True)
class CopyThresholds:
    """What decides who copies a buffer, by the policy's names.

    Attributes:
        warp_level_threshold: bytes above which a warp copies a buffer.
        block_level_threshold: bytes above which blocks do.
        block_level_tile_size: bytes of a block's tile of such a buffer.
    """

    warp_level_threshold: int
    block_level_threshold: int
    block_level_tile_size: int

    def __attrs_post_init__(self) -> None:
        checked("warp_level_threshold", self.warp_level_threshold, 0)
        checked("block_level_threshold", self.block_level_threshold, self.warp_level_threshold)
        checked("block_level_tile_size", self.block_level_tile_size, 1)

    def copied_by(self, size: int) -> str:
        """Who copies a buffer of so many bytes: one of `COPY_CLASSES`. A size at a threshold is below it."""
        size = checked("the size of a buffer", size, 0, MAX_ITEMS)
        above = (size > 0) + (size > self.warp_level_threshold) + (size > self.block_level_threshold)
        return COPY_CLASSES[above]

    def block_tiles(self, size: int) -> int:
        """Tiles that blocks copy of a buffer of so many bytes; 0 of one that they leave to threads or a warp."""
        return ceil_div(size, self.block_level_tile_size) if self.copied_by(size) == COPIED_BY_BLOCKS else 0


@frozen(kw_only=True)
class BatchMemcpyPlan:
    """The launches of a batched copy.

    Attributes:
        num_buffers: buffers to copy.
        tile_buffers: buffers that a block of the first kernel takes.
        num_tiles: such tiles of a whole launch.
        launches: rounds of three kernels, each over 2^29 buffers at most; 0 for no buffers.
        init_grid: blocks that initialise the tile states of a whole round.
        grid: blocks of the first kernel in a whole round: it copies small buffers, and lists large ones.
        last_grid: the same in the last round.
        large_grid: blocks of the second kernel, which loop over the tiles of large buffers. Launched even where there
            are none: the host does not know.
        large_tile_bytes: bytes of such a tile.
        temporary_bytes: bytes of all temporary arrays, without slack.
        allocation_bytes: what upstream's size query answers.
        waves: how a launch of the first kernel runs in a whole round.
        large_waves: how one of the second kernel does.
    """

    num_buffers: int
    tile_buffers: int
    num_tiles: int
    launches: int
    init_grid: int
    grid: int
    last_grid: int
    large_grid: int
    large_tile_bytes: int
    temporary_bytes: int
    allocation_bytes: int
    waves: Waves
    large_waves: Waves


@frozen(kw_only=True)
class CopyWork:
    """What a list of buffers comes to.

    Attributes:
        empty: buffers without a byte, which nobody copies.
        threads: buffers that threads copy.
        warps: buffers that a warp copies each.
        blocks: buffers that blocks copy.
        block_tiles: tiles of these.
        bytes_by_blocks: bytes of these.
        bytes: bytes of all buffers.
    """

    empty: int
    threads: int
    warps: int
    blocks: int
    block_tiles: int
    bytes_by_blocks: int
    bytes: int


def copy_work(sizes: Sequence[int], thresholds: CopyThresholds) -> CopyWork:
    """Who copies the buffers of a list.

    Args:
        sizes: bytes of each buffer.
        thresholds: of the policy.

    Raises:
        ValueError: a size is negative; or the tiles of large buffers exceed what upstream counts, 2^32 - 1.
    """
    classes = [thresholds.copied_by(size) for size in sizes]
    large = [size for size, one in zip(sizes, classes, strict=True) if one == COPIED_BY_BLOCKS]
    tiles = sum(thresholds.block_tiles(size) for size in large)
    return CopyWork(
        empty=classes.count(COPIED_BY_NOBODY),
        threads=classes.count(COPIED_BY_THREADS),
        warps=classes.count(COPIED_BY_A_WARP),
        blocks=len(large),
        block_tiles=checked("tiles of large buffers", tiles, 0, 2 ** (8 * _BLOCK_OFFSET_BYTES) - 1),
        bytes_by_blocks=sum(large),
        bytes=sum(sizes),
    )


def batch_memcpy_plan(
    num_buffers: int,
    *,
    tile_buffers: int,
    large_tile_bytes: int,
    size_bytes: int,
    residency: Residency,
    large_occupancy: int | None = None,
) -> BatchMemcpyPlan:
    """Plans a copy of many buffers.

    Args:
        num_buffers: buffers to copy, 0 to 2^62.
        tile_buffers: threads_per_block x buffers_per_thread of `small_buffer`.
        large_tile_bytes: threads_per_block x bytes_per_thread of `large_buffer`.
        size_bytes: bytes of the type that sizes have.
        residency: of the first kernel, whose grid does not depend on it.
        large_occupancy: resident blocks a multiprocessor of the second kernel; by default as of the first one.

    Raises:
        ValueError: an argument is out of bounds; or upstream's own integers would not hold the plan.
    """
    num_buffers = checked_items(num_buffers)
    tile_buffers = checked("tile_buffers", tile_buffers, 1)
    large = Residency(
        sm_count=residency.sm_count,
        occupancy=residency.occupancy if large_occupancy is None else large_occupancy,
        subscription_factor=residency.subscription_factor,
    )
    most = min(num_buffers, _MOST_BUFFERS)
    launches = ceil_div(num_buffers, _MOST_BUFFERS)
    num_tiles = ceil_div(most, tile_buffers)
    state_bytes = tile_state_bytes(num_tiles, _BLOCK_OFFSET_BYTES, single_word=True)
    arrays = (
        most * _POINTER_BYTES,
        most * _POINTER_BYTES,
        most * checked("size_bytes", size_bytes, 1),
        most * _BLOCK_OFFSET_BYTES,
        state_bytes,
        state_bytes,
    )
    large_grid = large.max_blocks if launches else 0
    return BatchMemcpyPlan(
        num_buffers=num_buffers,
        tile_buffers=tile_buffers,
        num_tiles=num_tiles,
        launches=launches,
        init_grid=ceil_div(num_tiles, INIT_KERNEL_THREADS),
        grid=num_tiles,
        last_grid=ceil_div(num_buffers - (launches - 1) * _MOST_BUFFERS, tile_buffers) if launches else 0,
        large_grid=large_grid,
        large_tile_bytes=checked("large_tile_bytes", large_tile_bytes, 1),
        temporary_bytes=sum(arrays),
        allocation_bytes=size_query_bytes(*arrays),
        waves=residency.waves(num_tiles),
        large_waves=large.waves(large_grid),
    )
