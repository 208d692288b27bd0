"""Keys with the values that go along, in memory: what sorts and merges move."""

from __future__ import annotations

import torch
from attrs import frozen
from torch import Tensor

UNSET = -0x55
"""What memory holds that nothing has been written to."""


@frozen(eq=False)
class Pairs:
    """Keys, and values where there are any.

    A sort looks at no value, so that it does not matter what values are: here each is the place where its key came
    from. This shows where every item went, equal keys too.

    Attributes:
        keys: [n, *trailing].
        values: [n]; None for keys alone.
    """

    keys: Tensor
    values: Tensor | None

    @property
    def num_items(self) -> int:
        """Keys."""
        return self.keys.shape[0]

    def at(self, index: Tensor) -> Pairs:
        """The items at some places: an index of any shape."""
        return Pairs(self.keys[index], None if self.values is None else self.values[index])

    def blank(self) -> Pairs:
        """Memory for as many items that nothing has been written to."""
        return Pairs(
            torch.full_like(self.keys, UNSET), None if self.values is None else torch.full_like(self.values, UNSET)
        )

    def put(self, index: Tensor, items: Pairs) -> None:
        """Writes items to some places."""
        self.keys[index] = items.keys
        if self.values is not None and items.values is not None:
            self.values[index] = items.values

    def outputs(self) -> dict[str, Tensor]:
        """As a kernel's results."""
        return {"keys": self.keys} if self.values is None else {"keys": self.keys, "values": self.values}


def with_origins(keys: Tensor, *, has_values: bool) -> Pairs:
    """Keys whose values say where they are before the sort."""
    return Pairs(keys, torch.arange(keys.shape[0], device=keys.device) if has_values else None)


def torn_apart(items: Pairs, found: Pairs) -> Tensor:
    """How many keys have a value that belongs to a key with other bits: values say where their keys were."""
    assert found.values is not None
    differ = items.keys[found.values] != found.keys
    return (differ.any(-1) if differ.dim() > 1 else differ).sum()
