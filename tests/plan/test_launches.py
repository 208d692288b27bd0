"""Launches of policies and devices that upstream's answers do not have."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policygen.model.record import Record
from policygen.plan.async_copy_smem import cp_async_smem_bytes
from policygen.plan.batch_memcpy_plan import COPY_CLASSES
from policygen.plan.batch_memcpy_plan import CopyThresholds
from policygen.plan.batch_memcpy_plan import copy_work
from policygen.plan.copy_launch import batch_memcpy_launch
from policygen.plan.device import Device
from policygen.plan.planners import PLANNERS
from policygen.plan.residency import Residency
from policygen.plan.segment_launch import segmented_reduce_launch
from policygen.plan.topk_plan import topk_plan
from policygen.plan.transform_launch import transform_launch

TWO = Residency(sm_count=16, occupancy=2)
SIZES = st.lists(st.integers(0, 10**6), max_size=30)
THRESHOLDS = CopyThresholds(warp_level_threshold=128, block_level_threshold=8192, block_level_tile_size=4096)


def test_a_vectorised_kernel_keeps_its_block_for_unaligned_pointers() -> None:
    policy = Record(
        {
            "algorithm": "vectorized",
            "min_bytes_in_flight": 65_536,
            "prefetch": {
                "threads_per_block": 256,
                "items_per_thread_no_input": 2,
                "min_items_per_thread": 1,
                "max_items_per_thread": 32,
            },
            "vectorized": {"threads_per_block": 512, "items_per_thread": 8},
        }
    )
    key = Record({"inputs": [{"value_type_size": 4, "value_type_alignment": 4}]})
    given_: Any = {"num_items": 10**8, "device": Device(residency=TWO)}
    aligned = transform_launch(policy, key, **given_)
    assert (aligned.algorithm, aligned.threads_per_block, aligned.items_per_thread) == ("vectorized", 512, 8)
    unaligned = transform_launch(policy, key, **given_, aligned=False)
    assert (unaligned.algorithm, unaligned.threads_per_block, unaligned.items_per_thread) == ("prefetch", 512, 16)


@pytest.mark.parametrize(
    ("inputs", "expected"),
    [
        ([], 0),
        ([(4, 4)], 4096 + 24),
        ([(1, 1), (8, 8)], 1024 + 30 + 2 + 8192 + 16),
        ([(32, 32), (16, 16)], 32_768 + 16_384),
    ],
)
def test_room_for_unaligned_ends_is_there_twice(inputs: list[tuple[int, int]], expected: int) -> None:
    assert cp_async_smem_bytes(inputs, 1024) == expected


@pytest.mark.parametrize(("size", "who"), [(0, 0), (1, 1), (128, 1), (129, 2), (8192, 2), (8193, 3), (2**62, 3)])
def test_a_size_at_a_threshold_is_below_it(size: int, who: int) -> None:
    assert THRESHOLDS.copied_by(size) == COPY_CLASSES[who]


@given(sizes=SIZES)
def test_each_buffer_has_one_class(sizes: list[int]) -> None:
    work = copy_work(sizes, THRESHOLDS)
    assert work.empty + work.threads + work.warps + work.blocks == len(sizes)
    assert work.bytes == sum(sizes)
    assert work.bytes_by_blocks <= 4096 * work.block_tiles < work.bytes_by_blocks + 4096 * max(1, work.blocks)


def test_sizes_are_those_of_the_buffers() -> None:
    small = {
        "threads_per_block": 128,
        "buffers_per_thread": 4,
        "block_level_tile_size": 4096,
        "warp_level_threshold": 128,
        "block_level_threshold": 8192,
    }
    policy: Any = Record(
        {"lookback": {"small_buffer": small, "large_buffer": {"threads_per_block": 256, "bytes_per_thread": 16}}}
    )
    device = Device(residency=TWO)
    launch = batch_memcpy_launch(policy, None, num_items=2, device=device, sizes=[10, 10_000])
    assert launch.work is not None
    assert (launch.work.threads, launch.work.blocks, launch.work.block_tiles) == (1, 1, 3)
    assert launch.plan.large_grid == launch.plan.large_waves.blocks == 160
    assert batch_memcpy_launch(policy, None, num_items=2, device=device).work is None
    with pytest.raises(ValueError, match="there are 1 sizes for 2 buffers"):
        batch_memcpy_launch(policy, None, num_items=2, device=device, sizes=[1])


def test_thresholds_are_in_order() -> None:
    with pytest.raises(ValueError, match="block_level_threshold is 127: a plan needs 128"):
        CopyThresholds(warp_level_threshold=128, block_level_threshold=127, block_level_tile_size=1)


@pytest.mark.parametrize(
    ("longest", "segments_per_block", "grid"),
    [(0, 1, 1000), (1, 256, 4), (16, 256, 4), (17, 8, 125), (512, 8, 125), (513, 1, 1000), (10**12, 1, 1000)],
)
def test_short_segments_share_a_block(longest: int, segments_per_block: int, grid: int) -> None:
    policy: Any = Record(
        {
            "small_reduce": {"threads_per_block": 256, "threads_per_warp": 1, "items_per_thread": 16},
            "medium_reduce": {"threads_per_block": 256, "threads_per_warp": 32, "items_per_thread": 16},
        }
    )
    plan = segmented_reduce_launch(policy, None, num_items=1000, device=Device(residency=TWO), max_segment_size=longest)
    assert (plan.segments_per_block, plan.grid) == (segments_per_block, grid)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"offset_size": 2}, "an offset has 4 or 8 bytes"),
        ({"k": -1}, "k is -1"),
        ({"num_items": 2**32}, "num_items is 4294967296"),
        ({"key_bits": 33}, "key_bits is 33"),
        ({"histogram_occupancy": 0}, "an occupancy is 0"),
    ],
)
def test_a_selection_out_of_bounds_is_refused(changed: dict[str, int], message: str) -> None:
    numbers = {"num_items": 100, "k": 1, "key_size": 4, "value_size": 0, "offset_size": 4, **changed}
    items = numbers.pop("num_items")
    with pytest.raises(ValueError, match=message):
        topk_plan(items, tile_items=100, digit_bits=8, residency=TWO, **numbers)


def test_k_is_no_more_than_there_is() -> None:
    plan = topk_plan(10, k=64, key_size=4, value_size=0, offset_size=4, tile_items=100, digit_bits=8, residency=TWO)
    assert (plan.k, plan.grid, plan.pass_bits, plan.launches) == (10, 1, (8, 8, 8, 8), 5)


def test_a_device_says_what_it_does_not_know() -> None:
    with pytest.raises(ValueError, match="the device does not know max_smem_per_block, which this plan needs"):
        Device(residency=TWO).residency_with(100)


def test_shared_memory_takes_blocks() -> None:
    device = Device(
        residency=Residency(sm_count=2, occupancy=8),
        max_smem_per_block=49_152,
        smem_per_sm=65_536,
        reserved_smem_per_block=1024,
        smem_allocation_unit=128,
    )
    found = [device.residency_with(size) for size in (0, 7168, 7169, 15_360, 49_152, 49_153)]
    assert [None if one is None else one.occupancy for one in found] == [8, 8, 7, 4, 1, None]


def test_every_argument_and_field_is_told() -> None:
    for name, planner in PLANNERS.items():
        assert planner.title.startswith("Plans ")
        assert planner.items_doc
        assert all(argument.doc for argument in planner.arguments), name
