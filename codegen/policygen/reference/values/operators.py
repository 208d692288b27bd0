"""Binary operators, with their identity elements and how exact they are.

Order is part of the meaning: `combine(earlier, later)`. Minimum and maximum of floating-point numbers are those of
`cuda::minimum` and `cuda::maximum`, which are `fmin` and `fmax`: NaN loses against any number, so a result is NaN only
where every item is, and the identity is an infinity, never the largest finite number. Of 0.0 and -0.0 either may
be the result; a judge must not tell them apart.
"""

from __future__ import annotations

from abc import ABC
from abc import abstractmethod
from collections.abc import Callable

import torch
from attrs import field
from attrs import frozen
from torch import Tensor

from policygen.reference.values.elements import Element
from policygen.reference.values.elements import sortable
from policygen.reference.values.elements import words_element
from policygen.reference.values.elements import wrapped


@frozen
class Operator(ABC):
    """A binary, associative operator on one element type.

    Attributes:
        name: what it is called.
        element: what it works on.
        recognised: whether CUB knows it (`cuda::std::plus`, `cuda::minimum`, `cuda::maximum`).
        commutative: whether the order of operands means nothing.
    """

    name: str
    element: Element
    recognised: bool = True
    commutative: bool = True

    @abstractmethod
    def combine(self, earlier: Tensor, later: Tensor) -> Tensor:
        """Combines elements pairwise; shapes broadcast."""

    @abstractmethod
    def identity(self) -> Tensor:
        """The element that changes nothing, on the CPU."""

    @property
    def exact(self) -> bool:
        """Whether every parenthesisation gives the same bits (but for the sign of zero)."""
        return not (self.element.is_floating and isinstance(self, Plus))

    def filled(self, *shape: int, device: torch.device | str = "cpu") -> Tensor:
        """A tensor of identity elements."""
        return self.identity().to(device).expand((*shape, *self.element.trailing)).clone()

    def __str__(self) -> str:
        return f"{self.element} {self.name}"


@frozen
class Plus(Operator):
    """Addition: rounded after each, or with wrap-around."""

    def combine(self, earlier: Tensor, later: Tensor) -> Tensor:
        """See Operator."""
        if self.element.words:
            return _add_128(earlier, later)
        total = earlier + later
        return wrapped(total, self.element) if self.element.is_integer else total

    def identity(self) -> Tensor:
        """See Operator."""
        return torch.zeros(self.element.trailing, dtype=self.element.dtype)


@frozen
class Extremum(Operator):
    """Minimum or maximum.

    Attributes:
        greatest: whether it is the maximum.
    """

    greatest: bool = True

    def combine(self, earlier: Tensor, later: Tensor) -> Tensor:
        """See Operator."""
        if self.element.is_floating:
            return torch.fmax(earlier, later) if self.greatest else torch.fmin(earlier, later)
        if self.element.words:
            wins = _less_128(earlier, later, signed=self.element.name == "int128")
        else:
            wins = sortable(earlier, self.element) < sortable(later, self.element)
        return self.element.select(wins == self.greatest, later, earlier)

    def identity(self) -> Tensor:
        """See Operator."""
        if self.element.is_floating:
            return torch.tensor(float("-inf") if self.greatest else float("inf"), dtype=self.element.dtype)
        if self.element.words:
            low, high = _SMALLEST_128 if self.greatest else _LARGEST_128
            if self.element.name == "uint128":
                low, high = (0, 0) if self.greatest else (-1, -1)
            return torch.tensor([low, high])
        if self.element.size == 8 and not self.element.signed:
            return torch.tensor(0 if self.greatest else -1)
        return torch.tensor(self.element.lowest if self.greatest else self.element.highest)


@frozen
class Affine(Operator):
    """Composition of x -> factor * x + summand, modulo a power of two, the earlier map applied first.

    Associative, and commutative almost never: what a scan or a stable reduction must not reorder. It is what joining
    numbers digit by digit is, too: "12" then "345" is (1000, 345) after (100, 12).

    Attributes:
        word_bits: bits of factor and summand.
    """

    word_bits: int = 32

    def combine(self, earlier: Tensor, later: Tensor) -> Tensor:
        """See Operator."""
        mask = (1 << self.word_bits) - 1
        factor = _times(later[..., 0], earlier[..., 0], self.word_bits)
        summand = (_times(later[..., 0], earlier[..., 1], self.word_bits) + later[..., 1]) & mask
        return torch.stack([factor, summand], dim=-1)

    def identity(self) -> Tensor:
        """See Operator."""
        return torch.tensor([1, 0])


