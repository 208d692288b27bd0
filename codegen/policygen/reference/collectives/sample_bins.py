"""The bin of a sample (`cub::detail::histogram::Transforms`): by scaling, by searching, or the sample itself.

- Scaling, for even bins. Integers: (sample - lowest) x bins / range, in 32 bits without sign where sample and level
  have 4 bytes together at most, else in 64. Range and bins are cut to the common type first: levels of a narrow signed
  type whose range is beyond that type put every sample into bin 0. Floating-point numbers: (sample - lowest) x
  (bins / range), each rounded; a sample just below the highest level may come out one past the last bin.
- Searching, for ranges: a binary search for the first level that is greater. NaN is greater than none, and in no bin.
- The sample itself, as an int: how samples of one byte are counted. A negative one has no bin.

Bins are int64, -1 for none.
"""

from __future__ import annotations

from typing import Protocol

import torch
from attrs import frozen
from torch import Tensor

from policygen.reference.values.elements import ELEMENTS
from policygen.reference.values.elements import Element
from policygen.reference.values.elements import sortable
from policygen.reference.values.elements import wrapped
from policygen.reference.values.sample_levels import ChannelBins
from policygen.reference.values.sample_levels import SampleKind

_NARROW = 4
_INT = ELEMENTS["int32"]


class BinOf(Protocol):
    """How a sample's bin is found."""

    def __call__(self, samples: Tensor, valid: Tensor) -> Tensor:
        """The bin of each sample that is valid, of the same shape."""


@frozen(eq=False)
class Itself:
    """The sample is its bin."""

    def __call__(self, samples: Tensor, valid: Tensor) -> Tensor:
        """See BinOf."""
        return torch.where(valid, samples.to(torch.int64), -1)


@frozen(eq=False)
class Scaled:
    """Even bins.

    Attributes:
        kind: types of samples and levels.
        lowest: the lowest level.
        highest: the highest one, which no bin contains.
        bins: how many.
    """

    kind: SampleKind
    lowest: Tensor
    highest: Tensor
    bins: int

    @property
    def common(self) -> Element:
        """What samples and levels are converted to."""
        return self.kind.level

    def __call__(self, samples: Tensor, valid: Tensor) -> Tensor:
        """See BinOf."""
        own = samples.to(self.common.dtype)
        if self.common.is_floating:
            return self._scaled(own, valid & (own >= self.lowest) & (own < self.highest))
        place = sortable(own, self.common)
        low, high = sortable(self.lowest, self.common), sortable(self.highest, self.common)
        return self._divided(own, valid & (place >= low) & (place < high))

    def _scaled(self, own: Tensor, inside: Tensor) -> Tensor:
        bins = torch.tensor(self.bins, dtype=self.common.dtype, device=own.device)
        reciprocal = bins / (self.highest - self.lowest)
        place = (torch.where(inside, own, self.lowest) - self.lowest) * reciprocal
        return torch.where(inside, place.to(torch.int64), -1)

    def _divided(self, own: Tensor, inside: Tensor) -> Tensor:
        word = ELEMENTS["uint32" if self.kind.sample.size + self.common.size <= _NARROW else "uint64"]
        bins = wrapped(wrapped(torch.tensor(self.bins), self.common), word)
        width = wrapped(wrapped(self.highest - self.lowest, self.common), word)
        product = wrapped(wrapped(own - self.lowest, word) * bins, word)
        return torch.where(inside, wrapped(unsigned_quotient(product, width), _INT), -1)

    @property
    def may_overflow(self) -> bool:
        """Whether the product may be cut: upstream answers cudaErrorInvalidValue and launches nothing."""
        if self.common.is_floating:
            return False
        bits = 32 if self.kind.sample.size + self.common.size <= _NARROW else 64
        width = int(self.highest - self.lowest) % (1 << bits)
        return width > ((1 << bits) - 1) // self.bins


@frozen(eq=False)
class Searched:
    """Ranges.

    Attributes:
        kind: types of samples and levels.
        levels: ascending, [bins + 1].
    """

    kind: SampleKind
    levels: Tensor

    def __call__(self, samples: Tensor, valid: Tensor) -> Tensor:
        """See BinOf."""
        level = self.kind.level
        own = sortable(samples.to(level.dtype), level)
        levels = sortable(self.levels, level)
        found = torch.zeros_like(samples, dtype=torch.int64)
        left = torch.full_like(found, levels.shape[0])
        while bool((left > 0).any()):
            half = left >> 1
            is_greater = own < levels[(found + half).clamp(max=levels.shape[0] - 1)]
            goes_right = ~is_greater & (left > 0)
            found = torch.where(goes_right, found + half + 1, found)
            left = torch.where(goes_right, left - half - 1, half)
        bins = found - 1
        return torch.where(valid & (bins < levels.shape[0] - 1), bins, -1)


def bin_of(channel: ChannelBins, device: torch.device | str) -> Scaled | Searched:
    """How bins of a channel are found."""
    levels = channel.levels.to(device)
    if channel.is_even:
        return Scaled(channel.kind, levels[0], levels[1], channel.bins)
    return Searched(channel.kind, levels)


def unsigned_quotient(dividend: Tensor, divisor: Tensor) -> Tensor:
    """The quotient of numbers of 64 bits without sign, held by their bits."""
    flip = torch.iinfo(torch.int64).min
    if int(divisor) < 0:
        return ((dividend ^ flip) >= (divisor ^ flip)).to(torch.int64)
    # half of it has no sign; twice its quotient is too small by one at most
    half = (dividend >> 1) & torch.iinfo(torch.int64).max
    quotient = (half // divisor) << 1
    rest = dividend - quotient * divisor
    return quotient + ((rest ^ flip) >= (divisor ^ flip)).to(torch.int64)
