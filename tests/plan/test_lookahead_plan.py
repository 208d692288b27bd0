from __future__ import annotations

import pytest

from policygen.plan.lookahead_plan import ElementLayout
from policygen.plan.lookahead_plan import LookaheadCounts
from policygen.plan.lookahead_plan import LookaheadPlan
from policygen.plan.lookahead_plan import lookahead_plan
from policygen.plan.lookahead_plan import lookahead_smem_bytes
from policygen.plan.lookahead_plan import lookahead_tile_state_bytes

FLOAT_COUNTS = LookaheadCounts(reduce_and_scan_warps=4, items_per_thread=87)
FLOAT = ElementLayout(input_size=4, input_alignment=4, output_alignment=4, accum_size=4, accum_alignment=4)
TILE = 4 * 87 * 32
SMS = 148


def plan(num_items: int, max_dynamic_smem: int = 232_448, *, atomic_scheduling: bool = False) -> LookaheadPlan:
    return lookahead_plan(
        num_items,
        counts=FLOAT_COUNTS,
        layout=FLOAT,
        sm_count=SMS,
        max_dynamic_smem=max_dynamic_smem,
        atomic_scheduling=atomic_scheduling,
    )


@pytest.mark.parametrize(("stages", "expected"), [(1, 45_192), (2, 90_312), (3, 135_464)])
def test_stages_take_the_shared_memory_of_upstream(stages: int, expected: int) -> None:
    assert lookahead_smem_bytes(FLOAT_COUNTS, stages, FLOAT) == expected


# Upstream's own answers, from a host program that calls smem_for_stages: odd sizes, over-aligned inputs and
# accumulators, fixed and relative stages.
@pytest.mark.parametrize(
    ("counts", "stages", "layout", "expected"),
    [
        ((2, 87, 2, 3), 7, (3, 16, 16, 1), 124_816),
        ((4, 159, 2, -1), 7, (8, 1, 1, 16), 1_141_216),
        ((5, 15, -1, -1), 2, (1, 32, 8, 8), 7_624),
        ((4, 87, 2, -1), 3, (4, 16, 1, 16), 134_288),
        ((4, 87, -1, -1), 2, (12, 4, 2, 4), 267_944),
        ((3, 7, -1, 3), 7, (8, 1, 16, 4), 49_344),
        ((4, 87, 2, 3), 1, (16, 32, 8, 16), 179_440),
        ((2, 87, -1, 3), 3, (12, 16, 24, 16), 205_520),
        ((4, 87, -1, -1), 1, (8, 1, 24, 16), 92_384),
        ((3, 7, -1, -1), 7, (3, 1, 8, 1), 20_328),
        ((6, 95, 2, -1), 7, (2, 16, 16, 8), 278_128),
        ((4, 87, -1, -1), 1, (3, 16, 24, 16), 36_704),
    ],
)
def test_unusual_layouts_take_the_shared_memory_of_upstream(
    counts: tuple[int, int, int, int], stages: int, layout: tuple[int, int, int, int], expected: int
) -> None:
    warps, items, lookahead_stages, block_idx_stages = counts
    input_size, input_alignment, accum_size, accum_alignment = layout
    policy = LookaheadCounts(
        reduce_and_scan_warps=warps,
        items_per_thread=items,
        lookahead_stages=lookahead_stages,
        block_idx_stages=block_idx_stages,
    )
    types = ElementLayout(
        input_size=input_size,
        input_alignment=input_alignment,
        output_alignment=4,
        accum_size=accum_size,
        accum_alignment=accum_alignment,
    )
    assert lookahead_smem_bytes(policy, stages, types) == expected


@pytest.mark.parametrize(
    ("size", "alignment", "expected"), [(1, 1, 8), (2, 2, 8), (4, 4, 8), (8, 8, 16), (12, 4, 16), (16, 16, 32)]
)
def test_the_state_of_a_tile_is_a_power_of_two(size: int, alignment: int, expected: int) -> None:
    assert lookahead_tile_state_bytes(size, alignment) == expected


def test_stages_grow_until_the_next_does_not_fit() -> None:
    assert plan(10**9).num_stages == 5
    assert plan(10**9, 135_464).num_stages == 3
    assert plan(10**9, 135_463).num_stages == 2
    assert plan(10**9, 45_192).num_stages == 1


def test_a_small_problem_stops_at_an_even_workload_and_one_more() -> None:
    # At most ceil(n / (multiprocessors x tile)) + 1, and counting starts at one: three for a single round.
    assert plan(1).num_stages == plan(SMS * TILE).num_stages == 3
    assert plan(SMS * TILE + 1).num_stages == 4
    assert plan(1).smem_bytes == 135_464


def test_a_stage_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="one stage takes 45192 bytes of shared memory, and a block has 45191"):
        plan(10, 45_191)


def test_the_grid_is_the_tiles_or_the_multiprocessors() -> None:
    assert (plan(TILE * 1000).grid, plan(TILE * 1000, atomic_scheduling=True).grid) == (1000, SMS)
    assert plan(TILE * 10, atomic_scheduling=True).grid == 10


def test_storage_holds_the_states_and_a_counter() -> None:
    result = plan(TILE * 1000)
    assert result.tile_state_bytes == 8000
    assert result.allocation_bytes == 8192 + 256 + 255


def test_no_items_launch_nothing() -> None:
    assert (plan(0).num_tiles, plan(0).grid, plan(0).allocation_bytes) == (0, 0, 1)


def test_an_alignment_is_a_power_of_two() -> None:
    with pytest.raises(ValueError, match="an alignment is a power of two, not 12"):
        ElementLayout(input_size=12, input_alignment=12, output_alignment=4, accum_size=4, accum_alignment=4)
