"""Keys to sort: inputs by pattern that are hard on a sort."""

from __future__ import annotations

import torch
from attrs import frozen
from torch import Tensor

from policygen.reference.values.elements import ELEMENTS
from policygen.reference.values.elements import Element
from policygen.reference.values.elements import wrapped
from policygen.reference.values.inputs import make
from policygen.reference.values.inputs import patterns_of
from policygen.reference.values.radix_keys import RadixKeys

_FEW = 5
_MIDDLE_BITS = 8
_WITH_NAN = ("nan", "nans", "bits")


@frozen
class Bits:
    """Bits [begin, end) of a key, by which it is sorted."""

    begin: int
    end: int

    def __str__(self) -> str:
        return f"{self.begin}-{self.end}"


def bits_to_sort(key: Element, pattern: str, digit: int, *, everything: bool, turn: int) -> Bits:
    """Bits for a problem.

    Args:
        key: type of the keys.
        pattern: of the keys; those that differ in the middle are sorted by the bits there.
        digit: bits of a digit.
        everything: whether all bits, every third turn but a few at either end; else a digit and a little of the
            highest ones.
        turn: number of the problem.
    """
    if pattern == "middle" and key.bits > 2 * digit:
        return Bits(key.bits // 2 - digit // 2 - 1, key.bits // 2 + digit)
    if everything:
        return Bits(1, key.bits - 2) if turn % 3 == 2 else Bits(0, key.bits)
    return Bits(max(0, key.bits - digit - 3), key.bits)


def sort_patterns(element: Element, *, nan: bool) -> tuple[str, ...]:
    """The patterns that keys of a type have, the plainest first.

    Beyond those of all inputs: few different keys; integers that differ in a few bits in the middle only, so that
    nothing hides how these are sorted; floating-point numbers of any bits, NaN of either sign with any payload among
    them.

    Args:
        element: their type.
        nan: whether NaN has a place in the order.
    """
    found = (*patterns_of(element), "few", "bits" if element.is_floating else "middle")
    return found if nan else tuple(pattern for pattern in found if pattern not in _WITH_NAN)


def make_keys(pattern: str, element: Element, num_items: int, random: torch.Generator, device: str = "cpu") -> Tensor:
    """Makes keys: see `policygen.reference.values.inputs.make`."""
    if pattern == "few":
        some = make("random", element, _FEW, random)
        # most of them the first
        which = _FEW * torch.rand(num_items, generator=random) ** 3
        return some[which.long()].to(device)
    if pattern == "bits":
        bits = make("random", ELEMENTS[f"uint{element.bits}"], num_items, random)
        return RadixKeys(element).values(bits).to(device)
    if pattern == "middle":
        return _middle(element, num_items, random).to(device)
    return make(pattern, element, num_items, random, device)


def _middle(element: Element, num_items: int, random: torch.Generator) -> Tensor:
    differ = torch.randint(1 << _MIDDLE_BITS, (num_items,), generator=random)
    if element.words:
        below = _MIDDLE_BITS // 2
        return torch.stack([differ << (64 - below), differ >> below], dim=-1)
    return wrapped(differ << ((element.bits - _MIDDLE_BITS) // 2), element)


def elements_of_size(size: int) -> tuple[Element, ...]:
    """All types of keys of so many bytes: what a policy is for whose key says no more."""
    return tuple(element for element in ELEMENTS.values() if element.size == size)


def alike(element: Element) -> bool:
    """What keys have in common that go wrong for the same reasons."""
    return element.is_floating
