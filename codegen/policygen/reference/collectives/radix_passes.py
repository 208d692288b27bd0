"""The digits that a radix sort in several passes goes through, and one such pass over the whole input.

Bits that no whole number of digits has go first: so many passes of a narrower digit that the others are whole.

A pass of a device-wide sort: an upsweep counts a digit for each block; one block adds the counts up, digit by digit and
within a digit block by block; a downsweep scatters. Whole tiles are dealt evenly to the blocks, consecutive ones to
each (`cub::GridEvenShare`); a tile is the greater of those of the two sweeps.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from typing import Final

import torch
from attrs import frozen
from torch import Tensor

from policygen.plan.counts import ceil_div
from policygen.plan.even_share import EvenShare
from policygen.plan.even_share import even_share
from policygen.reference.collectives.pairs import Pairs
from policygen.reference.collectives.radix_sweeps import Digit
from policygen.reference.collectives.radix_sweeps import all_one_digit
from policygen.reference.collectives.radix_sweeps import downsweep
from policygen.reference.collectives.radix_sweeps import upsweep
from policygen.reference.collectives.regions import Regions
from policygen.reference.contract.tile_log import TileLog
from policygen.reference.values.radix_keys import RadixKeys

UPSWEEP: Final = "DeviceRadixSortUpsweepKernel"
SCAN_BINS: Final = "RadixSortScanBinsKernel"
DOWNSWEEP: Final = "DeviceRadixSortDownsweepKernel"


@frozen
class DigitPass:
    """One digit of a sort.

    Attributes:
        begin: its lowest bit.
        bits: that it has; the last one may have fewer than its policy is for.
        is_alternate: whether the policy for narrower digits takes it.
    """

    begin: int
    bits: int
    is_alternate: bool

    def named(self, kernel: str) -> str:
        """The kernel of this pass, for the log."""
        return f"{kernel} from bit {self.begin}"

    def digit(self, keys: RadixKeys, *, descending: bool) -> Digit:
        """The same for keys."""
        return Digit(keys, self.begin, self.bits, descending)


def passes_of(begin: int, end: int, regular_bits: int, alternate_bits: int) -> tuple[DigitPass, ...]:
    """The digits of bits [begin, end), lowest first.

    Args:
        begin: the lowest bit.
        end: one past the highest.
        regular_bits: of a digit.
        alternate_bits: of a narrower digit.
    """
    total = end - begin
    narrower = ceil_div(total, regular_bits) * regular_bits - total
    alternate_end = min(end, begin + narrower * alternate_bits)
    found: list[DigitPass] = []
    while begin < end:
        is_alternate = begin < alternate_end
        found.append(DigitPass(begin, min(alternate_bits if is_alternate else regular_bits, end - begin), is_alternate))
        begin += found[-1].bits
    return tuple(found)


@frozen
class SweepPolicies:
    """What a pass of a device-wide sort runs with.

    Attributes:
        upsweep: `RadixSortUpsweepPolicy`.
        scan: `ScanLookbackPolicy`.
        downsweep: `RadixSortDownsweepPolicy`.
    """

    upsweep: Mapping[str, Any]
    scan: Mapping[str, Any]
    downsweep: Mapping[str, Any]

    @property
    def digits(self) -> int:
        """Values of a digit."""
        return 1 << int(self.downsweep["radix_bits"])

    def share(self, num_items: int, most_blocks: int) -> EvenShare:
        """How tiles are dealt to blocks."""
        return even_share(num_items, most_blocks, max(tile_items(self.upsweep), tile_items(self.downsweep)))

    def record(self, one: DigitPass, num_items: int, most_blocks: int, log: TileLog) -> None:
        """Notes the tiles of a pass, and sorts nothing."""
        share = self.share(num_items, most_blocks)
        regions = regions_of(share)
        regions.tiles(tile_items(self.upsweep)).record(one.named(UPSWEEP), log)
        _record_counts(share.grid * self.digits, self.scan, one.named(SCAN_BINS), log)
        regions.tiles(tile_items(self.downsweep)).record(one.named(DOWNSWEEP), log)

    def sort(
        self,
        items: Pairs,
        keys: RadixKeys,
        one: DigitPass,
        warp_size: int,
        most_blocks: int,
        log: TileLog,
        *,
        descending: bool,
    ) -> Pairs:
        """One pass.

        Args:
            items: what is sorted; keys as they lie in memory.
            keys: the keys' type.
            one: the digit.
            warp_size: lanes of a warp.
            most_blocks: of the grid.
            log: notes the tiles.
            descending: whether greater digits come first.

        Returns:
            The items in memory of their own.
        """
        digit = one.digit(keys, descending=descending)
        regions = regions_of(self.share(items.num_items, most_blocks)).to(items.keys.device)
        counts = upsweep(items.keys, digit, self.upsweep, regions, one.named(UPSWEEP), log)
        begins = scan_counts(counts, self.scan, one.named(SCAN_BINS), log, descending=descending)
        copies = all_one_digit(begins[0], items.num_items).expand(regions.blocks)
        return downsweep(items, digit, self.downsweep, warp_size, regions, begins, copies, one.named(DOWNSWEEP), log)


def scan_counts(counts: Tensor, policy: Mapping[str, Any], kernel: str, log: TileLog, *, descending: bool) -> Tensor:
    """Where each block's keys of each digit begin, by one block that takes tile after tile of the counts.

    Args:
        counts: [blocks, digits].
        policy: `ScanLookbackPolicy`.
        kernel: name for the log.
        log: notes the tiles.
        descending: whether the highest digit comes first.

    Returns:
        [blocks, digits].
    """
    in_order = (counts.flip(1) if descending else counts).t().contiguous()
    spine = in_order.flatten()
    _record_counts(spine.shape[0], policy, kernel, log)
    before = torch.zeros((), dtype=torch.int64, device=counts.device)
    for begin in range(0, spine.shape[0], tile_items(policy)):
        tile = spine[begin : begin + tile_items(policy)]
        total = tile.sum()
        tile.copy_(tile.cumsum(0) - tile + before)
        before = before + total
    begins = spine.view_as(in_order).t()
    return begins.flip(1) if descending else begins


def _record_counts(counts: int, policy: Mapping[str, Any], kernel: str, log: TileLog) -> None:
    begins = torch.arange(0, counts, tile_items(policy))
    log.record_all(kernel, 0, begins, (begins + tile_items(policy)).clamp(max=counts))


def regions_of(share: EvenShare) -> Regions:
    """The regions of the blocks, consecutive tiles each (GRID_MAPPING_RAKE)."""
    blocks = [share.rake(block) for block in range(share.grid)]
    return Regions(
        torch.tensor([block.block_offset for block in blocks]), torch.tensor([block.block_end for block in blocks])
    )


def tile_items(policy: Mapping[str, Any]) -> int:
    """Items of a tile."""
    return int(policy["threads_per_block"] * policy["items_per_thread"])
