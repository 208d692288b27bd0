"""Central moments in two passes, and how far those of a kernel that merges accumulators may be off.

Bounds, for n items in a tree of merges of depth k, with R = max - min, X = max |x| and the unit roundoff u; sums are
over all merges of two parts a and b into one.

Mean. That of a merge lies between those of its parts, so errors of the parts are averaged, not added; a merge adds
three roundings of a term of at most R + 2E and one of the mean: E(k + 1) <= E(k) + ((1 + u)^3 - 1)(R + 2E) +
u (X + 2E + R), from E = 0. The difference d of two computed means is off by e = 2E + u (R + 2E) at most.

M2 = sum of w d^2 with w = na nb / n <= min(na, nb). The sum of min(na, nb) is at most n L, L = log2(n) / 2, for any
tree (by induction: the entropy of p is at least 2p up to a half). So W, the sum of w, is n L at most, that of w |d| at
most sqrt(M2 W) (Cauchy and Schwarz), and an error of e in each d moves M2 by at most

    2 e sqrt(M2 W) + e^2 W,

which, with M2 <= n R^2 / 4 (Popoviciu), is n times a density, and so it is for the items of each part. What has such a
density f in each part adds up to sum of (na f nb + nb f na) / n = 2 f W in the terms that multiply by 1 / n. M2 itself
adds up to S = sum of (na M2b + nb M2a) / n <= min(k M2, R^2 W / 2) there. With |na - nb| <= n, |d| <= R and
|M3| <= R M2, the terms t s (na - nb) and 3 s (na M2b - nb M2a) of M3 are off by at most

    3 e (M2 + e sqrt(M2 W)) + e^3 W + 3 e S + 6 (R + e) f2 W,

and those of M4 by

    4 (R + e)^2 e (sqrt(M2 W) + e W) + 6 (2 R e + e^2) S + 12 (R + e)^2 f2 W + 4 e R S + 8 (R + e) f3 W.

Roundings: the longest term has 18 (na^2 - na nb + nb^2 is at least a third of the sum of its absolute terms, so its
three count nine times), and a term passes through at most 4 k additions. The absolute terms add up to M2, to
R (M2 + 3 S) and to R^2 (M2 + 10 S).
"""

from __future__ import annotations

import math
from typing import Final

import torch
from torch import Tensor

from policygen.reference.contract.comparison import Close
from policygen.reference.contract.error_bounds import UNIT_ROUNDOFF
from policygen.reference.contract.error_bounds import relative_bound
from policygen.reference.contract.function_errors import SMALLEST
from policygen.reference.values.reference import exact_sum

MOMENTS: Final = ("mean", "M2", "M3", "M4")
_TERM_ROUNDINGS: Final = 18
_ADDITIONS: Final = 4


def exact_moments(values: Tensor, merges: int) -> dict[str, Close]:
    """Mean, M2, M3 and M4 of some numbers.

    Args:
        values: [n], n at least 1, in the type of the kernel's accumulators.
        merges: the most merges that an item passes through.
    """
    n, numbers = values.shape[0], values.to("cpu", torch.float64)
    total, roundings = exact_sum(values)
    mean = total / n
    below = numbers - mean
    powers = [exact_sum(below**power)[0] for power in (2, 3, 4)]
    low, high = float(numbers.amin()), float(numbers.amax())
    bounds = _bounds(n, merges, high - low, max(abs(low), abs(high)), float(powers[0]), values.dtype, roundings)
    # where all are equal, no difference of means is anything but zero
    if low == high:
        bounds = [0.0] * len(MOMENTS)
    results = zip(MOMENTS, (mean, *powers), bounds, strict=True)
    return {name: Close(value, torch.tensor(bound, dtype=torch.float64)) for name, value, bound in results}


def _bounds(
    n: int, k: int, spread: float, largest: float, m2: float, dtype: torch.dtype, reference_roundings: int
) -> list[float]:
    u, double = UNIT_ROUNDOFF[dtype], UNIT_ROUNDOFF[torch.float64]
    mean_error = 0.0
    for _ in range(k):
        reach = spread + 2 * mean_error
        mean_error += relative_bound(3, dtype) * reach + u * (largest + reach) + SMALLEST[dtype]
    # the reference's own mean, and its differences to it
    own = (reference_roundings + 2) * double * largest + double * spread
    mean_error += own
    e = 2 * mean_error + u * (spread + 2 * mean_error) + own
    rounded = relative_bound(_TERM_ROUNDINGS + _ADDITIONS * k, dtype) + (n + 8) * double
    depth = math.log2(n) / 2
    f2 = e * spread * math.sqrt(depth) + e * e * depth + rounded * spread**2 / 4
    crossed = spread**2 * depth / 2
    f3 = _m3_bound(1, depth, spread**2 / 4, crossed, f2, e, spread, rounded)
    m3 = _m3_bound(n, depth, m2, min(k * m2, n * crossed), f2, e, spread, rounded)
    weights, sums, wide = n * depth, min(k * m2, n * crossed), spread + e
    once = math.sqrt(m2 * weights)
    m2_bound = 2 * e * once + e * e * weights + rounded * m2
    m4 = 4 * wide**2 * e * (once + e * weights) + 6 * (2 * spread * e + e * e) * sums + 12 * wide**2 * f2 * weights
    m4 += 4 * e * spread * sums + 8 * wide * f3 * weights + rounded * wide**2 * (m2 + 10 * sums)
    # a product that underflows, times two numbers of items, in each merge
    underflow = 4.0 * n**3 * (1 + spread) ** 4 * SMALLEST[dtype]
    return [mean_error, *(off + underflow for off in (m2_bound, m3, m4))]


def _m3_bound(
    n: int, depth: float, m2: float, sums: float, f2: float, e: float, spread: float, rounded: float
) -> float:
    """What M3 of n items may be off by; for one of many, its density."""
    weights, wide = n * depth, spread + e
    moved = 3 * e * (m2 + e * math.sqrt(m2 * weights)) + e**3 * weights
    return moved + 3 * e * sums + 6 * wide * f2 * weights + rounded * wide * (m2 + 3 * sums)
