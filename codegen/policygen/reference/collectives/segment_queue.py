"""Segments that one block does not hold, queued for several blocks (`cub::detail::batched_topk`, epilogue).

A block whose segment is larger than its tile appends the segment's number and how many tiles of several blocks it
takes, at a place that an atomic addition gives. The block that retires last scans these counts, an epilogue's tile
after the other, with the running total as what comes before: sums are of 32 bits (`BlockScan<int>`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from attrs import frozen
from torch import Tensor

from policygen.reference.collectives.block_scan import block_scan
from policygen.reference.collectives.thread_reduce import Order
from policygen.reference.collectives.thread_reduce import thread_reduce
from policygen.reference.collectives.thread_scan import thread_scan
from policygen.reference.contract.tile_log import TileLog
from policygen.reference.values.elements import ELEMENTS
from policygen.reference.values.operators import plus

_TOTAL = plus(ELEMENTS["int32"])


@frozen(eq=False)
class SegmentQueue:
    """Large segments in the order in which their blocks came.

    Attributes:
        ids: int64 [large segments].
        tiles: how many tiles each takes.
    """

    ids: Tensor
    tiles: Tensor

    def offsets(self, epilogue: Mapping[str, Any], threads: int, warp_size: int, name: str, log: TileLog) -> Tensor:
        """Where the tiles of each segment begin: what the last block makes of the counts.

        Args:
            epilogue: policy of the block's scan.
            threads: threads of the block.
            warp_size: lanes of a warp.
            name: of the epilogue, for the log.
            log: notes its tiles.
        """
        count, tile = self.ids.shape[0], threads * epilogue["items_per_thread"]
        found = torch.empty_like(self.tiles)
        running = torch.zeros(1, dtype=torch.int64, device=self.tiles.device)
        for begin in range(0, count, tile):
            end = min(begin + tile, count)
            log.record(name, 0, begin, end)
            # what is not there is loaded as 0
            values = torch.nn.functional.pad(self.tiles[begin:end], (0, tile - (end - begin)))
            items = values.view(1, threads, -1).movedim(2, 0)
            totals = thread_reduce(items, _TOTAL, Order.SEQUENTIAL)
            scan = block_scan(totals, _TOTAL, epilogue["scan_algorithm"], warp_size)
            before = scan.seeded(running, known_early=False)
            has_prefix = torch.ones(1, threads, dtype=torch.bool, device=values.device)
            scanned = thread_scan(items, _TOTAL, before, has_prefix, inclusive=False)
            found[begin:end] = scanned.movedim(0, 2).flatten()[: end - begin]
            running = _TOTAL.combine(running, scan.aggregate)
        return found


def queued(sizes: Tensor, largest: int, tile_items: int, arrival: Tensor) -> SegmentQueue:
    """Queues segments.

    Args:
        sizes: items of each segment.
        largest: items of the largest that one block holds.
        tile_items: items of a tile of several blocks.
        arrival: in which order blocks come, one for each segment.
    """
    ids = arrival[sizes[arrival] > largest]
    return SegmentQueue(ids, (sizes[ids] + tile_items - 1) // tile_items)


def record_large(queue: SegmentQueue, offsets: Tensor, name: str, log: TileLog) -> None:
    """Notes the tiles that several blocks would take, segment by segment: no kernel of CUB 3.5 takes them."""
    log.record_all(name, range(queue.ids.shape[0]), offsets, offsets + queue.tiles)
