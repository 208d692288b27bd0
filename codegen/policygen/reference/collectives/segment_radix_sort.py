"""A pass of a block's radix sort of a segment: upsweep, sum of the counts, downsweep (`AgentSegmentedRadixSort`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from typing import Final

import torch
from torch import Tensor

from policygen.plan.counts import ceil_div
from policygen.reference.collectives.pairs import Pairs
from policygen.reference.collectives.radix_sweeps import Digit
from policygen.reference.collectives.radix_sweeps import all_one_digit
from policygen.reference.collectives.radix_sweeps import downsweep
from policygen.reference.collectives.radix_sweeps import upsweep
from policygen.reference.collectives.regions import Regions
from policygen.reference.contract.tile_log import TileLog

UPSWEEP: Final = ", upsweep"
DOWNSWEEP: Final = ", downsweep"


def segment_pass(
    items: Pairs,
    digit: Digit,
    policy: Mapping[str, Any],
    warp_size: int,
    segments: Regions,
    kernel: str,
    log: TileLog,
) -> Pairs:
    """One digit, for each segment.

    Args:
        items: what is sorted; keys as they lie in memory.
        digit: by what.
        policy: threads, items, radix bits and ranking algorithm of a block.
        warp_size: lanes of a warp.
        segments: one for each block.
        kernel: name for the log.
        log: notes the tiles of both sweeps.

    Returns:
        The items in memory of their own; what belongs to no segment is not written.
    """
    counts = upsweep(items.keys, digit, policy, segments, f"{kernel}{UPSWEEP}", log)
    begins = digit_begins(counts, policy["threads_per_block"], descending=digit.descending)
    copies = all_one_digit(begins, segments.num_items)
    places = begins + segments.begins.unsqueeze(-1)
    return downsweep(items, digit, policy, warp_size, segments, places, copies, f"{kernel}{DOWNSWEEP}", log)


def digit_begins(counts: Tensor, threads: int, *, descending: bool) -> Tensor:
    """Where each digit begins in the segment.

    Args:
        counts: [segments, digits].
        threads: threads of the block, each with as many neighbouring digits as it takes.
        descending: whether the highest digit comes first: counts are reversed, added up, and reversed again. That is
            right only where a thread has one digit (see `policygen.reference.segmented_radix_sort`).

    Returns:
        [segments, digits].
    """
    if not descending:
        return counts.cumsum(1) - counts
    reverse = counts.flip(1)
    begins = reverse.cumsum(1) - reverse
    digits = counts.shape[1]
    own = max(1, ceil_div(digits, threads))
    # each thread stores what it has at its own number: of several digits, the last one stays
    stored = torch.zeros_like(begins)
    last_of_thread = torch.arange(own - 1, digits, own, device=counts.device)
    stored[:, : last_of_thread.shape[0]] = begins[:, last_of_thread]
    return stored.flip(1)
