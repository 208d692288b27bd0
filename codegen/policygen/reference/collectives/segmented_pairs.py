"""Pairs of run heads and a value, scanned together (`cub::ReduceBySegmentOp`, `cub::ScanBySegmentOp`).

A pair stands for some consecutive items: how many runs begin among them, and the total of the last of these runs, or of
all items where none begins. The later of two pairs keeps its value if a run begins in it; else the earlier's is
combined with it. So a scan of pairs adds up every run for itself, wherever its items lie. The operation is associative
if that of the values is, and it never commutes.

Here a pair is int64 words in a trailing dimension: the heads, then the value's words, or the bits of a number.
"""

from __future__ import annotations

from typing import Final

import torch
from attrs import field
from attrs import frozen
from torch import Tensor

from policygen.reference.values.elements import Element
from policygen.reference.values.elements import words_element
from policygen.reference.values.operators import Operator

HEAD_SIZE: Final = 4
"""Bytes of the heads of a pair."""

_BITS: Final = {2: torch.int16, 4: torch.int32, 8: torch.int64}


@frozen
class SegmentedPairs(Operator):
    """The operation on pairs.

    Attributes:
        inner: how two values are combined.
        counted: whether heads are counted (`ReduceBySegmentOp`); else a pair only says whether there is one
            (`ScanBySegmentOp`).
    """

    inner: Operator = field(kw_only=True)
    counted: bool = field(kw_only=True)

    def combine(self, earlier: Tensor, later: Tensor) -> Tensor:
        """See Operator."""
        before, heads = earlier[..., 0], later[..., 0]
        own = self.values(later)
        joined = self.inner.combine(self.values(earlier), own)
        value = self.inner.element.select(heads != 0, own, joined)
        return self.zipped(before + heads if self.counted else before | heads, value)

    def identity(self) -> Tensor:
        """See Operator."""
        return self.zipped(torch.tensor(0), self.inner.identity())

    @property
    def exact(self) -> bool:
        """See Operator."""
        return self.inner.exact

    def zipped(self, heads: Tensor, values: Tensor) -> Tensor:
        """Pairs of heads, int64 [...], and values, [..., *element.trailing]."""
        element = self.inner.element
        words = values if element.words else _word(values, element).unsqueeze(-1)
        return torch.cat([heads.unsqueeze(-1), words], dim=-1)

    def heads(self, pairs: Tensor) -> Tensor:
        """Heads of pairs: int64 [...]."""
        return pairs[..., 0]

    def values(self, pairs: Tensor) -> Tensor:
        """Values of pairs: [..., *element.trailing]."""
        element = self.inner.element
        if element.words:
            return pairs[..., 1:]
        word = pairs[..., 1]
        return word.to(_BITS[element.size]).view(element.dtype) if element.is_floating else word


def counting_pairs(inner: Operator) -> SegmentedPairs:
    """Pairs of the number of runs that begin and a value."""
    return _pairs(inner, counted=True)


def flagging_pairs(inner: Operator) -> SegmentedPairs:
    """Pairs of a flag, whether a run begins, and a value."""
    return _pairs(inner, counted=False)


def _pairs(inner: Operator, *, counted: bool) -> SegmentedPairs:
    element = words_element("pair", HEAD_SIZE + inner.element.size, 1 + max(1, inner.element.words))
    return SegmentedPairs(
        f"segmented {inner.name}", element, recognised=False, commutative=False, inner=inner, counted=counted
    )


def _word(values: Tensor, element: Element) -> Tensor:
    return values.view(_BITS[element.size]).to(torch.int64) if element.is_floating else values
