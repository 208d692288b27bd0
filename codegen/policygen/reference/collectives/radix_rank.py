"""Where the keys of a tile belong by one digit (`cub::BlockRadixRank` and its variants): a stable counting sort.

- RADIX_RANK_BASIC, RADIX_RANK_MEMOIZE: blocked keys, so that threads come in the order of the tile. Each thread counts
  its own keys by digit, in counters of 16 bits: those of digits d and d + digits / 2 share a word. One scan over the
  words, digit by digit and within a digit thread by thread, gives where each thread's keys of a digit begin; the lower
  digits' total is added to the upper halves. BASIC reads counters from shared memory twice, MEMOIZE once.
- RADIX_RANK_MATCH: warp-striped keys, so that warps come in the order of the tile. A warp takes a row of its keys after
  the other; lanes find those with the same digit by ballots, a bit of the digit at a time, and one of them moves the
  warp's counter on. A scan over digits and warps follows.
- RADIX_RANK_MATCH_EARLY_COUNTS_ANY, ..._ATOMIC_OR: the warps count first, and the scan comes before the matching: a
  tile knows its counts early, and ranks are final at once. (ATOMIC_OR makes the same masks, in shared memory.)

Counts are integers: in which order a scan adds them does not matter, and is not modelled here.
"""

from __future__ import annotations

from typing import Final

import torch
from attrs import evolve
from attrs import frozen
from torch import Tensor

from policygen.plan.counts import ceil_div
from policygen.reference.collectives.arrangement import blocked
from policygen.reference.collectives.arrangement import warp_striped

COUNTING: Final = ("RADIX_RANK_BASIC", "RADIX_RANK_MEMOIZE")
MATCH: Final = "RADIX_RANK_MATCH"
EARLY_COUNTS: Final = ("RADIX_RANK_MATCH_EARLY_COUNTS_ANY", "RADIX_RANK_MATCH_EARLY_COUNTS_ATOMIC_OR")


@frozen(eq=False)
class Ranks:
    """Where keys belong in their tile.

    Attributes:
        ranks: places in the tile, of the shape of the digits.
        exclusive: keys of the tile whose digit comes before each: [tiles, digits].
        counts: keys with each digit: [tiles, digits].
    """

    ranks: Tensor
    exclusive: Tensor
    counts: Tensor


