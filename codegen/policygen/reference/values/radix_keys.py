"""Keys as a radix sort sees them: bits whose unsigned order is the order of the keys (`cub::Traits`, digit extractors).

Bits of up to 64 are one int64 without sign (64-bit ones by their pattern), those of 128-bit integers two: (low, high).

Unsigned integers are their own bits, signed ones have the sign bit flipped. A floating-point number of either sign has
it flipped, and negative ones all others, too: so -NaN comes first, then -infinity, ..., infinity, and NaN last, each by
its payload. When a digit is taken, -0.0 counts as 0.0: a stable sort leaves zeros of both signs as they came. (Where
bits are inverted, 0.0 counts as -0.0 by the same rule. By all bits that is the same order, by some of them it is not.)
"""

from __future__ import annotations

from functools import cached_property
from typing import Final

import torch
from attrs import frozen
from torch import Tensor

from policygen.reference.values.elements import Element
from policygen.reference.values.elements import wrapped

_INTEGER_OF: Final = {2: torch.int16, 4: torch.int32, 8: torch.int64}
_SIGN_64: Final = -(1 << 63)


@frozen
class RadixKeys:
    """Keys of one type.

    Attributes:
        element: their type: an integer or a floating-point number.
    """

    element: Element

    @property
    def bits(self) -> int:
        """Bits of a key."""
        return self.element.bits

    @cached_property
    def sign(self) -> int:
        """The highest bit of the word that has it."""
        return _SIGN_64 if self.bits >= 64 else 1 << (self.bits - 1)

    @cached_property
    def mask(self) -> int:
        """All bits of a word."""
        return -1 if self.bits >= 64 else (1 << self.bits) - 1

    def raw(self, values: Tensor) -> Tensor:
        """The bits of keys as they lie in memory.

        Args:
            values: [..., *element.trailing], in the element's dtype.

        Returns:
            int64, [..., *element.trailing].
        """
        if self.element.is_floating:
            return values.view(_INTEGER_OF[self.element.size]).to(torch.int64) & self.mask
        return values & self.mask

    def values(self, raw: Tensor) -> Tensor:
        """The keys that have these bits."""
        if self.element.is_floating:
            integer = _INTEGER_OF[self.element.size]
            signed = torch.where(raw & self.sign != 0, raw | ~self.mask, raw)
            return signed.to(integer).view(self.element.dtype)
        return raw if self.element.words else wrapped(raw, self.element)

    def twiddled(self, raw: Tensor) -> Tensor:
        """Bits in order (`Traits::TwiddleIn`)."""
        if self.element.is_floating:
            return torch.where(raw & self.sign != 0, ~raw & self.mask, raw ^ self.sign)
        return self._with_sign_flipped(raw)

    def untwiddled(self, ordered: Tensor) -> Tensor:
        """Bits as they lie in memory (`Traits::TwiddleOut`)."""
        if self.element.is_floating:
            return torch.where(ordered & self.sign != 0, ordered ^ self.sign, ~ordered & self.mask)
        return self._with_sign_flipped(ordered)

    def _with_sign_flipped(self, bits: Tensor) -> Tensor:
        if not self.element.signed:
            return bits
        if self.element.words:
            low, high = bits.unbind(-1)
            return torch.stack([low, high ^ self.sign], dim=-1)
        return bits ^ self.sign

    def inverted(self, ordered: Tensor) -> Tensor:
        """Bits in reverse order, and back: how onesweep sorts descending."""
        return ~ordered & self.mask

    def filler(self, *, last: bool) -> Tensor:
        """What fills up a tile: bits as in memory that come after every key, or before every key (MAX_KEY, LOWEST_KEY).

        For a floating-point number these are NaN of either sign with all bits of the payload.
        """
        ordered = torch.full(self.element.trailing, self.mask if last else 0, dtype=torch.int64)
        return self.untwiddled(ordered)

    def digits(self, ordered: Tensor, begin: int, count: int, *, zeros_differ: bool = False) -> Tensor:
        """A digit of each key.

        Args:
            ordered: bits in order, or in reverse order.
            begin: the digit's lowest bit.
            count: its bits, at most 12, none of them past the key's end.
            zeros_differ: whether -0.0 has digits of its own, as it has in a selection (`cub::DeviceTopK`).

        Returns:
            0 to 2^count - 1, without the trailing dimension.
        """
        digit_mask = (1 << count) - 1
        if self.element.words:
            low, high = ordered.unbind(-1)
            if begin >= 64:
                return (high >> (begin - 64)) & digit_mask
            if begin + count <= 64:
                return (low >> begin) & digit_mask
            below = 64 - begin
            return ((low >> begin) & ((1 << below) - 1)) | ((high << below) & digit_mask)
        if self.element.is_floating and not zeros_differ:
            minus_zero, zero = self.sign ^ self.mask, self.sign
            ordered = torch.where(ordered == minus_zero, zero, ordered)
        return (ordered >> begin) & digit_mask


def expected_order(
    keys: RadixKeys, raw: Tensor, begin: int, end: int, *, descending: bool, zero_is_negative: bool = False
) -> Tensor:
    """The order in which a stable sort by some bits of keys puts them, found by sorting.

    Args:
        keys: their type.
        raw: bits as in memory, [n, *element.trailing].
        begin: the lowest bit that counts.
        end: one past the highest.
        descending: whether greater keys come first.
        zero_is_negative: whether zeros of both signs count as -0.0, not as 0.0.

    Returns:
        For each place the index of the key that belongs there: int64 [n].
    """
    order = torch.arange(raw.shape[0])
    for number, limb in enumerate(_limbs(keys, raw.cpu(), zero_is_negative=zero_is_negative)):
        low, high = max(begin, 32 * number), min(end, 32 * (number + 1))
        if low < high:
            part = (limb // (1 << (low - 32 * number))) % (1 << (high - low))
            order = order[torch.sort(part[order], descending=descending, stable=True).indices]
    return order


def _limbs(keys: RadixKeys, raw: Tensor, *, zero_is_negative: bool) -> list[Tensor]:
    """The place of keys among all keys of their type, as numbers of 32 bits, the lowest first."""
    words = [word for part in raw.unbind(-1) for word in _halves(part)] if keys.element.words else _halves(raw)
    limbs = words[: max(1, keys.bits // 32)]
    width = min(32, keys.bits)
    half, full = 1 << (width - 1), 1 << width
    if keys.element.is_floating:
        negative = limbs[-1] >= half
        zero = torch.stack([limb == 0 for limb in limbs[:-1]] + [limbs[-1] % half == 0]).all(0)
        ordered = [torch.where(negative, full - 1 - limb, limb) for limb in limbs[:-1]]
        ordered.append(torch.where(negative, full - 1 - limbs[-1], limbs[-1] + half))
        zeros = [0] * (len(limbs) - 1) + [half]
        if zero_is_negative:
            zeros = [full - 1] * (len(limbs) - 1) + [half - 1]
        return [torch.where(zero, own, limb) for own, limb in zip(zeros, ordered, strict=True)]
    if keys.element.signed:
        limbs[-1] = (limbs[-1] + half) % full
    return limbs


def _halves(word: Tensor) -> list[Tensor]:
    return [word % (1 << 32), (word // (1 << 32)) % (1 << 32)]
