"""Items of many small buffers, dealt evenly to the threads of a block (`cub::BlockRunLengthDecode`).

The buffers of a tile are runs, laid end to end by a scan of their sizes. In each round every thread decodes a few
consecutive items: it searches the run of its first one and walks on. Then they are exchanged, so that neighbours are in
neighbouring threads, and those past the last item are left out. Numbers and offsets of items have 16 bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import torch
from attrs import frozen
from torch import Tensor

from policygen.reference.collectives.arrangement import striped
from policygen.reference.collectives.buffer_partition import BY_THREADS
from policygen.reference.collectives.buffer_partition import Partition
from policygen.reference.contract.tile_log import TileLog

ROUNDS: Final = "BatchMemcpyKernel, items that threads copy"

_SIXTEEN_BITS: Final = 0xFFFF


@frozen
class ThreadRounds:
    """A block.

    Attributes:
        threads: threads of a block.
        per_thread: items of a thread in a round.
    """

    threads: int
    per_thread: int

    def items(self, partition: Partition, log: TileLog) -> Iterator[tuple[Tensor, Tensor]]:
        """What the threads of each tile's block copy.

        Args:
            partition: the buffers by class.
            log: notes the rounds, by items laid end to end over all tiles.

        Yields:
            Of each item its buffer and its place in the buffer, int64 [items].
        """
        window, before, room = self.threads * self.per_thread, 0, partition.ids.shape[1]
        for tile in torch.nonzero(partition.counts[:, BY_THREADS]).squeeze(-1).tolist():
            ids = partition.of_class(tile, BY_THREADS)
            lengths = partition.sizes[tile, : ids.shape[0]]
            run_begins = lengths.cumsum(0) - lengths
            total = int(lengths.sum())
            begins = torch.arange(0, total, window)
            log.record_all(ROUNDS, tile, before + begins, before + (begins + window).clamp(max=total))
            before += total
            place = begins.to(ids.device).unsqueeze(1) + torch.arange(window, device=ids.device)
            run = torch.searchsorted(run_begins, place, right=True) - 1
            item = (place - run_begins[run]) & _SIXTEEN_BITS
            own = striped(self.threads, self.per_thread).flatten().to(ids.device)
            exists = place[:, own] < total
            yield ids[run[:, own][exists]] + tile * room, item[:, own][exists]
