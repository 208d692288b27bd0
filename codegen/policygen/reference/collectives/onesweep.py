"""Onesweep: a radix sort that reads keys once to count all digits, then once more for each digit.

Histogram (`AgentRadixSortHistogram`): blocks take tiles a grid apart and count every digit of each key, in copies that
lanes share out against contention; then they add their counts to global memory atomically. What fills up the last tile
is counted, too: it adds to the last digit, after which nothing begins.

Exclusive sum (`DeviceRadixSortExclusiveSumKernel`): a block for each digit place turns counts into begins.

Onesweep (`AgentRadixSortOnesweep`), one launch a digit place and portion: a block draws a ticket for its tile, ranks
keys, publishes the tile's counts (PARTIAL), and looks back, each digit by itself and a predecessor at a time, until it
meets an inclusive count (GLOBAL) or the first tile; then it publishes its own. Kinds are two bits of a word, so that a
count has 30; a portion has less than 2^28 items. The last tile of a portion says where the digits of the next one
begin. A tile whose keys have one digit is not ranked, but copied to its place.

Descending order inverts keys. Which predecessors have published what when a tile looks is up to the hardware's timing:
here an adversary decides, for each tile, predecessor and digit.

Not modelled: RADIX_SORT_STORE_ALIGNED, which changes the lanes that write a key, not where to.
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
from policygen.reference.collectives.radix_rank import Ranks
from policygen.reference.collectives.regions import Regions
from policygen.reference.collectives.regions import Tiles
from policygen.reference.contract.tile_log import TileLog
from policygen.reference.values.radix_keys import RadixKeys

HISTOGRAM: Final = "DeviceRadixSortHistogramKernel"
EXCLUSIVE_SUM: Final = "DeviceRadixSortExclusiveSumKernel"
ONESWEEP: Final = "DeviceRadixSortOnesweepKernel"

PARTIAL: Final = 1 << 30
GLOBAL: Final = 1 << 31
COUNT_OF_WORD: Final = PARTIAL - 1

MOST_PORTION_ITEMS: Final = (1 << 28) - 1


def portion_items(tile_items: int, most: int = MOST_PORTION_ITEMS) -> int:
    """Items of one launch: as many as that in whole tiles, one tile at least."""
    return max(1, most // tile_items) * tile_items


@frozen
class SortOrder:
    """What a onesweep sort is by.

    Attributes:
        keys: the keys' type.
        begin: the lowest bit that counts.
        end: one past the highest.
        descending: whether greater keys come first.
    """

    keys: RadixKeys
    begin: int
    end: int
    descending: bool

    def loaded(self, raw: Tensor, exists: Tensor) -> Tensor:
        """Bits in the order of the sort; what does not exist comes last."""
        filler = self.keys.filler(last=not self.descending).to(raw.device)
        ordered = self.keys.twiddled(self.keys.element.select(exists, raw, filler))
        return self.keys.inverted(ordered) if self.descending else ordered

    def passes(self, bits: int) -> range:
        """The lowest bits of all digits."""
        return range(self.begin, self.end, bits)

    def digits(self, ordered: Tensor, begin: int, bits: int) -> Tensor:
        """A digit; the last one may have fewer bits."""
        return self.keys.digits(ordered, begin, min(bits, self.end - begin))


def histogram(
    raw: Tensor, order: SortOrder, policy: Mapping[str, Any], warp_size: int, blocks: int, bins: Tensor, log: TileLog
) -> None:
    """Counts all digits.

    Args:
        raw: keys as they lie in memory.
        order: which digits.
        policy: `RadixSortHistogramPolicy`.
        warp_size: lanes of a warp.
        blocks: of the grid.
        bins: where counts are added, [places x digits].
        log: notes the tiles.
    """
    threads, items, parts = policy["threads_per_block"], policy["items_per_thread"], policy["private_partitions"]
    count = 1 << policy["radix_bits"]
    begins = torch.arange(0, raw.shape[0], threads * items)
    numbers = torch.arange(begins.shape[0])
    ends = (begins + threads * items).clamp(max=raw.shape[0])
    tiles = Tiles(threads * items, *(t.to(raw.device) for t in (numbers % blocks, numbers // blocks, begins, ends)))
    tiles.record(HISTOGRAM, log)
    exists = tiles.exists()
    ordered = order.loaded(raw[torch.where(exists, tiles.index(), 0)], exists)
    thread = torch.arange(threads * items, device=raw.device) % threads
    copy = tiles.blocks.unsqueeze(-1) * parts + thread % warp_size % parts
    for number, bit in enumerate(order.passes(policy["radix_bits"])):
        digit = order.digits(ordered, bit, policy["radix_bits"])
        counts = torch.bincount((copy * count + digit).flatten(), minlength=blocks * parts * count)
        bins[number * count : (number + 1) * count] += counts.view(-1, count).sum(0)


def exclusive_sum(bins: Tensor, places: int, policy: Mapping[str, Any], log: TileLog) -> None:
    """Turns counts into begins, in place: a block for each digit place."""
    count = 1 << policy["radix_bits"]
    begins = torch.arange(places) * count
    log.record_all(EXCLUSIVE_SUM, range(places), begins, begins + count)
    for begin in begins.tolist():
        counts = bins[begin : begin + count]
        bins[begin : begin + count] = counts.cumsum(0) - counts


def onesweep(
    items: Pairs,
    order: SortOrder,
    policy: Mapping[str, Any],
    warp_size: int,
    bit: int,
    begins: Tensor,
    most_portion: int,
    adversary: str,
    random: torch.Generator,
    log: TileLog,
    out: Pairs | None = None,
) -> Pairs:
    """One digit place.

    Args:
        items: what is sorted; keys as they lie in memory.
        order: the order of the sort.
        policy: `RadixSortOnesweepPolicy`.
        warp_size: lanes of a warp.
        bit: the digit's lowest.
        begins: where digits begin in the output, [digits].
        most_portion: items of one launch, at most; it takes whole tiles.
        adversary: see `known_inclusive`.
        random: for the adversary.
        log: notes the tiles.
        out: where to write them, if not to as many places as there are items.

    Returns:
        The items in memory of their own.
    """
    rank = rank_of(policy, warp_size)
    out = items.blank() if out is None else out
    for tiles in portions(items.num_items, rank.tile_items, most_portion, items.keys.device):
        tiles.record(kernel_name(bit), log)
        begins = _portion(items, out, order, rank, bit, tiles, begins, adversary, random)
    return out


def rank_of(policy: Mapping[str, Any], warp_size: int) -> RadixRank:
    """How a block of the policy ranks keys."""
    return RadixRank(
        policy["rank_algorithm"],
        policy["threads_per_block"],
        policy["items_per_thread"],
        policy["radix_bits"],
        warp_size,
        max(1, policy["rank_private_partitions"]),
    )


def kernel_name(bit: int) -> str:
    """A digit place's, for the log."""
    return f"{ONESWEEP} from bit {bit}"


