"""A pass of a radix sort as two sweeps over the regions of a grid's blocks: count digits, then scatter by them.

Upsweep (`AgentRadixSortUpsweep`): a block counts the digits of its region, tile by tile, striped. Each thread has a
counter of one byte for each digit, so counters are added up and cleared before one can pass 255: after 255 / items
tiles, 64 at most.

Downsweep (`AgentRadixSortDownsweep`): a block knows where in the output its keys of each digit begin, ranks the keys of
a tile, and exchanges them through shared memory, so that neighbours in the output are written by neighbouring threads;
then these places move on by the tile's counts. A last tile that is not full is filled up with keys that come after all
others, so that they are ranked last and not written. Where all keys have one digit, they are copied.

Values take the places of their keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from typing import Final

import torch
from attrs import frozen
from torch import Tensor

from policygen.reference.collectives.pairs import Pairs
from policygen.reference.collectives.radix_rank import RadixRank
from policygen.reference.collectives.regions import Regions
from policygen.reference.collectives.regions import Tiles
from policygen.reference.contract.tile_log import TileLog
from policygen.reference.values.radix_keys import RadixKeys

MOST_BATCHED_TILES: Final = 64
MOST_COUNTED: Final = 255
"""What a counter of one byte holds."""


@frozen
class Digit:
    """What a pass sorts by.

    Attributes:
        keys: the keys' type.
        begin: the digit's lowest bit.
        bits: that it has; a block's kernels may be made for more.
        descending: whether greater ones come first.
    """

    keys: RadixKeys
    begin: int
    bits: int
    descending: bool

    def of(self, raw: Tensor) -> Tensor:
        """The digit of keys as they lie in memory."""
        return self.keys.digits(self.keys.twiddled(raw), self.begin, self.bits)


def upsweep(
    raw: Tensor, digit: Digit, policy: Mapping[str, Any], regions: Regions, kernel: str, log: TileLog
) -> Tensor:
    """Counts the digits of each block's region.

    Args:
        raw: keys as they lie in memory.
        digit: what is counted.
        policy: threads, items and radix bits of the block.
        regions: what each block counts.
        kernel: name for the log.
        log: notes the tiles.

    Returns:
        [blocks, digits].
    """
    threads, items, count = policy["threads_per_block"], policy["items_per_thread"], 1 << policy["radix_bits"]
    tiles = regions.tiles(threads * items)
    tiles.record(kernel, log)
    exists = tiles.exists()
    index = torch.where(exists, tiles.index(), 0)
    found = digit.of(raw[index])[exists]
    batched = _batched_tiles(items)
    batches = int(tiles.numbers.max()) // batched + 1 if tiles.numbers.numel() else 1
    batch = tiles.blocks * batches + tiles.numbers // batched
    thread = torch.arange(threads * items, device=raw.device) % threads
    counter = (batch.unsqueeze(-1) * threads + thread)[exists] * count + found
    counters = torch.bincount(counter, minlength=regions.blocks * batches * threads * count) & MOST_COUNTED
    return counters.view(regions.blocks, batches * threads, count).sum(1)


def batched_items(policy: Mapping[str, Any]) -> int:
    """Items of a block's region after which counters are added up."""
    items = policy["items_per_thread"]
    return int(_batched_tiles(items) * policy["threads_per_block"] * items)


def _batched_tiles(items: int) -> int:
    return min(MOST_BATCHED_TILES, MOST_COUNTED // items)


def downsweep(
    items: Pairs,
    digit: Digit,
    policy: Mapping[str, Any],
    warp_size: int,
    regions: Regions,
    begins: Tensor,
    copies: Tensor,
    kernel: str,
    log: TileLog,
) -> Pairs:
    """Scatters the items of each block's region.

    Args:
        items: what is sorted; keys as they lie in memory.
        digit: by what.
        policy: threads, items, radix bits and ranking algorithm of the block.
        warp_size: lanes of a warp.
        regions: what each block scatters.
        begins: where in the output each block's keys of each digit begin, [blocks, digits].
        copies: blocks that only copy, [blocks].
        kernel: name for the log.
        log: notes the tiles.

    Returns:
        The items in memory of their own.
    """
    rank = RadixRank(
        policy["rank_algorithm"],
        policy["threads_per_block"],
        policy["items_per_thread"],
        policy["radix_bits"],
        warp_size,
    )
    out = items.blank()
    tiles = regions.tiles(rank.tile_items)
    tiles.record(kernel, log)
    copied = tiles.chosen(copies[tiles.blocks])
    same = copied.index()[copied.exists()]
    out.put(same, items.at(same))
    _scatter(items, out, digit, rank, tiles.chosen(~copies[tiles.blocks]), begins)
    return out


def _scatter(items: Pairs, out: Pairs, digit: Digit, rank: RadixRank, tiles: Tiles, begins: Tensor) -> None:
    index, exists = tiles.index(), tiles.exists()
    held = items.at(torch.where(exists, index, 0))
    filler = digit.keys.filler(last=not digit.descending).to(index.device)
    raw = digit.keys.element.select(exists, held.keys, filler)
    arrangement = rank.arrangement().to(index.device)
    digits = digit.of(raw)
    found = rank(digits[:, arrangement], descending=digit.descending)
    # which item of the tile lies at each place of shared memory
    exchanged = torch.zeros_like(digits)
    exchanged.scatter_(1, found.ranks.flatten(1), arrangement.flatten().expand_as(digits))
    relative = _relative_begins(tiles, found.exclusive, found.counts, begins)
    place = torch.arange(rank.tile_items, device=index.device)
    to = relative.gather(1, digits.gather(1, exchanged)) + place
    is_written = place < (tiles.ends - tiles.begins).unsqueeze(-1)
    out.put(to[is_written], items.at(index.gather(1, exchanged)[is_written]))


def _relative_begins(tiles: Tiles, exclusive: Tensor, counts: Tensor, begins: Tensor) -> Tensor:
    """Where digits begin in the output, less where they begin in the tile: [tiles, digits].

    What a block has moves on from tile to tile.
    """
    relative = torch.zeros_like(exclusive)
    begins = begins.clone()
    for number in range(int(tiles.numbers.max()) + 1 if tiles.numbers.numel() else 0):
        now = tiles.numbers == number
        blocks = tiles.blocks[now]
        relative[now] = begins[blocks] - exclusive[now]
        begins[blocks] = relative[now] + exclusive[now] + counts[now]
    return relative


def all_one_digit(begins: Tensor, num_items: Tensor | int) -> Tensor:
    """Whether all keys have one digit: begins of digits are all at the start or at the end.

    Args:
        begins: [..., digits], from 0 to the number of items.
        num_items: that number, [...].
    """
    total = num_items.unsqueeze(-1) if isinstance(num_items, Tensor) else num_items
    return ((begins == 0) | (begins == total)).all(-1)
