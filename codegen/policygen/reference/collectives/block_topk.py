"""A block's selection of the k greatest or least keys of one tile (`cub::detail::block_topk`).

Keys are blocked in registers. As long as more keys agree with what is known of the k-th one than are wanted, the block
counts the next digit of 8 bits of those, from the highest on, and chooses a bucket (`collectives.digit_choice`). Then
keys that come before go to the front of shared memory, those that agree with the k-th behind them, as atomic additions
have it: in any order. Each thread takes what lies at its places, keys first, then values by the same places.

-0.0 counts as 0.0, and comes out as it went in. Where k is no less than the keys there are, and where it is 0, nothing
is moved.
"""

from __future__ import annotations

from typing import Final

import torch
from attrs import frozen
from torch import Tensor

from policygen.reference.collectives.digit_choice import Choice
from policygen.reference.collectives.digit_choice import DigitChoice
from policygen.reference.collectives.key_prefix import Classes
from policygen.reference.collectives.key_prefix import DigitPasses
from policygen.reference.collectives.key_prefix import unknown
from policygen.reference.collectives.pairs import Pairs
from policygen.reference.values.elements import ELEMENTS
from policygen.reference.values.radix_keys import RadixKeys

DIGIT_BITS: Final = 8
"""Bits of a digit, whatever the policy."""


@frozen
class BlockTopK:
    """A block that selects.

    Attributes:
        keys: type of the keys.
        threads: threads of a block.
        warp_size: lanes of a warp.
        is_greatest: whether the greatest keys are wanted.
    """

    keys: RadixKeys
    threads: int
    warp_size: int
    is_greatest: bool

    def select(self, tiles: Pairs, valid: Tensor, k: Tensor, random: torch.Generator) -> Pairs:
        """Selects from each tile.

        Args:
            tiles: keys as they lie in memory, [tiles, tile_items, *trailing], and values; what lies past the valid
                ones has no meaning.
            valid: keys of each tile, [tiles].
            k: how many are wanted of each, at most as many as there are, [tiles].
            random: in which order atomic additions come.

        Returns:
            Of the same shape: at the first k places of each tile what was selected.
        """
        found = Pairs(tiles.keys.clone(), None if tiles.values is None else tiles.values.clone())
        active = torch.nonzero((k > 0) & (k < valid)).squeeze(-1)
        if active.numel():
            part = _Tiles(self, tiles.at(active), valid[active])
            selected = part.narrowed_down(k[active], random)
            found.put(active, selected)
        return found


@frozen(eq=False)
class _Tiles:
    """Tiles of which not everything is wanted."""

    block: BlockTopK
    items: Pairs
    valid: Tensor

    def narrowed_down(self, k: Tensor, random: torch.Generator) -> Pairs:
        """All passes, and the exchange of each tile once its k-th key is known well enough."""
        keys, device = self.block.keys, k.device
        ordered, was_minus_zero = self._ordered()
        exists = torch.arange(ordered.shape[1], device=device) < self.valid.unsqueeze(1)
        out = Pairs(self.items.keys.clone(), None if self.items.values is None else self.items.values.clone())
        passes = DigitPasses(keys.bits, DIGIT_BITS)
        prefix = unknown(keys.bits, keys.element.words, k.shape[0], 1, device=device)
        left, selected = k.clone(), torch.zeros_like(k)
        waiting = torch.arange(k.shape[0], device=device)
        for number in range(passes.count):
            candidates = exists[waiting] & prefix.classes(ordered[waiting]).candidates
            choice = self._choice(ordered[waiting], candidates, passes.begin(number), left[waiting])
            prefix = prefix.extended(choice.bucket.unsqueeze(1), passes.begin(number))
            left[waiting] -= choice.before
            selected[waiting] += choice.before
            is_done = choice.count == left[waiting]
            if number == passes.count - 1:
                is_done = torch.ones_like(is_done)
            done = waiting[is_done]
            if done.numel():
                classes = prefix.at(is_done).classes(ordered[done])
                takes_all = (choice.count == left[waiting])[is_done]
                places = self._places(classes, exists[done], takes_all, selected[done], random)
                self._exchange(out, done, places, ordered, was_minus_zero)
            prefix, waiting = prefix.at(~is_done), waiting[~is_done]
            if not waiting.numel():
                break
        return out

    def _ordered(self) -> tuple[Tensor, Tensor]:
        """Bits in the order in which keys are wanted, and which keys were -0.0."""
        keys = self.block.keys
        ordered = keys.twiddled(self.items.keys)
        if keys.element.is_floating:
            was_minus_zero = self.items.keys == keys.sign
            ordered = torch.where(was_minus_zero, keys.twiddled(torch.zeros_like(ordered)), ordered)
        else:
            was_minus_zero = torch.zeros(ordered.shape[:2], dtype=torch.bool, device=ordered.device)
        return (keys.inverted(ordered) if self.block.is_greatest else ordered), was_minus_zero

    def _choice(self, ordered: Tensor, candidates: Tensor, begin: int, k: Tensor) -> Choice:
        """The bucket of each tile's k-th key, from the candidates' digits."""
        buckets = 1 << DIGIT_BITS
        digits = self.block.keys.digits(ordered, begin, DIGIT_BITS, zeros_differ=True)
        tile = torch.arange(k.shape[0], device=k.device).unsqueeze(1)
        counts = torch.bincount((tile * buckets + digits)[candidates], minlength=k.shape[0] * buckets)
        choose = DigitChoice(self.block.threads, "BLOCK_SCAN_WARP_SCANS", ELEMENTS["uint32"], self.block.warp_size)
        return choose(counts.view(-1, buckets), k)

    def _places(
        self, classes: Classes, exists: Tensor, takes_all: Tensor, selected: Tensor, random: torch.Generator
    ) -> Tensor:
        """Where each key goes in shared memory, [tiles, tile_items]; -1 for those that go nowhere."""
        is_equal = classes.candidates & ~takes_all.unsqueeze(1) & exists
        is_front = (classes.selected | (classes.candidates & takes_all.unsqueeze(1))) & exists
        front = _in_any_order(is_front, random)
        back = selected.unsqueeze(1) + _in_any_order(is_equal, random)
        return torch.where(is_front, front, torch.where(is_equal, back, -1))

    def _exchange(self, out: Pairs, tiles: Tensor, places: Tensor, ordered: Tensor, was_minus_zero: Tensor) -> None:
        """Keys and values of some tiles by way of shared memory."""
        keys = self.block.keys
        raw = keys.inverted(ordered[tiles]) if self.block.is_greatest else ordered[tiles]
        raw = keys.untwiddled(raw)
        if keys.element.is_floating:
            raw = torch.where(was_minus_zero[tiles], keys.sign, raw)
        row, column = torch.nonzero(places >= 0, as_tuple=True)
        to = (tiles[row], places[row, column])
        out.keys[to] = raw[row, column]
        if out.values is not None:
            assert self.items.values is not None
            out.values[to] = self.items.values[tiles[row], column]


def _in_any_order(mask: Tensor, random: torch.Generator) -> Tensor:
    """0, 1, ... for what a mask has in each row, in any order; without meaning elsewhere."""
    turn = torch.rand(mask.shape, generator=random).to(mask.device)
    order = torch.where(mask, turn, 2.0).argsort(1)
    places = torch.arange(mask.shape[1], device=mask.device).expand_as(order)
    return torch.empty_like(order).scatter_(1, order, places)
