"""RMSNorm, and SiLU and multiply, in float64, and how far a result in float32 may be off; see `exact_attention`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from exact_attention import ARGUMENT
from exact_attention import EXPONENTIAL
from exact_attention import QUOTIENT
from exact_attention import ROUNDOFF

RECIPROCAL_ROOT = 4
"""Roundings of 1 / sqrt(x): rsqrt.approx of a GPU is off by 2^-22.4."""


@dataclass(frozen=True)
class ExactRows:
    """Rows as they have to be.

    Attributes:
        values: float64.
        bound: how far each element may be off, float64.
    """

    values: Tensor
    bound: Tensor


def exact_rms_norm(
    rows: Tensor, weight: Tensor, epsilon: float, roundoff: Mapping[torch.dtype, float] = ROUNDOFF
) -> ExactRows:
    """Rows over the root of their mean square, times a weight.

    Under the root lie a quotient, a sum and epsilon as float32, of whose errors half remains; then there are the
    reciprocal root and two products. The sum of squares has to be exact: it is for integers of which the squares add up
    to less than 2^24, in whatever order they are added, so one element more or less is seen.

    Args:
        rows: [num_rows, row_size], integers.
        weight: [row_size].
        epsilon: added to the mean square.
        roundoff: of what stores the results.

    Raises:
        ValueError: sums of squares are not exact in float32.
    """
    exact = rows.double()
    squares = exact.square().sum(-1, keepdim=True)
    if bool((exact != exact.round()).any()) or float(squares.max()) >= 2**24:
        raise ValueError("expected integers whose squares add up to less than 2^24")
    values = exact / (squares / rows.shape[-1] + epsilon).sqrt() * weight.double()
    return _rounded(values, torch.full_like(values, (QUOTIENT + 2) / 2 + RECIPROCAL_ROOT + 2), rows.dtype, roundoff)


def exact_silu_and_multiply(gates: Tensor, roundoff: Mapping[torch.dtype, float] = ROUNDOFF) -> ExactRows:
    """X / (1 + exp(-x)) of the first half of each row, times the second half.

    The exponential of -|x| is in the denominator, and for x < 0 in the numerator as well; then there are the sum under
    the quotient, the quotient and two products.

    Args:
        gates: [num_rows, 2 x row_size].
        roundoff: of what stores the results.

    Raises:
        ValueError: a gate is so far from 0 that its exponential underflows.
    """
    x, factor = gates.double().chunk(2, -1)
    if float(x.abs().max()) > 80:
        raise ValueError("expected gates of -80 to 80, so that no exponential underflows")
    values = x * torch.sigmoid(x) * factor
    return _rounded(values, 2 * (EXPONENTIAL + ARGUMENT * x.abs()) + 1 + QUOTIENT + 2, gates.dtype, roundoff)


def _rounded(values: Tensor, roundings: Tensor, dtype: torch.dtype, roundoff: Mapping[torch.dtype, float]) -> ExactRows:
    """The bound of so many roundings to float32 and one to what is stored, which may be less than its least normal."""
    relative = torch.expm1(roundings * math.log1p(ROUNDOFF[torch.float32]))
    relative = relative + roundoff[dtype] * (1 + relative)
    least = torch.finfo(dtype).smallest_normal * torch.finfo(dtype).eps
    return ExactRows(values, values.abs() * relative + least)
