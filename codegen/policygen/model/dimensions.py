"""Dimensions of hardware facts, their units, and how a value is printed for people."""

from __future__ import annotations

from decimal import Decimal
from enum import Enum
from typing import Final


class Dimension(Enum):
    """What a number counts; the value is the name used in messages and documents."""

    COUNT = "count"
    """A bare number of things."""
    BYTES = "bytes"
    """A size, binary units."""
    BYTES_PER_SECOND = "bytes_per_second"
    """A rate, decimal units."""
    FLOPS = "flops"
    """Floating-point operations a second, decimal units."""
    NANOSECONDS = "nanoseconds"
    """A time, held in whole nanoseconds."""
    COMPUTE_CAPABILITY = "compute_capability"
    """A version "10.3", held as major * 10 + minor = 103."""
    TOOLKIT = "toolkit"
    """A version "13.4", held as major * 100 + minor = 1304."""


_RATE: Final = (("", 1), ("k", 10**3), ("M", 10**6), ("G", 10**9), ("T", 10**12), ("P", 10**15))

UNITS: Final[dict[Dimension, dict[str, int]]] = {
    Dimension.COUNT: {},
    Dimension.BYTES: {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40},
    Dimension.BYTES_PER_SECOND: {f"{prefix}B/s": factor for prefix, factor in _RATE},
    Dimension.FLOPS: {f"{prefix}FLOP/s": factor for prefix, factor in _RATE},
    Dimension.NANOSECONDS: {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9},
    Dimension.COMPUTE_CAPABILITY: {},
    Dimension.TOOLKIT: {},
}
"""Units by dimension, smallest first, each with its factor to the unit in which values are held."""


def format_value(dimension: Dimension, value: int) -> str:
    """Returns a value with its unit, exactly: reading the text back gives the same integer.

    Sizes take the largest binary unit that divides them ("48 KiB", "49153 B"); rates and times take the
    largest unit that is not above them ("584.2 GB/s", "6.2 us"); versions are printed with a dot.
    """
    if dimension is Dimension.COMPUTE_CAPABILITY:
        return f"{value // 10}.{value % 10}"
    if dimension is Dimension.TOOLKIT:
        return f"{value // 100}.{value % 100}"
    if dimension is Dimension.COUNT:
        return str(value)
    if dimension is Dimension.BYTES:
        unit, factor = max((item for item in UNITS[dimension].items() if value % item[1] == 0), key=_factor)
        return f"{value // factor if value else 0} {unit if value else 'B'}"
    fitting = [item for item in UNITS[dimension].items() if item[1] <= value]
    unit, factor = max(fitting, key=_factor) if fitting else next(iter(UNITS[dimension].items()))
    return f"{_plain_decimal(value, factor)} {unit}"


def _factor(item: tuple[str, int]) -> int:
    return item[1]


def _plain_decimal(value: int, factor: int) -> str:
    text = f"{Decimal(value).scaleb(1 - len(str(factor))):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
