"""The launches of a lookback scan."""

from __future__ import annotations

from typing import Final

from attrs import frozen

from policygen.plan.counts import INT32_MAX
from policygen.plan.counts import ceil_div
from policygen.plan.counts import checked
from policygen.plan.counts import checked_items
from policygen.plan.residency import Residency
from policygen.plan.residency import Waves
from policygen.plan.temporary_storage import size_query_bytes

INIT_KERNEL_THREADS: Final = 128
"""Threads of a block of the kernel that initialises the tile states."""

_STATE_PADDING: Final = 32
_LARGEST_ATOMIC_BYTES: Final = 16


@frozen(kw_only=True)
class LookbackPlan:
    """The launches of a lookback scan: each block takes exactly one tile.

    Attributes:
        num_items: items to scan.
        tile_items: items of a tile.
        num_tiles: tiles of the problem.
        grid: blocks of a launch of the scan kernel.
        launches: launches of it, more than one where the tiles exceed the device's grid.
        init_grid: blocks that initialise the tile states.
        tile_state_bytes: what `ScanTileState::AllocationSize` answers.
        allocation_bytes: what the scan's size query answers.
        waves: how one launch of the scan kernel runs.
    """

    num_items: int
    tile_items: int
    num_tiles: int
    grid: int
    launches: int
    init_grid: int
    tile_state_bytes: int
    allocation_bytes: int
    waves: Waves


def is_single_word(accum_size: int, *, primitive: bool, trivially_copyable: bool = True) -> bool:
    """Whether status and value of a tile share one machine word (the condition of `ScanTileState`).

    Args:
        accum_size: bytes of the accumulator.
        primitive: whether CUB counts the accumulator as primitive; it does not for 128-bit integers.
        trivially_copyable: whether its copy is one of bytes.
    """
    is_power_of_two = accum_size & (accum_size - 1) == 0
    return primitive or (trivially_copyable and accum_size < _LARGEST_ATOMIC_BYTES and is_power_of_two)


def tile_state_bytes(num_tiles: int, accum_size: int, *, single_word: bool) -> int:
    """Bytes of the tile states of a lookback scan (`ScanTileState::AllocationSize`), with a warp of padding states.

    Args:
        num_tiles: tiles of the problem, 0 to 2^31 - 1.
        accum_size: bytes of the accumulator.
        single_word: see `is_single_word`.

    Raises:
        ValueError: an argument is out of bounds; or a single word of that size does not exist.
    """
    states = checked("num_tiles", num_tiles, 0) + _STATE_PADDING
    accum_size = checked("accum_size", accum_size, 1)
    if not single_word:
        # Status words, then two arrays of values: of the tile alone, and of everything up to it.
        return size_query_bytes(states * 4, states * accum_size, states * accum_size)
    if accum_size not in (1, 2, 4, 8):
        raise ValueError(f"no word holds the status and a value of {accum_size} bytes: it takes 1, 2, 4 or 8")
    return size_query_bytes(states * max(4, 2 * accum_size), 0, 0)


def lookback_plan(
    num_items: int,
    *,
    tile_items: int,
    accum_size: int,
    single_word: bool,
    residency: Residency,
    max_grid_x: int = INT32_MAX,
) -> LookbackPlan:
    """Plans a lookback scan.

    Args:
        num_items: items to scan, 0 to 2^62.
        tile_items: threads_per_block x items_per_thread of the policy.
        accum_size: bytes of the accumulator.
        single_word: see `is_single_word`.
        residency: of the scan kernel; the grid does not depend on it.
        max_grid_x: blocks that the device takes along x.

    Raises:
        ValueError: an argument is out of bounds; or there are more tiles than upstream can count.
    """
    num_items = checked_items(num_items)
    tile_items = checked("tile_items", tile_items, 1)
    num_tiles = checked("the number of tiles", ceil_div(num_items, tile_items), 0)
    grid = min(num_tiles, checked("max_grid_x", max_grid_x, 1))
    state_bytes = tile_state_bytes(num_tiles, accum_size, single_word=single_word)
    return LookbackPlan(
        num_items=num_items,
        tile_items=tile_items,
        num_tiles=num_tiles,
        grid=grid,
        launches=ceil_div(num_tiles, grid) if grid else 0,
        init_grid=ceil_div(num_tiles, INIT_KERNEL_THREADS),
        tile_state_bytes=state_bytes,
        allocation_bytes=size_query_bytes(state_bytes),
        waves=residency.waves(grid),
    )
