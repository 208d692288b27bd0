"""A block's scan of a sequence of any length, tile after tile (`scan_first_tile`, `scan_later_tile`).

Threads reduce their items, the block scans the totals, and threads scan their items again, seeded. What comes before a
tile is what the block has kept of those before it: for the first one, the initial value, which is known from the start.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import torch
from attrs import frozen
from torch import Tensor

from policygen.plan.counts import ceil_div
from policygen.reference.collectives.arrangement import blocked
from policygen.reference.collectives.block_scan import block_scan
from policygen.reference.collectives.block_scan import block_scan_additions
from policygen.reference.collectives.thread_reduce import order_of
from policygen.reference.collectives.thread_reduce import thread_additions
from policygen.reference.collectives.thread_reduce import thread_reduce
from policygen.reference.collectives.thread_scan import thread_scan
from policygen.reference.values.operators import Operator

Load: TypeAlias = Callable[[Tensor, Tensor], Tensor]
"""Brings the items of blocks, [blocks], at places of theirs, [items, blocks, threads]; [..., *element.trailing]."""

Store: TypeAlias = Callable[[Tensor, Tensor, Tensor, Tensor], None]
"""Takes blocks and places, as `Load` does, which of these exist, and the results that go there."""


@frozen
class TilewiseScan:
    """How a block scans.

    Attributes:
        threads: threads of a block.
        items: items of a thread.
        algorithm: enumerator of `BlockScanAlgorithm`.
        warp_size: lanes of a warp.
        capability: compute capability x 10; None for hardware without one.
    """

    threads: int
    items: int
    algorithm: str
    warp_size: int
    capability: int | None

    @property
    def tile_items(self) -> int:
        """Items of a tile."""
        return self.threads * self.items

    def scan(
        self,
        num_items: Tensor,
        operator: Operator,
        initial: Tensor | None,
        load: Load,
        store: Store,
        *,
        inclusive: bool,
    ) -> None:
        """Scans the sequences of all blocks.

        Args:
            num_items: of each, [blocks].
            operator: how two items are combined, earlier ones on the left.
            initial: what comes before each sequence, one element; None for nothing.
            load: brings items; at a place that does not exist, any.
            store: takes results.
            inclusive: whether an item's result includes the item. Without an initial value it has to.
        """
        device = num_items.device
        place = blocked(self.threads, self.items).unsqueeze(1).to(device)
        kept = operator.element.unset(num_items.shape[0], device=device)
        for tile in range(ceil_div(int(num_items.amax()) if num_items.numel() else 0, self.tile_items)):
            blocks = torch.nonzero(num_items > tile * self.tile_items).squeeze(-1)
            places = (tile * self.tile_items + place).expand(-1, blocks.shape[0], -1)
            items = load(blocks, places)
            before = initial if tile == 0 else kept[blocks]
            exclusive, total = self._prefixes(items, operator, before, is_first=tile == 0)
            has_prefix = torch.ones(items.shape[1:3], dtype=torch.bool, device=device)
            has_prefix[:, 0] = before is not None
            results = thread_scan(items, operator, exclusive, has_prefix, inclusive=inclusive)
            kept[blocks] = total
            exists = places < num_items[blocks].unsqueeze(-1)
            store(blocks, places, exists, results)

    def _prefixes(
        self, items: Tensor, operator: Operator, before: Tensor | None, *, is_first: bool
    ) -> tuple[Tensor, Tensor]:
        """What comes before each thread, [blocks, threads, *trailing], and all up to the tile's end, [blocks, ...]."""
        order = order_of(operator, self.items, self.capability)
        totals = thread_reduce(items, operator, order, capability=self.capability)
        found = block_scan(totals, operator, self.algorithm, self.warp_size)
        if before is None:
            return found.unseeded(), found.aggregate
        seed = before.expand_as(found.aggregate)
        return found.seeded(seed, known_early=is_first), operator.combine(seed, found.aggregate)

    def additions(self, operator: Operator, num_items: int) -> int:
        """The most combinations that an item of a sequence passes through, the initial value's included."""
        in_thread = max(thread_additions(self.items, order_of(operator, self.items, self.capability)), self.items)
        in_block = block_scan_additions(self.threads, self.algorithm, self.warp_size)
        return in_thread + in_block + ceil_div(num_items, self.tile_items) + self.items + 2
