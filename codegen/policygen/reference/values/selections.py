"""Which items a selection selects: none, few, all, in stretches; and the flags, predicates and items that say so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import torch
from attrs import frozen
from torch import Tensor

from policygen.reference.values.elements import Element
from policygen.reference.values.key_orders import KeyOrder

SHARES: Final = ("half", "none", "few", "all", "stretches")
"""How much is selected; of `stretches` of some hundred items, either all or nothing."""

_FRACTIONS: Final = {"half": 0.5, "none": 0.0, "few": 0.02, "all": 1.0, "stretches": 0.5}
_STRETCH: Final = 300


def drawn(share: str, num_items: int, random: torch.Generator) -> Tensor:
    """Which items are to be selected, bool [num_items] on the CPU.

    Args:
        share: one of `SHARES`.
        num_items: how many there are.
        random: a generator on the CPU.
    """
    uniform = torch.rand(num_items, generator=random)
    if share == "stretches":
        return (uniform < 1 / _STRETCH).cumsum(0) % 2 == 1
    return uniform < _FRACTIONS[share]


def flags_for(selected: Tensor, random: torch.Generator) -> Tensor:
    """Flags of a byte: 0 for what is not selected, and any other number for what is."""
    return torch.where(selected, torch.randint(1, 256, selected.shape, generator=random), 0)


def odd_flags_for(selected: Tensor, random: torch.Generator) -> Tensor:
    """Flags of a byte for a predicate that asks whether they are odd: any numbers, 0 among them."""
    return 2 * torch.randint(128, selected.shape, generator=random) + selected


def is_set(flags: Tensor) -> Tensor:
    """What flags say by themselves."""
    return flags != 0


def is_odd(flags: Tensor) -> Tensor:
    """A predicate on flags."""
    return flags & 1 == 1


def repeated(values: Tensor, heads: Tensor) -> Tensor:
    """Items in runs: a value is repeated until the next head."""
    return values[(heads.cumsum(0) - 1).clamp(min=0)]


@frozen(eq=False)
class Cut:
    """A predicate on items: whether they come before a pivot.

    Attributes:
        order: of the items.
        pivot: one of them.
        inclusive: whether what the pivot does not come before is selected, too: equal items, and NaN.
    """

    order: KeyOrder
    pivot: Tensor
    inclusive: bool

    def __call__(self, items: Tensor) -> Tensor:
        """Whether items are selected: [...] without the trailing dimension."""
        pivot = self.pivot.to(items.device)
        return ~self.order.before(pivot, items) if self.inclusive else self.order.before(items, pivot)


def cuts_at(shares: Sequence[str], element: Element, items: Tensor) -> tuple[Cut, ...]:
    """Predicates that select shares of items, as nearly as their values allow.

    Args:
        shares: of `SHARES`, one for each predicate.
        element: type of the items.
        items: these.
    """
    order, n = KeyOrder(element, "less"), items.shape[0]
    if n == 0:
        nothing = torch.zeros(element.trailing, dtype=element.dtype)
        return tuple(Cut(order, nothing, inclusive=False) for _ in shares)
    places = order.sorted_by(items)
    return tuple(
        Cut(order, items[places[min(int(_FRACTIONS[share] * n), n - 1)]], inclusive=share == "all") for share in shares
    )
