"""The accumulator of central moments: (n, mean, M2, M3, M4), where Mp is the sum of (x - mean)^p.

Two of them are merged as Chan, Golub and LeVeque (M2) and Terriberry (M3, M4) have it, with d = difference of the
means, t = d^2 na nb / n and s = d / n:

    mean = mean_a + d nb / n
    M2 = M2a + M2b + t
    M3 = M3a + M3b + t s (na - nb) + 3 s (na M2b - nb M2a)
    M4 = M4a + M4b + t s^2 (na^2 - na nb + nb^2) + 6 s^2 (na^2 M2b + nb^2 M2a) + 4 s (na M3b - nb M3a)

An item is (1, x, 0, 0, 0), which makes it Welford's algorithm. One that stands for nothing changes nothing. n is held
in the type of the others, and is exact as long as it has no more bits than that (2^24 in float32).

The operator is associative and commutative but for rounding; d is later less earlier, so that its operands are not to
be swapped halfway.
"""

from __future__ import annotations

from typing import Final

import torch
from attrs import frozen
from torch import Tensor

from policygen.reference.values.elements import Element
from policygen.reference.values.operators import Operator

NUMBERS: Final = 5
"""Numbers of an accumulator."""


@frozen
class MomentsMerge(Operator):
    """Merges two accumulators; see the module."""

    @property
    def exact(self) -> bool:
        """Never: means are rounded."""
        return False

    def combine(self, earlier: Tensor, later: Tensor) -> Tensor:
        """See Operator."""
        na, mean_a, m2a, m3a, m4a = earlier.unbind(-1)
        nb, mean_b, m2b, m3b, m4b = later.unbind(-1)
        n = na + nb
        divisor = torch.where(n == 0, 1.0, n)
        difference = mean_b - mean_a
        shift = difference * (nb / divisor)
        t = difference * shift * na
        s = difference / divisor
        merged = [
            n,
            mean_a + shift,
            m2a + m2b + t,
            m3a + m3b + t * s * (na - nb) + 3 * s * (na * m2b - nb * m2a),
            m4a
            + m4b
            + t * s * s * (na * na - na * nb + nb * nb)
            + 6 * (s * s) * (na * na * m2b + nb * nb * m2a)
            + 4 * s * (na * m3b - nb * m3a),
        ]
        result = torch.stack(merged, dim=-1)
        result = self.element.select(na == 0, later, result)
        return self.element.select(nb == 0, earlier, result)

    def identity(self) -> Tensor:
        """See Operator."""
        return torch.zeros(self.element.trailing, dtype=self.element.dtype)


def moments_merge(dtype: torch.dtype) -> MomentsMerge:
    """The operator for numbers of a type."""
    element = Element(f"moments of {dtype}", NUMBERS * dtype.itemsize, dtype, words=NUMBERS, primitive=False)
    return MomentsMerge("merge", element, recognised=False)


def moments_items(values: Tensor) -> Tensor:
    """Accumulators of one item each, [..., 5]."""
    states = torch.zeros(*values.shape, NUMBERS, dtype=values.dtype, device=values.device)
    states[..., 0] = 1.0
    states[..., 1] = values
    return states
