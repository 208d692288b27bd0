"""How far floating-point results may be off, from the number of operations.

Source: Higham, Accuracy and Stability of Numerical Algorithms, section 4.2: a sum of n terms, however it is
parenthesised, in which no term passes through more than k additions, is off by at most ((1 + u)^k - 1) times the sum of
the absolute terms, u being the unit roundoff.
"""

from __future__ import annotations

import math
from typing import Final

import torch
from torch import Tensor

UNIT_ROUNDOFF: Final = {
    torch.bfloat16: 2.0**-8,
    torch.float16: 2.0**-11,
    torch.float32: 2.0**-24,
    torch.float64: 2.0**-53,
}
"""Half the distance from 1 to the next number."""


def relative_bound(operations: int, dtype: torch.dtype) -> float:
    """(1 + u)^operations - 1: the relative error of that many roundings in a row."""
    return math.expm1(operations * math.log1p(UNIT_ROUNDOFF[dtype]))


def sum_bound(absolute_sums: Tensor, additions: int, dtype: torch.dtype, reference_additions: int = 0) -> Tensor:
    """How far sums may be off.

    Args:
        absolute_sums: sum of the absolute terms of each result.
        additions: the most additions that a term passes through.
        dtype: what the additions are done in.
        reference_additions: additions in float64 that the reference itself may be off by.

    Returns:
        float64, of the same shape. Additions are exact where they underflow, so denormals add nothing.
    """
    relative = relative_bound(additions, dtype) + relative_bound(reference_additions, torch.float64)
    return absolute_sums.to(torch.float64) * relative
