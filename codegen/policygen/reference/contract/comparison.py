"""Results held against what they have to be: to the bit, within a bound, or in any order."""

from __future__ import annotations

from typing import Protocol

import torch
from attrs import frozen
from torch import Tensor


@frozen
class Difference:
    """The first place where a result is not what it has to be.

    Attributes:
        index: where; empty for a scalar.
        expected: what it has to be.
        got: what it is.
        bound: how far it may be off; 0 where it has to be exact.
    """

    index: tuple[int, ...]
    expected: str
    got: str
    bound: float = 0.0

    def __str__(self) -> str:
        place = f"[{', '.join(map(str, self.index))}]" if self.index else ""
        bound = f" within {self.bound:.3g}" if self.bound else ""
        return f"{place} expected {self.expected}{bound}, got {self.got}".strip()


class Expectation(Protocol):
    """What a result has to be."""

    def difference(self, got: Tensor) -> Difference | None:
        """The first difference; None if there is none."""


@frozen(eq=False)
class Exact:
    """The same values. Every NaN equals every other.

    Attributes:
        values: these.
        signed_zeros: whether -0.0 differs from 0.0.
    """

    values: Tensor
    signed_zeros: bool = False

    def difference(self, got: Tensor) -> Difference | None:
        """See Expectation."""
        expected = self.values.to(got.device)
        if expected.shape != got.shape:
            return _shapes(expected, got)
        wrong = expected != got
        if got.is_floating_point():
            wrong &= ~(torch.isnan(expected) & torch.isnan(got))
            if self.signed_zeros:
                wrong |= (expected == 0) & (got == 0) & (torch.signbit(expected) != torch.signbit(got))
        return _first(wrong, expected, got, None)


@frozen(eq=False)
class Close:
    """Values within a bound, infinities and NaN exactly.

    Attributes:
        values: the exact results, float64.
        bound: how far each result may be off, float64, of the same shape.
    """

    values: Tensor
    bound: Tensor

    def difference(self, got: Tensor) -> Difference | None:
        """See Expectation."""
        expected, bound, found = self.values.to(got.device), self.bound.to(got.device), got.to(torch.float64)
        if expected.shape != got.shape:
            return _shapes(expected, got)
        same = (expected == found) | (torch.isnan(expected) & torch.isnan(found))
        finite = torch.isfinite(expected) & torch.isfinite(found)
        return _first(~(same | (finite & ((expected - found).abs() <= bound))), expected, got, bound)


@frozen(eq=False)
class AnyOrder:
    """The same values, each as often, in any order along the first dimension: [n], or rows, [n, words]."""

    values: Tensor

    def difference(self, got: Tensor) -> Difference | None:
        """See Expectation."""
        return Exact(_in_order(self.values.to(got.device))).difference(_in_order(got))


def _in_order(values: Tensor) -> Tensor:
    if values.dim() == 1:
        return values.sort().values
    for column in range(values.shape[1]):
        values = values[values[:, column].sort(stable=True).indices]
    return values


def _shapes(expected: Tensor, got: Tensor) -> Difference:
    return Difference((), f"shape {list(expected.shape)}", f"shape {list(got.shape)}")


def _first(wrong: Tensor, expected: Tensor, got: Tensor, bound: Tensor | None) -> Difference | None:
    if not bool(wrong.any()):
        return None
    at = tuple(int(i) for i in torch.nonzero(wrong)[0])
    allowed = 0.0 if bound is None else float(bound[at])
    return Difference(at, repr(expected[at].item()), repr(got[at].item()), allowed)
