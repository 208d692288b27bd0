"""Buffers of a tile by their sizes (`cub::detail::batch_memcpy::AgentBatchMemcpy`).

A block loads the sizes of its buffers striped, counts how many are for threads, for warps and for blocks - a buffer's
class is how many of the two thresholds its size exceeds; empty ones have none -, scans the counts of its threads, and
writes what buffers there are class by class: within a class thread by thread, so that they are not in order.
"""

from __future__ import annotations

from typing import Final

import torch
from attrs import frozen
from torch import Tensor

from policygen.reference.collectives.arrangement import striped
from policygen.reference.collectives.packed_counters import PackedCounters

CLASSES: Final = 3
BY_THREADS, BY_WARPS, BY_BLOCKS = range(CLASSES)

_SIXTEEN_BITS: Final = 0xFFFF


@frozen(eq=False)
class Partition:
    """The buffers of tiles by class.

    Attributes:
        ids: numbers of buffers in their tile, class by class; -1 past the last: int64 [tiles, buffers].
        sizes: of 16 bits, at the same places: right for what threads copy.
        counts: buffers of each class: int64 [tiles, classes].
    """

    ids: Tensor
    sizes: Tensor
    counts: Tensor

    def of_class(self, tile: int, number: int) -> Tensor:
        """Numbers of a tile's buffers of a class."""
        begin = int(self.counts[tile, :number].sum())
        return self.ids[tile, begin : begin + int(self.counts[tile, number])]

    def all_of_class(self, number: int) -> Tensor:
        """Numbers of all buffers of a class among those of all tiles, tile by tile."""
        found = [self.ids[:0, 0]]
        tiles = torch.nonzero(self.counts[:, number]).squeeze(-1).tolist()
        found.extend(self.of_class(tile, number) + tile * self.ids.shape[1] for tile in tiles)
        return torch.cat(found)


@frozen
class BufferPartition:
    """A block that sorts buffers by class.

    Attributes:
        threads: threads of a block.
        buffers: buffers of a thread.
        thresholds: the greatest sizes for threads, and for warps.
        prefers_powers: see `PackedCounters`.
    """

    threads: int
    buffers: int
    thresholds: tuple[int, int]
    prefers_powers: bool

    @property
    def tile_buffers(self) -> int:
        """Buffers of a tile."""
        return self.threads * self.buffers

    def __call__(self, sizes: Tensor) -> Partition:
        """Sorts the buffers of tiles.

        Args:
            sizes: of each tile's buffers, 0 past the last one: int64 [tiles, tile_buffers].
        """
        arrangement = striped(self.threads, self.buffers).to(sizes.device)
        # [tiles, threads, buffers of a thread]
        held = sizes[:, arrangement].transpose(1, 2)
        exists = held > 0
        to_warps, to_blocks = self.thresholds
        class_ = (held > to_warps).to(torch.int64) + (held > to_blocks).to(torch.int64)
        counters = PackedCounters(CLASSES, self.tile_buffers, self.prefers_powers)
        one = torch.nn.functional.one_hot(class_, CLASSES) * exists.unsqueeze(-1)
        of_threads = counters.packed(one.sum(2))
        total = counters.unpacked((of_threads.sum(1)) & 0xFFFFFFFF)
        begins = total.cumsum(-1) - total
        before = counters.unpacked(counters.added(counters.summed(of_threads), counters.packed(begins).unsqueeze(1)))
        in_thread = one.cumsum(2) - one
        places = (before.unsqueeze(2) + in_thread).gather(3, class_.unsqueeze(-1)).squeeze(-1)
        return self._written(held, exists, places, arrangement, total)

    def _written(self, held: Tensor, exists: Tensor, places: Tensor, arrangement: Tensor, total: Tensor) -> Partition:
        tiles = held.shape[0]
        ids = torch.full((tiles, self.tile_buffers), -1, device=held.device)
        sizes = torch.zeros_like(ids)
        row = torch.arange(tiles, device=held.device).view(-1, 1, 1).expand_as(held)[exists]
        own = arrangement.t().expand_as(held)[exists]
        ids[row, places[exists]] = own
        sizes[row, places[exists]] = held[exists] & _SIXTEEN_BITS
        return Partition(ids, sizes, total)
