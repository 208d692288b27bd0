from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policygen.plan.partitions import is_unpartitioned
from policygen.plan.partitions import partition_plan
from policygen.plan.reduce_plan import RUN_TO_RUN
from policygen.plan.reduce_plan import fits_single_tile


@pytest.mark.parametrize(
    ("length", "partitions", "last"),
    [(0, 0, 0), (1, 1, 1), (511, 1, 511), (512, 1, 512), (513, 2, 1), (524_289, 1025, 1)],
)
def test_only_the_last_partition_is_shorter(length: int, partitions: int, last: int) -> None:
    plan = partition_plan(length, 512)
    assert (plan.num_partitions, plan.last_items) == (partitions, last)


@given(length=st.integers(0, 2**20), partition_items=st.integers(512, 2**16))
def test_partitions_join_to_the_sequence(length: int, partition_items: int) -> None:
    plan = partition_plan(length, partition_items)
    ranges = [plan.partition(number) for number in range(plan.num_partitions)]
    assert [start for start, _ in ranges] == list(range(0, length, partition_items))
    assert [end for _, end in ranges] == [*(start for start, _ in ranges[1:]), *([length] if length else [])]
    if ranges:
        assert ranges[-1][1] - ranges[-1][0] == plan.last_items


def test_a_partition_size_is_not_a_partition_count() -> None:
    with pytest.raises(ValueError, match="partition_items is 0"):
        partition_plan(100, 0)
    with pytest.raises(ValueError, match="partition 2 is not one of the 2 of this sequence"):
        partition_plan(1000, 512).partition(2)


def test_the_engine_has_two_comparisons_where_cub_has_one() -> None:
    def engine(length: int, partition_items: int, reduce_tile_items: int) -> bool:
        return is_unpartitioned(length, partition_items=partition_items, reduce_tile_items=reduce_tile_items)

    assert engine(1024, 1024, 512)
    assert engine(1024, 512, 1024)
    assert not engine(1025, 1024, 512)
    assert not fits_single_tile(1024, determinism=RUN_TO_RUN, single_tile_items=512)
