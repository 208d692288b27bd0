"""A reduction of a whole grid with the same result in every run, for operators of any kind (`dispatch_reduce.cuh`).

One block takes everything if it is one tile of the single-tile policy; else whole tiles are dealt to the blocks of a
first pass, strip-mined, and one block reduces their results, and puts the initial value before them. What a block does
is `collectives.agent_reduce`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import torch
from attrs import frozen
from torch import Tensor

from policygen.model.record import Record
from policygen.plan.counts import ceil_div
from policygen.plan.even_share import EvenShare
from policygen.plan.reduce_plan import ReducePlan
from policygen.plan.reduce_plan import reduce_plan
from policygen.plan.residency import Residency
from policygen.reference.collectives.agent_reduce import AgentReduce
from policygen.reference.collectives.agent_reduce import agent_of
from policygen.reference.collectives.agent_reduce import consecutive
from policygen.reference.collectives.agent_reduce import record_tiles
from policygen.reference.collectives.agent_reduce import strip_mined
from policygen.reference.contract.sizes import LAST_TILES
from policygen.reference.contract.tile_log import TileLog
from policygen.reference.values.operators import Operator

FIRST_PASS: Final = "DeviceReduceKernel"
SINGLE_TILE: Final = "DeviceReduceSingleTileKernel"
SECOND_PASS: Final = "DeviceReduceSingleTileKernel of partial results"


@frozen
class GridReduce:
    """A reduction.

    Attributes:
        policy: a `ReducePolicy`.
        operator: how two items are combined.
        warp_size: lanes of a warp.
        capability: compute capability x 10; None for hardware without one.
        max_blocks: the most blocks of the first pass.
    """

    policy: Record
    operator: Operator
    warp_size: int
    capability: int | None
    max_blocks: int

    def plan(self, num_items: int) -> ReducePlan:
        """How so many items are reduced."""
        single, multi = self.policy.single_tile, self.policy.multi_tile
        return reduce_plan(
            num_items,
            determinism="run_to_run",
            single_tile_items=single.threads_per_block * single.items_per_thread,
            multi_tile_items=multi.threads_per_block * multi.items_per_thread,
            accum_size=self.operator.element.size,
            residency=Residency(sm_count=1, occupancy=1, subscription_factor=self.max_blocks),
        )

    def total(self, values: Tensor, initial: Tensor, log: TileLog) -> Tensor:
        """Reduces items.

        Args:
            values: [num_items, *element.trailing].
            initial: one element, which comes before them.
            log: notes the tiles.

        Returns:
            One element.
        """
        plan = self.plan(values.shape[0])
        if values.shape[0] == 0:
            return initial
        if plan.single_tile:
            return self._one_block(values, initial, SINGLE_TILE, log)
        begins = strip_mined(self._share(values.shape[0]))
        partials = self._agent(self.policy.multi_tile).consume(values, begins, FIRST_PASS, log)
        return self._one_block(partials, initial, SECOND_PASS, log)

    def record_last(self, num_items: int, log: TileLog) -> None:
        """Notes the last tiles of the first pass, and loads nothing."""
        share = self._share(num_items)
        first = self._first_noted_round(num_items)
        blocks = [share.strip_mine(block) for block in range(share.grid)]
        rounds = torch.arange(first, blocks[0].num_tiles).unsqueeze(-1)
        begins = torch.tensor([block.block_offset for block in blocks]) + rounds * blocks[0].block_stride
        record_tiles(begins, num_items, share.tile_items, FIRST_PASS, log)

    def last_covered(self, num_items: int) -> Mapping[str, range]:
        """What these have to cover."""
        share = self._share(num_items)
        return {FIRST_PASS: range(self._first_noted_round(num_items) * share.grid * share.tile_items, num_items)}

    def coverage(self, num_items: int) -> Mapping[str, int]:
        """What the tiles of each kernel have to cover."""
        plan = self.plan(num_items)
        return {SINGLE_TILE: num_items} if plan.single_tile else {FIRST_PASS: num_items, SECOND_PASS: plan.partials}

    def combinations(self, num_items: int) -> int:
        """The most combinations that an item passes through, that with the initial value included."""
        plan = self.plan(num_items)
        second = self._agent(self.policy.single_tile)
        if plan.single_tile:
            return second.additions(1) + 1
        share = self._share(num_items)
        rounds = ceil_div(share.total_tiles, share.grid)
        after = second.additions(ceil_div(plan.partials, second.tile_items))
        return self._agent(self.policy.multi_tile).additions(rounds) + after + 1

    def _share(self, num_items: int) -> EvenShare:
        share = self.plan(num_items).share
        assert share is not None
        return share

    def _first_noted_round(self, num_items: int) -> int:
        share = self._share(num_items)
        return max(0, ceil_div(share.total_tiles, share.grid) - ceil_div(LAST_TILES, share.grid))

    def _agent(self, policy: Record) -> AgentReduce:
        return agent_of(policy, self.operator, self.warp_size, self.capability)

    def _one_block(self, values: Tensor, initial: Tensor, name: str, log: TileLog) -> Tensor:
        agent = self._agent(self.policy.single_tile)
        (aggregate,) = agent.consume(values, consecutive(values.shape[0], agent.tile_items), name, log)
        return self.operator.combine(initial, aggregate)
