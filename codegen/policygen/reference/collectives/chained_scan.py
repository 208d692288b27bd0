"""A scan of consecutive tiles, a block each, that are chained by decoupled lookback.

Each thread reduces its items one after the other, the block scans the threads' totals (`collectives.block_scan`), the
block finds out what comes before its tile (`collectives.lookback`), and each thread scans its items again, seeded. The
first tile has nothing before it, or a seed that is known from the start.
"""

from __future__ import annotations

import torch
from attrs import frozen
from torch import Tensor

from policygen.reference.collectives.block_scan import block_scan
from policygen.reference.collectives.block_scan import block_scan_additions
from policygen.reference.collectives.lookback import lookback
from policygen.reference.collectives.lookback import lookback_additions
from policygen.reference.collectives.thread_reduce import Order
from policygen.reference.collectives.thread_reduce import thread_reduce
from policygen.reference.collectives.thread_scan import thread_scan
from policygen.reference.values.operators import Operator


@frozen(eq=False)
class ScannedTiles:
    """Tiles after the scan.

    Attributes:
        results: of each item, [items, tiles, threads, *element.trailing]; of the first item without meaning where the
            scan is exclusive and there is no seed.
        before: what comes before each tile, [tiles, *element.trailing]; of the first without meaning.
        totals: of each tile alone, but of the first with its seed, [tiles, *element.trailing].
        last: everything up to the end of the last tile, [*element.trailing].
    """

    results: Tensor
    before: Tensor
    totals: Tensor
    last: Tensor


@frozen
class ChainedScan:
    """How a policy scans.

    Attributes:
        operator: how two items are combined; it need not commute.
        algorithm: enumerator of `BlockScanAlgorithm`.
        warp_size: lanes of a warp.
    """

    operator: Operator
    algorithm: str
    warp_size: int

    def scan(self, items: Tensor, known: Tensor, *, seed: Tensor | None = None, inclusive: bool) -> ScannedTiles:
        """Scans all tiles.

        Args:
            items: [items, tiles, threads, *element.trailing], at least one tile.
            known: what tiles find of their predecessors, see `lookback.known_inclusive`.
            seed: what comes before the first tile, [*element.trailing]; None for nothing.
            inclusive: whether an item's result includes the item.
        """
        operator = self.operator
        threads_totals = thread_reduce(items, operator, Order.SEQUENTIAL)
        first = block_scan(threads_totals[:1], operator, self.algorithm, self.warp_size)
        rest = block_scan(threads_totals[1:], operator, self.algorithm, self.warp_size)
        begun = first.aggregate if seed is None else operator.combine(seed, first.aggregate)
        totals = torch.cat([begun, rest.aggregate])
        before = lookback(totals, operator, self.warp_size, known)
        in_first = first.unseeded() if seed is None else first.seeded(seed.unsqueeze(0), known_early=True)
        in_rest = rest.seeded(before[1:], known_early=False)
        has_prefix = torch.ones(threads_totals.shape[:2], dtype=torch.bool, device=items.device)
        has_prefix[0, 0] = seed is not None
        results = thread_scan(items, operator, torch.cat([in_first, in_rest]), has_prefix, inclusive=inclusive)
        last = totals[0] if totals.shape[0] == 1 else operator.combine(before[-1], totals[-1])
        return ScannedTiles(results, before, totals, last)

    def additions(self, items: int, threads: int, tiles: int) -> int:
        """The most combinations that an item passes through, a seed's included.

        Args:
            items: of a thread.
            threads: of a block.
            tiles: of a grid.
        """
        in_block = block_scan_additions(threads, self.algorithm, self.warp_size)
        return 2 * items + in_block + lookback_additions(tiles, self.warp_size) + 1
