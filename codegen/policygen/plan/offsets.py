"""The width of the offsets that a product of counts needs: each factor may fit where the product does not."""

from __future__ import annotations

from math import prod
from typing import Final

from policygen.plan.counts import INT32_MAX
from policygen.plan.counts import checked

INT64_MAX: Final = 2**63 - 1

_HIGHEST: Final = {32: INT32_MAX, 64: INT64_MAX}


def offset_bits(*factors: int) -> int:
    """The bits of the narrowest signed offset that holds the product of the factors: 32 or 64.

    Args:
        factors: counts of at least 0, such as segments and items a segment.

    Raises:
        ValueError: not even 64 bits hold it, or a factor is negative.
    """
    return 32 if _product(factors) <= INT32_MAX else 64


def checked_offset(*factors: int, bits: int) -> int:
    """The product of the factors, for a kernel whose offsets have a fixed width.

    Args:
        factors: counts of at least 0.
        bits: the width of the kernel's signed offsets, 32 or 64.

    Raises:
        ValueError: the product does not fit, or a factor is negative.
    """
    if bits not in _HIGHEST:
        raise ValueError(f"an offset has 32 or 64 bits, not {bits}")
    product = _product(factors)
    if product > _HIGHEST[bits]:
        text = " x ".join(str(factor) for factor in factors)
        raise ValueError(f"{text} = {product} does not fit a signed {bits}-bit offset: use 64-bit offsets")
    return product


def _product(factors: tuple[int, ...]) -> int:
    product = prod(checked("a factor of an offset", factor, 0, INT64_MAX) for factor in factors)
    if product > INT64_MAX:
        text = " x ".join(str(factor) for factor in factors)
        raise ValueError(f"{text} = {product} does not fit a signed 64-bit offset: split the work")
    return product
