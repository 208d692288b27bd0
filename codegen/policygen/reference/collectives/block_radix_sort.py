"""A block's radix sort of one tile (`cub::BlockRadixSort::SortBlockedToStriped`).

Keys are blocked; in each pass they are ranked by a digit (`collectives.radix_rank`, counting) and exchanged through
shared memory. What a tile is filled up with comes after every key by each digit, so that it ends up last.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from policygen.reference.collectives.pairs import Pairs
from policygen.reference.collectives.radix_rank import RadixRank
from policygen.reference.collectives.regions import Tiles
from policygen.reference.values.radix_keys import RadixKeys


def block_radix_sort(
    items: Pairs,
    out: Pairs,
    keys: RadixKeys,
    policy: Mapping[str, Any],
    tiles: Tiles,
    begin: int,
    end: int,
    *,
    descending: bool,
) -> None:
    """Sorts tiles, each on its own.

    Args:
        items: what is sorted; keys as they lie in memory.
        out: where sorted items go, to the places of their tile.
        keys: the keys' type.
        policy: threads, items, radix bits and ranking algorithm of a block.
        tiles: what each block sorts.
        begin: the lowest bit of keys that counts.
        end: one past the highest.
        descending: whether greater keys come first.
    """
    rank = RadixRank(
        "RADIX_RANK_MEMOIZE" if policy["rank_algorithm"] == "RADIX_RANK_MEMOIZE" else "RADIX_RANK_BASIC",
        policy["threads_per_block"],
        policy["items_per_thread"],
        policy["radix_bits"],
        warp_size=32,
    )
    index, exists = tiles.index(), tiles.exists()
    raw = items.at(torch.where(exists, index, 0)).keys
    raw = keys.element.select(exists, raw, keys.filler(last=not descending).to(raw.device))
    ordered = keys.twiddled(raw)
    arrangement = rank.arrangement().to(raw.device)
    # which item of the tile lies at each place
    held = torch.arange(rank.tile_items, device=raw.device).expand_as(index)
    for bit in range(begin, end, rank.bits):
        digits = keys.digits(ordered, bit, min(rank.bits, end - bit)).gather(1, held)
        ranks = rank(digits[:, arrangement], descending=descending).ranks.flatten(1)
        held = torch.zeros_like(held).scatter(1, ranks, held[:, arrangement.flatten()])
    out.put(index[exists], items.at(index.gather(1, held)[exists]))
