"""Plain softmax attention in float64, and how far a result in float32 may be off it.

Source of the bounds: Higham, Accuracy and Stability of Numerical Algorithms, chapters 3 and 4: k roundings in a row are
a factor of at most (1 + u)^k, and a sum of n terms, however it is parenthesised, rounds each at most n - 1 times.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

ROUNDOFF = {torch.float32: 2.0**-24, torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}
"""Half the distance from 1 to the next number."""

INTERPRETED = ROUNDOFF | {torch.bfloat16: 2.0**-7}
"""The same in Triton's interpreter, which cuts off the bits that bfloat16 does not have; a GPU rounds to nearest."""

EXPONENTIAL = 4
"""Roundings of an exponential, its argument's apart: a GPU's ex2.approx is off by 2^-22, a library's by less."""

QUOTIENT = 4
"""Roundings of a division: div.full of a GPU is off by 2 units in the last place."""

ARGUMENT = 2
"""Roundings of an argument x, which cost |x| each: x is a difference, and a GPU's exponential is that of x log2(e)."""

PAIR = 2 * (EXPONENTIAL + 2) + QUOTIENT + 2
"""Roundings of a weight in one merge: an exponential, product and sum, in both sums; a quotient, product and sum."""


@dataclass(frozen=True)
class ExactAttention:
    """What attention comes to.

    Attributes:
        outputs: [num_heads, head_size], float64; zeros without a visible token.
        absolute: as `outputs`, with the absolute values in place of the values: what errors are relative to.
        spread: how far the least score of a visible token is below the greatest.
    """

    outputs: Tensor
    absolute: Tensor
    spread: float


def exact_attention(query: Tensor, keys: Tensor, values: Tensor) -> ExactAttention:
    """Attention of one token.

    Args:
        query: [num_heads, head_size], scores being scaled by 1 / sqrt(head_size).
        keys: [tokens, num_kv_heads, head_size], of the visible tokens alone.
        values: as `keys`.
    """
    query, keys, values = query.double(), keys.double(), values.double()
    if not len(keys):
        return ExactAttention(torch.zeros_like(query), torch.zeros_like(query), 0.0)
    grouped = query.view(keys.shape[1], -1, query.shape[-1])
    scores = torch.einsum("ngd,tnd->ngt", grouped, keys) * query.shape[-1] ** -0.5
    weights = torch.softmax(scores, -1)
    outputs, absolute = (torch.einsum("ngt,tnd->ngd", weights, v).reshape(query.shape) for v in (values, values.abs()))
    return ExactAttention(outputs, absolute, float((scores.amax(-1) - scores.amin(-1)).max()))


def attention_bound(
    exact: ExactAttention,
    *,
    steps: int,
    block: int,
    merges: int,
    dtype: torch.dtype,
    score_error: float = 0.0,
    roundoff: Mapping[torch.dtype, float] = ROUNDOFF,
) -> Tensor:
    """How far a walk with a running maximum, and a merge of its parts, may be off.

    The output is a quotient of two sums. A token's weight in each of them is an exponential, a product and a sum over a
    block, and in each later step the exponential of what the maximum rose, a product and a sum; these rises add up
    to no more than the spread. A part's output, its sum, and both sums of the merge have that weight: four times. The
    parts are stored as `dtype`, and so is the result.

    Args:
        exact: the result.
        steps: that one part walks.
        block: tokens of a step.
        merges: the most merges in a row that a part goes through; 0 where there is one part.
        dtype: of the result.
        score_error: how far a score may be off, relative errors of products and sums included.
        roundoff: of what stores the results.

    Returns:
        [num_heads, head_size], float64.

    Raises:
        ValueError: the scores are so far apart that weights underflow, which this bound does not cover.
    """
    if exact.spread > 80:
        raise ValueError(f"scores are {exact.spread:.0f} apart; expected no more than 80, so that no weight underflows")
    weight = block + EXPONENTIAL + 1 + (EXPONENTIAL + 2) * steps + ARGUMENT * exact.spread
    roundings = 4 * weight + QUOTIENT + merges * PAIR + 2 * ARGUMENT * exact.spread
    relative = math.expm1(4 * score_error + roundings * ROUNDOFF[torch.float32])
    relative += 2 * roundoff[dtype] * (1 + relative)
    least = torch.finfo(dtype).smallest_normal * torch.finfo(dtype).eps
    return exact.absolute * relative + least
