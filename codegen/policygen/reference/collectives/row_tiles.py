"""How kernels over rows of numbers take them: tiles of `threads` x `items`, by vectors where rows allow it.

They take the `vectorized` policy of a transform, whatever algorithm the policy prefers: a kernel that reads a row
twice, or two halves of it at once, is none of CUB's, and copies nothing into shared memory.

A vector may not cross the end of a row, and every row has to begin at a multiple of it. So it is the widest power of
two, up to the policy's, that divides the numbers of a row and the distance of rows. Where a pointer is not aligned to
that, numbers are taken one by one. Items of a thread are fewer where a row, or all of them, would leave threads idle
(`spread_out_items_per_thread`), and always whole vectors.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from typing import Final

import torch
from attrs import frozen
from torch import Tensor

from policygen.plan.counts import ceil_div
from policygen.plan.counts import round_up
from policygen.plan.residency import Residency
from policygen.plan.transform_plan import ItemBounds
from policygen.plan.transform_plan import spread_out_items_per_thread
from policygen.reference.collectives.arrangement import striped_vectors
from policygen.reference.contract.sizes import LAST_TILES
from policygen.reference.contract.tile_log import TileLog

MISALIGNED: Final = "misaligned accesses"
"""An output of these kernels: how many there were. On the device they are faults."""

NOT_USED: Final = dict.fromkeys(("prefetch", "async_copy"), "kernels over rows take the vectorised policy")
"""Parts of a transform's policy that bound nothing here."""


@frozen
class RowTile:
    """A tile of a block.

    Attributes:
        threads: threads of a block.
        items: numbers of a thread.
        vector: numbers of an access.
    """

    threads: int
    items: int
    vector: int

    @property
    def tile_items(self) -> int:
        """Numbers of a tile."""
        return self.threads * self.items

    def begins(self, num_items: int, first: int = 0) -> Tensor:
        """Where tiles begin, from a tile on: int64 [tiles]."""
        return torch.arange(first * self.tile_items, num_items, self.tile_items)

    def first_of_last(self, num_items: int) -> int:
        """The first of the last tiles, where nothing is loaded and they stand for all."""
        return max(0, ceil_div(num_items, self.tile_items) - LAST_TILES)

    def index(self, begins: Tensor) -> Tensor:
        """The numbers that each thread has at each place of its registers: int64 [tiles, items, threads]."""
        return begins.reshape(-1, 1, 1) + striped_vectors(self.threads, self.items, self.vector).to(begins.device)

    def misaligned(self, places: Tensor, exists: Tensor) -> Tensor:
        """How many accesses of vectors do not begin at a multiple of one, or are not all there.

        Args:
            places: in memory, [..., items, threads].
            exists: which are read or written, of the same shape.
        """
        vectors = (*places.shape[:-2], self.items // self.vector, self.vector, places.shape[-1])
        by_vector, there = places.reshape(vectors), exists.reshape(vectors)
        first = by_vector[..., 0, :]
        step = torch.arange(self.vector, device=places.device).unsqueeze(-1)
        in_one = (by_vector == first.unsqueeze(-2) + step).all(-2) & (there.all(-2) | ~there.any(-2))
        return (there.any(-2) & ~(in_one & (first % self.vector == 0))).sum()

    def record(self, blocks: Tensor | int, begins: Tensor, num_items: int, kernel: str, log: TileLog) -> None:
        """Notes tiles."""
        log.record_all(kernel, blocks, begins, (begins + self.tile_items).clamp(max=num_items))


def row_vector(widest: int, distances: Sequence[int], starts: Sequence[int]) -> int:
    """Numbers of an access.

    Args:
        widest: at most.
        distances: what a vector has to divide: numbers of a row, and from one row to the next.
        starts: where pointers point to; if one of them is no multiple of the vector, numbers are taken one by one.
    """
    vector = widest
    while any(distance % vector for distance in distances):
        vector //= 2
    return vector if all(start % vector == 0 for start in starts) else 1


def row_tile(policy: Mapping[str, Any], num_items: int, vector: int, residency: Residency) -> RowTile:
    """The tile of a kernel.

    Args:
        policy: `TransformVectorizedPolicy`.
        num_items: numbers to spread over the threads.
        vector: numbers of an access; divides the items of the policy.
        residency: of the device; of one block, where it works alone.
    """
    threads, most = policy["threads_per_block"], policy["items_per_thread"]
    items = spread_out_items_per_thread(
        num_items,
        threads_per_block=threads,
        items_per_thread=most,
        residency=residency,
        bounds=ItemBounds(1, most),
    )
    return RowTile(threads, round_up(items, vector), vector)
