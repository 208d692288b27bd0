"""What the plan of a launch reads of a policy and of its whole key, by the names that CUB's structs have.

A resolved policy has these attributes in the compiler and in a generated package, and more.
"""

from __future__ import annotations

from typing import Protocol


class BlockTile(Protocol):
    """A tile of a block."""

    threads_per_block: int
    items_per_thread: int


class ReduceTiles(Protocol):
    """Of a reduction: the tile of the first pass, and that of a problem of one tile."""

    @property
    def multi_tile(self) -> BlockTile:
        """The tile of the first pass."""

    @property
    def single_tile(self) -> BlockTile:
        """The tile of the second pass, and of a problem of one tile."""


class ReduceKey(Protocol):
    """Of a reduction's key: bytes of the accumulator, and what is promised."""

    accum_size: int
    determinism: str


def tile_of(counts: BlockTile) -> int:
    """Items of a block's tile."""
    return counts.threads_per_block * counts.items_per_thread
