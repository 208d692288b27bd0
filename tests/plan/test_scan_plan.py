from __future__ import annotations

import pytest

from policygen.plan.counts import INT32_MAX
from policygen.plan.lookback_delay import DELAY_EFFECTS
from policygen.plan.lookback_delay import GATED_DELAYS
from policygen.plan.lookback_delay import UNGATED_DELAYS
from policygen.plan.lookback_delay import DelayActivity
from policygen.plan.lookback_delay import delay_activity
from policygen.plan.lookback_delay import first_ungated_items
from policygen.plan.residency import Residency
from policygen.plan.scan_plan import LookbackPlan
from policygen.plan.scan_plan import is_single_word
from policygen.plan.scan_plan import lookback_plan
from policygen.plan.scan_plan import tile_state_bytes

TWO = Residency(sm_count=16, occupancy=2)
NOTHING, FENCE, SLEEP = DELAY_EFFECTS


def plan(num_items: int, tile_items: int = 8448, max_grid_x: int = INT32_MAX) -> LookbackPlan:
    return lookback_plan(
        num_items, tile_items=tile_items, accum_size=4, single_word=True, residency=TWO, max_grid_x=max_grid_x
    )


def activity(
    kind: str, grid: int, cc: int = 70, *, delay_ns: int = 350, l2_write_latency_ns: int = 450
) -> DelayActivity:
    return delay_activity(
        kind, delay_ns=delay_ns, l2_write_latency_ns=l2_write_latency_ns, grid=grid, compute_capability=cc
    )


# Upstream's own answers, from a host program that calls ScanTileState<T>::AllocationSize.
@pytest.mark.parametrize(
    ("accum_size", "primitive", "expected"),
    [
        (1, True, (511, 511, 511, 2559, 400_383)),
        (2, True, (511, 511, 511, 2559, 400_383)),
        (4, True, (511, 767, 767, 4607, 800_511)),
        (8, True, (767, 1023, 1023, 8959, 1_600_767)),
        (12, False, (1535, 1535, 2047, 15_359, 2_801_151)),
        (16, False, (1535, 2047, 2047, 19_967, 3_601_407)),
    ],
)
def test_tile_states_take_what_upstream_allots(accum_size: int, primitive: bool, expected: tuple[int, ...]) -> None:
    single_word = is_single_word(accum_size, primitive=primitive)
    assert tuple(
        tile_state_bytes(tiles, accum_size, single_word=single_word) for tiles in (0, 1, 12, 500, 100_000)
    ) == (expected)


def test_one_word_holds_small_powers_of_two() -> None:
    assert is_single_word(8, primitive=False)
    assert not is_single_word(8, primitive=False, trivially_copyable=False)
    assert not is_single_word(12, primitive=False)
    assert not is_single_word(16, primitive=False)
    with pytest.raises(ValueError, match="a value of 16 bytes: it takes 1, 2, 4 or 8"):
        tile_state_bytes(1, 16, single_word=True)


def test_each_block_takes_one_tile_whatever_the_occupancy() -> None:
    assert (plan(4_215_553).grid, plan(4_215_553).launches) == (500, 1)
    assert (plan(100_000).init_grid, plan(1_100_000).init_grid) == (1, 2)


def test_more_tiles_than_a_grid_holds_take_more_launches() -> None:
    split = plan(8448 * 10 + 1, max_grid_x=4)
    assert (split.num_tiles, split.grid, split.launches) == (11, 4, 3)


def test_no_items_need_storage_but_no_launch() -> None:
    empty = plan(0)
    assert (empty.num_tiles, empty.grid, empty.launches, empty.init_grid) == (0, 0, 0, 0)
    assert empty.tile_state_bytes == 511


def test_the_scan_aligns_the_tile_states_once_more() -> None:
    assert (plan(100_000).tile_state_bytes, plan(100_000).allocation_bytes) == (767, 1023)


def test_more_tiles_than_upstream_counts_are_refused() -> None:
    assert plan(INT32_MAX * 8448).num_tiles == INT32_MAX
    with pytest.raises(ValueError, match="the number of tiles is 2147483648"):
        plan(INT32_MAX * 8448 + 1)


@pytest.mark.parametrize(
    ("kind", "below", "from_500"),
    [
        ("no_delay", DelayActivity(FENCE, NOTHING), DelayActivity(SLEEP, NOTHING)),
        ("fixed_delay", DelayActivity(FENCE, FENCE), DelayActivity(SLEEP, SLEEP)),
        ("reduce_by_key", DelayActivity(FENCE, NOTHING), DelayActivity(SLEEP, NOTHING)),
        *((name, DelayActivity(SLEEP, SLEEP), DelayActivity(SLEEP, SLEEP)) for name in UNGATED_DELAYS),
    ],
)
def test_only_some_delays_are_gated(kind: str, below: DelayActivity, from_500: DelayActivity) -> None:
    assert activity(kind, 1) == activity(kind, 499) == below
    assert activity(kind, 500) == activity(kind, 10**6) == from_500
    assert from_500.sleeps
    assert below.sleeps is (kind in UNGATED_DELAYS)


def test_the_exponential_delays_are_the_six_of_upstream() -> None:
    assert len(UNGATED_DELAYS) == 6
    assert all(name.startswith("exponential_") for name in UNGATED_DELAYS)
    assert set(GATED_DELAYS) == {"no_delay", "fixed_delay", "reduce_by_key"}


def test_reduce_by_key_polls_with_a_delay_on_one_architecture_only() -> None:
    assert activity("reduce_by_key", 500, cc=80).each_poll is SLEEP
    assert activity("reduce_by_key", 499, cc=80).each_poll is FENCE
    assert activity("reduce_by_key", 500, cc=86).each_poll is NOTHING


@pytest.mark.parametrize("kind", [*GATED_DELAYS, *UNGATED_DELAYS])
def test_there_is_no_sleep_before_volta(kind: str) -> None:
    assert activity(kind, 500, cc=61) == DelayActivity(NOTHING, FENCE)


def test_a_gated_delay_of_zero_does_nothing() -> None:
    assert activity("fixed_delay", 500, delay_ns=0, l2_write_latency_ns=0) == DelayActivity(NOTHING, NOTHING)


def test_the_gate_depends_on_the_problem_size() -> None:
    assert first_ungated_items(8448) == 4_215_553
    assert first_ungated_items(128 * 15) == 958_081
    for tile_items in (8448, 1920):
        first = first_ungated_items(tile_items)
        assert (plan(first - 1, tile_items).grid, plan(first, tile_items).grid) == (499, 500)


def test_an_unknown_delay_is_named() -> None:
    with pytest.raises(ValueError, match=r'no lookback delay is called "backoff": use one of no_delay, fixed_delay'):
        activity("backoff", 1)
