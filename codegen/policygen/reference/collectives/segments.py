"""Segments of a sequence: where each begins and ends."""

from __future__ import annotations

import torch
from attrs import frozen

from policygen.reference.collectives.regions import Regions


@frozen
class Segments:
    """Segments, one after the other.

    Attributes:
        lengths: items of each; one that ends before it begins has fewer than none.
        repeats: how often all of them come.
        gap: items between two of them that belong to none.
        others: lengths of further segments, which come once, after all others.
    """

    lengths: tuple[int, ...]
    repeats: int = 1
    gap: int = 0
    others: tuple[int, ...] = ()

    @property
    def all_lengths(self) -> tuple[int, ...]:
        """Of every segment."""
        return self.lengths * self.repeats + self.others

    @property
    def num_segments(self) -> int:
        """How many there are."""
        return len(self.lengths) * self.repeats + len(self.others)

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
        text = ".".join(map(str, self.lengths)) or "none"
        text += f"x{self.repeats}" if self.repeats > 1 else ""
        text += f"_{'.'.join(map(str, self.others))}" if self.others else ""
        return text + (f"/{self.gap}" if self.gap else "")