@frozen
class RadixRank:
    """How a block ranks keys.

    Attributes:
        algorithm: enumerator of `RadixRankAlgorithm`.
        threads: threads of a block.
        items: keys of a thread.
        bits: of a digit.
        warp_size: lanes of a warp, at most 64.
        parts: copies of a warp's counts, for those that count early.
    """

    algorithm: str
    threads: int
    items: int
    bits: int
    warp_size: int
    parts: int = 1

    @property
    def tile_items(self) -> int:
        """Keys of a tile."""
        return self.threads * self.items

    def arrangement(self) -> Tensor:
        """Which key of the tile a thread has at each place: int64 [items, threads]."""
        if self.algorithm in COUNTING:
            return blocked(self.threads, self.items)
        return warp_striped(self.threads, self.items, self.warp_size)

    def __call__(self, digits: Tensor, *, descending: bool = False) -> Ranks:
        """Ranks the keys of each tile.

        Args:
            digits: [tiles, items, threads], in the arrangement of the algorithm.
            descending: whether higher digits come first.
        """
        last = (1 << self.bits) - 1
        ordered = last - digits if descending else digits
        if self.algorithm in COUNTING:
            found = self._counted(ordered)
        elif self.algorithm == MATCH:
            found = self._matched(ordered)
        else:
            found = self._matched_after_counting(ordered)
        if not descending:
            return found
        return evolve(found, exclusive=found.exclusive.flip(1), counts=found.counts.flip(1))

    def _counted(self, digits: Tensor) -> Ranks:
        tiles, items, threads = digits.shape
        rows = max(1, (1 << self.bits) // 2)
        row, half = digits % rows, digits // rows
        thread = torch.arange(threads, device=digits.device)
        counter = (half * rows + row) * threads + thread
        counters = torch.zeros(tiles, 2 * rows * threads, dtype=torch.int64, device=digits.device)
        before_in_thread = []
        for item in range(items):
            before_in_thread.append(counters.gather(1, counter[:, item]))
            counters.scatter_(1, counter[:, item], before_in_thread[-1] + 1)
        lower, upper = counters.view(tiles, 2, rows * threads).unbind(1)
        words = lower | (upper << 16)
        total = words.sum(1, keepdim=True)
        scanned = (words.cumsum(1) - words + (total << 16)) & 0xFFFFFFFF
        counters = torch.cat([scanned & 0xFFFF, scanned >> 16], dim=1)
        ranks = torch.stack(before_in_thread, dim=1) + counters.gather(1, counter.flatten(1)).view_as(counter)
        exclusive = counters.view(tiles, 2 * rows, threads)[:, : 1 << self.bits, 0]
        return Ranks(ranks, exclusive, self._differences(exclusive))

    def _differences(self, exclusive: Tensor) -> Tensor:
        """Counts, from where digits begin; the last one ends with the tile."""
        end = torch.full_like(exclusive[:, :1], self.tile_items)
        return torch.cat([exclusive[:, 1:], end], dim=1) - exclusive

    def _matched(self, digits: Tensor) -> Ranks:
        lanes = self._lanes(digits)
        counters = lanes.no_counts(1 << self.bits)
        ranks = lanes.take_turns(counters)
        # digit by digit, and within a digit warp by warp
        in_order = counters.transpose(1, 2)
        flat = in_order.flatten(1)
        begins = (flat.cumsum(1) - flat).view_as(in_order)
        ranks = ranks + lanes.of_their_digit(begins.transpose(1, 2))
        exclusive = begins[:, :, 0]
        return Ranks(lanes.by_thread(ranks), exclusive, self._differences(exclusive))

    def _matched_after_counting(self, digits: Tensor) -> Ranks:
        lanes = self._lanes(digits)
        of_warps = lanes.counted(1 << self.bits, self.parts)
        counts = of_warps.sum(1)
        exclusive = counts.cumsum(1) - counts
        counters = of_warps.cumsum(1) - of_warps + exclusive.unsqueeze(1)
        return Ranks(lanes.by_thread(lanes.take_turns(counters)), exclusive, counts)

    def _lanes(self, digits: Tensor) -> _Lanes:
        tiles, items, threads = digits.shape
        warps = ceil_div(threads, self.warp_size)
        missing = warps * self.warp_size - threads
        padded = torch.nn.functional.pad(digits, (0, missing))
        exists = torch.arange(warps * self.warp_size, device=digits.device) < threads
        return _Lanes(
            padded.view(tiles, items, warps, self.warp_size), exists.view(warps, self.warp_size), threads, self.bits
        )


@frozen(eq=False)
class _Lanes:
    """The digits of warp-striped keys.

    Attributes:
        digits: [tiles, items, warps, lanes].
        exists: whether the block has a lane: [warps, lanes].
        threads: threads of the block.
        bits: of a digit.
    """

    digits: Tensor
    exists: Tensor
    threads: int
    bits: int

    def by_thread(self, ranks: Tensor) -> Tensor:
        """[tiles, items, threads] again."""
        return ranks.flatten(2)[:, :, : self.threads]

    def no_counts(self, digits: int) -> Tensor:
        """Counters of each warp: [tiles, warps, digits]."""
        tiles, _, warps, _ = self.digits.shape
        return torch.zeros(tiles, warps, digits, dtype=torch.int64, device=self.digits.device)

    def counted(self, digits: int, parts: int) -> Tensor:
        """Keys of each warp with each digit, [tiles, warps, digits], counted in copies that are added up."""
        tiles, items, warps, lanes = self.digits.shape
        part = torch.arange(lanes, device=self.digits.device) % parts
        copies = torch.zeros(tiles, warps, digits * parts, dtype=torch.int64, device=self.digits.device)
        place = (self.digits * parts + part).transpose(1, 2).flatten(2)
        one = self.exists.unsqueeze(1).expand(warps, items, lanes).flatten(1).to(torch.int64)
        copies.scatter_add_(2, place, one.expand_as(place))
        return copies.view(tiles, warps, digits, parts).sum(-1)

    def of_their_digit(self, counters: Tensor) -> Tensor:
        """The counter of each key's warp and digit."""
        tiles, items, warps, lanes = self.digits.shape
        index = self.digits.transpose(1, 2).flatten(2)
        return counters.gather(2, index).view(tiles, warps, items, lanes).transpose(1, 2)

    def take_turns(self, counters: Tensor) -> Tensor:
        """Ranks by the warps' counters, a row of keys after the other; the counters move on.

        Args:
            counters: [tiles, warps, digits].
        """
        peers = self._peers()
        lane = torch.arange(peers.shape[-1], device=peers.device)
        up_to_own = (1 << lane) | ((1 << lane) - 1)
        place = _ones(peers & up_to_own)
        # the highest lane among its peers has counted all of them
        is_leader = ((peers & ~up_to_own) == 0) & self.exists
        moves = torch.where(is_leader, place, 0)
        ranks = []
        for item in range(self.digits.shape[1]):
            digit = self.digits[:, item]
            ranks.append(counters.gather(2, digit) + place[:, item] - 1)
            counters.scatter_add_(2, digit, moves[:, item])
        return torch.stack(ranks, dim=1)

    def _peers(self) -> Tensor:
        """Which lanes of its warp have a key's digit, as a mask, by ballots (`MatchAny`)."""
        own = 1 << torch.arange(self.digits.shape[-1], device=self.digits.device)
        peers = (self.exists * own).sum(-1, keepdim=True).expand_as(self.digits)
        for bit in range(self.bits):
            is_set = (self.digits >> bit) & 1
            ballot = (is_set * own).sum(-1, keepdim=True)
            peers = peers & torch.where(is_set == 1, ballot, ~ballot)
        return peers


def _ones(mask: Tensor) -> Tensor:
    """How many bits are set (`popcount`): sums of pairs, of fours, then of all bytes at once."""
    pairs = mask - ((mask >> 1) & 0x5555555555555555)
    fours = (pairs & 0x3333333333333333) + ((pairs >> 2) & 0x3333333333333333)
    octets = (fours + (fours >> 4)) & 0x0F0F0F0F0F0F0F0F
    return ((octets * 0x0101010101010101) >> 56) & 0xFF
