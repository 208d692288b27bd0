"""What blocks do that look for runs longer than one (`cub::detail::rle::AgentRle`).

A block takes a tile of threads x items consecutive keys, a thread `items` consecutive ones. A key that differs from the
one before it is a head, one that differs from the one behind it a tail; what is both is a run of one, which is trivial.
Pairs of (head of a run that is not trivial, item of one) are scanned exclusively (`collectives.segmented_pairs`), so
that each head finds the number of its run, and the length of the run before it: it stores its own place, and that
length. The last run's length is what the last tile has in the end.

The block scans by warps, whatever the policy says: each warp scans the totals of its threads, the warps' totals are
combined one after the other, and the tile finds out what comes before it (`collectives.lookback`). Numbers of runs stay
those within the warp, and what comes before is added when runs are stored; only lengths go from warp to warp, to the
threads with no head before them in their own.

Runs are stored by the threads that found them where a tile has fewer of them than threads; else each warp brings its
runs together in shared memory first, so that neighbouring lanes store neighbouring runs (`cub::WarpExchange`). With
time slicing, offsets and lengths go there as pairs, a warp after the other; without, first offsets, then lengths, all
warps at once.

Two things are odd, and are odd here in the same way (both seen on an H200, with CCCL 3.5):

- `WarpExchange` pads its storage, a place after every 32, where items are a power of two beyond 4, and changes the
  ranks that it is given accordingly. Without time slicing the lengths' ranks are those that the offsets have changed
  already, so that they are padded twice: the lengths that a warp's 33rd head and all after it store are wrong. (CUB
  writes outside of the warp's storage then; here that has some more room.)
- Where there are several launches (`collectives.launches`), the first item of each has the length that was left open
  added. If that item is the head of a run that is not trivial, the run before it gets the length 0, and its own is too
  great by the length of that run.
"""

from __future__ import annotations

from typing import Final

import torch
from attrs import frozen
from torch import Tensor

from policygen.plan.counts import ceil_div
from policygen.reference.collectives.lookback import lookback
from policygen.reference.collectives.regions import Tiles
from policygen.reference.collectives.run_heads import differ
from policygen.reference.collectives.run_heads import with_predecessors
from policygen.reference.collectives.run_heads import with_successors
from policygen.reference.collectives.segmented_pairs import SegmentedPairs
from policygen.reference.collectives.segmented_pairs import counting_pairs
from policygen.reference.collectives.thread_reduce import Order
from policygen.reference.collectives.thread_reduce import thread_reduce
from policygen.reference.collectives.thread_scan import thread_scan
from policygen.reference.collectives.warp_scan import shifted_up
from policygen.reference.collectives.warp_scan import warp_scan
from policygen.reference.values.elements import ELEMENTS
from policygen.reference.values.elements import Element
from policygen.reference.values.elements import split
from policygen.reference.values.operators import plus

_BANKS: Final = 32
_PADDED_BEYOND: Final = 4


@frozen(eq=False)
class FoundRuns:
    """Memory for the results.

    Attributes:
        offsets: where each run begins, int64 [num_items].
        lengths: how many items it has, int64 [num_items].
    """

    offsets: Tensor
    lengths: Tensor


@frozen(eq=False)
class OpenRun:
    """What a launch leaves to the next one.

    Attributes:
        runs: how many have been found.
        length: of the last one so far, a scalar; 0 where there is none.
    """

    runs: int
    length: Tensor


@frozen(eq=False)
class _WarpScans:
    """Tiles after the scans of their warps.

    Attributes:
        in_warp: what comes before each thread in its warp, [tiles, warps, lanes, words].
        warps: the total of each warp, [tiles, warps, words].
        in_tile: what comes before each warp in its tile, [tiles, warps, words].
        tiles: the total of each tile, [tiles, words].
    """

    in_warp: Tensor
    warps: Tensor
    in_tile: Tensor
    tiles: Tensor


