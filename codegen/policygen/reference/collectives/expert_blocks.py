"""Where the tokens of each expert begin, if an expert's tokens fill whole blocks: counts, padded, and their sums.

A matrix product takes blocks of `block_m` tokens that are for one expert, so each expert gets as many places as its
tokens need in whole blocks. Counting is done as for a histogram of a radix sort, but for what fills up the last tile:
it is not counted, as it would get places. One block sums the padded counts up (`cub::BlockScan`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from attrs import frozen
from torch import Tensor

from policygen.plan.counts import ceil_div
from policygen.reference.collectives.block_scan import WARP_SCANS
from policygen.reference.collectives.block_scan import block_scan
from policygen.reference.collectives.regions import Tiles
from policygen.reference.contract.tile_log import TileLog
from policygen.reference.values.elements import ELEMENTS
from policygen.reference.values.operators import plus


@frozen(eq=False)
class ExpertBlocks:
    """Places of experts.

    Attributes:
        begins: of each expert, a multiple of `block_m`: [experts].
        ends: one past each expert's last place, [experts].
        block_m: places of a block.
    """

    begins: Tensor
    ends: Tensor
    block_m: int

    def expert_of(self, block: Tensor) -> Tensor:
        """The expert that a block's places are for: that whose places end first of those that end after it begins."""
        return torch.searchsorted(self.ends, block * self.block_m, right=True)


def expert_counts(ids: Tensor, experts: int, policy: Mapping[str, Any], blocks: int, name: str, log: TileLog) -> Tensor:
    """How often each expert occurs.

    Args:
        ids: experts, [n].
        experts: how many there are.
        policy: `RadixSortHistogramPolicy`.
        blocks: of the grid; they take tiles a grid apart, and add their counts atomically.
        name: of the kernel, for the log.
        log: notes the tiles.

    Returns:
        [experts].
    """
    tile_items = policy["threads_per_block"] * policy["items_per_thread"]
    begins = torch.arange(0, ids.shape[0], tile_items, device=ids.device)
    numbers = torch.arange(begins.shape[0], device=ids.device)
    ends = (begins + tile_items).clamp(max=ids.shape[0])
    tiles = Tiles(tile_items, numbers % blocks, numbers // blocks, begins, ends)
    tiles.record(name, log)
    exists = tiles.exists()
    of_block = tiles.blocks.unsqueeze(-1).expand_as(exists)[exists] * experts + ids[tiles.index()[exists]]
    return torch.bincount(of_block, minlength=blocks * experts).view(-1, experts).sum(0)


def expert_blocks(counts: Tensor, block_m: int, threads: int, warp_size: int) -> ExpertBlocks:
    """Where experts begin: each thread of a block pads and adds up a few counts, and the block scans what they have.

    Args:
        counts: tokens of each expert, [experts].
        block_m: places of a block.
        threads: threads of the block.
        warp_size: lanes of a warp.
    """
    experts = counts.shape[0]
    items = ceil_div(experts, threads)
    padded = torch.zeros(threads * items, dtype=torch.int64, device=counts.device)
    padded[:experts] = (counts + block_m - 1) // block_m * block_m
    of_thread = padded.view(threads, items)
    scan = block_scan(of_thread.sum(1).unsqueeze(0), plus(ELEMENTS["int64"]), WARP_SCANS, warp_size)
    before = scan.unseeded()[0]
    before[0] = 0
    begins = (before.unsqueeze(1) + of_thread.cumsum(1) - of_thread).flatten()[:experts]
    return ExpertBlocks(begins, begins + padded[:experts], block_m)
