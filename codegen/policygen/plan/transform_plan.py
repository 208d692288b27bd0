"""The launch of a transform: items a thread by bytes in flight, spread over the device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from attrs import frozen

from policygen.plan.counts import ceil_div
from policygen.plan.counts import checked
from policygen.plan.counts import checked_items
from policygen.plan.residency import Residency
from policygen.plan.residency import Waves

ITEMS_WITHOUT_INPUT: Final = 2
"""Items a thread where nothing is loaded: `items_per_thread_no_input` by default."""


@frozen
class ItemBounds:
    """The bounds of the items a thread, by default upstream's.

    Attributes:
        low: `min_items_per_thread`.
        high: `max_items_per_thread`.
    """

    low: int = 1
    high: int = 32

    def __attrs_post_init__(self) -> None:
        if not 1 <= self.low <= self.high:
            raise ValueError(f"items a thread are bounded by {self.low} and {self.high}: write 1 <= low <= high")


DEFAULT_BOUNDS: Final = ItemBounds()

PREFETCH: Final = "prefetch"
VECTORIZED: Final = "vectorized"


@frozen(kw_only=True)
class TransformPlan:
    """The launch of a transform.

    Attributes:
        algorithm: what runs: prefetch, vectorized, ldgsts or ublkcp.
        num_items: items to transform.
        threads_per_block: threads of a block.
        items_per_thread: items of a thread.
        tile_items: items of a block.
        grid: blocks; 0 for no items.
        smem_bytes: dynamic shared memory of a block.
        items_per_wave: items that the resident blocks work on at once.
        waves: how the grid runs.
    """

    algorithm: str
    num_items: int
    threads_per_block: int
    items_per_thread: int
    tile_items: int
    grid: int
    smem_bytes: int
    items_per_wave: int
    waves: Waves


def prefetch_items_per_thread(
    min_bytes_in_flight: int,
    *,
    occupancy: int,
    threads_per_block: int,
    loaded_bytes: int,
    items_without_input: int = ITEMS_WITHOUT_INPUT,
) -> int:
    """The fewest items a thread that keep enough bytes under way on a multiprocessor.

    Args:
        min_bytes_in_flight: bytes a multiprocessor, as the policy says; no class number and no bias.
        occupancy: resident blocks a multiprocessor.
        threads_per_block: threads of a block.
        loaded_bytes: bytes that an item loads from all inputs; 0 where the transform only fills.
        items_without_input: the answer where nothing is loaded.
    """
    if loaded_bytes == 0:
        return items_without_input
    return ceil_div(min_bytes_in_flight, occupancy * threads_per_block * loaded_bytes)


def async_items_per_thread(
    min_bytes_in_flight: int,
    *,
    occupancy_at: Callable[[int], int],
    threads_per_block: int,
    loaded_bytes: int,
    bounds: ItemBounds = DEFAULT_BOUNDS,
) -> int:
    """Items a thread of an asynchronous copy: as many as bytes in flight ask for and shared memory allows.

    Args:
        min_bytes_in_flight: bytes a multiprocessor.
        occupancy_at: resident blocks a multiprocessor at so many items a thread; 0 where none fits.
        threads_per_block: threads of a block.
        loaded_bytes: bytes that an item loads from all inputs.
        bounds: of the items a thread.

    Raises:
        ValueError: not even the fewest items fit.
    """
    best = 0
    for items in range(bounds.low, bounds.high + 1):
        occupancy = occupancy_at(items)
        if occupancy == 0:
            break
        best = items
        if min_bytes_in_flight <= occupancy * threads_per_block * items * loaded_bytes:
            break
    if best == 0:
        raise ValueError(f"{bounds.low} items a thread already exceed the shared memory of a block")
    return best


def spread_out_items_per_thread(
    num_items: int,
    *,
    threads_per_block: int,
    items_per_thread: int,
    residency: Residency,
    bounds: ItemBounds = DEFAULT_BOUNDS,
) -> int:
    """Fewer items a thread where a small problem would leave multiprocessors idle.

    Args:
        num_items: items to transform.
        threads_per_block: threads of a block.
        items_per_thread: what bytes in flight ask for.
        residency: of the kernel.
        bounds: of the answer.
    """
    spread = min(items_per_thread, ceil_div(num_items, residency.resident_blocks * threads_per_block))
    return min(max(spread, bounds.low), bounds.high)


def prefetch_plan(
    num_items: int,
    *,
    threads_per_block: int,
    min_bytes_in_flight: int,
    loaded_bytes: int,
    residency: Residency,
    bounds: ItemBounds = DEFAULT_BOUNDS,
    items_without_input: int = ITEMS_WITHOUT_INPUT,
) -> TransformPlan:
    """Plans the prefetch algorithm, which is also what runs where the vectorised one meets unaligned pointers.

    Args:
        num_items: items to transform, 0 to 2^62.
        threads_per_block: of `prefetch`; of `vectorized` where the policy selected that and pointers are unaligned.
        min_bytes_in_flight: bytes a multiprocessor.
        loaded_bytes: bytes that an item loads from all inputs.
        residency: of the kernel.
        bounds: of the items a thread.
        items_without_input: items a thread where nothing is loaded.

    Raises:
        ValueError: an argument is out of bounds, or the grid exceeds 2^31 - 1 blocks.
    """
    wanted = prefetch_items_per_thread(
        checked("min_bytes_in_flight", min_bytes_in_flight, 0),
        occupancy=residency.occupancy,
        threads_per_block=checked("threads_per_block", threads_per_block, 1),
        loaded_bytes=checked("loaded_bytes", loaded_bytes, 0),
        items_without_input=checked("items_without_input", items_without_input, 1),
    )
    num_items = checked_items(num_items)
    items = spread_out_items_per_thread(
        num_items,
        threads_per_block=threads_per_block,
        items_per_thread=wanted,
        residency=residency,
        bounds=bounds,
    )
    return _launch(PREFETCH, num_items, threads_per_block, items, residency)


def vectorized_plan(
    num_items: int, *, threads_per_block: int, items_per_thread: int, residency: Residency
) -> TransformPlan:
    """Plans the vectorised algorithm with aligned pointers: items a thread are the policy's, for any size.

    Args:
        num_items: items to transform, 0 to 2^62.
        threads_per_block: of `vectorized`.
        items_per_thread: of `vectorized`.
        residency: of the kernel; the grid does not depend on it.

    Raises:
        ValueError: an argument is out of bounds, or the grid exceeds 2^31 - 1 blocks.
    """
    threads = checked("threads_per_block", threads_per_block, 1)
    items = checked("items_per_thread", items_per_thread, 1)
    return _launch(VECTORIZED, checked_items(num_items), threads, items, residency)


def async_plan(
    num_items: int,
    *,
    algorithm: str,
    threads_per_block: int,
    min_bytes_in_flight: int,
    loaded_bytes: int,
    bounds: ItemBounds,
    smem_at: Callable[[int], int],
    residency_at: Callable[[int], Residency | None],
) -> TransformPlan:
    """Plans an asynchronous copy through shared memory (`configure_async_kernel`).

    Args:
        num_items: items to transform, 0 to 2^62.
        algorithm: ldgsts or ublkcp.
        threads_per_block: of `async_copy`.
        min_bytes_in_flight: bytes a multiprocessor.
        loaded_bytes: bytes that an item loads from all inputs.
        bounds: of the items a thread.
        smem_at: dynamic shared memory of a block with a tile of so many items, in bytes.
        residency_at: of the kernel with so much of it; None where no block fits.

    Raises:
        ValueError: an argument is out of bounds; the fewest items do not fit; or the grid exceeds 2^31 - 1 blocks.
    """
    num_items = checked_items(num_items)
    threads = checked("threads_per_block", threads_per_block, 1)

    def resident(items: int) -> Residency | None:
        return residency_at(smem_at(threads * items))

    def occupancy_at(items: int) -> int:
        found = resident(items)
        return 0 if found is None else found.occupancy

    wanted = async_items_per_thread(
        checked("min_bytes_in_flight", min_bytes_in_flight, 0),
        occupancy_at=occupancy_at,
        threads_per_block=threads,
        loaded_bytes=checked("loaded_bytes", loaded_bytes, 0),
        bounds=bounds,
    )
    residency = resident(wanted)
    assert residency is not None
    items = spread_out_items_per_thread(
        num_items, threads_per_block=threads, items_per_thread=wanted, residency=residency, bounds=bounds
    )
    return _launch(algorithm, num_items, threads, items, resident(items) or residency, smem_at(threads * items))


def tiles_of_row(row_items: int, *, threads_per_block: int, items_per_thread: int) -> int:
    """Tiles that a block walks for one row, as RMSNorm over a hidden size does; the last may be partly full."""
    return ceil_div(checked_items(row_items), threads_per_block * items_per_thread)


def _launch(
    algorithm: str,
    num_items: int,
    threads_per_block: int,
    items_per_thread: int,
    residency: Residency,
    smem_bytes: int = 0,
) -> TransformPlan:
    tile_items = checked("threads_per_block x items_per_thread", threads_per_block * items_per_thread, 1)
    grid = checked("the number of blocks", ceil_div(num_items, tile_items), 0)
    return TransformPlan(
        algorithm=algorithm,
        num_items=num_items,
        threads_per_block=threads_per_block,
        items_per_thread=items_per_thread,
        tile_items=tile_items,
        grid=grid,
        smem_bytes=smem_bytes,
        items_per_wave=tile_items * residency.resident_blocks,
        waves=residency.waves(grid),
    )
