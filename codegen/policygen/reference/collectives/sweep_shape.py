"""The tile of a block that sweeps once over its part of the input, and how it scans: blocked, a block for each tile.

What load algorithms do is to move items into this arrangement: how, is of no consequence.
"""

from __future__ import annotations

import torch
from attrs import frozen
from torch import Tensor

from policygen.model.record import Record
from policygen.reference.collectives.arrangement import blocked

FALLBACK = (64, 1)
"""Threads and items that CUB takes where a tile of the policy does not fit into shared memory."""


@frozen
class SweepShape:
    """A tile.

    Attributes:
        threads: threads of a block.
        items: items of a thread.
        scan_algorithm: enumerator of `BlockScanAlgorithm`.
        warp_size: lanes of a warp.
    """

    threads: int
    items: int
    scan_algorithm: str
    warp_size: int

    @property
    def tile_items(self) -> int:
        """Items of a tile."""
        return self.threads * self.items

    def places(self, device: torch.device | str) -> Tensor:
        """The place in its tile of each thread's items: int64 [items, 1, threads]."""
        return blocked(self.threads, self.items).unsqueeze(1).to(device)


def sweep_shape(policy: Record, warp_size: int, *, uses_fallback: bool = False) -> SweepShape:
    """The tile of a policy with the fields of a sweep, or the fallback."""
    threads, items = FALLBACK if uses_fallback else (policy.threads_per_block, policy.items_per_thread)
    return SweepShape(threads, items, policy.scan_algorithm, warp_size)
