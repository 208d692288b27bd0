"""What becomes of an item and its neighbour: binary functions whose operands are not alike."""

from __future__ import annotations

from typing import Final

import torch
from attrs import frozen
from torch import Tensor

from policygen.reference.values.elements import Element
from policygen.reference.values.elements import words_element
from policygen.reference.values.elements import wrapped
from policygen.reference.values.operators import affine
from policygen.reference.values.sort_keys import elements_of_size

MINUS: Final = "minus"
DIFFERS: Final = "differs"
STEP: Final = "step"


@frozen
class Difference:
    """A function of an item and its neighbour.

    Attributes:
        name: `minus`, the item less its neighbour: rounded once, or with wrap-around; `differs`, whether the two are
            not equal, 1 or 0; `step`, of structs: the item's affine map after its neighbour's.
        element: the type of both, and of what is stored.
    """

    name: str
    element: Element

    def of(self, item: Tensor, neighbour: Tensor) -> Tensor:
        """The function of items and neighbours pairwise; shapes broadcast."""
        if self.name == DIFFERS:
            return (item != neighbour).to(self.element.dtype)
        if self.name == STEP:
            return affine(self.element.size).combine(neighbour, item)
        if self.element.words:
            return _less_128(item, neighbour)
        return wrapped(item - neighbour, self.element) if self.element.is_integer else item - neighbour

    def of_one(self, item: Tensor) -> Tensor:
        """What an item becomes that has no neighbour: itself, converted to what the function returns."""
        return (item != 0).to(self.element.dtype) if self.name == DIFFERS else item

    def __str__(self) -> str:
        return f"{self.element} {self.name}"


def differences_of(size: int) -> tuple[Difference, ...]:
    """Functions for items of so many bytes: of each type of this size, or of a struct."""
    elements = elements_of_size(size)
    if not elements:
        return (Difference(STEP, words_element("other", size, 2)),)
    comparable = next((element for element in elements if not element.words), None)
    found = [Difference(MINUS, element) for element in elements]
    return (*found, Difference(DIFFERS, comparable)) if comparable is not None else tuple(found)


def _less_128(item: Tensor, neighbour: Tensor) -> Tensor:
    flip = torch.iinfo(torch.int64).min
    borrow = (item[..., 0] ^ flip) < (neighbour[..., 0] ^ flip)
    return torch.stack([item[..., 0] - neighbour[..., 0], item[..., 1] - neighbour[..., 1] - borrow.long()], dim=-1)
