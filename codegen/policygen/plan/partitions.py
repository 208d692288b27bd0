"""Partitions of a sequence, the engine's own: whole ones, of which only the last may be shorter."""

from __future__ import annotations

from attrs import frozen

from policygen.plan.counts import ceil_div
from policygen.plan.counts import checked
from policygen.plan.counts import checked_items


@frozen
class PartitionPlan:
    """A sequence cut into partitions.

    Attributes:
        length: tokens of the sequence.
        partition_items: tokens of a whole partition; not their number.
        num_partitions: partitions, 0 for an empty sequence.
        last_items: tokens of the last partition, 0 for an empty sequence.
    """

    length: int
    partition_items: int
    num_partitions: int
    last_items: int

    def partition(self, number: int) -> tuple[int, int]:
        """[start, end) of a partition, in tokens. Raises ValueError if there is no such partition."""
        if not 0 <= number < self.num_partitions:
            raise ValueError(f"partition {number} is not one of the {self.num_partitions} of this sequence")
        start = number * self.partition_items
        return start, min(start + self.partition_items, self.length)


def partition_plan(length: int, partition_items: int) -> PartitionPlan:
    """Cuts a sequence into whole partitions.

    Args:
        length: tokens of the sequence, 0 to 2^62.
        partition_items: tokens of a partition.

    Raises:
        ValueError: an argument is out of bounds.
    """
    length = checked_items(length)
    partition_items = checked("partition_items", partition_items, 1)
    num_partitions = ceil_div(length, partition_items)
    last_items = length - (num_partitions - 1) * partition_items if num_partitions else 0
    return PartitionPlan(length, partition_items, num_partitions, last_items)


def is_unpartitioned(length: int, *, partition_items: int, reduce_tile_items: int) -> bool:
    """The engine's single-tile test: whether a sequence is short enough to be left whole.

    Two comparisons, of which CUB has neither: its own test is `policygen.plan.reduce_plan.fits_single_tile`.

    Args:
        length: tokens of the sequence.
        partition_items: tokens of a partition.
        reduce_tile_items: items of the tile of the float32 reduction.
    """
    return length <= partition_items or length <= reduce_tile_items
