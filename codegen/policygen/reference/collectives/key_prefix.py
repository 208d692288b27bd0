"""The highest bits of keys, digit by digit: how a selection by radix narrows down where the k-th key is.

Keys are bits whose unsigned order is the order in which they are wanted (`values.radix_keys`). Each pass finds a digit
of the k-th key, from the highest one on; what is known of it (`kth_key_bits`, `kth_key_prefix`) tells which keys come
before it, which may be it, and which come after it. The last digit is narrower where digits do not divide the key.
"""

from __future__ import annotations

import torch
from attrs import frozen
from torch import Tensor

from policygen.plan.counts import ceil_div

_FLIP = torch.iinfo(torch.int64).min
_WORD = 64


@frozen
class DigitPasses:
    """The digits of a key, the highest first.

    Attributes:
        key_bits: bits of a key.
        digit_bits: bits of a digit, at most 12.
    """

    key_bits: int
    digit_bits: int

    @property
    def count(self) -> int:
        """Passes, one for each digit."""
        return ceil_div(self.key_bits, self.digit_bits)

    def begin(self, number: int) -> int:
        """The lowest bit of a pass's digit; before the first pass that is the end of the key."""
        return max(0, self.key_bits - (number + 1) * self.digit_bits)

    def width(self, number: int) -> int:
        """Bits of a pass's digit."""
        return self.begin(number - 1) - self.begin(number)


@frozen(eq=False)
class Classes:
    """What keys are, as far as the k-th key is known: masks without the trailing dimension of a key.

    Attributes:
        selected: those that come before it.
        candidates: those that agree with it.
    """

    selected: Tensor
    candidates: Tensor


@frozen(eq=False)
class KeyPrefix:
    """What is known of k-th keys: their bits from `begin` on, and zeros below.

    Attributes:
        bits: int64 [..., *element.trailing]; words are (low, high).
        begin: the lowest bit that is known.
        words: words of a key; 0 for scalars.
    """

    bits: Tensor
    begin: int
    words: int

    def extended(self, digits: Tensor, begin: int) -> KeyPrefix:
        """One digit more is known.

        Args:
            digits: without the trailing dimension.
            begin: their lowest bit.
        """
        return KeyPrefix(self.bits | _placed(digits, begin, self.words), begin, self.words)

    def at(self, which: Tensor) -> KeyPrefix:
        """What is known of some of the k-th keys."""
        return KeyPrefix(self.bits[which], self.begin, self.words)

    def classes(self, ordered: Tensor) -> Classes:
        """Compares keys with it; shapes broadcast."""
        known = _truncated(ordered, self.begin, self.words)
        return Classes(_less(known, self.bits, self.words), _equal(known, self.bits, self.words))


def unknown(key_bits: int, words: int, *shape: int, device: torch.device | str = "cpu") -> KeyPrefix:
    """Nothing is known: every key may be the k-th.

    Args:
        key_bits: bits of a key.
        words: words of a key; 0 for scalars.
        shape: of the k-th keys.
        device: where they are.
    """
    trailing = (words,) if words else ()
    return KeyPrefix(torch.zeros((*shape, *trailing), dtype=torch.int64, device=device), key_bits, words)


def _placed(digits: Tensor, begin: int, words: int) -> Tensor:
    """Digits where they belong in a key; those across two words are split."""
    if not words:
        return digits << begin
    low = digits << begin if begin < _WORD else torch.zeros_like(digits)
    high = digits << (begin - _WORD) if begin >= _WORD else torch.zeros_like(digits)
    if 0 < begin < _WORD:
        high = digits >> (_WORD - begin)
    return torch.stack([low, high], dim=-1)


def _truncated(ordered: Tensor, begin: int, words: int) -> Tensor:
    """Keys with zeros below a bit."""
    if not words:
        return (ordered >> begin) << begin if begin < _WORD else torch.zeros_like(ordered)
    low, high = ordered.unbind(-1)
    return torch.stack(
        [_truncated(low, begin, 0), _truncated(high, max(0, begin - _WORD), 0)],
        dim=-1,
    )


def _less(first: Tensor, second: Tensor, words: int) -> Tensor:
    """Whether bits are less than others, both without sign."""
    if not words:
        return (first ^ _FLIP) < (second ^ _FLIP)
    (low1, high1), (low2, high2) = first.unbind(-1), second.unbind(-1)
    return _less(high1, high2, 0) | ((high1 == high2) & _less(low1, low2, 0))


def _equal(first: Tensor, second: Tensor, words: int) -> Tensor:
    return (first == second).all(-1) if words else first == second
