from __future__ import annotations

import pytest

from policygen.plan.offsets import checked_offset
from policygen.plan.offsets import offset_bits


def test_a_product_is_widened_where_each_factor_fits() -> None:
    assert offset_bits(16_000_000, 200) == 64
    assert offset_bits(16_000_000, 100) == 32
    assert offset_bits(64_000, 32, 16, 128) == 64


@pytest.mark.parametrize(("value", "bits"), [(2**31 - 1, 32), (2**31, 64), (0, 32), (2**63 - 1, 64)])
def test_width_at_the_bounds(value: int, bits: int) -> None:
    assert offset_bits(value) == bits


def test_a_kernel_with_narrow_offsets_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"16000000 x 200 = 3200000000 does not fit a signed 32-bit offset: use 64-bit"
    ):
        checked_offset(16_000_000, 200, bits=32)
    assert checked_offset(16_000_000, 200, bits=64) == 3_200_000_000


def test_what_no_offset_holds_is_refused() -> None:
    with pytest.raises(ValueError, match="does not fit a signed 64-bit offset: split the work"):
        offset_bits(2**40, 2**40)
    with pytest.raises(ValueError, match="a factor of an offset is -1"):
        offset_bits(-1, 5)
    with pytest.raises(ValueError, match="32 or 64 bits, not 16"):
        checked_offset(1, bits=16)
