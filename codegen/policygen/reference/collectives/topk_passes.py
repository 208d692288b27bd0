"""What the grids of a device-wide top k do, pass by pass (`cub::detail::topk::AgentTopK`).

Keys are bits in the order in which they are wanted. All blocks stride through tiles by the grid; each counts digits in
shared memory, adds its counts to those of the device, and the block that finishes last chooses the digit of the k-th
key (`collectives.digit_choice`).

- First pass: a histogram of the highest digit of all keys.
- Further passes: keys that come before what is known of the k-th key are results, those that agree with it candidates
  for the next pass, whose next digit is counted. A pass writes candidates to a buffer where they fit, and results only
  then; else the next pass reads the whole input again, and finds the same results. If exactly as many candidates are
  left as are wanted, the pass writes them all, and the later ones have nothing to do.
- Last filter: what comes before the k-th key goes to the front of the output; of what equals it, as many as are wanted
  go to the back.

Places are handed out by atomic additions, in whatever order threads come: here in any order at all, more of them than
hardware can have.
"""

from __future__ import annotations

import torch
from attrs import evolve
from attrs import frozen
from torch import Tensor

from policygen.plan.counts import ceil_div
from policygen.reference.collectives.arrangement import striped
from policygen.reference.collectives.counted_output import CountedOutput
from policygen.reference.collectives.digit_choice import DigitChoice
from policygen.reference.collectives.key_prefix import DigitPasses
from policygen.reference.collectives.key_prefix import KeyPrefix
from policygen.reference.collectives.key_prefix import unknown
from policygen.reference.collectives.pairs import Pairs
from policygen.reference.collectives.regions import Tiles
from policygen.reference.contract.tile_log import TileLog
from policygen.reference.values.radix_keys import RadixKeys

FIRST_PASS = "DeviceTopKHistogramKernel"
LAST_FILTER = "DeviceTopKLastFilterKernel"

_BUFFER_SHARE = 128


def pass_name(number: int) -> str:
    """How the log calls a further pass, from 1 on."""
    return f"DeviceTopKKernel of pass {number}"


