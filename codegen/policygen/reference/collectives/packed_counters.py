"""Several counters in the bits of a few words (`cub::detail::batch_memcpy::bit_packed_counter`).

A counter has as many bits as its greatest value takes, or the next power of two of bits; a word of 32 bits has as many
counters as fit, so that counters are added all at once.
"""

from __future__ import annotations

from typing import Final

import torch
from attrs import frozen
from torch import Tensor

from policygen.plan.counts import ceil_div

_WORD_BITS: Final = 32
_MASK: Final = 0xFFFFFFFF


@frozen
class PackedCounters:
    """A layout.

    Attributes:
        counters: how many.
        most: the greatest value of each.
        prefers_powers: whether bits are a power of two.
    """

    counters: int
    most: int
    prefers_powers: bool

    @property
    def bits(self) -> int:
        """Bits of a counter."""
        least = max(1, self.most.bit_length())
        return 1 << (least - 1).bit_length() if self.prefers_powers else least

    @property
    def per_word(self) -> int:
        """Counters of a word."""
        return _WORD_BITS // self.bits

    @property
    def words(self) -> int:
        """Words of all counters."""
        return ceil_div(self.counters, self.per_word)

    def packed(self, counts: Tensor) -> Tensor:
        """Counters as words: int64 [..., counters] to [..., words]."""
        words = torch.zeros(*counts.shape[:-1], self.words, dtype=torch.int64, device=counts.device)
        for number in range(self.counters):
            words[..., number // self.per_word] += counts[..., number] << (number % self.per_word * self.bits)
        return words & _MASK

    def unpacked(self, words: Tensor) -> Tensor:
        """Words as counters."""
        found = [
            words[..., number // self.per_word] >> (number % self.per_word * self.bits)
            for number in range(self.counters)
        ]
        return torch.stack(found, dim=-1) & ((1 << self.bits) - 1)

    def added(self, first: Tensor, second: Tensor) -> Tensor:
        """Words of counters added."""
        return (first + second) & _MASK

    def summed(self, words: Tensor) -> Tensor:
        """Running sums of words along the last dimension but one, each without its own."""
        return (words.cumsum(-2) - words) & _MASK
