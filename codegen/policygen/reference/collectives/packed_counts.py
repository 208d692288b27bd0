"""Two counts in one value, so that one scan does for both (`accumulator_pack_t`).

Counts of 4 bytes share a word, the first one in its upper half: their sums carry nothing over, for a launch has less
than 2^31 items, and fewer than a tile past the end. Counts of 8 bytes are a pair.
"""

from __future__ import annotations

from abc import ABC
from abc import abstractmethod
from typing import Final

import torch
from attrs import frozen
from torch import Tensor

from policygen.reference.values.elements import ELEMENTS
from policygen.reference.values.elements import words_element
from policygen.reference.values.operators import Operator
from policygen.reference.values.operators import plus

_MASK: Final = (1 << 32) - 1


@frozen
class PackedCounts(ABC):
    """How two counts are held.

    Attributes:
        operator: how packed counts are added.
    """

    operator: Operator

    @abstractmethod
    def pack(self, first: Tensor, second: Tensor) -> Tensor:
        """Two counts as one, [..., *operator.element.trailing]."""

    @abstractmethod
    def unpack(self, packed: Tensor) -> tuple[Tensor, Tensor]:
        """Both counts, [...]."""


@frozen
class _Word(PackedCounts):
    """Counts of 4 bytes in 8."""

    def pack(self, first: Tensor, second: Tensor) -> Tensor:
        """See PackedCounts."""
        return (first << 32) | second

    def unpack(self, packed: Tensor) -> tuple[Tensor, Tensor]:
        """See PackedCounts."""
        return (packed >> 32) & _MASK, packed & _MASK


@frozen
class _Pair(PackedCounts):
    """Counts of 8 bytes in 16."""

    def pack(self, first: Tensor, second: Tensor) -> Tensor:
        """See PackedCounts."""
        return torch.stack([first, second], dim=-1)

    def unpack(self, packed: Tensor) -> tuple[Tensor, Tensor]:
        """See PackedCounts."""
        first, second = packed.unbind(-1)
        return first, second


@frozen
class _PairPlus(Operator):
    """Addition of pairs."""

    def combine(self, earlier: Tensor, later: Tensor) -> Tensor:
        """See Operator."""
        return earlier + later

    def identity(self) -> Tensor:
        """See Operator."""
        return torch.zeros(self.element.trailing, dtype=self.element.dtype)


def packed_counts(offset_size: int) -> PackedCounts:
    """How two counts of so many bytes, 4 or 8, are held."""
    if offset_size == 4:
        return _Word(plus(ELEMENTS["uint64"]))
    return _Pair(_PairPlus("plus", words_element("pair", 2 * offset_size, 2)))
