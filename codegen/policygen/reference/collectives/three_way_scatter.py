"""How a tile's items get to three outputs (`AgentThreeWayPartition::Scatter`).

In shared memory come the items of the first part, then those of the second, then the others, each in their order; what
is past the end of the input counts for both parts, and is not put there. From shared memory neighbours write to
neighbouring places.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from attrs import frozen
from torch import Tensor

from policygen.reference.collectives.packed_counts import PackedCounts
from policygen.reference.collectives.regions import Tiles
from policygen.reference.collectives.selection_counts import SelectionCounts
from policygen.reference.collectives.shared_exchange import exchanged
from policygen.reference.collectives.sweep_shape import SweepShape
from policygen.reference.values.elements import Element


@frozen(eq=False)
class SortedOut:
    """Tiles whose items have been told apart, and counted.

    Attributes:
        shape: of a tile.
        element: type of the items.
        packed: how counts are held.
        tiles: where they are in the launch's input.
        items: [items, tiles, threads, *element.trailing].
        flags: which are of the first part, and of the second: bool [items, tiles, threads] each.
        counts: packed, how many of the launch are before each.
    """

    shape: SweepShape
    element: Element
    packed: PackedCounts
    tiles: Tiles
    items: Tensor
    flags: tuple[Tensor, Tensor]
    counts: SelectionCounts

    @property
    def num_items(self) -> Tensor:
        """Items of each tile that exist, [tiles]."""
        return self.tiles.ends - self.tiles.begins

    @property
    def totals(self) -> tuple[Tensor, Tensor]:
        """Items of both parts in each tile, without what is past the end, [tiles] each."""
        past_end = self.shape.tile_items - self.num_items
        first, second = self.packed.unpack(self.counts.totals)
        return first - past_end, second - past_end

    @property
    def before(self) -> Tensor:
        """Items of both parts, and others, of the launch before each tile: [3, tiles]."""
        first, second = self.packed.unpack(self.counts.before)
        offsets = self.tiles.begins - self.tiles.begins[0]
        return torch.stack([first, second, offsets - first - second])

    @property
    def in_all(self) -> Tensor:
        """Items of both parts, and others, in the launch: [3]."""
        first, second = self.totals
        return (self.before + torch.stack([first, second, self.num_items - first - second]))[:, -1]

    def write(self, outputs: Sequence[Tensor], previously: Tensor) -> None:
        """Writes all items.

        Args:
            outputs: of the first part, of the second, and of the others: [n, *element.trailing] each.
            previously: items of each in launches before, [3].
        """
        first, second = self.totals
        starts = torch.stack([torch.zeros_like(first), first, first + second, self.num_items]).unsqueeze(-1)
        exists = self.shape.places(self.items.device) < self.num_items.unsqueeze(-1)
        shared = exchanged(self.items, self.element, self._to(starts), exists, self.shape.tile_items)
        place = torch.arange(self.shape.tile_items, device=self.items.device)
        bases = (previously.unsqueeze(-1) + self.before).unsqueeze(-1)
        for out, base, begin, end in zip(outputs, bases, starts[:-1], starts[1:], strict=True):
            writes = (begin <= place) & (place < end)
            out[(base + place - begin)[writes]] = shared[writes]

    def _to(self, starts: Tensor) -> Tensor:
        """The place in shared memory of each item, [items, tiles, threads], from where parts start, [4, tiles, 1]."""
        counted = zip(self.packed.unpack(self.counts.places), self.packed.unpack(self.counts.before), strict=True)
        first, second = (places - before.unsqueeze(-1) for places, before in counted)
        others = self.shape.places(self.items.device) - first - second
        is_first, is_second = self.flags
        return torch.where(is_first, first, torch.where(is_second, starts[1] + second, starts[2] + others))
