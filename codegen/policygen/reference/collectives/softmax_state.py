"""The accumulator of an online softmax: (maximum, sum of exponentials, sum of weighted outputs), in 2 + d numbers.

Two of them are merged at the greater of their maxima: the sums of the other one are multiplied by exp(its maximum -
the greater one). The one that has the greater maximum is not rescaled; where both are -infinity neither is. So what is
masked, (-infinity, 0, 0), changes nothing, bit for bit, and (-infinity) - (-infinity) is never taken.

The operator is associative and commutative but for rounding. A score of infinity stands for all there is; NaN loses
against numbers when maxima are compared, as everywhere in `values.operators`, but makes the sums NaN.
"""

from __future__ import annotations

from typing import Final

import torch
from attrs import frozen
from torch import Tensor

from policygen.reference.contract.function_errors import EXP_ROUNDINGS
from policygen.reference.values.elements import Element
from policygen.reference.values.operators import Operator

MERGE_ROUNDINGS: Final = EXP_ROUNDINGS + 2
"""Roundings of a merge: of the exponential, the product and the sum."""


@frozen
class SoftmaxMerge(Operator):
    """Merges two accumulators; see the module."""

    @property
    def exact(self) -> bool:
        """Never: sums are rounded."""
        return False

    def combine(self, earlier: Tensor, later: Tensor) -> Tensor:
        """See Operator."""
        greater = torch.fmax(earlier[..., 0], later[..., 0])
        sums = _rescaled(earlier, greater) + _rescaled(later, greater)
        return torch.cat([greater.unsqueeze(-1), sums], dim=-1)

    def identity(self) -> Tensor:
        """See Operator."""
        state = torch.zeros(self.element.trailing, dtype=self.element.dtype)
        state[0] = float("-inf")
        return state


def softmax_merge(outputs: int, dtype: torch.dtype = torch.float32) -> SoftmaxMerge:
    """The operator for so many outputs: an accumulator has 2 + outputs numbers of the type."""
    words = 2 + outputs
    element = Element(f"softmax of {outputs} {dtype}", words * dtype.itemsize, dtype, words=words, primitive=False)
    return SoftmaxMerge("merge", element, recognised=False)


def rescaling(own: Tensor, greater: Tensor) -> Tensor:
    """By what sums at one maximum are multiplied to count at a greater one: exactly 1 where they are the same."""
    return torch.where(own == greater, 1.0, torch.exp(own - greater))


def softmax_items(scores: Tensor, outputs: Tensor) -> Tensor:
    """Accumulators of one item each: (score, 1, output); of what is masked, the identity.

    Args:
        scores: [...]; -infinity for what is masked.
        outputs: [..., d], of the same type.

    Returns:
        [..., 2 + d].
    """
    masked = (scores == float("-inf")).unsqueeze(-1)
    sums = torch.cat([torch.ones_like(scores).unsqueeze(-1), outputs], dim=-1)
    return torch.cat([scores.unsqueeze(-1), torch.where(masked, 0.0, sums)], dim=-1)


def softmax_output(states: Tensor) -> Tensor:
    """The averages that accumulators stand for, [..., d]: zeros where everything was masked."""
    total = states[..., 1:2]
    return torch.where(total == 0, 0.0, states[..., 2:] / torch.where(total == 0, 1.0, total))


def _rescaled(state: Tensor, greater: Tensor) -> Tensor:
    return state[..., 1:] * rescaling(state[..., 0], greater).unsqueeze(-1)
