"""What the dispatchers' own answers do not show of the sort: sizes that no policy has, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policygen.plan.radix_sort_plan import SortShape
from policygen.plan.radix_sort_plan import SweepCounts
from policygen.plan.radix_sort_plan import digit_passes
from policygen.plan.radix_sort_plan import multi_pass_plan
from policygen.plan.radix_sort_plan import onesweep_plan
from policygen.plan.radix_sort_plan import trivial_sort
from policygen.plan.residency import Residency

TWO = Residency(sm_count=16, occupancy=2)


def shape(begin_bit: int = 0, end_bit: int = 32, *, offset_size: int = 8, can_overwrite: bool = False) -> SortShape:
    return SortShape(
        key_size=4,
        value_size=0,
        offset_size=offset_size,
        begin_bit=begin_bit,
        end_bit=end_bit,
        can_overwrite=can_overwrite,
    )


@given(begin=st.integers(0, 32), bits=st.integers(0, 32), regular=st.integers(1, 12), narrower=st.integers(0, 3))
def test_digits_cover_the_bits(begin: int, bits: int, regular: int, narrower: int) -> None:
    sorted_by = shape(begin, min(32, begin + bits))
    alternate = max(1, regular - narrower)
    found = digit_passes(sorted_by, regular_bits=regular, alternate_bits=alternate)
    assert sum(found) == sorted_by.bits
    assert all(1 <= digit <= regular for digit in found)
    if narrower <= 1:
        assert len(found) == -(-sorted_by.bits // regular)


def test_a_portion_is_less_than_two_to_the_28() -> None:
    plan = onesweep_plan(2**28, shape=shape(), tile_items=2**12, digit_bits=8, residency=TWO)
    assert (plan.portion_items, plan.portions) == (2**28 - 2**12, 2)
    assert (plan.grid, plan.last_portion_grid) == (2**16 - 1, 1)


def test_the_tiles_of_all_portions_are_those_of_the_items() -> None:
    plan = onesweep_plan(10**10, shape=shape(), tile_items=7680, digit_bits=8, residency=TWO)
    assert (plan.portions - 1) * plan.grid + plan.last_portion_grid == -(-(10**10) // 7680)


@pytest.mark.parametrize("items", [2**32, 2**62])
def test_an_offset_that_cannot_count_the_items_is_refused(items: int) -> None:
    with pytest.raises(ValueError, match=r"num_items is \d+: a plan needs 0 to 4294967295"):
        trivial_sort(items, shape=shape(offset_size=4), single_tile_items=100, digit_bits=6, residency=TWO)


def test_blocks_beyond_what_upstream_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="digits of all blocks is 68719476480"):
        onesweep_plan(2**32, shape=shape(), tile_items=1, digit_bits=8, residency=TWO)


def test_a_tile_beyond_a_portion_is_refused() -> None:
    with pytest.raises(ValueError, match="tile_items is 268435456"):
        onesweep_plan(1, shape=shape(), tile_items=2**28, digit_bits=8, residency=TWO)


def test_a_wider_alternate_digit_is_refused() -> None:
    counts = {"upsweep_items": 100, "downsweep_items": 200}
    with pytest.raises(ValueError, match="a digit of 8 bits is no narrower one than 7"):
        multi_pass_plan(
            10**6,
            shape=shape(),
            regular=SweepCounts(radix_bits=7, **counts),
            alternate=SweepCounts(radix_bits=8, **counts),
            scan_items=100,
            residency=TWO,
        )


@pytest.mark.parametrize(("begin", "end"), [(5, 4), (-1, 4), (0, 33)])
def test_bits_lie_in_the_key(begin: int, end: int) -> None:
    with pytest.raises(ValueError, match="_bit is"):
        shape(begin, end)
