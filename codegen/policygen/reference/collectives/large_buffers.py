"""Buffers that several blocks copy: their queue, and the tiles that blocks take of it (`MultiBlockBatchMemcpyKernel`).

Tiles of all buffers are numbered one after the other; block b takes tiles b, b + blocks, ... and looks for the buffer
of each. It stops at a tile that begins past the end of the last buffer: one that begins just there is taken, and has
nothing to copy. What is left of a buffer is a number without sign: a tile past the end of another buffer than the last
would copy a whole one. (There is none, as long as the tile is the one by which the first kernel counted.)
"""

from __future__ import annotations

from typing import Final

import torch
from attrs import frozen
from torch import Tensor

from policygen.reference.collectives.buffer_partition import BY_BLOCKS
from policygen.reference.collectives.buffer_partition import Partition
from policygen.reference.collectives.lookback import lookback
from policygen.reference.collectives.pairs import UNSET
from policygen.reference.collectives.vector_copy import Copies
from policygen.reference.contract.tile_log import TileLog
from policygen.reference.values.buffers import Buffers
from policygen.reference.values.elements import ELEMENTS
from policygen.reference.values.operators import plus

LARGE: Final = "MultiBlockBatchMemcpyKernel"

_TINY: Final = 32
_COUNT: Final = plus(ELEMENTS["uint32"])


@frozen(eq=False)
class Queue:
    """Large buffers, in the order in which they were queued: int64 [buffers] each.

    Attributes:
        sources: addresses.
        targets: addresses.
        sizes: items.
        tile_offsets: tiles before each.
    """

    sources: Tensor
    targets: Tensor
    sizes: Tensor
    tile_offsets: Tensor


def one_buffer(size: int) -> Queue:
    """A queue of one buffer, at the begin of memory."""
    zero = torch.zeros(1, dtype=torch.int64)
    return Queue(zero, zero, zero + size, zero)


def queued(buffers: Buffers, partition: Partition, tile_items: int, known: tuple[Tensor, Tensor], window: int) -> Queue:
    """The large buffers, where the blocks of the first kernel put them.

    A block finds out by two lookbacks how many large buffers the tiles before have, and how many tiles those take.

    Args:
        buffers: all of them.
        partition: by class.
        tile_items: items by which tiles of large buffers are counted.
        known: which predecessors are inclusive, of either lookback.
        window: predecessors of one step.
    """
    counts, ids = partition.counts[:, BY_BLOCKS], partition.all_of_class(BY_BLOCKS)
    tile = torch.arange(counts.shape[0], device=ids.device).repeat_interleave(counts)
    sizes = buffers.sizes[ids]
    tiles = (sizes + tile_items - 1) // tile_items
    of_tiles = torch.zeros_like(counts).index_add_(0, tile, tiles)
    in_tile = torch.arange(ids.shape[0], device=ids.device) - (counts.cumsum(0) - counts)[tile]
    tiles_in_tile = tiles.cumsum(0) - tiles - (of_tiles.cumsum(0) - of_tiles)[tile]
    before, tiles_before = (_before(of, one, window) for of, one in zip((counts, of_tiles), known, strict=True))
    found = torch.full((4, int(before[-1] + counts[-1])), UNSET, device=ids.device)
    found[:, before[tile] + in_tile] = torch.stack(
        [buffers.sources[ids], buffers.targets[ids], sizes, tiles_before[tile] + tiles_in_tile]
    )
    return Queue(*found)


def _before(totals: Tensor, known: Tensor, window: int) -> Tensor:
    """What comes before each tile; before the first one there is nothing."""
    found = lookback(totals, _COUNT, window, known)
    return torch.cat([torch.zeros_like(found[:1]), found[1:]])


@frozen
class LargeBuffers:
    """The grid.

    Attributes:
        blocks: of the grid.
        tile: items that a block copies at once.
        item: bytes of an item.
    """

    blocks: int
    tile: int
    item: int

    def tiles(self, queue: Queue, log: TileLog, first: int = 0) -> tuple[Copies, Tensor]:
        """The tiles that blocks take.

        Args:
            queue: what there is to copy, at least one buffer.
            log: notes the tiles.
            first: tiles that are left out, where memory would not hold them all.

        Returns:
            What each copies, in items from the begin of memory; and which of them are so small that they are copied one
            by one.
        """
        device = queue.sizes.device
        count = int(queue.tile_offsets[-1]) + int(queue.sizes[-1]) // self.tile + 1
        number = torch.arange(first, count, device=device)
        buffer = torch.searchsorted(queue.tile_offsets, number, right=True) - 1
        offset = (number - queue.tile_offsets[buffer]) * self.tile
        left = queue.sizes[buffer] - offset
        length = torch.where(left < 0, self.tile, left.clamp(max=self.tile))
        before = (queue.sizes.cumsum(0) - queue.sizes)[buffer] + offset
        log.record_all(LARGE, number % self.blocks, before, before + length)
        begin = offset * self.item
        copies = Copies(queue.sources[buffer] + begin, queue.targets[buffer] + begin, length * self.item)
        return copies, (left >= 0) & (left <= _TINY)
