"""Closed intervals of integers."""

from __future__ import annotations

from attrs import frozen


@frozen
class Interval:
    """All integers from `low` to `high`, both included."""

    low: int
    high: int

    def inside(self, other: Interval) -> bool:
        """Whether every integer of this interval lies in the other."""
        return other.low <= self.low and self.high <= other.high

    def hull(self, other: Interval) -> Interval:
        """The least interval that holds both."""
        return Interval(min(self.low, other.low), max(self.high, other.high))

    def meet(self, other: Interval) -> Interval | None:
        """What both have in common; None for nothing."""
        low, high = max(self.low, other.low), min(self.high, other.high)
        return Interval(low, high) if low <= high else None

    def __str__(self) -> str:
        return str(self.low) if self.low == self.high else f"{self.low} .. {self.high}"
