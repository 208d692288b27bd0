from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policygen.loading.quantities import QuantityError
from policygen.loading.quantities import parse_cc_range
from policygen.loading.quantities import parse_compute_capability
from policygen.loading.quantities import parse_count_range
from policygen.loading.quantities import parse_quantity
from policygen.model.dimensions import Dimension

BYTES, RATE, TIME = Dimension.BYTES, Dimension.BYTES_PER_SECOND, Dimension.NANOSECONDS
CC, TOOLKIT, COUNT = Dimension.COMPUTE_CAPABILITY, Dimension.TOOLKIT, Dimension.COUNT
INT64_MAX = 2**63 - 1


@pytest.mark.parametrize(
    ("value", "dimension", "number"),
    [
        ("48 KiB", BYTES, 49152),
        ("48KiB", BYTES, 49152),
        ("49152 B", BYTES, 49152),
        ("1.5 KiB", BYTES, 1536),
        ("6 MiB", BYTES, 6_291_456),
        ("32 GiB", BYTES, 34_359_738_368),
        ("0 B", BYTES, 0),
        ("900 GB/s", RATE, 900_000_000_000),
        ("584.2 GB/s", RATE, 584_200_000_000),
        ("9007199254740993 B/s", RATE, 9_007_199_254_740_993),
        ("9223372036.854775807 GB/s", RATE, INT64_MAX),
        ("6.2 us", TIME, 6200),
        ("7.8 TFLOP/s", Dimension.FLOPS, 7_800_000_000_000),
        ("10.0", CC, 100),
        ("7.5", CC, 75),
        ("13.4", TOOLKIT, 1304),
        ("12.0", TOOLKIT, 1200),
        (16, COUNT, 16),
        (0, COUNT, 0),
    ],
)
def test_quantity_is_exact(value: object, dimension: Dimension, number: int) -> None:
    assert parse_quantity(value, dimension) == number


@pytest.mark.parametrize(
    ("value", "dimension", "message"),
    [
        ("48 KB", BYTES, '"48 KB" is in doubt: write "48 KiB" (49152 bytes) or "48000 B"'),
        ("48 kB", BYTES, '"48 kB" is in doubt: write "48 KiB" (49152 bytes) or "48000 B"'),
        ("48K", BYTES, '"48K" is in doubt: write "48 KiB" (49152 bytes) or "48000 B"'),
        ("1.5 GB", BYTES, '"1.5 GB" is in doubt: write "1.5 GiB" (1610612736 bytes) or "1500000000 B"'),
        (49152, BYTES, '49152 needs a unit: write "49152 B" or "48 KiB"'),
        (44, BYTES, '44 needs a unit: write "44 B"'),
        (900, RATE, '900 needs a unit: write "900 B/s"'),
        (584.2, RATE, '584.2 needs a unit: write a text such as "900 GB/s"'),
        ("49152", BYTES, '"49152" needs a unit: write "49152 B" or such as "48 KiB"'),
        (True, BYTES, 'true is not a value of bytes: write a text such as "48 KiB"'),
        ("0.3 KiB", BYTES, '"0.3 KiB" is not a whole number of B'),
        ("0.5 ns", TIME, '"0.5 ns" is not a whole number of ns'),
        ("-1 KiB", BYTES, '"-1 KiB" is below zero'),
        ("8388608 TiB", BYTES, '"8388608 TiB" is more than an int64 holds'),
        ("48 kib", BYTES, '"48 kib" has an unknown unit "kib"; did you mean "KiB"? Valid: B, KiB, MiB, GiB, TiB'),
        ("3 parsec", TIME, '"3 parsec" has an unknown unit "parsec"; valid: ns, us, ms, s'),
        ("49,152 B", BYTES, '"49,152 B" is not a number with a unit: write a text such as "48 KiB"'),
        ("\u0663 B", BYTES, '"\u0663 B" is not a number with a unit: write a text such as "48 KiB"'),
        ("9" * 50 + " B", BYTES, f'"{"9" * 50} B" is not a number with a unit: write a text such as "48 KiB"'),
        (10.0, CC, '10.0 is a number: a version is a text, write "9.0"'),
        ("10", CC, '"10" is not a version: write major.minor, such as "9.0"'),
        ("9.10", CC, '"9.10" is not a version: write major.minor, such as "9.0"'),
        ("13.04", TOOLKIT, '"13.04" is not a version: write major.minor, such as "13.0"'),
        (16.0, COUNT, "16.0 is not a count: expected a whole number"),
        ("16", COUNT, '"16" is not a count: expected a whole number; write 16 without quotes'),
        (True, COUNT, "true is not a count: expected a whole number"),
        (-1, COUNT, '"-1" is below zero'),
    ],
)
def test_bad_quantity_says_what_to_write(value: object, dimension: Dimension, message: str) -> None:
    with pytest.raises(QuantityError) as caught:
        parse_quantity(value, dimension)
    assert str(caught.value) == message


@given(st.integers(0, 10**15), st.integers(0, 999))
def test_decimal_rates_are_exact(whole: int, thousandths: int) -> None:
    assert parse_quantity(f"{whole}.{thousandths:03} kB/s", RATE) == whole * 1000 + thousandths