@frozen
class TopKGrid:
    """The grid of each kernel.

    Attributes:
        max_blocks: the most blocks: those that the device keeps resident.
        items: keys of a thread in a tile.
        choice: how a block chooses a digit, with its threads.
        digit_bits: bits of a digit.
        is_striped: whether loads leave keys striped. Upstream takes them for blocked all the same, so that keys get
            other places than theirs, and a partial tile loses some.
    """

    max_blocks: int
    items: int
    choice: DigitChoice
    digit_bits: int
    is_striped: bool = False

    @property
    def tile_items(self) -> int:
        """Keys of a tile."""
        return self.choice.threads * self.items

    def tiles(self, num_items: int, first: int = 0) -> Tiles:
        """The tiles from a number on, each with the block that takes it."""
        numbers = torch.arange(first, ceil_div(num_items, self.tile_items))
        grid = max(1, min(self.max_blocks, ceil_div(num_items, self.tile_items)))
        begins = numbers * self.tile_items
        ends = (begins + self.tile_items).clamp(max=num_items)
        return Tiles(self.tile_items, numbers % grid, numbers // grid, begins, ends)

    def loaded(self) -> Tensor:
        """Which key of a full tile lies where a thread takes each for its own: int64 [tile_items]."""
        if self.is_striped:
            return striped(self.choice.threads, self.items).t().flatten()
        return torch.arange(self.tile_items)


@frozen(eq=False)
class _Taken:
    """Keys that a grid looks at, one after the other.

    Attributes:
        items: keys in memory, and for each the place in the input where its value is.
        ordered: the bits by which it is looked for.
        blocks: which block looks at it.
    """

    items: Pairs
    ordered: Tensor
    blocks: Tensor

    def chosen(self, mask: Tensor) -> _Taken:
        """Some of them."""
        return _Taken(self.items.at(mask), self.ordered[mask], self.blocks[mask])


@frozen
class _Counter:
    """What kernels leave for the next one (`Counter`).

    Attributes:
        k: keys that are still to be found among the candidates.
        length: candidates of the next pass.
        previous_length: those that the pass before has left, or the input.
        front: results written from the front.
    """

    k: int = 0
    length: int = 0
    previous_length: int = 0
    front: int = 0


@frozen(eq=False)
class TopKPasses:
    """The passes over one input.

    Attributes:
        items: keys as they lie in memory, with values or none.
        keys: their type.
        is_descending: whether the greatest keys are wanted.
        k: how many, at most as many as there are.
        grid: of each kernel.
        out: where results go.
        random: in which order atomic additions come.
        log: notes the tiles.
    """

    items: Pairs
    keys: RadixKeys
    is_descending: bool
    k: int
    grid: TopKGrid
    out: CountedOutput
    random: torch.Generator
    log: TileLog

    @property
    def digits(self) -> DigitPasses:
        """The digits of a key."""
        return DigitPasses(self.keys.bits, self.grid.digit_bits)

    @property
    def buffer_length(self) -> int:
        """Candidates that a buffer holds."""
        return max(1, self.items.num_items // _BUFFER_SHARE)

    def run(self) -> None:
        """All kernels, one after the other."""
        words = self.keys.element.words
        device = self.items.keys.device
        counter, prefix = self._first_pass(unknown(self.keys.bits, words, device=device))
        read, write = self._buffer(), self._buffer()
        for number in range(1, self.digits.count):
            counter, prefix = self._pass(number, counter, prefix, read, write)
            read, write = write, read
        self._last_filter(counter, prefix, read)

    def _buffer(self) -> Pairs:
        """Memory for candidates, and for where their values are."""
        element, length = self.keys.element, self.buffer_length
        keys = self.keys.raw(element.unset(length, device=self.items.keys.device))
        return Pairs(keys, torch.zeros(length, dtype=torch.int64, device=keys.device))

    def _first_pass(self, prefix: KeyPrefix) -> tuple[_Counter, KeyPrefix]:
        taken = self._take(FIRST_PASS, self._input())
        counter = _Counter(self.k, previous_length=self.items.num_items)
        return self._finished(0, counter, prefix, self._counts(0, taken))

    def _pass(
        self, number: int, counter: _Counter, prefix: KeyPrefix, read: Pairs, write: Pairs
    ) -> tuple[_Counter, KeyPrefix]:
        if counter.length == 0:
            return counter, prefix
        taken = self._take(pass_name(number), self._source(number, counter, read))
        classes = prefix.classes(taken.ordered)
        if counter.length == counter.k:
            self._to_front(counter, taken.chosen(classes.selected | classes.candidates))
            return evolve(counter, previous_length=0, length=0), prefix
        candidates = taken.chosen(classes.candidates)
        if counter.length <= self.buffer_length:
            counter = self._to_front(counter, taken.chosen(classes.selected))
            order = self._any_order(candidates.blocks.shape[0])
            write.put(torch.arange(order.shape[0], device=order.device), candidates.items.at(order))
        counter = evolve(counter, previous_length=counter.length)
        return self._finished(number, counter, prefix, self._counts(number, candidates))

    def _last_filter(self, counter: _Counter, prefix: KeyPrefix, read: Pairs) -> None:
        source = self._source(self.digits.count, counter, read)
        if source.num_items == 0:
            return
        taken = self._take(LAST_FILTER, source)
        classes = prefix.classes(taken.ordered)
        self._to_front(counter, taken.chosen(classes.selected))
        equal = taken.chosen(classes.candidates)
        order = self._any_order(equal.blocks.shape[0])[: counter.k]
        back = self.k - 1 - torch.arange(order.shape[0], device=order.device)
        self.out.put(back, self._with_values(equal.items.at(order)))

    def _input(self) -> Pairs:
        places = torch.arange(self.items.num_items, device=self.items.keys.device)
        return Pairs(self.items.keys, places)

    def _source(self, number: int, counter: _Counter, read: Pairs) -> Pairs:
        """What a pass reads: the input, or the candidates that the one before has left."""
        if number <= 1 or counter.previous_length > self.buffer_length:
            return self._input()
        return read.at(torch.arange(counter.previous_length, device=read.keys.device))

    def _take(self, name: str, source: Pairs) -> _Taken:
        """All keys of a source, as the tiles of a grid bring them."""
        tiles = self.grid.tiles(source.num_items)
        tiles.record(name, self.log)
        tiles = tiles.to(source.keys.device)
        place, exists = tiles.index(), tiles.exists()
        loaded = tiles.begins.unsqueeze(-1) + self.grid.loaded().to(place.device)
        is_loaded = loaded < source.num_items
        raw = source.keys[torch.where(is_loaded, loaded, 0)]
        unset = self.keys.raw(self.keys.element.unset(*place.shape, device=raw.device))
        raw = self.keys.element.select(is_loaded, raw, unset)[exists]
        assert source.values is not None
        ordered = self.keys.twiddled(raw)
        return _Taken(
            Pairs(raw, source.values[place[exists]]),
            self.keys.inverted(ordered) if self.is_descending else ordered,
            tiles.blocks.unsqueeze(-1).expand_as(place)[exists],
        )

    def _counts(self, number: int, taken: _Taken) -> Tensor:
        """A digit counted by each block, and the blocks' counts added up: [1, buckets]."""
        buckets = 1 << self.grid.digit_bits
        begin, width = self.digits.begin(number), self.digits.width(number)
        digit = self.keys.digits(taken.ordered, begin, width, zeros_differ=True)
        of_blocks = torch.bincount(taken.blocks * buckets + digit, minlength=self.grid.max_blocks * buckets)
        return of_blocks.view(-1, buckets).sum(0, keepdim=True)

    def _finished(
        self, number: int, counter: _Counter, prefix: KeyPrefix, counts: Tensor
    ) -> tuple[_Counter, KeyPrefix]:
        """The block that finishes last says where the k-th key is; of no keys it finds nothing."""
        if counter.k == 0:
            return counter, prefix
        found = self.grid.choice(counts, torch.tensor([counter.k], device=counts.device))
        counter = evolve(counter, k=counter.k - int(found.before), length=int(found.count))
        return counter, prefix.extended(found.bucket[0], self.digits.begin(number))

    def _to_front(self, counter: _Counter, taken: _Taken) -> _Counter:
        """Results are written, behind those that are there."""
        order = self._any_order(taken.blocks.shape[0])
        places = counter.front + torch.arange(order.shape[0], device=order.device)
        self.out.put(places, self._with_values(taken.items.at(order)))
        return evolve(counter, front=counter.front + order.shape[0])

    def _with_values(self, items: Pairs) -> Pairs:
        values = self.items.values
        assert items.values is not None
        return Pairs(items.keys, None if values is None else values[items.values])

    def _any_order(self, count: int) -> Tensor:
        return torch.randperm(count, generator=self.random).to(self.items.keys.device)
