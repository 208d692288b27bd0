"""The counts that a plan accepts, and division that rounds up."""

from __future__ import annotations

from operator import index
from typing import Final

INT32_MAX: Final = 2**31 - 1
"""The greatest `int`: upstream counts tiles and blocks with it."""

MAX_ITEMS: Final = 2**62
"""The most items of a plan: stepping past the end by a stride of whole tiles stays within 64 bits."""


def ceil_div(dividend: int, divisor: int) -> int:
    """The quotient of a dividend of at least 0 and a divisor of at least 1, rounded up."""
    return -(-dividend // divisor)


def round_up(value: int, multiple: int) -> int:
    """The least multiple that is not below the value."""
    return ceil_div(value, multiple) * multiple


def checked(name: str, value: int, low: int, high: int = INT32_MAX) -> int:
    """An integer within bounds.

    Args:
        name: what it is, for the message.
        value: an int, or anything that is one exactly (`__index__`).
        low: the least value allowed.
        high: the greatest value allowed.

    Raises:
        TypeError: the value is no integer.
        ValueError: it is out of bounds.
    """
    number = index(value)
    if not low <= number <= high:
        raise ValueError(f"{name} is {number}: a plan needs {low} to {high}")
    return number


def checked_items(num_items: int) -> int:
    """A number of items, 0 to 2^62. Raises as `checked` does."""
    return checked("num_items", num_items, 0, MAX_ITEMS)
