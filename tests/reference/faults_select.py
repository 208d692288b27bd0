"""Faults planted in the kernels that select and partition: see `reference.faults`."""

from __future__ import annotations

from typing import Any
from typing import Final

from reference.faults import Fault

_SELECT: Final[dict[str, Any]] = {"flag_size_bytes": 0, "selection_impl": "Select"}
_IN_PLACE: Final[dict[str, Any]] = {"flag_size_bytes": 0, "selection_impl": "SelectPotentiallyInPlace"}
_PARTITION: Final[dict[str, Any]] = {"distinct_partitions": False, "selection_impl": "Partition"}
_TWO_OUTPUTS: Final[dict[str, Any]] = {"distinct_partitions": True, "selection_impl": "Partition"}

SELECT_FAULTS = (
    Fault(
        kernel="select_if",
        what="what is past the end of the last tile does not count as selected",
        module="collectives.agent_select",
        text="return items, selected | ~exists",
        instead="return items, selected & exists",
    ),
    Fault(
        kernel="select_if",
        what="what is past the end of the last tile stays in the counts",
        module="collectives.select_scatter",
        text="return self.counts.totals - (self.shape.tile_items - self.num_items)",
        instead="return self.counts.totals",
    ),
    Fault(
        kernel="select_if",
        what="a tile's first item is compared with its own last thread's",
        module="collectives.discontinuity",
        text="torch.cat([predecessors.unsqueeze(1), last_items[:, :-1]], dim=1)",
        instead="torch.roll(last_items, 1, dims=1)",
        given=_SELECT,
    ),
    Fault(
        kernel="select_if",
        what="a thread's first item is compared with the first one of the thread before",
        module="collectives.discontinuity",
        text="last_items = items[-1]",
        instead="last_items = items[0]",
        given=_SELECT,
    ),
    Fault(
        kernel="select_if",
        what="items are compared without the user's equality",
        module="collectives.discontinuity",
        text="~equality.same(before, items)",
        instead="(before != items).reshape(*items.shape[:3], -1).any(-1)",
        given=_SELECT,
    ),
    Fault(
        kernel="select_if",
        what="the first item of a later launch has nothing before it",
        module="collectives.agent_select",
        text="LoadedTiles(items, index, before, tiles.begins > 0)",
        instead="LoadedTiles(items, index, before, tiles.numbers > 0)",
        given=_SELECT,
    ),
    Fault(
        kernel="select_if",
        what="flags say something by their lowest bit alone",
        module="collectives.agent_select",
        text="self.predicate(self.flags[loaded.index])",
        instead="self.predicate(self.flags[loaded.index] & 1)",
        given={"flag_size_bytes": 1, "selection_impl": "Select"},
    ),
    Fault(
        kernel="select_if",
        what="a launch writes where the first one began",
        module="collectives.select_scatter",
        text="out[(found.previously + found.counts.places)[writes]]",
        instead="out[found.counts.places[writes]]",
        given=_SELECT,
    ),
    Fault(
        kernel="select_if",
        what="the first tile takes its own total for what is before it",
        module="collectives.selection_counts",
        text="before[0] = operator.identity()",
        instead="before[0] = totals[0]",
    ),
    Fault(
        kernel="select_if",
        what="what is past the end is written behind the last selected item",
        module="collectives.select_scatter",
        text="writes = found.flags & (found.counts.places < ends)",
        instead="writes = found.flags & (found.counts.places < out.shape[0] + 0 * ends)",
        given=_IN_PLACE,
    ),
    Fault(
        kernel="select_if",
        what="a tile writes past what the tiles before it have selected",
        module="collectives.shared_exchange",
        text="out[(begins.unsqueeze(-1) + place)[writes]]",
        instead="out[(counts.before.cumsum(0).unsqueeze(-1) + place)[writes]]",
        given=_IN_PLACE,
    ),
    Fault(
        kernel="select_if",
        what="rejected items of a tile are not in reverse",
        module="collectives.select_scatter",
        text="out.shape[0] - rejected_before - place - 1",
        instead="out.shape[0] - rejected_before - rejections + place",
        given=_PARTITION,
    ),
    Fault(
        kernel="select_if",
        what="rejected items are put back from the end of their tile",
        module="collectives.select_scatter",
        text="from_back = out.shape[0] -",
        instead="from_back = self.tiles.ends.unsqueeze(-1) -",
        given=_PARTITION,
    ),
    Fault(
        kernel="select_if",
        what="rejected items of a second output begin in each tile anew",
        module="collectives.select_scatter",
        text="rejected[(rejected_before + place)[is_rejected]]",
        instead="rejected[(0 * rejected_before + place)[is_rejected]]",
        given=_TWO_OUTPUTS,
    ),
    Fault(
        kernel="select_if",
        what="in shared memory selected items begin where the tile does",
        module="collectives.select_scatter",
        text="torch.where(self.flags, rejections + selected_in_tile, rejected_in_tile)",
        instead="torch.where(self.flags, selected_in_tile, rejected_in_tile)",
        given=_TWO_OUTPUTS,
    ),
    Fault(
        kernel="select_if",
        what="each launch of a partition is told that all before it was rejected",
        module="collectives.select_scatter",
        text="return self.previously + self.counts.before",
        instead="return self.counts.before",
        given={"offset_size_bytes": 8, **_PARTITION},
    ),
    Fault(
        kernel="unique_by_key",
        what="what fills up the last tile does not count as selected",
        module="unique_by_key",
        text="tiles.begins > 0) | ~exists",
        instead="tiles.begins > 0)",
    ),
    Fault(
        kernel="unique_by_key",
        what="the first pair of a tile is one more of what the tile before ended with",
        module="unique_by_key",
        text="flag_heads(loaded.keys, equality, before, tiles.begins > 0)",
        instead="flag_heads(loaded.keys, equality, loaded.keys[0, :, 0], tiles.begins > 0)",
    ),
    Fault(
        kernel="unique_by_key",
        what="values go with their neighbours' keys",
        module="unique_by_key",
        text="write_compacted(loaded.values,",
        instead="write_compacted(loaded.values.roll(1, 0),",
    ),
    Fault(
        kernel="unique_by_key",
        what="a tile writes what fills it up",
        module="collectives.shared_exchange",
        text="writes = place < selections.unsqueeze(-1)",
        instead="writes = place < counts.totals.unsqueeze(-1)",
    ),
    Fault(
        kernel="unique_by_key",
        what="threads count from the tile's begin, not from the launch's",
        module="collectives.selection_counts",
        text="prefixes = scan.seeded(before, known_early=False)",
        instead="prefixes = scan.seeded(0 * before, known_early=False)",
    ),
    Fault(
        kernel="unique_by_key",
        what="the first thread's first item has no predecessor in any tile",
        module="collectives.discontinuity",
        text="heads[0, :, 0] |= ~has_predecessor",
        instead="heads[0, :, 0] = True",
    ),
)
