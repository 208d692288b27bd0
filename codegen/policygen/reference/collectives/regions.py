"""What the blocks of a grid work on: a region of the input for each, tile by tile."""

from __future__ import annotations

import torch
from attrs import evolve
from attrs import frozen
from torch import Tensor

from policygen.reference.contract.tile_log import TileLog


@frozen(eq=False)
class Regions:
    """Consecutive items for each block: [begins, ends), int64 [blocks]."""

    begins: Tensor
    ends: Tensor

    @property
    def blocks(self) -> int:
        """How many there are."""
        return self.begins.shape[0]

    @property
    def num_items(self) -> Tensor:
        """Items of each block, [blocks]."""
        return self.ends - self.begins

    def chosen(self, which: Tensor) -> Regions:
        """Some of them, by a mask or by their numbers."""
        return Regions(self.begins[which], self.ends[which])

    def index(self) -> Tensor:
        """The items of all of them, one after the other."""
        begins = self.begins.repeat_interleave(self.num_items)
        firsts = (self.num_items.cumsum(0) - self.num_items).repeat_interleave(self.num_items)
        return begins + torch.arange(begins.shape[0], device=begins.device) - firsts

    def as_tiles(self, tile_items: int) -> Tiles:
        """One tile for each, that holds all of it."""
        numbers = torch.arange(self.blocks, device=self.begins.device)
        return Tiles(tile_items, numbers, torch.zeros_like(numbers), self.begins, self.ends)

    def to(self, device: torch.device | str) -> Regions:
        """The same on another device."""
        return Regions(self.begins.to(device), self.ends.to(device))

    def tiles(self, tile_items: int) -> Tiles:
        """The tiles of all blocks, one block after the other."""
        counts = (self.num_items + tile_items - 1) // tile_items
        blocks = torch.arange(self.blocks, device=counts.device).repeat_interleave(counts)
        firsts = (counts.cumsum(0) - counts)[blocks]
        numbers = torch.arange(blocks.shape[0], device=counts.device) - firsts
        begins = self.begins[blocks] + numbers * tile_items
        return Tiles(tile_items, blocks, numbers, begins, torch.minimum(begins + tile_items, self.ends[blocks]))


def one_region(end: int, begin: int = 0) -> Regions:
    """The region of a grid of one block."""
    return Regions(torch.tensor([begin]), torch.tensor([end]))


@frozen(eq=False)
class Tiles:
    """Tiles of a grid.

    Attributes:
        tile_items: items of a full one.
        blocks: whose they are, [tiles].
        numbers: which tile of its block each is, [tiles].
        begins: first items, [tiles].
        ends: one past the last items, [tiles].
    """

    tile_items: int
    blocks: Tensor
    numbers: Tensor
    begins: Tensor
    ends: Tensor

    def to(self, device: torch.device | str) -> Tiles:
        """The same on another device."""
        parts = (part.to(device) for part in (self.blocks, self.numbers, self.begins, self.ends))
        return Tiles(self.tile_items, *parts)

    def chosen(self, which: Tensor) -> Tiles:
        """Some of them, by a mask."""
        return Tiles(self.tile_items, self.blocks[which], self.numbers[which], self.begins[which], self.ends[which])

    def by_ticket(self) -> Tiles:
        """The same, each with a block of its own: the number of the tile."""
        return evolve(self, blocks=self.numbers)

    def index(self) -> Tensor:
        """The items of each: [tiles, tile_items]; those past the end do not exist."""
        return self.begins.unsqueeze(-1) + torch.arange(self.tile_items, device=self.begins.device)

    def exists(self) -> Tensor:
        """Which places of each hold an item: [tiles, tile_items]."""
        return self.index() < self.ends.unsqueeze(-1)

    def record(self, kernel: str, log: TileLog) -> None:
        """Notes them."""
        log.record_all(kernel, self.blocks, self.begins, self.ends)
