"""What one block does with its share of a reduction (`cub::detail::reduce::AgentReduce`).

Each thread holds `items_per_thread` items of a tile in registers and one aggregate of all its tiles; a tile costs no
shared memory. A full tile is loaded striped: thread t takes items t, t + threads, ... of the tile, or, where loads are
vectorised, `vec_size` neighbours at t * vec_size, (t + threads) * vec_size, ... So a reduction does not keep the order
of its input, and its operator has to be commutative. A tile that is not full is read one item at a time. In the end
the block reduces the aggregates of its threads.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from attrs import evolve
from attrs import frozen
from torch import Tensor

from policygen.plan.counts import ceil_div
from policygen.plan.even_share import EvenShare
from policygen.reference.collectives.block_reduce import block_additions
from policygen.reference.collectives.block_reduce import block_reduce
from policygen.reference.collectives.thread_reduce import order_of
from policygen.reference.collectives.thread_reduce import thread_additions
from policygen.reference.collectives.thread_reduce import thread_reduce
from policygen.reference.contract.tile_log import TileLog
from policygen.reference.values.operators import Operator

_LARGEST_VECTORISED = 8


@frozen
class AgentReduce:
    """A block of a reduction.

    Attributes:
        threads: threads of a block.
        items: items of a thread in a full tile.
        vector: items of a load; 1 for loads one by one.
        algorithm: enumerator of `BlockReduceAlgorithm`.
        operator: how two items are combined.
        warp_size: lanes of a warp.
        capability: compute capability x 10; None for hardware without one.
    """

    threads: int
    items: int
    vector: int
    algorithm: str
    operator: Operator
    warp_size: int
    capability: int | None

    @property
    def tile_items(self) -> int:
        """Items of a full tile."""
        return self.threads * self.items

    def unvectorised(self) -> AgentReduce:
        """The same for an input whose address is no multiple of a vector's size."""
        return evolve(self, vector=1)

    def tile_offsets(self) -> Tensor:
        """Which item of a full tile a thread has at each place in its registers: int64 [items, threads]."""
        place = torch.arange(self.items).unsqueeze(-1)
        thread = torch.arange(self.threads)
        return (place // self.vector * self.threads + thread) * self.vector + place % self.vector

    def consume(self, values: Tensor, begins: Tensor, name: str, log: TileLog, arrival: Tensor | None = None) -> Tensor:
        """Reduces the tiles of all blocks of a grid.

        Args:
            values: the input, [num_items, *element.trailing].
            begins: where each block's tiles begin, one column a block: int64 [rounds, blocks]. A tile that begins past
                the input does not exist.
            name: of the kernel, for the log.
            log: notes the tiles.
            arrival: see `block_reduce`.

        Returns:
            What thread 0 of each block has in the end: [blocks, *element.trailing].
        """
        record_tiles(begins, values.shape[0], self.tile_items, name, log)
        rounds, blocks = begins.shape
        num_items, device = values.shape[0], values.device
        offsets = self.tile_offsets().to(device)
        aggregates = self.operator.element.unset(blocks, self.threads, device=device)
        valid = torch.full((blocks,), self.threads, device=device)
        for tile in range(rounds):
            full = torch.nonzero(begins[tile] + self.tile_items <= num_items).squeeze(-1)
            if full.numel():
                index = begins[tile, full].to(device).unsqueeze(-1) + offsets.unsqueeze(1)
                items = values[index]
                if tile > 0:
                    items = torch.cat([aggregates[full].unsqueeze(0), items])
                order = order_of(self.operator, items.shape[0], self.capability)
                aggregates[full] = thread_reduce(items, self.operator, order, capability=self.capability)
        # one block at most has a tile that is not full, and it is the block's last one
        for tile, block in torch.nonzero((begins < num_items) & (begins + self.tile_items > num_items)).tolist():
            begin = int(begins[tile, block])
            aggregates[block] = self._partial_tile(values[begin:], aggregates[block], is_first=tile == 0)
            if tile == 0:
                valid[block] = min(self.threads, num_items - begin)
        return block_reduce(aggregates, self.operator, self.algorithm, self.warp_size, valid, arrival)

    def _partial_tile(self, values: Tensor, aggregate: Tensor, *, is_first: bool) -> Tensor:
        """Thread t takes items t, t + threads, ... as long as there are any."""
        thread = torch.arange(self.threads, device=values.device)
        for step in range(ceil_div(values.shape[0], self.threads)):
            index = step * self.threads + thread
            exists = index < values.shape[0]
            item = values[index.clamp(max=values.shape[0] - 1)]
            if not (is_first and step == 0):
                item = self.operator.combine(aggregate, item)
            aggregate = self.operator.element.select(exists, item, aggregate)
        return aggregate

    def additions(self, rounds: int) -> int:
        """The most combinations that an item passes through in a block of so many tiles."""
        first = thread_additions(self.items, order_of(self.operator, self.items, self.capability))
        longer = thread_additions(self.items + 1, order_of(self.operator, self.items + 1, self.capability))
        # the last tile may be a partial one, with an addition for each item
        in_thread = first + max(0, rounds - 1) * longer + self.items
        return in_thread + block_additions(self.threads, self.algorithm, self.warp_size)


def agent_of(policy: Mapping[str, Any], operator: Operator, warp_size: int, capability: int | None) -> AgentReduce:
    """The agent of a `ReducePassPolicy`.

    Loads are vectorised only where the vector is more than an item, divides the items of a thread, and the element
    has 8 bytes at most (ATTEMPT_VECTORIZATION).

    Raises:
        ValueError: the operator does not commute, and striped loads do not keep the order of items.
    """
    if not operator.commutative:
        raise ValueError(
            f"{operator} does not commute: a reduction with striped loads does not keep the order of items"
        )
    items = policy["items_per_thread"]
    vector = min(items, policy["vec_size"])
    if vector < 1 or items % vector or operator.element.size > _LARGEST_VECTORISED:
        vector = 1
    return AgentReduce(
        policy["threads_per_block"], items, vector, policy["reduce_algorithm"], operator, warp_size, capability
    )


def strip_mined(share: EvenShare) -> Tensor:
    """Where tiles begin if a block's tiles are a whole grid apart: int64 [rounds, blocks] (GRID_MAPPING_STRIP_MINE)."""
    blocks = [share.strip_mine(block) for block in range(share.grid)]
    rounds = max(block.num_tiles for block in blocks)
    first = torch.tensor([block.block_offset for block in blocks])
    return first + torch.arange(rounds).unsqueeze(-1) * blocks[0].block_stride


def consecutive(num_items: int, tile_items: int) -> Tensor:
    """Where tiles begin if one block takes all of them: int64 [rounds, 1]."""
    return torch.arange(0, num_items, tile_items).unsqueeze(-1)


def record_tiles(begins: Tensor, num_items: int, tile_items: int, name: str, log: TileLog) -> None:
    """Notes the tiles that begin at these places: a column is a block; none begins past the input."""
    blocks = torch.arange(begins.shape[1]).expand_as(begins)
    exist = begins < num_items
    begin = begins[exist]
    log.record_all(name, blocks[exist], begin, (begin + tile_items).clamp(max=num_items))
