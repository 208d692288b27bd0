"""Segments to sort, each on its own."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from attrs import frozen
from torch import Tensor

from policygen.reference.collectives.pairs import Pairs
from policygen.reference.collectives.radix_sweeps import Regions


@frozen
class SortSegments:
    """Segments, one after the other.

    Attributes:
        lengths: items of each; one that ends before it begins has fewer than none.
        repeats: how often all of them come.
        gap: items between two of them that belong to none.
    """

    lengths: tuple[int, ...]
    repeats: int = 1
    gap: int = 0

    @property
    def all_lengths(self) -> tuple[int, ...]:
        """Of every segment."""
        return self.lengths * self.repeats

    @property
    def num_items(self) -> int:
        """Items of all of them, and between them."""
        return sum(max(0, length) + self.gap for length in self.all_lengths)

    def regions(self, device: torch.device | str = "cpu", first: int = 0) -> Regions:
        """Where each begins and ends; an empty one ends where it begins.

        Args:
            device: where to.
            first: where the first one begins.
        """
        lengths = torch.tensor(self.all_lengths, dtype=torch.int64, device=device).clamp(min=0)
        steps = lengths + self.gap
        begins = steps.cumsum(0) - steps + first
        return Regions(begins, begins + lengths)

    def __str__(self) -> str:
        lengths = ".".join(map(str, self.lengths)) or "none"
        times = f"x{self.repeats}" if self.repeats > 1 else ""
        return f"{lengths}{times}" + (f"/{self.gap}" if self.gap else "")


def sorted_segments(items: Pairs, orders: Sequence[Tensor], regions: Regions) -> Pairs:
    """What a sort of segments has to write: the items of each in their order, and nothing between segments.

    Args:
        items: before the sort.
        orders: the order of each segment's items, from its first on.
        regions: the segments.
    """
    out = items.blank()
    for order, begin, end in zip(orders, regions.begins.tolist(), regions.ends.tolist(), strict=True):
        out.put(torch.arange(begin, end, device=items.keys.device), items.at(begin + order.to(items.keys.device)))
    return out
