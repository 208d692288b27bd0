"""How a tile's selected items, and its rejected ones, get to their places in the output (`AgentSelectIf::Scatter`).

A selection writes directly where it selects at most one item a thread on average, else by way of shared memory, so that
neighbours write to neighbouring places. A partition always goes that way: in shared memory rejected items come first,
and what is past the end of the input last, for that counts as selected. It writes rejected items backwards from the end
of the output, or, where they have an output of their own, forwards.
"""

from __future__ import annotations

import torch
from attrs import evolve
from attrs import frozen
from torch import Tensor

from policygen.reference.collectives.regions import Tiles
from policygen.reference.collectives.selection_counts import SelectionCounts
from policygen.reference.collectives.shared_exchange import exchanged
from policygen.reference.collectives.shared_exchange import write_compacted
from policygen.reference.collectives.sweep_shape import SweepShape
from policygen.reference.values.elements import Element


@frozen(eq=False)
class SelectedTiles:
    """Tiles whose selected items have been counted.

    Attributes:
        shape: of a tile.
        element: type of the items.
        tiles: where they are in the input.
        items: [items, tiles, threads, *element.trailing].
        flags: which are selected, what is past the end among them: bool [items, tiles, threads].
        counts: how many of the launch are before each.
        previously: items that launches before selected, a scalar.
    """

    shape: SweepShape
    element: Element
    tiles: Tiles
    items: Tensor
    flags: Tensor
    counts: SelectionCounts
    previously: Tensor

    @property
    def num_items(self) -> Tensor:
        """Items of each tile that exist, [tiles]."""
        return self.tiles.ends - self.tiles.begins

    @property
    def selections(self) -> Tensor:
        """Items that are selected in each tile, without what is past the end: [tiles]."""
        return self.counts.totals - (self.shape.tile_items - self.num_items)

    @property
    def selected_before(self) -> Tensor:
        """Items of all launches that are selected before each tile, [tiles]."""
        return self.previously + self.counts.before

    @property
    def selected_in_all(self) -> Tensor:
        """Items of all launches that are selected up to the end of the last of these tiles, a scalar."""
        return self.selected_before[-1] + self.selections[-1]

    def write_selected(self, out: Tensor) -> None:
        """Writes what is selected, and drops the rest.

        Args:
            out: [n, *element.trailing].
        """
        goes_through_shared = (self.selections > self.shape.threads) & (self.shape.items > 1)
        for which, write in ((~goes_through_shared, _write_directly), (goes_through_shared, _write_from_shared)):
            if bool(which.any()):
                write(self._chosen(which), out)

    def write_partition(self, out: Tensor) -> None:
        """Writes what is selected from the front, and what is rejected from the back of one output.

        Args:
            out: as long as the input of all launches, [n, *element.trailing].
        """
        shared, place, rejections, exists = self._rejected_first()
        rejected_before = (self.tiles.begins - self.selected_before).unsqueeze(-1)
        from_back = out.shape[0] - rejected_before - place - 1
        to = torch.where(place < rejections, from_back, self.selected_before.unsqueeze(-1) + place - rejections)
        out[to[exists]] = shared[exists]

    def write_two_outputs(self, selected: Tensor, rejected: Tensor) -> None:
        """Writes what is selected to one output, and what is rejected to another.

        Args:
            selected: [n, *element.trailing].
            rejected: the same.
        """
        shared, place, rejections, exists = self._rejected_first()
        rejected_before = (self.tiles.begins - self.selected_before).unsqueeze(-1)
        is_rejected = exists & (place < rejections)
        rejected[(rejected_before + place)[is_rejected]] = shared[is_rejected]
        is_selected = exists & (place >= rejections)
        selected[(self.selected_before.unsqueeze(-1) + place - rejections)[is_selected]] = shared[is_selected]

    def _chosen(self, which: Tensor) -> SelectedTiles:
        """Some of the tiles, by a mask."""
        counts = SelectionCounts(self.counts.places[:, which], self.counts.before[which], self.counts.totals[which])
        tiles = self.tiles.chosen(which)
        return evolve(self, tiles=tiles, items=self.items[:, which], flags=self.flags[:, which], counts=counts)

    def _rejected_first(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Shared memory with rejected items first; its places, rejected items of each tile, and which places count."""
        rejections = (self.num_items - self.selections).unsqueeze(-1)
        selected_in_tile = self.counts.places - self.counts.before.unsqueeze(-1)
        rejected_in_tile = self.shape.places(self.items.device) - selected_in_tile
        to = torch.where(self.flags, rejections + selected_in_tile, rejected_in_tile)
        everything = torch.ones_like(self.flags)
        shared = exchanged(self.items, self.element, to, everything, self.shape.tile_items)
        place = torch.arange(self.shape.tile_items, device=self.items.device)
        return shared, place, rejections, place < self.num_items.unsqueeze(-1)


def _write_directly(found: SelectedTiles, out: Tensor) -> None:
    """Each thread writes its own items."""
    ends = (found.counts.before + found.selections).unsqueeze(-1)
    writes = found.flags & (found.counts.places < ends)
    out[(found.previously + found.counts.places)[writes]] = found.items[writes]


def _write_from_shared(found: SelectedTiles, out: Tensor) -> None:
    """Threads write what has been moved up in shared memory."""
    write_compacted(found.items, found.element, found.flags, found.counts, found.selections, found.selected_before, out)