@pytest.mark.parametrize("text", ["sm_90", "sm_90a", "compute_90", "compute_90a", "90", "90a", "9.0", "900"])
def test_names_of_one_architecture(text: str) -> None:
    assert parse_compute_capability(text) == 90


@pytest.mark.parametrize(
    ("text", "capability"),
    [("sm_103f", 103), ("10.3", 103), ("1030", 103), ("100", 100), ("1000", 100), ("120", 120), ("1200", 120)],
)
def test_capabilities_of_three_digits(text: str, capability: int) -> None:
    assert parse_compute_capability(text) == capability


def test_capabilities_order_as_versions() -> None:
    ascending = [parse_compute_capability(name) for name in ("8.9", "sm_90a", "10.0", "10.3", "11.0", "12.0", "12.1")]
    assert ascending == sorted(set(ascending))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sm_9", '"sm_9" is not a known compute capability; the nearest is sm_90 (9.0)'),
        ("sm_1000", '"sm_1000" is not a known compute capability; the nearest is sm_100 (10.0)'),
        ("sm_900", '"sm_900" is not a known compute capability; the nearest is sm_90 (9.0)'),
        ("91", '"91" is not a known compute capability; the nearest is sm_90 (9.0)'),
        ("8.5", '"8.5" is not a known compute capability; the nearest is sm_86 (8.6)'),
        ("sm_107", '"sm_107" is not a known compute capability; the nearest is sm_110 (11.0)'),
        ("sm_30", '"sm_30" is not a known compute capability; the nearest is sm_50 (5.0)'),
        ("090", '"090" is not a known compute capability; the nearest is sm_90 (9.0)'),
        ("9" * 5000, f'"{"9" * 5000}" is not a known compute capability; the nearest is sm_121 (12.1)'),
        ("90b", '"90b" is not a compute capability: write it as sm_90, compute_90, 90 or 9.0'),
        ("sm90", '"sm90" is not a compute capability: write it as sm_90, compute_90, 90 or 9.0'),
        ("900a", '"900a" is not a known compute capability; the nearest is sm_90 (9.0)'),
        ("", '"" is not a compute capability: write it as sm_90, compute_90, 90 or 9.0'),
        ("sm_90\n", '"sm_90\n" is not a compute capability: write it as sm_90, compute_90, 90 or 9.0'),
    ],
)
def test_bad_capability_names_the_nearest(text: str, message: str) -> None:
    with pytest.raises(QuantityError) as caught:
        parse_compute_capability(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("<=2^20", (0, 2**20)),
        ("<2^20", (0, 2**20 - 1)),
        (">2^16,<=2^24", (2**16 + 1, 2**24)),
        (" >= 5 , < 7 ", (5, 6)),
        ("==1024", (1024, 1024)),
        (">=0", (0, INT64_MAX)),
        ("<=9223372036854775807", (0, INT64_MAX)),
    ],
)
def test_count_range_has_both_ends(text: str, ends: tuple[int, int]) -> None:
    assert parse_count_range(text) == ends


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        (">=10.7,<11", (107, 109)),
        (">=10.7,<11.0", (107, 109)),
        ("==8.0", (80, 80)),
        (">9", (91, 2**31 - 1)),
        ("<=9", (0, 90)),
        ("<6.1", (0, 60)),
    ],
)
def test_capability_range_has_both_ends(text: str, ends: tuple[int, int]) -> None:
    assert parse_cc_range(text) == ends


EXAMPLES = '"<=2^20" or ">2^16,<=2^24" or "==1024"'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1024", f'"1024" is not a range: write such as {EXAMPLES}'),
        ("", f'"" is not a range: write such as {EXAMPLES}'),
        ("<=5,", f'"<=5," is not a range: write such as {EXAMPLES}'),
        ("!=5", f'"!=5" is not a range: write such as {EXAMPLES}'),
        ("<=2**20", '"2**20" is not a count: write a whole number such as 1024 or 2^20'),
        ("<=-1", '"-1" is not a count: write a whole number such as 1024 or 2^20'),
        ("<=2^63", '"2^63" is more than an int64 holds'),
        ("<=5,<9", '"<=5,<9" bounds one end twice'),
        ("==5,>=5", '"==5,>=5" bounds one end twice'),
        (">5,<5", '">5,<5" holds nothing: its lower end is above its upper end'),
        ("<0", '"<0" holds nothing: its lower end is above its upper end'),
        (">9223372036854775807", '">9223372036854775807" holds nothing: its lower end is above its upper end'),
    ],
)
def test_bad_count_range(text: str, message: str) -> None:
    with pytest.raises(QuantityError) as caught:
        parse_count_range(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (">=sm_90", '"sm_90" is not a compute capability: write major.minor, such as "9.0"'),
        (">=900", '"900" is not a compute capability: write major.minor, such as "9.0"'),
        ("9.0", '"9.0" is not a range: write such as ">=10.0" or ">=10.7,<11" or "==8.0"'),
    ],
)
def test_bad_capability_range(text: str, message: str) -> None:
    with pytest.raises(QuantityError) as caught:
        parse_cc_range(text)
    assert str(caught.value) == message
