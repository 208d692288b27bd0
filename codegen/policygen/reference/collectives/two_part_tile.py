"""The items of a tile that come from two sequences, in shared memory, in one of two layouts.

- One after the other, item by item (`gmem_to_reg`, `reg_to_shared`).
- By bulk copies (`cub::detail::BlockLoadToShared`), each sequence in a buffer of its own at either end of the tile's
  memory. A bulk copy moves multiples of 16 bytes between addresses that are multiples of 16, so items begin as many
  bytes after 16 in their buffer as they do in global memory (head padding), and the bytes in front of the first such
  address and behind the last one are copied by a thread each.

So a place in shared memory says which item it is only together with the layout, and items of another size have another.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final
from typing import TypeAlias

import torch
from attrs import frozen
from torch import Tensor

from policygen.plan.counts import round_up
from policygen.reference.collectives.merge_path import Span

GRANULE: Final = 16
"""Bytes of the least bulk copy, and what its addresses are multiples of."""


@frozen(eq=False)
class TwoParts:
    """A layout, for each tile.

    Attributes:
        size: places that a tile has.
        begin1: where its items of the first sequence begin, [tiles].
        begin2: where those of the second one do.
        source: which item each place holds, [tiles, size]; -1 for none.
    """

    size: int
    begin1: Tensor
    begin2: Tensor
    source: Tensor

    @property
    def distance(self) -> Tensor:
        """From the first item of the first sequence to that of the second one, [tiles]."""
        return self.begin2 - self.begin1

    def loaded(self, memory: Tensor) -> Tensor:
        """Shared memory of all tiles, one after the other; what no copy brought is some other item."""
        return memory[self.source.flatten()]

    def of_others(self, place: Tensor, other: TwoParts) -> Tensor:
        """Where items are that lie at some places of another layout.

        Args:
            place: from the first item of the first sequence on, [tiles, ...].
            other: that layout.

        Returns:
            In the memory of all tiles.
        """
        moved = torch.where(place >= other.distance.unsqueeze(-1), (self.distance - other.distance).unsqueeze(-1), 0)
        first = (self.firsts() + self.begin1).unsqueeze(-1)
        return (first + place + moved).clamp(0, self.source.numel() - 1)

    def firsts(self) -> Tensor:
        """Where each tile's memory begins, [tiles]."""
        return torch.arange(self.begin1.shape[0], device=self.begin1.device) * self.size


def consecutive_parts(first: Span, second: Span, tile_items: int) -> TwoParts:
    """One after the other.

    Args:
        first: what each tile has of the first sequence, in memory: [tiles].
        second: what it has of the second one.
        tile_items: items of a full tile; shared memory has room for one more.
    """
    begin1 = torch.zeros_like(first.begin)
    return _parts(tile_items + 1, first, second, begin1, first.count, _one_by_one, _one_by_one)


def bulk_copied_parts(
    first: Span, second: Span, tile_items: int, *, threads: int, size: int, address1: Tensor, address2: Tensor
) -> TwoParts:
    """By bulk copies.

    Args:
        first: what each tile has of the first sequence, in memory: [tiles].
        second: what it has of the second one.
        tile_items: items of a full tile.
        threads: of a block.
        size: bytes of an item, a power of two, at most 16, and what it is aligned to.
        address1: of each tile's first item of the first sequence, in bytes: [tiles].
        address2: of its first item of the second one.
    """
    padding = GRANULE if size < GRANULE else 0
    total = round_up((tile_items + 1) * size, GRANULE) + 3 * padding
    buffer2 = (second.count * size + GRANULE - 1) // GRANULE * GRANULE + torch.where(second.count > 0, padding, 0)
    begin1 = address1 % GRANULE // size
    begin2 = (total - buffer2 + address2 % GRANULE) // size
    copies1, copies2 = (partial(_in_bulk, size, threads, address) for address in (address1, address2))
    return _parts(total // size, first, second, begin1, begin2, copies1, copies2)


Copies: TypeAlias = Callable[[Tensor, Tensor], Tensor]
"""Which items are copied, [tiles, places], of how many, [tiles]."""


def _one_by_one(item: Tensor, count: Tensor) -> Tensor:
    return (item >= 0) & (item < count.unsqueeze(-1))


def _in_bulk(size: int, threads: int, address: Tensor, item: Tensor, count: Tensor) -> Tensor:
    """A head of less than a granule, whole granules, and a tail."""
    all_bytes = count * size
    head = torch.minimum(-address % GRANULE, all_bytes)
    bulk = (all_bytes - head) // GRANULE * GRANULE
    begin, end = item * size, (item + 1) * size
    head, bulk, all_bytes = (part.unsqueeze(-1) for part in (head, bulk, all_bytes))
    is_bulk = (begin >= head) & (end <= head + bulk)
    # a thread for each byte of the head, further ones for those of the tail
    has_thread = torch.where(end <= head, end, end - bulk) <= threads
    return (begin >= 0) & (end <= all_bytes) & (is_bulk | has_thread)


def _parts(
    size: int, first: Span, second: Span, begin1: Tensor, begin2: Tensor, copies1: Copies, copies2: Copies
) -> TwoParts:
    place = torch.arange(size, device=begin1.device)
    item1, item2 = place - begin1.unsqueeze(-1), place - begin2.unsqueeze(-1)
    holds1, holds2 = copies1(item1, first.count), copies2(item2, second.count)
    if bool((holds1 & holds2).any()):
        raise ValueError("the parts of a tile overlap in shared memory")
    source = torch.where(holds1, first.begin.unsqueeze(-1) + item1, -1)
    source = torch.where(holds2, second.begin.unsqueeze(-1) + item2, source)
    return TwoParts(size, begin1, begin2, source)
