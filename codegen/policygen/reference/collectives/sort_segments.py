"""What a sort of segments, each on its own, has to write."""

from __future__ import annotations

import torch

from policygen.reference.collectives.pairs import Pairs
from policygen.reference.collectives.regions import Regions
from policygen.reference.values.radix_keys import RadixKeys
from policygen.reference.values.radix_keys import expected_order
from policygen.reference.values.sort_keys import Bits


def sorted_segments(items: Pairs, keys: RadixKeys, bits: Bits, regions: Regions, *, descending: bool) -> Pairs:
    """What a sort of segments has to write, found by sorting all items, then by their segments.

    Args:
        items: before the sort; keys as they lie in memory.
        keys: their type.
        bits: that they are sorted by.
        regions: the segments.
        descending: whether greater keys come first.

    Returns:
        The items of each segment in their order, and nothing between segments.
    """
    index = regions.index()
    own = items.at(index.to(items.keys.device))
    order = expected_order(keys, own.keys, bits.begin, bits.end, descending=descending)
    segment = torch.arange(regions.blocks).repeat_interleave(regions.num_items)
    order = order[torch.sort(segment[order], stable=True).indices]
    out = items.blank()
    out.put(index.to(items.keys.device), own.at(order.to(items.keys.device)))
    return out
