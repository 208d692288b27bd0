"""What blocks do that reduce the values of equal neighbouring keys (`cub::detail::reduce_by_key::AgentReduceByKey`).

A block takes a tile of threads x items consecutive keys and values, a thread `items` consecutive ones. A key that
differs from the one before it is the head of a run. Pairs of head flag and value are scanned exclusively
(`collectives.segmented_pairs`, `collectives.chained_scan`), so that each head finds the number and the total of the run
that ends before it, and stores these with the key before it: **the last key of a run is its key**. The very first item
is no head, for nothing ends there. In a last tile that is not full the place behind the last item counts as a head; if
it is full, its last thread stores the run that ends with it.

Runs are stored through shared memory, one after the other, where a tile has more of them than threads, else by the
threads that found them.

Where there are several launches (`collectives.launches`), each has the last key, the total of the open run and the
number of runs of those before.
"""

from __future__ import annotations

import torch
from attrs import frozen
from torch import Tensor

from policygen.reference.collectives.chained_scan import ChainedScan
from policygen.reference.collectives.regions import Tiles
from policygen.reference.collectives.run_heads import differ
from policygen.reference.collectives.run_heads import with_predecessors
from policygen.reference.collectives.segmented_pairs import counting_pairs
from policygen.reference.values.elements import Element
from policygen.reference.values.operators import Operator


@frozen(eq=False)
class Runs:
    """Memory for the results.

    Attributes:
        keys: of each run, [num_items, *trailing].
        totals: of each run, [num_items, *trailing].
    """

    keys: Tensor
    totals: Tensor


@frozen(eq=False)
class Open:
    """What a launch leaves to the next one.

    Attributes:
        runs: how many have been stored.
        total: of the run that goes on, [*trailing]; without meaning after the last launch.
    """

    runs: int
    total: Tensor


@frozen
class AgentReduceByKey:
    """A block.

    Attributes:
        threads: threads of a block.
        items: items of a thread.
        key: type of the keys.
        operator: how two values are combined.
        algorithm: enumerator of `BlockScanAlgorithm`.
        warp_size: lanes of a warp.
    """

    threads: int
    items: int
    key: Element
    operator: Operator
    algorithm: str
    warp_size: int

    @property
    def tile_items(self) -> int:
        """Items of a tile."""
        return self.threads * self.items

    def launch(self, keys: Tensor, values: Tensor, tiles: Tiles, known: Tensor, before: Open | None, out: Runs) -> Open:
        """Reduces the tiles of one launch.

        Args:
            keys: of all launches, [num_items, *trailing].
            values: of all launches, [num_items, *trailing].
            tiles: of this launch, on the device of the keys.
            known: what tiles find of their predecessors, see `lookback.known_inclusive`.
            before: what the launch before left; None for the first launch.
            out: where runs are stored.
        """
        is_last = int(tiles.ends[-1]) == keys.shape[0]
        index = tiles.begins.unsqueeze(-1) + self._places().to(keys.device)
        exists = index < tiles.ends.unsqueeze(-1)
        own_keys, own_values = (_loaded(x, index, exists, e) for x, e in ((keys, self.key), (values, self._element)))
        # the first tile of all has a repeat of its first key before it
        previous = with_predecessors(own_keys, keys[(tiles.begins - 1).clamp(min=0)])
        # behind the end only the first place is a head
        heads = torch.where(exists, differ(previous, own_keys, self.key), index == tiles.ends.unsqueeze(-1))
        if before is None:
            heads[0, 0, 0] = False
        pairs = counting_pairs(self.operator)
        scan = ChainedScan(pairs, self.algorithm, self.warp_size)
        seed = None if before is None else pairs.zipped(torch.tensor(0, device=keys.device), before.total)
        scanned = scan.scan(pairs.zipped(heads.long(), own_values), known, seed=seed, inclusive=False)
        earlier_runs = pairs.heads(scanned.before)
        earlier_runs[0] = 0
        stored = 0 if before is None else before.runs
        self._store(
            Runs(out.keys[stored:], out.totals[stored:]),
            heads,
            pairs.heads(scanned.results),
            Runs(previous, pairs.values(scanned.results)),
            pairs.heads(scanned.totals),
            earlier_runs,
        )
        stored += int(pairs.heads(scanned.last))
        if is_last and bool(exists[-1, -1, -1]):
            out.keys[stored], out.totals[stored] = own_keys[-1, -1, -1], pairs.values(scanned.last)
            stored += 1
        return Open(stored, pairs.values(scanned.last))

    def additions(self, tiles: int) -> int:
        """The most combinations that a value passes through in a grid of so many tiles."""
        scan = ChainedScan(counting_pairs(self.operator), self.algorithm, self.warp_size)
        return scan.additions(self.items, self.threads, tiles)

    @property
    def _element(self) -> Element:
        return self.operator.element

    def _places(self) -> Tensor:
        """Which item of a tile a thread has: [items, 1, threads]."""
        return torch.arange(self.threads) * self.items + torch.arange(self.items).reshape(-1, 1, 1)

    def _store(self, out: Runs, heads: Tensor, number: Tensor, found: Runs, tile_runs: Tensor, earlier: Tensor) -> None:
        """Stores the runs that end before heads.

        Args:
            out: where to.
            heads: bool [items, tiles, threads].
            number: of the run that ends before an item, in this launch: [items, tiles, threads].
            found: key and total of that run: [items, tiles, threads, *trailing].
            tile_runs: heads in each tile, [tiles].
            earlier: heads before each tile, [tiles].
        """
        in_turn = (tile_runs > self.threads) & (self.items > 1)
        direct = heads & ~in_turn.unsqueeze(-1)
        out.keys[number[direct]], out.totals[number[direct]] = found.keys[direct], found.totals[direct]
        which = torch.nonzero(in_turn).squeeze(-1)
        if which.numel() == 0:
            return
        heads, place = heads[:, which], (number - earlier.unsqueeze(-1))[:, which]
        tile = torch.arange(which.numel(), device=heads.device).unsqueeze(-1).expand_as(place)
        for own, to, element in ((found.keys, out.keys, self.key), (found.totals, out.totals, self._element)):
            exchange = element.unset(which.numel(), self.tile_items + 1, device=heads.device)
            exchange[tile[heads], place[heads]] = own[:, which][heads]
            item = torch.arange(self.tile_items + 1, device=heads.device)
            taken = item < tile_runs[which].unsqueeze(-1)
            to[(earlier[which].unsqueeze(-1) + item)[taken]] = exchange[taken]


def _loaded(values: Tensor, index: Tensor, exists: Tensor, element: Element) -> Tensor:
    """What threads load; where there is nothing, registers stay as they are."""
    if bool(exists.all()):
        return values[index]
    own = values[torch.where(exists, index, index[0, -1, 0])]
    return element.select(exists, own, element.unset(*index.shape, device=values.device))
