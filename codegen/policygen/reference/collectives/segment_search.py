"""Several segments of a block, one behind the other: which one an item belongs to.

A block adds up the sizes of its segments, a thread each, as often as it has to. If they are all of one size, an item's
segment is a quotient (`bag_of_fixed_size_segments`); else it is the first segment that ends behind the item, found by
counting for a few segments, and by bisection for more (`statically_bound_bag_of_segments`). Steps of the bisection
depend on how many segments there may be, not on how many there are, so that it needs no branch.
"""

from __future__ import annotations

from typing import Final

import torch
from attrs import frozen
from torch import Tensor

from policygen.plan.counts import ceil_div
from policygen.reference.collectives.block_scan import block_scan
from policygen.reference.values.elements import ELEMENTS
from policygen.reference.values.operators import plus

COUNTED_BELOW: Final = 16
"""From so many possible segments on, an item's segment is found by bisection."""


@frozen(eq=False)
class BlockSegments:
    """The segments of blocks.

    Attributes:
        most: segments that a block may have.
        counts: segments that it has, [blocks].
        ends: where each ends, counted from the block's first item: [blocks, most]; nothing past the last one.
    """

    most: int
    counts: Tensor
    ends: Tensor

    @property
    def num_items(self) -> Tensor:
        """Items of each block, [blocks]."""
        return self.ends.gather(1, (self.counts - 1).unsqueeze(-1)).squeeze(-1)

    @property
    def are_alike(self) -> Tensor:
        """Whether all segments of a block are of one size, [blocks]."""
        number = torch.arange(self.most, device=self.ends.device)
        alike = self.ends == (number + 1) * self.ends[:, :1]
        return (alike | (number >= self.counts.unsqueeze(-1))).all(-1) & (self.num_items > 0)

    def located(self, blocks: Tensor, items: Tensor) -> tuple[Tensor, Tensor]:
        """Where items are.

        Args:
            blocks: whose they are, [blocks].
            items: counted from a block's first item: [..., blocks, threads].

        Returns:
            The number of their segment in its block, and their place in it; for items that do not exist, any.
        """
        ends = self.ends[blocks]
        counts, items = self.counts[blocks], items.contiguous()
        found = self._counted(ends, counts, items) if self.most < COUNTED_BELOW else self._bisected(ends, counts, items)
        size = ends[:, 0].clamp(min=1).unsqueeze(-1)
        segment = torch.where(self.are_alike[blocks].unsqueeze(-1), items // size, found)
        row = torch.arange(ends.shape[0], device=ends.device).unsqueeze(-1)
        begins = torch.cat([torch.zeros_like(ends[:, :1]), ends], dim=1)[row, segment.clamp(max=self.most)]
        return segment, items - begins

    def _counted(self, ends: Tensor, counts: Tensor, items: Tensor) -> Tensor:
        segment = torch.zeros_like(items)
        for number in range(self.most):
            segment += (number < counts).unsqueeze(-1) & (ends[:, number : number + 1] <= items)
        return segment

    def _bisected(self, ends: Tensor, counts: Tensor, items: Tensor) -> Tensor:
        segment = torch.zeros_like(items)
        row = torch.arange(ends.shape[0], device=ends.device).unsqueeze(-1)
        step = (1 << (self.most - 1).bit_length()) >> 1
        while step > 0:
            last = segment + step - 1
            is_past = (last < counts.unsqueeze(-1)) & (ends[row, last.clamp(max=self.most - 1)] <= items)
            segment = segment + is_past * step
            step >>= 1
        return segment


def block_segments(lengths: Tensor, counts: Tensor, *, threads: int, algorithm: str, warp_size: int) -> BlockSegments:
    """Adds up the sizes of segments.

    Args:
        lengths: of the segments of each block, [blocks, most]; 0 past the last one.
        counts: segments of each block, [blocks], at least 1.
        threads: of a block.
        algorithm: enumerator of `BlockScanAlgorithm`.
        warp_size: lanes of a warp.
    """
    operator = plus(ELEMENTS["int64"])
    blocks, most = lengths.shape
    ends = operator.element.unset(blocks, most, device=lengths.device)
    before = operator.filled(blocks, device=lengths.device)
    for chunk in range(ceil_div(int(counts.amax()), threads)):
        number = chunk * threads + torch.arange(threads, device=lengths.device)
        exists = number < counts.unsqueeze(-1)
        own = torch.where(exists, lengths[:, number.clamp(max=most - 1)], 0)
        found = block_scan(own, operator, algorithm, warp_size)
        inclusive = operator.combine(found.seeded(before, known_early=False), own)
        place = torch.nonzero(exists, as_tuple=True)
        ends[place[0], number[place[1]]] = inclusive[exists]
        before = operator.combine(before, found.aggregate)
    return BlockSegments(most, counts, ends)
