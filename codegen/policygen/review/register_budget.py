"""The tile of a reduction from a budget of registers: the source notes' own derivation, no rule of CUB's.

It is kept to be compared with: the points of a target state their counts, and the audit shows where the two differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from attrs import frozen

SIZES: Final = (1, 2, 4, 8, 16)
"""Bytes of an accumulator that the derivation is for."""

REFERENCE_ITEMS: Final[Mapping[int, int]] = {1: 32, 2: 24, 4: 16, 8: 16, 16: 16}
"""What the notes take for CUB's items at a size in bytes; three of them are not what CUB selects."""

_BUDGET: Final = 40
_MOST_ITEMS: Final = 64
_FACTOR: Final = 2
_OTHER_REGISTERS: Final = 16
_WIDEST_VECTOR_ELEMENT: Final = 8


@frozen
class BudgetTile:
    """A tile by the budget.

    Attributes:
        size: bytes of an accumulator.
        threads_per_block: threads of a block.
        items_per_thread: items of a thread.
        vec_size: items of a vector.
        registers: of a thread: those of the items and 16 more.
    """

    size: int
    threads_per_block: int
    items_per_thread: int
    vec_size: int
    registers: int

    @property
    def tile_items(self) -> int:
        """Items of a block."""
        return self.threads_per_block * self.items_per_thread


def budget_tile(size: int) -> BudgetTile:
    """Derives a tile.

    An item takes max(1, size / 4) registers. A thread has as many items as 40 registers hold, at most 64 and at most
    twice the reference's; 384 threads from 8 bytes on, else 512; vectors of 2 for 4 and 8 bytes, of 4 below, of 1
    where items are odd or larger than 8 bytes.

    Args:
        size: bytes of an accumulator, one of `SIZES`.

    Raises:
        KeyError: the notes have no reference for the size.
    """
    registers_per_item = max(1, size // 4)
    items = min(_BUDGET // registers_per_item, _MOST_ITEMS, _FACTOR * REFERENCE_ITEMS[size])
    vector = 1 if items % 2 or size > _WIDEST_VECTOR_ELEMENT else 2 if size >= 4 else 4
    return BudgetTile(
        size=size,
        threads_per_block=384 if size >= 8 else 512,
        items_per_thread=items,
        vec_size=vector,
        registers=items * registers_per_item + _OTHER_REGISTERS,
    )
