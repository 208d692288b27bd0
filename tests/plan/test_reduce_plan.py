from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policygen.plan.counts import INT32_MAX
from policygen.plan.reduce_plan import DETERMINISMS
from policygen.plan.reduce_plan import ReducePlan
from policygen.plan.reduce_plan import fits_single_tile
from policygen.plan.reduce_plan import reduce_plan
from policygen.plan.residency import Residency

TWO = Residency(sm_count=16, occupancy=2)
NOT_GUARANTEED, RUN_TO_RUN, GPU_TO_GPU = DETERMINISMS


def plan(
    num_items: int,
    determinism: str = RUN_TO_RUN,
    *,
    tile_items: int = 12_288,
    single_tile_items: int = 12_288,
    accum_size: int = 4,
    residency: Residency = TWO,
) -> ReducePlan:
    return reduce_plan(
        num_items,
        determinism=determinism,
        single_tile_items=single_tile_items,
        multi_tile_items=tile_items,
        accum_size=accum_size,
        residency=residency,
    )


def test_the_shortcut_is_one_block_and_one_byte() -> None:
    short = plan(12_288)
    assert short.single_tile
    assert (short.grid, short.passes, short.temporary_bytes, short.allocation_bytes) == (1, 1, 1, 1)
    assert not plan(12_289).single_tile


def test_the_test_reads_the_single_tile_policy() -> None:
    assert plan(5000, tile_items=100, single_tile_items=5000).single_tile
    assert not plan(101, tile_items=5000, single_tile_items=100).single_tile


@pytest.mark.parametrize(("determinism", "answer"), [(NOT_GUARANTEED, False), (RUN_TO_RUN, True), (GPU_TO_GPU, True)])
def test_the_atomic_kernel_has_no_shortcut(determinism: str, answer: bool) -> None:
    assert fits_single_tile(100, determinism=determinism, single_tile_items=12_288) is answer
    assert plan(100, determinism).single_tile is answer


def test_the_buffer_is_for_the_most_blocks_and_not_for_the_grid() -> None:
    two_pass = plan(100_000)
    assert (two_pass.grid, two_pass.max_blocks, two_pass.passes, two_pass.partials) == (9, 160, 2, 9)
    assert two_pass.temporary_bytes == 160 * 4
    assert two_pass.allocation_bytes == 768 + 255
    assert plan(100_000, residency=Residency(sm_count=16, occupancy=1)).temporary_bytes == 80 * 4


def test_the_atomic_kernel_is_launched_for_no_items() -> None:
    empty = plan(0, NOT_GUARANTEED)
    assert (empty.grid, empty.passes, empty.partials, empty.temporary_bytes) == (1, 1, 0, 1)
    assert plan(1_000_000, NOT_GUARANTEED).grid == 82


def test_gpu_to_gpu_counts_the_partials_of_its_grid() -> None:
    one = plan(100_000, GPU_TO_GPU, accum_size=24)
    assert (one.full_chunks, one.full_chunk_grid, one.grid, one.partials) == (0, 0, 9, 9)
    assert one.temporary_bytes == 9 * 24
    assert one.share is None


def test_gpu_to_gpu_goes_in_chunks() -> None:
    chunked = plan(2 * INT32_MAX + 100_000, GPU_TO_GPU)
    assert (chunked.full_chunks, chunked.full_chunk_grid, chunked.grid) == (2, 160, 9)
    assert chunked.partials == 2 * 160 + 9


def test_gpu_to_gpu_refuses_what_upstream_loses() -> None:
    with pytest.raises(ValueError, match=r"a multiple of 2147483647: CCCL .* loses the last chunk"):
        plan(INT32_MAX, GPU_TO_GPU)
    with pytest.raises(ValueError, match="the number of block results is"):
        plan(2**62, GPU_TO_GPU)


@pytest.mark.parametrize("num_items", [-1, 2**62 + 1])
def test_sizes_out_of_bounds_are_refused(num_items: int) -> None:
    with pytest.raises(ValueError, match=r"^num_items is"):
        plan(num_items)


@given(
    num_items=st.integers(0, 2**40),
    tile_items=st.integers(1, 2**16),
    occupancy=st.integers(1, 32),
    determinism=st.sampled_from([NOT_GUARANTEED, RUN_TO_RUN]),
)
def test_the_grid_is_bounded_and_its_blocks_have_work(
    num_items: int, tile_items: int, occupancy: int, determinism: str
) -> None:
    result = plan(num_items, determinism, tile_items=tile_items, residency=Residency(sm_count=16, occupancy=occupancy))
    assert 1 <= result.grid <= result.max_blocks
    assert (result.waves.waves - 1) * result.waves.resident_blocks + result.waves.tail_blocks == result.grid
    if result.share is not None and num_items:
        assert result.share.strip_mine(result.grid - 1).num_items > 0