def portions(num_items: int, tile_items: int, most: int, device: torch.device | str = "cpu") -> list[Tiles]:
    """The tiles of each launch; a tile's block is its ticket."""
    size = portion_items(tile_items, most)
    begins = torch.arange(0, num_items, size, device=device)
    return [
        Regions(begin.unsqueeze(0), (begin + size).clamp(max=num_items).unsqueeze(0)).tiles(tile_items).by_ticket()
        for begin in begins
    ]


def _portion(
    items: Pairs,
    out: Pairs,
    order: SortOrder,
    rank: RadixRank,
    bit: int,
    tiles: Tiles,
    begins: Tensor,
    adversary: str,
    random: torch.Generator,
) -> Tensor:
    """Sorts the tiles of one launch, and returns where the digits of the next one begin."""
    index, exists = tiles.index(), tiles.exists()
    ordered = order.loaded(items.at(torch.where(exists, index, 0)).keys, exists)
    digits = order.digits(ordered, bit, rank.bits)
    arrangement = rank.arrangement().to(index.device)
    found = rank(digits[:, arrangement])
    known = known_inclusive(adversary, found.counts.shape[0], found.counts.shape[1], random).to(index.device)
    before = lookback_digits(found.counts, known)
    is_copied = (found.counts == rank.tile_items).any(1)
    exchanged = _exchanged(found, digits, arrangement, is_copied)
    # in a tile that is copied, higher digits begin after the whole tile
    common = digits[:, :1]
    digit = torch.arange(1 << rank.bits, device=index.device)
    in_tile = torch.where(is_copied.unsqueeze(-1), (digit > common) * rank.tile_items, found.exclusive)
    relative = begins + before - in_tile
    place = torch.arange(rank.tile_items, device=index.device)
    to = relative.gather(1, digits.gather(1, exchanged)) + place
    is_written = place < (tiles.ends - tiles.begins).unsqueeze(-1)
    out.put(to[is_written], items.at(index.gather(1, exchanged)[is_written]))
    return relative[-1] + in_tile[-1] + found.counts[-1]


def _exchanged(found: Ranks, digits: Tensor, arrangement: Tensor, is_copied: Tensor) -> Tensor:
    """Which item of its tile lies at each place of shared memory, or of the copy: [tiles, tile items]."""
    exchanged = torch.zeros_like(digits)
    exchanged.scatter_(1, found.ranks.flatten(1), arrangement.flatten().expand_as(digits))
    place = torch.arange(digits.shape[1], device=digits.device)
    return torch.where(is_copied.unsqueeze(-1), place, exchanged)


ADVERSARIES: Final = ("none", "all", "any")
"""Predecessors known inclusively: none, the first tile included, all of them, or any."""


def known_inclusive(adversary: str, tiles: int, digits: int, random: torch.Generator) -> Tensor:
    """Which predecessors' counts are GLOBAL when a tile looks: bool [tiles, predecessors, digits]."""
    if adversary == "any":
        share = torch.rand(tiles, 1, digits, generator=random) ** 2
        return torch.rand(tiles, tiles, digits, generator=random) < share
    return torch.full((tiles, tiles, digits), adversary == "all")


def lookback_digits(counts: Tensor, known: Tensor) -> Tensor:
    """How many keys with each digit come in the tiles before each.

    Args:
        counts: of each tile, [tiles, digits].
        known: see `known_inclusive`.
    """
    inclusive = counts.clone()
    for tile in range(1, counts.shape[0]):
        looks = torch.ones_like(known[tile, 0])
        for predecessor in range(tile - 1, -1, -1):
            word = torch.where(known[tile, predecessor], inclusive[predecessor] | GLOBAL, counts[predecessor] | PARTIAL)
            inclusive[tile] += torch.where(looks, word & COUNT_OF_WORD, 0)
            looks = looks & ((word & GLOBAL) == 0)
            if not bool(looks.any()):
                break
    return inclusive - counts
