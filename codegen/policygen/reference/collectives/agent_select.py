"""A sweep over the tiles of a launch that selects items (`AgentSelectIf`): load, flag, count, write.

In place, what a tile writes may lie in the input of tiles before it, which have all been loaded by then: it has waited
for their counts. Tiles behind it may or may not have been loaded. So tiles go in waves here, those of a wave being
loaded before the first of them writes.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Final
from typing import Protocol

import torch
from attrs import frozen
from torch import Tensor

from policygen.reference.collectives.discontinuity import flag_heads
from policygen.reference.collectives.lookback import known_inclusive
from policygen.reference.collectives.regions import Tiles
from policygen.reference.collectives.select_scatter import SelectedTiles
from policygen.reference.collectives.selection_counts import count_selections
from policygen.reference.collectives.sweep_shape import SweepShape
from policygen.reference.values.elements import ELEMENTS
from policygen.reference.values.elements import Element
from policygen.reference.values.equalities import Equality
from policygen.reference.values.operators import plus

COUNT: Final = plus(ELEMENTS["int32"])
"""Places in a launch are 32-bit integers, whatever the number of items is."""

_MOST_WAVES: Final = 4


@frozen(eq=False)
class SelectMemory:
    """What a selection reads and writes.

    Attributes:
        items: the input, [n, *trailing].
        out: where selected items go; the same tensor as `items` in place.
        rejected: where a partition's other items go, if they do not go to the end of `out`.
        keeps_rejects: whether it is a partition.
    """

    items: Tensor
    out: Tensor
    rejected: Tensor | None = None
    keeps_rejects: bool = False

    @property
    def in_place(self) -> bool:
        """Whether what is written may overwrite what is read."""
        return self.out is self.items

    def write(self, found: SelectedTiles) -> None:
        """Writes what the tiles of a wave have selected, and rejected."""
        if self.rejected is not None:
            found.write_two_outputs(self.out, self.rejected)
        elif self.keeps_rejects:
            found.write_partition(self.out)
        else:
            found.write_selected(self.out)

    def outputs(self) -> dict[str, Tensor]:
        """As a kernel's results."""
        return {"items": self.out} if self.rejected is None else {"items": self.out, "rejected": self.rejected}


@frozen(eq=False)
class LoadedTiles:
    """Tiles that have been loaded.

    Attributes:
        items: [items, tiles, threads, *trailing]; past the end, nothing.
        index: where each is in the input, [items, tiles, threads]; 0 past the end.
        before: the item before each tile, [tiles, *trailing].
        has_before: which tiles have one, bool [tiles].
    """

    items: Tensor
    index: Tensor
    before: Tensor
    has_before: Tensor


class Selector(Protocol):
    """What says which items are selected."""

    def __call__(self, loaded: LoadedTiles) -> Tensor:
        """Which are, bool [items, tiles, threads]; past the end without meaning."""


@frozen(eq=False)
class ByItem:
    """A predicate on items."""

    predicate: Callable[[Tensor], Tensor]

    def __call__(self, loaded: LoadedTiles) -> Tensor:
        """See Selector."""
        return self.predicate(loaded.items)


@frozen(eq=False)
class ByFlag:
    """A predicate on flags, [n]."""

    flags: Tensor
    predicate: Callable[[Tensor], Tensor]

    def __call__(self, loaded: LoadedTiles) -> Tensor:
        """See Selector."""
        return self.predicate(self.flags[loaded.index])


@frozen
class ByHead:
    """The first item of each run."""

    equality: Equality

    def __call__(self, loaded: LoadedTiles) -> Tensor:
        """See Selector."""
        return flag_heads(loaded.items, self.equality, loaded.before, loaded.has_before)


@frozen(eq=False)
class SelectSweep:
    """A selection, launch by launch.

    Attributes:
        shape: of its tiles.
        element: type of the items.
        selector: which are selected.
        memory: input and outputs.
    """

    shape: SweepShape
    element: Element
    selector: Selector
    memory: SelectMemory

    def launch(self, tiles: Tiles, previously: Tensor, adversary: str, random: torch.Generator) -> Tensor:
        """Selects from the tiles of one launch.

        Args:
            tiles: these.
            previously: items that launches before have selected, a scalar.
            adversary: what tiles find of their predecessors, see `lookback.ADVERSARIES`.
            random: for that, and for which tiles are loaded when others write.

        Returns:
            Items that this launch and those before have selected, a scalar.
        """
        number = tiles.begins.shape[0]
        known = known_inclusive(adversary, number, random)
        totals, selected = COUNT.filled(0, device=tiles.begins.device), previously
        for first, end in pairwise(self._waves(number, random)):
            wave = tiles.chosen(torch.arange(first, end, device=tiles.begins.device))
            items, flags = self._flagged(wave)
            counts = count_selections(flags.to(torch.int64), COUNT, self.shape, known[:end, :end], totals)
            totals = torch.cat([totals, counts.totals])
            found = SelectedTiles(self.shape, self.element, wave, items, flags, counts, previously)
            self.memory.write(found)
            selected = found.selected_in_all
        return selected

    def _waves(self, tiles: int, random: torch.Generator) -> list[int]:
        """The first tile of each wave, and their number; one wave, if not in place."""
        cuts = {0, tiles}
        if self.memory.in_place:
            cuts |= set(torch.randint(1, tiles + 1, (_MOST_WAVES - 1,), generator=random).tolist())
        return sorted(cuts)

    def _flagged(self, tiles: Tiles) -> tuple[Tensor, Tensor]:
        """Items and flags of each thread, [items, tiles, threads]: what is past the end is flagged."""
        memory = self.memory.items
        index = tiles.begins.unsqueeze(-1) + self.shape.places(memory.device)
        exists = index < tiles.ends.unsqueeze(-1)
        index = torch.where(exists, index, 0)
        nothing = self.element.unset(*index.shape, device=memory.device)
        items = self.element.select(exists, memory[index], nothing)
        before = memory[(tiles.begins - 1).clamp(min=0)]
        selected = self.selector(LoadedTiles(items, index, before, tiles.begins > 0))
        return items, selected | ~exists
