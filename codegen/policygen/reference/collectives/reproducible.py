"""Floating-point sums that do not depend on their order (`cub::detail::rfa::ReproducibleFloatingAccumulator`).

The range of exponents is cut into bins of fixed places, 13 bits wide for float32 and 40 for float64. An accumulator
keeps three neighbouring bins; the uppermost is where the largest number seen so far belongs. A number is cut into a
multiple of the first bin's unit, nearest to it, then what is left into a multiple of the second's, and of the third's;
the rest is lost. Multiples of one unit add up exactly, and a number is cut in the same places whatever came before it:
bins above its own get nothing. So the sum, what is lost included, is the same in any order and on any grid.

Here a bin's content is an integer, the multiple of its unit; upstream keeps it as a number and a carry.
Not modelled: infinities, NaN, and numbers in the uppermost bin (2^115 and up for float32, 2^984 for float64), where
upstream compresses; and accumulators that have seen nothing but zeros and the smallest denormals, where
upstream's uppermost bin is not set up. Reproduced, though odd (CCCL 3.5): a denormal float64 takes the place of numbers
near 2^24, because its exponent is asked of a float32 function; smaller numbers beside it are lost.

A sum of n numbers is off by at most n / 2 units of the third bin, for the bin of the largest.
"""

from __future__ import annotations

import math
from typing import Final

import torch
from attrs import field
from attrs import frozen
from torch import Tensor

from policygen.reference.values.elements import Element
from policygen.reference.values.elements import words_element
from policygen.reference.values.operators import Operator

FOLD: Final = 3
"""Bins of an accumulator."""

_TINY_DOUBLE: Final = 2.0**-1022


@frozen
class Bins:
    """Where bins lie for a type.

    Attributes:
        dtype: of the numbers.
        bits: the integer type of the same width.
        width: bits of a bin.
        highest: numbers below 2^highest are finite; bin i is for exponents `width` below each other.
        unit: exponent of bin 0's unit.
        last: index of the lowest bin.
        mantissa: bits of a number after the point.
    """

    dtype: torch.dtype
    bits: torch.dtype
    width: int
    highest: int
    unit: int
    last: int
    mantissa: int

    def index(self, values: Tensor) -> Tensor:
        """The uppermost bin that a number has something in: int64. Raises ValueError for numbers of bin 0."""
        _, exponent = torch.frexp(values)
        if self.dtype is torch.float64:
            # upstream asks frexpf, which knows a denormal float64 as zero
            exponent = torch.where(values.abs() < _TINY_DOUBLE, 0, exponent)
        index = torch.div(self.highest - exponent.long(), self.width, rounding_mode="floor").clamp(max=self.last)
        index = torch.where(values == 0, self.last, index)
        if bool((index < 1).any()):
            raise ValueError("numbers of the uppermost bin are not modelled")
        return index

    def units(self, index: Tensor) -> Tensor:
        """A bin's unit, float64; past the last bin it is the last one's."""
        return self._powers(1.0, 0, torch.float64, index)

    def large(self, index: Tensor) -> Tensor:
        """A number so large that adding to it rounds to the bin's units, with room on both sides."""
        return self._powers(1.5, self.mantissa, self.dtype, index)

    def _powers(self, factor: float, shift: int, dtype: torch.dtype, index: Tensor) -> Tensor:
        # of bin 0, which is not modelled, there is no such number
        exponents = [self.unit - self.width * bin_ + shift for bin_ in range(1, self.last + 1)]
        table = torch.tensor([math.nan, *(math.ldexp(factor, e) for e in exponents)], dtype=dtype)
        return table.to(index.device)[index.clamp(max=self.last)]


BINS: Final = {
    torch.float32: Bins(torch.float32, torch.int32, 13, 128, 116, 20, 23),
    torch.float64: Bins(torch.float64, torch.int64, 40, 1024, 985, 51, 52),
}


@frozen
class BinnedSum(Operator):
    """Addition of accumulators: int64 words (uppermost bin, multiples of the three units).

    Attributes:
        bins: of the numbers that are added up.
    """

    bins: Bins = field(kw_only=True)

    def combine(self, earlier: Tensor, later: Tensor) -> Tensor:
        """See Operator."""
        top = torch.minimum(earlier[..., 0], later[..., 0])
        counts = raised(earlier, top) + raised(later, top)
        return torch.cat([top.unsqueeze(-1), counts], dim=-1)

    def identity(self) -> Tensor:
        """See Operator."""
        return torch.tensor([self.bins.last, 0, 0, 0])

    def with_numbers(self, accumulators: Tensor, numbers: Tensor) -> Tensor:
        """Accumulators after some more numbers each: they are made ready for the largest, then all are put in.

        Args:
            accumulators: [..., 4].
            numbers: [items, ...].
        """
        top = torch.minimum(accumulators[..., 0], self.bins.index(numbers).amin(0))
        counts = list(raised(accumulators, top).unbind(-1))
        rest = numbers
        for place in range(FOLD):
            multiple, rest = self._cut(rest, (top + place).expand(rest.shape))
            counts[place] = counts[place] + multiple.sum(0)
        return torch.stack([top, *counts], dim=-1)

    def _cut(self, numbers: Tensor, index: Tensor) -> tuple[Tensor, Tensor]:
        """The multiples of a bin's unit that are nearest to numbers, and what is left of these."""
        bins = self.bins
        large = bins.large(index)
        # a last bit that is set leaves no number half-way between two units
        odd = (numbers.view(bins.bits) | 1).view(bins.dtype)
        rounded = large + odd
        multiple = rounded.view(bins.bits).long() - large.view(bins.bits).long()
        return multiple, numbers + (large - rounded)

    def value(self, accumulators: Tensor) -> Tensor:
        """What accumulators amount to, rounded once to the type of the numbers: [...]."""
        top = accumulators[..., 0]
        total = torch.zeros(top.shape, dtype=torch.float64, device=top.device)
        for place in range(FOLD):
            total = total + accumulators[..., place + 1].to(torch.float64) * self.bins.units(top + place)
        return total.to(self.bins.dtype)


def binned_sum(element: Element) -> BinnedSum:
    """The addition of accumulators for float32 or float64. Upstream's have twice three numbers."""
    accumulator = words_element(f"binned {element.name}", 8 * element.size, 1 + FOLD)
    return BinnedSum("binned plus", accumulator, recognised=False, bins=BINS[element.dtype])


def raised(accumulators: Tensor, top: Tensor) -> Tensor:
    """The multiples of accumulators whose uppermost bin goes up: what falls out below is lost. [..., 3]."""
    shift = (accumulators[..., 0] - top).unsqueeze(-1)
    source = torch.arange(FOLD, device=top.device) - shift
    counts = accumulators[..., 1:].gather(-1, source.clamp(min=0))
    return torch.where(source >= 0, counts, 0)


def lost(values: Tensor) -> float:
    """How far a sum of these may be off for what no bin keeps: half a unit of the third bin for each number."""
    if values.numel() == 0:
        return 0.0
    bins = BINS[values.dtype]
    third = bins.index(values.cpu()).min() + FOLD - 1
    return values.numel() / 2 * float(bins.units(third))
