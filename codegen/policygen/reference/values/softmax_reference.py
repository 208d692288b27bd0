"""Softmax averages in float64, and how far a kernel's may be off.

What is averaged has a maximum m, a sum s and an output o: a token has its score, 1 and its value, a partition of
tokens the maximum of its scores, the sum of exp(score - m), and its own average. For any number of them

    maximum = max m,    sum = sum of s exp(m - maximum),    output = sum of s exp(m - maximum) o / sum.

A kernel multiplies weights on the way from one maximum to the next greater one. The differences that it takes the
exponential of add up to m - maximum, each rounded once; so together they change the weight by a factor of
exp(u |m - maximum|) at most, u being the unit roundoff. Every other operation on a weight is one rounding of it, and an
exponential `EXP_ROUNDINGS`. With an error e of the score itself, the weight of an item that passes r roundings is off
by

    t = exp(e + u |m - maximum| + r log(1 + u)) - 1

relative to it at most, the sum by the sum of w t, and the output, in which the sum is divided by, by the sum of
w |o| t / sum, plus the relative error of the sum times the sum of w |o| / sum. What underflows adds the least number,
once for each item and rescaling.
"""

from __future__ import annotations

import math

import torch
from attrs import frozen
from torch import Tensor

from policygen.reference.contract.comparison import Close
from policygen.reference.contract.error_bounds import UNIT_ROUNDOFF
from policygen.reference.contract.function_errors import SMALLEST
from policygen.reference.contract.function_errors import stored_bound


@frozen(eq=False)
class SoftmaxAverage:
    """What a kernel is held against.

    Attributes:
        maximum: the greatest maximum, float64 [...]; -infinity where there is nothing to average.
        total: the sum, [...].
        output: the average, [..., d]; zeros where there is nothing to average.
        total_bound: how far the sum may be off, [...].
        output_bound: how far the average may be off, [..., d].
    """

    maximum: Tensor
    total: Tensor
    output: Tensor
    total_bound: Tensor
    output_bound: Tensor

    def stored_output(self, dtype: torch.dtype) -> Close:
        """The average, stored in a type."""
        empty = (self.maximum == -math.inf).unsqueeze(-1)
        bound = stored_bound(self.output, self.output_bound, dtype)
        return Close(self.output, torch.where(empty, 0.0, bound))


def softmax_average(
    maxima: Tensor,
    sums: Tensor,
    outputs: Tensor,
    roundings: int,
    dtype: torch.dtype,
    score_errors: Tensor | None = None,
) -> SoftmaxAverage:
    """The average of tokens or of partitions.

    Args:
        maxima: [..., n]; -infinity for what is masked.
        sums: [..., n].
        outputs: [..., n, d]; of what is masked they do not matter.
        roundings: the most that a weight, or a product of one, passes through.
        dtype: of the kernel's arithmetic.
        score_errors: how far off each of the kernel's maxima may be before anything is averaged, [..., n].

    Returns:
        NaN wherever a maximum or an output is NaN. A maximum of infinity stands for all there is: the average is that
        of those which have it.
    """
    m, s, o = (x.to("cpu", torch.float64) for x in (maxima, sums, outputs))
    masked = m == -math.inf
    numbers = torch.where(torch.isnan(m), -math.inf, m)
    greatest = numbers.amax(-1) if m.shape[-1] else torch.full(m.shape[:-1], -math.inf, dtype=torch.float64)
    below = torch.where(m == greatest.unsqueeze(-1), 0.0, m - greatest.unsqueeze(-1))
    weights = torch.where(masked, 0.0, s * torch.exp(below))
    parts = torch.where(masked.unsqueeze(-1), 0.0, weights.unsqueeze(-1) * o)
    total = weights.sum(-1)
    divisor = torch.where(total == 0, 1.0, total)
    output = parts.sum(-2) / divisor.unsqueeze(-1)

    u, double = UNIT_ROUNDOFF[dtype], UNIT_ROUNDOFF[torch.float64]
    errors = torch.zeros_like(m) if score_errors is None else torch.where(masked, 0.0, score_errors)
    # the greatest of the kernel's scores is off, too: it moves all weights of a sum, and cancels in the average
    common = errors.amax(-1) if m.shape[-1] else torch.zeros_like(greatest)
    distance = torch.where(torch.isfinite(below), below.abs(), 0.0) + 2 * common.unsqueeze(-1)
    n = m.shape[-1]
    exponent = errors + u * distance + roundings * math.log1p(u) + (n + 8) * double * (1 + distance)
    relative = torch.expm1(exponent)
    scale = max(1.0, float(o[torch.isfinite(o)].abs().max()) if torch.isfinite(o).any() else 1.0)
    largest = max(1.0, float(s[torch.isfinite(s)].sum()) if n else 1.0)
    underflow = 4.0 * n * largest * scale * SMALLEST[dtype]
    off = (weights.abs() * relative).sum(-1) + underflow
    absolute = parts.abs()
    share = off / (divisor - off).clamp(min=SMALLEST[torch.float64])
    of_terms = ((absolute * relative.unsqueeze(-1)).sum(-2) + underflow) / divisor.unsqueeze(-1)
    of_total = absolute.sum(-2) / divisor.unsqueeze(-1) * share.unsqueeze(-1)
    nothing = masked.all(-1)
    return SoftmaxAverage(
        maximum=greatest,
        total=total,
        output=output,
        total_bound=torch.where(nothing, 0.0, off + total * torch.expm1(common)),
        output_bound=torch.where(nothing.unsqueeze(-1), 0.0, of_terms + of_total * (1 + share.unsqueeze(-1))),
    )
