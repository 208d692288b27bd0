"""A merge sort of short segments, each by a part of a warp (`AgentSubWarpSort`, `cub::WarpMergeSort`).

A segment of one item is copied; of two items the first thread compares once. Others are loaded blocked, filled up with
a key that comes after all others by its bits (for floating-point numbers a NaN, before which `<` puts nothing), and
merged (`collectives.block_merge_sort`): no merge looks at what is filled up.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from policygen.reference.collectives.block_merge_sort import merge_sort
from policygen.reference.collectives.pairs import Pairs
from policygen.reference.collectives.regions import Regions
from policygen.reference.values.elements import split
from policygen.reference.values.key_orders import KeyOrder
from policygen.reference.values.radix_keys import RadixKeys

_LEAST_MERGED = 3


def sub_warp_sort(
    items: Pairs, out: Pairs, keys: RadixKeys, policy: Mapping[str, Any], segments: Regions, *, descending: bool
) -> None:
    """Sorts segments, each by the threads of a part of a warp.

    Args:
        items: what is sorted; keys as they lie in memory.
        out: where sorted segments go, to their places.
        keys: the keys' type.
        policy: `SegmentedSortSubWarpMergeSortPolicy`.
        segments: none longer than the tile of such a part.
        descending: whether greater keys come first.
    """
    order = KeyOrder(keys.element, "greater" if descending else "less")
    _short(items, out, keys, order, segments.chosen(segments.num_items < _LEAST_MERGED))
    merged = segments.chosen(segments.num_items >= _LEAST_MERGED)
    if not merged.blocks:
        return
    threads, own = policy["threads_per_warp"], policy["items_per_thread"]
    tiles = merged.as_tiles(threads * own)
    index, exists = tiles.index(), tiles.exists()
    filler = keys.filler(last=not descending).to(index.device)
    raw = keys.element.select(exists, items.keys[torch.where(exists, index, 0)], filler)
    loaded = split(keys.values(raw), 1, threads, own)
    found = merge_sort(loaded, merged.num_items, order, keys.values(filler))
    out.put(index[exists], items.at(index.gather(1, found)[exists]))


def _short(items: Pairs, out: Pairs, keys: RadixKeys, order: KeyOrder, segments: Regions) -> None:
    """Segments of fewer than three items."""
    index = segments.index()
    out.put(index, items.at(index))
    first = segments.begins[segments.num_items == _LEAST_MERGED - 1]
    left, right = keys.values(items.keys[first]), keys.values(items.keys[first + 1])
    # equal keys stay, and so do those in order
    swapped = first[order.before(right, left)]
    out.put(swapped, items.at(swapped + 1))
    out.put(swapped + 1, items.at(swapped))


def segments_per_block(policy: Mapping[str, Any]) -> int:
    """How many parts of warps a block has."""
    return int(policy["threads_per_block"] // policy["threads_per_warp"])


def sub_warp_items(policy: Mapping[str, Any]) -> int:
    """Items of the longest segment that a part of a warp sorts."""
    return int(policy["threads_per_warp"] * policy["items_per_thread"])
