"""The launches of a device-wide reduction."""

from __future__ import annotations

from typing import Final

from attrs import frozen

from policygen.plan.counts import INT32_MAX
from policygen.plan.counts import ceil_div
from policygen.plan.counts import checked
from policygen.plan.counts import checked_items
from policygen.plan.even_share import EvenShare
from policygen.plan.even_share import even_share
from policygen.plan.residency import Residency
from policygen.plan.residency import Waves
from policygen.plan.temporary_storage import NO_STORAGE
from policygen.plan.temporary_storage import size_query_bytes

_CHUNK_ITEMS: Final = INT32_MAX

NOT_GUARANTEED: Final = "not_guaranteed"
RUN_TO_RUN: Final = "run_to_run"
GPU_TO_GPU: Final = "gpu_to_gpu"

DETERMINISMS: Final = (NOT_GUARANTEED, RUN_TO_RUN, GPU_TO_GPU)
"""What a reduction can promise about its result, by upstream's names."""


@frozen(kw_only=True)
class ReducePlan:
    """The launches of a reduction.

    Attributes:
        num_items: items to reduce.
        determinism: what is promised, one of `DETERMINISMS`.
        single_tile: whether one block of one kernel does everything.
        tile_items: items of a tile of the first kernel launched.
        max_blocks: the most blocks of a launch of the first pass.
        share: tiles of each block, strip-mined; None on the single-tile shortcut and for gpu_to_gpu, which strides by
            threads.
        grid: blocks of the first pass: of its only launch, or of its last one.
        full_chunks: launches of 2^31 - 1 items each before the last one; only gpu_to_gpu has any.
        full_chunk_grid: blocks of each of these.
        passes: kernels one after the other, 1 or 2; a first pass in chunks counts as one.
        partials: block results that the second pass reduces.
        temporary_bytes: bytes for block results; 1 where there are none, for upstream never asks for 0.
        allocation_bytes: what upstream's size query answers: the same with the slack for alignment.
        waves: how the last launch of the first pass runs.
    """

    num_items: int
    determinism: str
    single_tile: bool
    tile_items: int
    max_blocks: int
    share: EvenShare | None = None
    grid: int
    full_chunks: int = 0
    full_chunk_grid: int = 0
    passes: int
    partials: int = 0
    temporary_bytes: int = NO_STORAGE
    allocation_bytes: int = NO_STORAGE
    waves: Waves


def fits_single_tile(num_items: int, *, determinism: str, single_tile_items: int) -> bool:
    """CUB's own single-tile test: one comparison with the tile of the single-tile policy, or none at all.

    Args:
        num_items: items to reduce, known on the host.
        determinism: not_guaranteed has no shortcut, for its kernel adds to the output atomically; run_to_run
            (`dispatch_reduce.cuh`) and gpu_to_gpu (`dispatch_reduce_deterministic.cuh`) compare, each with its policy.
        single_tile_items: threads_per_block x items_per_thread of `single_tile`.

    Raises:
        ValueError: no determinism has that name.
    """
    if determinism not in DETERMINISMS:
        raise ValueError(f'no determinism is called "{determinism}": use one of {", ".join(DETERMINISMS)}')
    return determinism != NOT_GUARANTEED and num_items <= single_tile_items


def reduce_plan(
    num_items: int,
    *,
    determinism: str,
    single_tile_items: int,
    multi_tile_items: int,
    accum_size: int,
    residency: Residency,
) -> ReducePlan:
    """Plans a reduction whose size is known on the host.

    Args:
        num_items: items to reduce, 0 to 2^62.
        determinism: what to promise. For not_guaranteed, the plan of the atomic kernel.
        single_tile_items: threads_per_block x items_per_thread of the policy's `single_tile`.
        multi_tile_items: the same of its `multi_tile`.
        accum_size: bytes of a block result: of the accumulator, or for gpu_to_gpu of upstream's reproducible one.
        residency: of the first pass's kernel.

    Raises:
        ValueError: an argument is out of bounds, or no determinism has that name; or upstream's own integers would not
            hold the plan.
    """
    num_items = checked_items(num_items)
    single_tile_items = checked("single_tile_items", single_tile_items, 1)
    multi_tile_items = checked("multi_tile_items", multi_tile_items, 1)
    accum_size = checked("accum_size", accum_size, 1)
    if fits_single_tile(num_items, determinism=determinism, single_tile_items=single_tile_items):
        return ReducePlan(
            num_items=num_items,
            determinism=determinism,
            single_tile=True,
            tile_items=single_tile_items,
            max_blocks=1,
            grid=1,
            passes=1,
            waves=residency.waves(1),
        )
    if determinism == RUN_TO_RUN:
        return _two_passes(num_items, multi_tile_items, accum_size, residency)
    if determinism == GPU_TO_GPU:
        return _two_passes_in_chunks(num_items, multi_tile_items, accum_size, residency)
    return _atomic_pass(num_items, multi_tile_items, residency)


def _two_passes(num_items: int, tile_items: int, accum_size: int, residency: Residency) -> ReducePlan:
    share = even_share(num_items, residency.max_blocks, tile_items)
    # Upstream allots results for the most blocks there can be, whatever the grid.
    partials_bytes = residency.max_blocks * accum_size
    return ReducePlan(
        num_items=num_items,
        determinism=RUN_TO_RUN,
        single_tile=False,
        tile_items=tile_items,
        max_blocks=residency.max_blocks,
        share=share,
        grid=share.grid,
        passes=2,
        partials=share.grid,
        temporary_bytes=partials_bytes,
        allocation_bytes=size_query_bytes(partials_bytes),
        waves=residency.waves(share.grid),
    )


def _atomic_pass(num_items: int, tile_items: int, residency: Residency) -> ReducePlan:
    share = even_share(num_items, residency.max_blocks, tile_items)
    # Block 0 writes the initial value of an empty input: there is no second pass that would.
    grid = max(1, share.grid)
    return ReducePlan(
        num_items=num_items,
        determinism=NOT_GUARANTEED,
        single_tile=False,
        tile_items=tile_items,
        max_blocks=residency.max_blocks,
        share=share,
        grid=grid,
        passes=1,
        waves=residency.waves(grid),
    )


def _two_passes_in_chunks(num_items: int, tile_items: int, accum_size: int, residency: Residency) -> ReducePlan:
    full_chunks, last_items = divmod(num_items, _CHUNK_ITEMS)
    if last_items == 0:
        # Upstream allots no block results to a last chunk that is full, so the second pass would not read them.
        raise ValueError(
            f"num_items is {num_items}, a multiple of {_CHUNK_ITEMS}: CCCL 3.5 loses the last chunk of such a "
            "gpu_to_gpu reduction; append one zero"
        )
    full_chunk_grid = min(residency.max_blocks, ceil_div(_CHUNK_ITEMS, tile_items)) if full_chunks else 0
    grid = min(residency.max_blocks, ceil_div(last_items, tile_items))
    partials = checked("the number of block results", full_chunks * full_chunk_grid + grid, 1)
    return ReducePlan(
        num_items=num_items,
        determinism=GPU_TO_GPU,
        single_tile=False,
        tile_items=tile_items,
        max_blocks=residency.max_blocks,
        grid=grid,
        full_chunks=full_chunks,
        full_chunk_grid=full_chunk_grid,
        passes=2,
        partials=partials,
        temporary_bytes=partials * accum_size,
        allocation_bytes=size_query_bytes(partials * accum_size),
        waves=residency.waves(grid),
    )
