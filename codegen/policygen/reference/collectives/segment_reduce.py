"""Segments reduced by groups of threads: a block, a part of a warp or one thread for each (`AgentReduceImpl`).

A group goes through its segment tile by tile, a tile being its threads x their items: full ones in the order of
`collectives.agent_reduce`, then what is left one item after the other. In the end its threads' aggregates are reduced;
of a segment shorter than a tile only as many threads as there are items have one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from attrs import frozen
from torch import Tensor

from policygen.plan.counts import ceil_div
from policygen.reference.collectives.agent_reduce import AgentReduce
from policygen.reference.collectives.agent_reduce import agent_of
from policygen.reference.collectives.block_reduce import WARP_REDUCTIONS
from policygen.reference.collectives.block_reduce import block_reduce
from policygen.reference.collectives.regions import Regions
from policygen.reference.collectives.thread_reduce import order_of
from policygen.reference.collectives.thread_reduce import thread_reduce
from policygen.reference.contract.tile_log import TileLog
from policygen.reference.values.operators import Operator


@frozen
class Groups:
    """How the blocks of a launch share segments.

    Attributes:
        name: what segments they are for.
        agent: a group of threads: what it does with its segment.
        per_block: segments from the first one of a block to the first one of the next.
        reached: segments that the threads launched come to, from a block's first on.
    """

    name: str
    agent: AgentReduce
    per_block: int
    reached: int

    @property
    def tile_items(self) -> int:
        """Items of a full tile."""
        return self.agent.tile_items


def block_groups(policy: Mapping[str, Any], operator: Operator, warp_size: int, capability: int | None) -> Groups:
    """A block for each segment, by a `ReducePassPolicy`."""
    return Groups("large", agent_of(policy, operator, warp_size, capability), 1, 1)


def warp_groups(
    name: str, policy: Mapping[str, Any], operator: Operator, launched: int, capability: int | None
) -> Groups:
    """A part of a warp for each segment, by a `SegmentedReduceWarpReducePolicy`.

    Args:
        name: what segments they are for.
        policy: says how many threads a part has, and how many a block.
        operator: how two items are combined.
        launched: threads of a block as it is launched.
        capability: compute capability x 10; None for hardware without one.
    """
    threads = policy["threads_per_warp"]
    # a block of one warp reduces as this warp does
    alone = {**policy, "threads_per_block": threads, "reduce_algorithm": WARP_REDUCTIONS}
    agent = agent_of(alone, operator, threads, capability)
    return Groups(name, agent, policy["threads_per_block"] // threads, launched // threads)


@frozen(eq=False)
class Launches:
    """Segments that one kernel reduces.

    Attributes:
        name: for the log.
        groups: who reduces each.
        most: segments of a launch at most.
        numbers: of the segments, [segments].
        segments: where they are.
    """

    name: str
    groups: Groups
    most: int
    numbers: Tensor
    segments: Regions

    @property
    def blocks(self) -> Tensor:
        """Which block of its launch each is for, [segments]."""
        return self.numbers % self.most // self.groups.per_block

    @property
    def is_reached(self) -> Tensor:
        """Which segments a block has threads for, [segments]."""
        return self.numbers % self.most % self.groups.per_block < self.groups.reached

    def record(self, log: TileLog) -> None:
        """Notes the tiles of all segments."""
        reached = self.is_reached
        tiles = self.segments.chosen(reached).tiles(self.groups.tile_items)
        log.record_all(self.name, self.blocks[reached][tiles.blocks], tiles.begins, tiles.ends)

    def reduced(self, values: Tensor, is_aligned: Tensor, empty: Tensor) -> Tensor:
        """The aggregate of each segment, [segments, *trailing].

        Args:
            values: memory with all of them.
            is_aligned: whether a segment may be loaded by vectors, [segments].
            empty: what an empty one has.
        """
        out = self.groups.agent.operator.element.unset(self.segments.blocks, device=values.device)
        reached, filled = self.is_reached, self.segments.num_items > 0
        out[reached & ~filled] = empty
        own = reached & filled
        out[own] = reduce_segments(values, self.segments.chosen(own), self.groups.agent, is_aligned[own])
        return out


def reduce_segments(values: Tensor, segments: Regions, agent: AgentReduce, is_aligned: Tensor) -> Tensor:
    """Reduces segments, each by a group of threads of its own.

    Args:
        values: memory with all of them, [n, *element.trailing].
        segments: none of them empty.
        agent: what a group does.
        is_aligned: whether a segment begins at an address that vectors may have, [segments].

    Returns:
        [segments, *element.trailing].
    """
    operator, tile, threads = agent.operator, agent.tile_items, agent.threads
    full_tiles = segments.num_items // tile
    aggregates = operator.element.unset(segments.blocks, threads, device=values.device)
    if segments.blocks == 0:
        return aggregates[:, 0]
    vectors, stripes = (one.tile_offsets().to(values.device).unsqueeze(1) for one in (agent, agent.unvectorised()))
    for number in range(int(full_tiles.amax())):
        own = torch.nonzero(full_tiles > number).squeeze(-1)
        places = torch.where(is_aligned[own].reshape(1, -1, 1), vectors, stripes)
        items = values[(segments.begins[own] + number * tile).reshape(1, -1, 1) + places]
        if number > 0:
            items = torch.cat([aggregates[own].unsqueeze(0), items])
        order = order_of(operator, items.shape[0], agent.capability)
        aggregates[own] = thread_reduce(items, operator, order, capability=agent.capability)
    aggregates = _rest(values, segments, agent, full_tiles, aggregates)
    valid = torch.where(full_tiles > 0, threads, segments.num_items.clamp(max=threads))
    return block_reduce(aggregates, operator, agent.algorithm, agent.warp_size, valid)


def _rest(values: Tensor, segments: Regions, agent: AgentReduce, full_tiles: Tensor, aggregates: Tensor) -> Tensor:
    """What full tiles leave: thread t takes items t, t + threads, ... as long as there are any."""
    operator = agent.operator
    begins = segments.begins + full_tiles * agent.tile_items
    thread = torch.arange(agent.threads, device=values.device)
    for step in range(ceil_div(int((segments.ends - begins).amax()), agent.threads)):
        index = begins.unsqueeze(-1) + step * agent.threads + thread
        exists = index < segments.ends.unsqueeze(-1)
        item = values[index.clamp(max=values.shape[0] - 1)]
        is_first = (full_tiles == 0).unsqueeze(-1) & (thread >= 0) & (step == 0)
        item = operator.element.select(is_first, item, operator.combine(aggregates, item))
        aggregates = operator.element.select(exists, item, aggregates)
    return aggregates
