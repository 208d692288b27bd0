"""What keys or items may be taken for equal by: `cuda::std::equal_to`, or a function of the user's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import torch
from attrs import frozen
from torch import Tensor

from policygen.reference.values.elements import Element

EQUALITIES: Final = ("equal_to", "custom")
_BITS: Final = {2: torch.int16, 4: torch.int32, 8: torch.int64}


@frozen
class Equality:
    """An equivalence of elements.

    Attributes:
        element: their type.
        name: one of `EQUALITIES`. By `equal_to` -0.0 equals 0.0, and NaN not even itself. The custom one compares bits
            of floating-point numbers, and else takes neighbours for equal: all but the lowest bit of an integer, the
            upper half of one of 128 bits.
    """

    element: Element
    name: str

    def same(self, first: Tensor, second: Tensor) -> Tensor:
        """Whether two elements are equal: [...] without the trailing dimension."""
        if self.name == "custom":
            first, second = self._image(first), self._image(second)
        elif self.element.words:
            return (first == second).all(-1)
        return first == second

    def _image(self, values: Tensor) -> Tensor:
        if self.element.words:
            return values[..., -1]
        return values.view(_BITS[self.element.size]) if self.element.is_floating else values >> 1

    def __str__(self) -> str:
        return f"{self.element} {self.name}"


def equalities_of(elements: Sequence[Element]) -> tuple[Equality, ...]:
    """Both equalities of each type."""
    return tuple(Equality(element, name) for element in elements for name in EQUALITIES)
