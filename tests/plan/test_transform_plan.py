from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policygen.plan.counts import INT32_MAX
from policygen.plan.residency import Residency
from policygen.plan.transform_plan import ItemBounds
from policygen.plan.transform_plan import async_items_per_thread
from policygen.plan.transform_plan import prefetch_items_per_thread
from policygen.plan.transform_plan import prefetch_plan
from policygen.plan.transform_plan import spread_out_items_per_thread
from policygen.plan.transform_plan import tiles_of_row
from policygen.plan.transform_plan import vectorized_plan

TWO = Residency(sm_count=16, occupancy=2)
KIB = 1024


def spread(num_items: int, items_per_thread: int, bounds: ItemBounds | None = None) -> int:
    return spread_out_items_per_thread(
        num_items,
        threads_per_block=256,
        items_per_thread=items_per_thread,
        residency=TWO,
        bounds=bounds or ItemBounds(),
    )


@pytest.mark.parametrize(
    ("bytes_in_flight", "loaded_bytes", "expected"),
    [(64 * KIB, 4, 32), (64 * KIB, 8, 16), (64 * KIB, 1, 128), (64 * KIB, 12, 11), (48 * KIB, 4, 24), (64 * KIB, 0, 2)],
)
def test_items_keep_the_bytes_in_flight(bytes_in_flight: int, loaded_bytes: int, expected: int) -> None:
    items = prefetch_items_per_thread(bytes_in_flight, occupancy=2, threads_per_block=256, loaded_bytes=loaded_bytes)
    assert items == expected


def test_bytes_in_flight_are_bytes_and_no_class() -> None:
    assert prefetch_items_per_thread(8, occupancy=2, threads_per_block=256, loaded_bytes=4) == 1


@pytest.mark.parametrize(
    ("num_items", "items_per_thread", "expected"),
    [(0, 8, 1), (1, 8, 1), (8192, 8, 1), (8193, 8, 2), (65_536, 8, 8), (65_537, 8, 8), (10**9, 8, 8), (10**9, 128, 32)],
)
def test_items_are_spread_over_the_device(num_items: int, items_per_thread: int, expected: int) -> None:
    assert spread(num_items, items_per_thread) == expected


def test_bounds_hold_both_ways() -> None:
    assert spread(1, 8, ItemBounds(4, 6)) == 4
    assert spread(10**9, 8, ItemBounds(4, 6)) == 6
    with pytest.raises(ValueError, match="bounded by 5 and 4"):
        ItemBounds(5, 4)


def test_a_small_problem_fills_the_device_with_blocks() -> None:
    small = prefetch_plan(16_384, threads_per_block=256, min_bytes_in_flight=64 * KIB, loaded_bytes=4, residency=TWO)
    assert (small.items_per_thread, small.tile_items, small.grid, small.waves.waves) == (2, 512, 32, 1)


def test_the_bytes_in_flight_change_nothing_for_narrow_types_at_the_cap() -> None:
    def items(min_bytes_in_flight: int) -> int:
        plan = prefetch_plan(
            10**9, threads_per_block=256, min_bytes_in_flight=min_bytes_in_flight, loaded_bytes=1, residency=TWO
        )
        return plan.items_per_thread

    assert items(64 * KIB) == items(48 * KIB) == items(16 * KIB) == 32


def test_aligned_vectors_keep_the_policy_s_items() -> None:
    plan = vectorized_plan(10, threads_per_block=256, items_per_thread=8, residency=TWO)
    assert (plan.items_per_thread, plan.grid) == (8, 1)


def test_asynchronous_copies_grow_until_bytes_or_shared_memory_say_stop() -> None:
    def items(min_bytes_in_flight: int, blocks: list[int], bounds: ItemBounds | None = None) -> int:
        return async_items_per_thread(
            min_bytes_in_flight,
            occupancy_at=lambda count: blocks[count - 1],
            threads_per_block=256,
            loaded_bytes=4,
            bounds=bounds or ItemBounds(high=len(blocks)),
        )

    assert items(16 * KIB, [8, 8, 8]) == 2
    assert items(64 * KIB, [8, 8, 4]) == 3
    assert items(64 * KIB, [8, 8, 0, 8]) == 2
    with pytest.raises(ValueError, match="1 items a thread already exceed"):
        items(64 * KIB, [0])


@pytest.mark.parametrize(("row", "tiles"), [(3584, 2), (2048, 1), (2049, 2), (0, 0)])
def test_rows_are_walked_in_whole_tiles(row: int, tiles: int) -> None:
    assert tiles_of_row(row, threads_per_block=256, items_per_thread=8) == tiles


def test_a_grid_beyond_the_axis_is_refused() -> None:
    assert vectorized_plan(INT32_MAX, threads_per_block=1, items_per_thread=1, residency=TWO).grid == INT32_MAX
    with pytest.raises(ValueError, match="the number of blocks is 2147483648"):
        vectorized_plan(INT32_MAX + 1, threads_per_block=1, items_per_thread=1, residency=TWO)


@given(
    num_items=st.integers(0, 2**36),
    threads_per_block=st.sampled_from([64, 128, 256, 512, 1024]),
    min_bytes_in_flight=st.integers(0, 2**18),
    loaded_bytes=st.integers(0, 64),
    occupancy=st.integers(1, 32),
)
def test_the_grid_covers_the_items(
    num_items: int, threads_per_block: int, min_bytes_in_flight: int, loaded_bytes: int, occupancy: int
) -> None:
    plan = prefetch_plan(
        num_items,
        threads_per_block=threads_per_block,
        min_bytes_in_flight=min_bytes_in_flight,
        loaded_bytes=loaded_bytes,
        residency=Residency(sm_count=16, occupancy=occupancy),
    )
    assert 1 <= plan.items_per_thread <= 32
    assert plan.grid * plan.tile_items >= num_items > (plan.grid - 1) * plan.tile_items
