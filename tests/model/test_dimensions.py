from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policygen.loading.quantities import parse_quantity
from policygen.model.dimensions import Dimension
from policygen.model.dimensions import format_value


@pytest.mark.parametrize(
    ("dimension", "value", "text"),
    [
        (Dimension.COUNT, 16, "16"),
        (Dimension.BYTES, 0, "0 B"),
        (Dimension.BYTES, 44, "44 B"),
        (Dimension.BYTES, 49152, "48 KiB"),
        (Dimension.BYTES, 49153, "49153 B"),
        (Dimension.BYTES, 6 * 2**20, "6 MiB"),
        (Dimension.BYTES, 32 * 2**30, "32 GiB"),
        (Dimension.BYTES_PER_SECOND, 584_200_000_000, "584.2 GB/s"),
        (Dimension.BYTES_PER_SECOND, 36_512_500_000, "36.5125 GB/s"),
        (Dimension.BYTES_PER_SECOND, 900_000_000_000, "900 GB/s"),
        (Dimension.BYTES_PER_SECOND, 4_800_000_000_000, "4.8 TB/s"),
        (Dimension.FLOPS, 7_800_000_000_000, "7.8 TFLOP/s"),
        (Dimension.NANOSECONDS, 6200, "6.2 us"),
        (Dimension.NANOSECONDS, 20, "20 ns"),
        (Dimension.COMPUTE_CAPABILITY, 103, "10.3"),
        (Dimension.TOOLKIT, 1304, "13.4"),
    ],
)
def test_value_is_printed_for_people(dimension: Dimension, value: int, text: str) -> None:
    assert format_value(dimension, value) == text


@given(st.sampled_from(list(Dimension)), st.integers(0, 2**63 - 1))
def test_printed_value_reads_back_as_the_same_integer(dimension: Dimension, value: int) -> None:
    if dimension in (Dimension.COMPUTE_CAPABILITY, Dimension.TOOLKIT):
        value %= 1000
    text = format_value(dimension, value)
    assert parse_quantity(value if dimension is Dimension.COUNT else text, dimension) == value