@frozen
class AgentRle:
    """A block.

    Attributes:
        threads: threads of a block. Where they are no whole warps, which CUB does not allow, the last one is filled up
            with lanes that have nothing.
        items: items of a thread.
        key: type of the keys.
        length: type of the lengths.
        time_sliced: whether warps store one after the other.
        warp_size: lanes of a warp.
    """

    threads: int
    items: int
    key: Element
    length: Element
    time_sliced: bool
    warp_size: int

    @property
    def tile_items(self) -> int:
        """Items of a tile."""
        return self.threads * self.items

    @property
    def _warps(self) -> int:
        return ceil_div(self.threads, self.warp_size)

    @property
    def _pairs(self) -> SegmentedPairs:
        return counting_pairs(plus(self.length))

    def launch(self, keys: Tensor, tiles: Tiles, known: Tensor, before: OpenRun | None, out: FoundRuns) -> OpenRun:
        """Finds the runs of the tiles of one launch.

        Args:
            keys: of all launches, [num_items, *trailing].
            tiles: of this launch, on the device of the keys.
            known: what tiles find of their predecessors, see `lookback.known_inclusive`.
            before: what the launch before left; None for the first launch.
            out: where runs are stored.
        """
        pairs = self._pairs
        index = tiles.begins.unsqueeze(-1) + self._places().to(keys.device)
        items = self._selections(keys, tiles, index, is_first=before is None)
        if before is not None:
            items[0, 0, 0, 1] += before.length
        scans = self._scan_warps(items)
        tiles_before = self._tiles_before(scans.tiles, known)
        lengths = pairs.values(pairs.combine(tiles_before.unsqueeze(1), scans.in_tile)).unsqueeze(-1)
        in_warp = scans.in_warp.clone()
        in_warp[..., 1] += torch.where(pairs.heads(in_warp) == 0, lengths, 0)
        own = self._by_warps(items)
        scanned = thread_scan(own, pairs, in_warp, torch.ones_like(in_warp[..., 0], dtype=torch.bool), inclusive=False)
        stored = 0 if before is None else before.runs
        discarded = self.warp_size * self.items
        self._store(
            out,
            torch.where(pairs.heads(own) > 0, pairs.heads(scanned), discarded),
            self._by_warps(index.unsqueeze(-1)).squeeze(-1),
            pairs.values(scanned),
            pairs.heads(scans.warps),
            stored + (pairs.heads(tiles_before).unsqueeze(-1) + pairs.heads(scans.in_tile)),
            pairs.heads(scans.tiles),
        )
        last = pairs.combine(tiles_before[-1], scans.tiles[-1])
        stored += int(pairs.heads(last))
        if int(tiles.ends[-1]) == keys.shape[0] and stored > 0:
            out.lengths[stored - 1] = pairs.values(last)
        return OpenRun(stored, pairs.values(last))

    def _places(self) -> Tensor:
        """Which item of a tile a thread has: [items, 1, threads]."""
        return torch.arange(self.threads) * self.items + torch.arange(self.items).reshape(-1, 1, 1)

    def _selections(self, keys: Tensor, tiles: Tiles, index: Tensor, *, is_first: bool) -> Tensor:
        """Pairs of head and item of a run that is not trivial: [items, tiles, threads, words]."""
        n, end = keys.shape[0], tiles.ends.unsqueeze(-1)
        blank = torch.zeros((), dtype=keys.dtype, device=keys.device)
        own = self.key.select(index < end, keys[index.clamp(max=n - 1)], blank)
        previous = with_predecessors(own, keys[(tiles.begins - 1).clamp(min=0)])
        following = with_successors(own, keys[tiles.ends.clamp(max=n - 1)])
        # what lies past the input equals nothing; past a tile that ends earlier there are others
        is_head = differ(previous, own, self.key) | (index >= n)
        is_tail = differ(own, following, self.key) | (index + 1 >= n)
        if is_first:
            is_head[0, 0, 0] = True
        return self._pairs.zipped((is_head & ~is_tail).long(), (~is_head | ~is_tail).long())

    def _scan_warps(self, items: Tensor) -> _WarpScans:
        pairs = self._pairs
        lanes = thread_reduce(self._by_warps(items), pairs, Order.SEQUENTIAL)
        inclusive = warp_scan(lanes, pairs)
        nothing = pairs.identity().to(items.device)
        lane = torch.arange(self.warp_size, device=items.device)
        in_warp = pairs.element.select(lane == 0, nothing, shifted_up(inclusive, pairs))
        warps = inclusive[:, :, -1]
        total, in_tile = warps[:, 0], [nothing.expand_as(warps[:, 0])]
        for warp in range(1, self._warps):
            in_tile.append(total)
            total = pairs.combine(total, warps[:, warp])
        return _WarpScans(in_warp, warps, torch.stack(in_tile, dim=1), total)

    def _tiles_before(self, totals: Tensor, known: Tensor) -> Tensor:
        """What comes before each tile: before the first one nothing."""
        before = lookback(totals, self._pairs, self.warp_size, known)
        return torch.cat([self._pairs.identity().to(before.device).unsqueeze(0), before[1:]])

    def _by_warps(self, values: Tensor) -> Tensor:
        """[items, tiles, threads, words] as [items, tiles, warps, lanes, words]; lanes that are missing have zeros."""
        missing = self._warps * self.warp_size - self.threads
        if missing:
            values = torch.cat([values, values.new_zeros(*values.shape[:2], missing, *values.shape[3:])], dim=2)
        return split(values, 2, self._warps, self.warp_size)

    def _store(
        self,
        out: FoundRuns,
        rank: Tensor,
        offset: Tensor,
        length: Tensor,
        warp_runs: Tensor,
        earlier: Tensor,
        tile_runs: Tensor,
    ) -> None:
        """Stores where runs begin, and the lengths of the runs before them.

        Args:
            out: where to.
            rank: number of an item's run in its warp, past all of them for no head: [items, tiles, warps, lanes].
            offset: place of the item in the input, of the same shape.
            length: of the run before it, of the same shape.
            warp_runs: runs of each warp, [tiles, warps].
            earlier: runs before each warp, [tiles, warps].
            tile_runs: runs of each tile, [tiles].
        """
        together = (tile_runs >= self.threads) & (self.items > 1)
        offset, length, rank = (
            torch.where(together.reshape(-1, 1, 1), exchanged, own)
            for exchanged, own in zip(self._exchanged(rank, offset, length), (offset, length, rank), strict=True)
        )
        taken = rank < warp_runs.unsqueeze(-1)
        number = (earlier.unsqueeze(-1) + rank)[taken]
        out.offsets[number] = offset[taken]
        # the very first run has none before it
        out.lengths[number[number > 0] - 1] = length[taken][number > 0]

    def _exchanged(self, rank: Tensor, offset: Tensor, length: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Offsets, lengths and ranks after each warp has brought its runs together, a run a lane."""
        lane = torch.arange(self.warp_size, device=rank.device)
        striped = torch.arange(self.items, device=rank.device).unsqueeze(-1) * self.warp_size + lane
        ranks = self._padded(rank)
        offsets = self._through_memory(offset, ranks, striped)
        lengths = self._through_memory(length, ranks if self.time_sliced else self._padded(ranks), striped)
        return offsets, lengths, striped.reshape(self.items, 1, 1, self.warp_size).expand_as(rank)

    def _padded(self, places: Tensor) -> Tensor:
        """Places in padded storage."""
        is_padded = self.items > _PADDED_BEYOND and self.items & (self.items - 1) == 0
        return places + places // _BANKS if is_padded else places

    def _through_memory(self, values: Tensor, ranks: Tensor, striped: Tensor) -> Tensor:
        """Items to their ranks in the storage of their warp, and back from there in stripes."""
        _, tiles, warps, _ = values.shape
        memory = ELEMENTS["int64"].unset(tiles, warps, 2 * self.warp_size * self.items + 1, device=values.device)
        flat = (x.movedim(0, -1).flatten(2) for x in (ranks, values))
        memory.scatter_(2, *flat)
        taken = memory[:, :, self._padded(striped).flatten()]
        return split(taken, 2, self.items, self.warp_size).movedim(2, 0)
