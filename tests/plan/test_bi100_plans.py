"""The plans that the source notes give for `bi100`, from its facts and its resolved policies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from typing import TypeAlias

import pytest

from policygen.loading.package_data import data_dir
from policygen.loading.spec_files import load_spec
from policygen.loading.spec_files import spec_files
from policygen.plan.even_share import even_share
from policygen.plan.lookback_delay import FENCE
from policygen.plan.lookback_delay import SLEEP
from policygen.plan.lookback_delay import delay_activity
from policygen.plan.lookback_delay import first_ungated_items
from policygen.plan.partitions import is_unpartitioned
from policygen.plan.partitions import partition_plan
from policygen.plan.reduce_plan import RUN_TO_RUN
from policygen.plan.reduce_plan import ReducePlan
from policygen.plan.reduce_plan import fits_single_tile
from policygen.plan.reduce_plan import reduce_plan
from policygen.plan.residency import Residency
from policygen.plan.scan_plan import lookback_plan
from policygen.plan.target_device import residency_from_facts
from policygen.plan.transform_plan import prefetch_plan
from policygen.plan.transform_plan import tiles_of_row
from policygen.plan.transform_plan import vectorized_plan
from policygen.resolve.instance import TargetInstance
from policygen.resolve.instance import target_instance
from policygen.resolve.resolver import Resolver
from policygen.resolve.specialise import rules_for
from policygen.spec import Spec

Facts: TypeAlias = Mapping[str, int | None]


@pytest.fixture(scope="module")
def spec() -> Spec:
    return load_spec(spec_files([(data_dir("specs"), "specs/")]))


@pytest.fixture(scope="module")
def bi100(spec: Spec) -> TargetInstance:
    return target_instance(spec, "bi100")


@pytest.fixture(scope="module")
def facts(bi100: TargetInstance) -> Facts:
    return {name: fact.value for name, fact in bi100.facts.items()}


def policy(spec: Spec, target: TargetInstance, algorithm: str, **key: Any) -> Any:
    return Resolver(rules_for(spec, target, algorithm)).resolve(key).policy


def tile(counts: Any) -> int:
    return int(counts.threads_per_block * counts.items_per_thread)


@pytest.fixture(scope="module")
def reduce_policy(spec: Spec, bi100: TargetInstance) -> Any:
    return policy(spec, bi100, "reduce", accum_t="float32", operation_t="plus", offset_size=4)


@pytest.fixture(scope="module")
def lookback(spec: Spec, bi100: TargetInstance) -> Any:
    key = {"input_type": "float32", "operation_t": "plus", "offset_size": 4}
    return policy(spec, bi100, "scan", **key).lookback


@pytest.fixture(scope="module")
def transform_policy(spec: Spec, bi100: TargetInstance) -> Any:
    key = {"inputs": [{"value_type_size": 4}], "output": {"value_type_size": 4}}
    return policy(spec, bi100, "transform", **key)


def planned(reduce_policy: Any, num_items: int, residency: Residency) -> ReducePlan:
    return reduce_plan(
        num_items,
        determinism=RUN_TO_RUN,
        single_tile_items=tile(reduce_policy.single_tile),
        multi_tile_items=tile(reduce_policy.multi_tile),
        accum_size=4,
        residency=residency,
    )


def test_a_norm_of_the_notes_model_takes_two_tiles(transform_policy: Any) -> None:
    counts = transform_policy.vectorized
    assert (counts.threads_per_block, counts.items_per_thread) == (256, 8)
    assert tiles_of_row(3584, threads_per_block=256, items_per_thread=8) == 2


def test_a_wave_of_32_blocks_takes_65536_elements(transform_policy: Any, facts: Facts) -> None:
    counts = transform_policy.vectorized
    plan = vectorized_plan(
        65_536,
        threads_per_block=counts.threads_per_block,
        items_per_thread=counts.items_per_thread,
        residency=residency_from_facts(facts),
    )
    assert (plan.grid, plan.waves.resident_blocks, plan.waves.waves) == (32, 32, 1)
    assert plan.items_per_wave == 65_536


def test_the_prefetch_alternative_keeps_64_kib_in_flight(transform_policy: Any, facts: Facts) -> None:
    assert transform_policy.min_bytes_in_flight == 64 * 1024
    plan = prefetch_plan(
        10**9,
        threads_per_block=transform_policy.prefetch.threads_per_block,
        min_bytes_in_flight=transform_policy.min_bytes_in_flight,
        loaded_bytes=4,
        residency=residency_from_facts(facts),
    )
    assert plan.items_per_thread == 32


@pytest.mark.parametrize(
    ("num_items", "single"),
    [(100, True), (500, True), (1024, True), (5000, True), (12_288, True), (50_000, False)],
)
def test_single_tile_of_the_reduction(reduce_policy: Any, facts: Facts, num_items: int, single: bool) -> None:
    assert tile(reduce_policy.single_tile) == 12_288
    assert fits_single_tile(num_items, determinism=RUN_TO_RUN, single_tile_items=12_288) is single
    assert planned(reduce_policy, num_items, residency_from_facts(facts)).single_tile is single
    assert is_unpartitioned(num_items, partition_items=512, reduce_tile_items=12_288) is single


def test_the_limit_that_a_jit_is_told_is_48_kib(facts: Facts) -> None:
    assert facts["max_smem_per_block"] == 49_152


@pytest.mark.parametrize(("occupancy", "max_blocks"), [(None, 160), (1, 80)])
def test_the_grid_is_bounded_by_both_readings(facts: Facts, occupancy: int | None, max_blocks: int) -> None:
    assert residency_from_facts(facts, occupancy).max_blocks == max_blocks


@pytest.mark.parametrize(
    ("num_items", "tiles"),
    [(1000, 1), (1024, 1), (8000, 1), (8192, 1), (32_000, 3), (32_768, 3), (100_000, 9), (102_400, 9)],
)
def test_tiles_of_short_problems(reduce_policy: Any, facts: Facts, num_items: int, tiles: int) -> None:
    share = even_share(num_items, residency_from_facts(facts).max_blocks, tile(reduce_policy.multi_tile))
    assert (share.total_tiles, share.grid, share.single_tile) == (tiles, tiles, tiles == 1)


@pytest.mark.parametrize(
    ("occupancy", "grid", "big_shares", "resident_blocks", "waves"), [(2, 82, 0, 32, 3), (1, 80, 2, 16, 5)]
)
def test_a_million_items(
    reduce_policy: Any, facts: Facts, occupancy: int, grid: int, big_shares: int, resident_blocks: int, waves: int
) -> None:
    plan = planned(reduce_policy, 1_000_000, residency_from_facts(facts, occupancy))
    assert plan.share is not None
    assert (plan.share.total_tiles, plan.share.tiles_per_block, plan.share.big_shares) == (82, 1, big_shares)
    assert (plan.grid, plan.waves.resident_blocks, plan.waves.waves) == (grid, resident_blocks, waves)
    assert plan.temporary_bytes == plan.max_blocks * 4 == 160 * 4 * occupancy // 2


def test_a_binary_million_has_more_tiles(reduce_policy: Any, facts: Facts) -> None:
    assert planned(reduce_policy, 2**20, residency_from_facts(facts)).grid == 86


@pytest.mark.parametrize(("occupancy", "tiles_per_block"), [(2, 1), (1, 2)])
def test_200_tiles(facts: Facts, occupancy: int, tiles_per_block: int) -> None:
    max_blocks = residency_from_facts(facts, occupancy).max_blocks
    share = even_share(200 * 12_288, max_blocks, 12_288)
    assert (share.total_tiles, share.grid) == (200, max_blocks)
    assert (share.tiles_per_block, share.big_shares) == (tiles_per_block, 40)


def test_98_partitions_are_whole_tiles(facts: Facts) -> None:
    plan = partition_plan(100_000, 1024)
    assert (plan.num_partitions, plan.last_items) == (98, 672)
    assert plan.partition(96) == (98_304, 99_328)
    assert plan.partition(97) == (99_328, 100_000)
    share = even_share(100_000, residency_from_facts(facts).max_blocks, 1024)
    assert (share.grid, share.tiles_per_block, share.big_shares) == (98, 1, 0)
    assert [share.rake(block).num_items for block in range(98)] == [1024] * 97 + [672]


def test_a_scan_of_100000_floats_takes_12_tiles(lookback: Any, facts: Facts) -> None:
    assert (lookback.threads_per_block, lookback.items_per_thread) == (384, 22)
    plan = lookback_plan(
        100_000, tile_items=tile(lookback), accum_size=4, single_word=True, residency=residency_from_facts(facts)
    )
    assert (plan.tile_items, plan.num_tiles, plan.grid, plan.launches) == (8448, 12, 12, 1)
    assert plan.tile_state_bytes == 767


@pytest.mark.parametrize("kind", ["no_delay", "fixed_delay"])
def test_the_delay_gate_opens_at_500_blocks(lookback: Any, facts: Facts, kind: str) -> None:
    def effect(num_items: int) -> str:
        grid = lookback_plan(
            num_items, tile_items=tile(lookback), accum_size=4, single_word=True, residency=residency_from_facts(facts)
        ).grid
        return delay_activity(kind, delay_ns=350, l2_write_latency_ns=450, grid=grid, compute_capability=70).before

    assert first_ungated_items(tile(lookback)) == 4_215_553
    assert (effect(4_215_552), effect(4_215_553)) == (FENCE, SLEEP)


def test_the_target_s_own_delay_never_sleeps(lookback: Any) -> None:
    delay = lookback.lookback_delay
    activity = delay_activity(
        delay.kind,
        delay_ns=delay.delay,
        l2_write_latency_ns=delay.l2_write_latency,
        grid=10**6,
        compute_capability=70,
    )
    assert not activity.sleeps
