"""Orders that a merge sort or a merge may be asked for: a function that says whether one key comes before another.

Such a function has to be a strict weak ordering, so NaN has no place here: it is before nothing, and nothing is before
it. Equal keys need not be the same: -0.0 equals 0.0, and a coarse order takes many keys for equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import Final

import torch
from attrs import frozen
from torch import Tensor

from policygen.reference.values.elements import Element
from policygen.reference.values.elements import sortable

ORDERS: Final = ("less", "greater", "coarse")
_COARSE_BITS: Final = 3


@frozen
class KeyOrder:
    """An order of keys.

    Attributes:
        element: their type.
        name: one of `ORDERS`: ascending, descending, or ascending by the highest bits alone.
    """

    element: Element
    name: str

    def before(self, first: Tensor, second: Tensor) -> Tensor:
        """Whether the first of two keys comes before the second: [...] without the trailing dimension."""
        if self.name == "greater":
            first, second = second, first
        if self.element.words and self.name != "coarse":
            return self._words_before(first, second)
        return self._image(first) < self._image(second)

    def _words_before(self, first: Tensor, second: Tensor) -> Tensor:
        (first_low, first_high), (second_low, second_high) = (self._halves(keys) for keys in (first, second))
        return (first_high < second_high) | ((first_high == second_high) & (first_low < second_low))

    def _halves(self, keys: Tensor) -> tuple[Tensor, Tensor]:
        """Low and high word, each as an int64 in order."""
        low, high = keys.unbind(-1)
        flip = torch.iinfo(torch.int64).min
        return low ^ flip, high if self.element.signed else high ^ flip

    def _image(self, keys: Tensor) -> Tensor:
        """One number for each key, in the same order."""
        if self.name != "coarse":
            return keys if self.element.is_floating else sortable(keys, self.element)
        if self.element.is_floating:
            return (keys * 4).floor()
        if self.element.words:
            return self._halves(keys)[1] >> (64 - _COARSE_BITS)
        return sortable(keys, self.element) >> (self.element.bits - _COARSE_BITS)

    def sorted_by(self, keys: Tensor) -> Tensor:
        """Where a stable sort finds the key of each place: int64 [n]."""
        keys, descending = keys.cpu(), self.name == "greater"
        order = torch.arange(keys.shape[0])
        images = self._halves(keys) if self.element.words and self.name != "coarse" else (self._image(keys),)
        for image in images:
            order = order[torch.sort(image[order], descending=descending, stable=True).indices]
        return order

    def __str__(self) -> str:
        return f"{self.element} {self.name}"


def orders_of(elements: Sequence[Element]) -> tuple[KeyOrder, ...]:
    """Two orders of each type: the plain one, and another in turn."""
    names = zip(elements, cycle(ORDERS[1:]), strict=False)
    return tuple(KeyOrder(element, name) for element, other in names for name in (ORDERS[0], other))