@frozen
class MatrixProduct(Operator):
    """Products of 2 x 2 matrices of 32-bit integers, modulo 2^32; entries are held by rows."""

    def combine(self, earlier: Tensor, later: Tensor) -> Tensor:
        """See Operator."""
        a, b, c, d = earlier.unbind(-1)
        e, f, g, h = later.unbind(-1)
        rows = [
            _times(a, e, 32) + _times(b, g, 32),
            _times(a, f, 32) + _times(b, h, 32),
            _times(c, e, 32) + _times(d, g, 32),
            _times(c, f, 32) + _times(d, h, 32),
        ]
        return torch.stack(rows, dim=-1) & 0xFFFFFFFF

    def identity(self) -> Tensor:
        """See Operator."""
        return torch.tensor([1, 0, 0, 1])


@frozen
class Swapped(Operator):
    """An operator whose operands come the other way round (`cub::SwizzleScanOp`).

    Attributes:
        inner: that operator.
    """

    inner: Operator = field(kw_only=True)

    def combine(self, earlier: Tensor, later: Tensor) -> Tensor:
        """See Operator."""
        return self.inner.combine(later, earlier)

    def identity(self) -> Tensor:
        """See Operator."""
        return self.inner.identity()


def swapped(operator: Operator) -> Operator:
    """An operator with its operands the other way round."""
    return Swapped(operator.name, operator.element, operator.recognised, operator.commutative, inner=operator)


_SMALLEST_128, _LARGEST_128 = (0, -(2**63)), (-1, 2**63 - 1)


def _times(a: Tensor, b: Tensor, bits: int) -> Tensor:
    # int64 products wrap around, and the low bits are right
    return (a * b) & ((1 << bits) - 1)


def _add_128(a: Tensor, b: Tensor) -> Tensor:
    low = a[..., 0] + b[..., 0]
    carry = _unsigned_less(low, a[..., 0])
    return torch.stack([low, a[..., 1] + b[..., 1] + carry], dim=-1)


def _less_128(a: Tensor, b: Tensor, *, signed: bool) -> Tensor:
    higher = a[..., 1] < b[..., 1] if signed else _unsigned_less(a[..., 1], b[..., 1])
    return higher | ((a[..., 1] == b[..., 1]) & _unsigned_less(a[..., 0], b[..., 0]))


def _unsigned_less(a: Tensor, b: Tensor) -> Tensor:
    flip = torch.iinfo(torch.int64).min
    return (a ^ flip) < (b ^ flip)


def similar(operator: Operator) -> tuple[str, bool, bool]:
    """What operators have in common that go wrong for the same reasons."""
    return operator.name, operator.element.is_floating, operator.element.is_integer


def plus(element: Element) -> Operator:
    """Addition that CUB recognises."""
    return Plus("plus", element)


def opaque_plus(element: Element) -> Operator:
    """Addition in a function of the user's: CUB recognises nothing, and adds one after the other."""
    return Plus("opaque_plus", element, recognised=False)


def minimum(element: Element) -> Operator:
    """Minimum."""
    return Extremum("min", element, greatest=False)


def maximum(element: Element) -> Operator:
    """Maximum."""
    return Extremum("max", element)


def affine(size: int) -> Operator:
    """Affine maps of so many bytes: an even number, or 1 (two words of 4 bits)."""
    bits = min(4 * size, 32)
    return Affine(f"affine{bits}", words_element("other", size, 2), recognised=False, commutative=False, word_bits=bits)


def matrix_product() -> Operator:
    """Matrices of 16 bytes."""
    return MatrixProduct("matrix", words_element("other", 16, 4), recognised=False, commutative=False)


RECOGNISED: dict[str, Callable[[Element], Operator]] = {"plus": plus, "min": minimum, "max": maximum}
"""By the enumerators of `op_kind_t`, without `other`."""
