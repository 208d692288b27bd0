"""Keys to select from: which of them are wanted, inputs by pattern, and exact results."""

from __future__ import annotations

import torch
from attrs import frozen
from torch import Tensor

from policygen.reference.values.elements import Element
from policygen.reference.values.key_orders import KeyOrder
from policygen.reference.values.radix_keys import RadixKeys
from policygen.reference.values.sort_keys import elements_of_size
from policygen.reference.values.sort_keys import make_keys
from policygen.reference.values.sort_keys import sort_patterns

_COPIES = 5


@frozen
class Selection:
    """Which keys are wanted.

    Attributes:
        element: type of the keys.
        is_greatest: whether the greatest, else the least.
    """

    element: Element
    is_greatest: bool

    def __str__(self) -> str:
        return f"{self.element} {'greatest' if self.is_greatest else 'least'}"


def selections_of(size: int) -> tuple[Selection, ...]:
    """The greatest and the least keys of each type of so many bytes."""
    return tuple(Selection(element, greatest) for element in elements_of_size(size) for greatest in (True, False))


def selection_patterns(element: Element) -> tuple[str, ...]:
    """The patterns that keys have, the plainest first: those of a sort, and keys of which there are a few each."""
    plainest, *others = sort_patterns(element, nan=True)
    return (plainest, "repeated", *others)


def make_selectable(pattern: str, element: Element, num_items: int, random: torch.Generator) -> Tensor:
    """Makes keys: see `policygen.reference.values.inputs.make`. There are about five of each `repeated` one."""
    if pattern != "repeated" or num_items == 0:
        return make_keys("random" if pattern == "repeated" else pattern, element, num_items, random)
    some = make_keys("random", element, max(1, num_items // _COPIES), random)
    return some[torch.randint(some.shape[0], (num_items,), generator=random)]


def selected(raw: Tensor, selection: Selection, k: int, *, zeros_differ: bool = True) -> Tensor:
    """Where the wanted keys are, found by sorting all of them as numbers: int64 [k], the first of equal ones first.

    Args:
        raw: bits as in memory, [n, *element.trailing], on the CPU.
        selection: which are wanted.
        k: how many, at most n.
        zeros_differ: whether -0.0 comes before 0.0.
    """
    element = selection.element
    if not element.is_floating:
        order = KeyOrder(element, "greater" if selection.is_greatest else "less")
        return order.sorted_by(RadixKeys(element).values(raw))[:k]
    # sign and magnitude as one number; NaN has the greatest magnitudes
    half = torch.iinfo(torch.int64).max if element.size == 8 else (1 << (element.bits - 1)) - 1
    magnitude = raw & half
    place = torch.where(raw == magnitude, magnitude, -magnitude - (1 if zeros_differ else 0))
    return torch.sort(place, descending=selection.is_greatest, stable=True).indices[:k]
