"""Tiles copied into shared memory past the registers, as the transform kernels of `cp.async` and bulk copies do it.

Copies move multiples of 16 bytes from addresses that are a multiple of 16 (cp.async, and bulk copies from capability
10.0 on) or of 128 bytes (bulk copies on 9.x). A tile's first element need not lie at such an address, so an input is
described by the aligned address before it and the bytes between (head padding).

- Inner blocks (neither the first nor one of the last two) copy from the aligned address on, rounded up to whole 16
  bytes: what they read too much belongs to the same array.
- The others must not read past the array. They copy what is aligned, and the bytes before and after it, fewer than an
  alignment each, one by one, a thread a byte.

Head padding is kept in shared memory, so that an element is as well aligned there as it is in global memory.

Upstream reserves shared memory for `cp.async` by another formula than the one by which its outer blocks lay tiles out:
from two inputs of more than 8 bytes on, the last tile of block 0 reaches past the end, by 16 bytes with two inputs of
16 (CCCL 3.5). Here shared memory is as large as it is used; `cp_async_bytes` is upstream's figure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import torch
from attrs import frozen
from torch import Tensor

from policygen.plan.counts import round_up
from policygen.reference.values.memory import Array

GRANULE: Final = 16
"""Bytes of a `cp.async`; a bulk copy's are a multiple of it."""

_UNSET: Final = 0xA5


@frozen
class CopyRules:
    """How tiles are copied.

    Attributes:
        alignment: of global addresses, in bytes.
        is_bulk: one bulk copy a tile, else `cp.async` of 16 bytes a thread.
    """

    alignment: int
    is_bulk: bool


@frozen(eq=False)
class Staged:
    """The tiles of some blocks in shared memory.

    Attributes:
        operands: of each input, the tile's elements by bytes: uint8 [blocks, tile_items, size]. What is past the valid
            items of a tile has no meaning.
        misaligned: copies whose address was not a multiple of the alignment.
    """

    operands: tuple[Tensor, ...]
    misaligned: int


def cp_async_bytes(inputs: Sequence[Array], tile_items: int) -> int:
    """Dynamic shared memory that upstream reserves for `cp.async` (`memcpy_async_dyn_smem_for_tile_size`)."""
    total = 0
    for x in inputs:
        total = round_up(total, max(x.alignment, GRANULE)) + x.size * tile_items + 2 * max(GRANULE - x.size, 0)
    return total


def bulk_copy_bytes(inputs: Sequence[Array], tile_items: int, alignment: int) -> int:
    """The same for bulk copies, the barrier included (`bulk_copy_dyn_smem_for_tile_size`)."""
    padding = max([alignment, *(x.alignment for x in inputs)])
    return padding + sum(padding + x.size * tile_items for x in inputs)


def staged(inputs: Sequence[Array], begins: Tensor, valid: Sequence[int], tile_items: int, rules: CopyRules) -> Staged:
    """Copies the tiles of all blocks of a grid.

    Args:
        inputs: the arrays.
        begins: the first item of each block's tile: int64 [blocks], on the CPU.
        valid: items of each block's tile.
        tile_items: items of a whole tile.
        rules: how to copy.
    """
    blocks = len(valid)
    shared = [_Shared(x, tile_items, rules, blocks) for x in inputs]
    inner = torch.arange(1, max(1, blocks - 2))
    outer = [block for block in range(blocks) if block == 0 or block + 2 >= blocks]
    for one in shared:
        if inner.numel():
            one.copy_whole(inner, begins[inner])
        for block in outer:
            one.copy_within(block, int(begins[block]), valid[block])
    return Staged(tuple(one.elements() for one in shared), sum(one.misaligned for one in shared))


class _Shared:
    """The part of each block's shared memory that holds one input's tile."""

    def __init__(self, array: Array, tile_items: int, rules: CopyRules, blocks: int) -> None:
        self._array = array
        self._tile_items = tile_items
        self._rules = rules
        self._head = array.address % rules.alignment
        # a type that is aligned as well as the copies are has no head
        assert array.alignment < rules.alignment or self._head == 0
        size = self._head + array.size * tile_items + rules.alignment + GRANULE
        self._bytes = torch.full((blocks, size), _UNSET, dtype=torch.uint8, device=array.memory.device)
        self.misaligned = 0

    def copy_whole(self, blocks: Tensor, begins: Tensor) -> None:
        """Whole tiles, from the aligned address on."""
        count = round_up(self._head + self._array.size * self._tile_items, GRANULE)
        sources = self._array.address - self._head + begins * self._array.size
        self.misaligned += int((sources % self._rules.alignment != 0).sum())
        device = self._bytes.device
        index = sources.unsqueeze(-1).to(device) + torch.arange(count, device=device)
        self._bytes[blocks.to(device), :count] = self._array.memory[index]

    def copy_within(self, block: int, begin: int, valid: int) -> None:
        """A tile of a block at an edge: nothing outside of it is read."""
        source, count = self._array.address + begin * self._array.size, valid * self._array.size
        memory, shared = self._array.memory, self._bytes[block]
        if count < self._rules.alignment:
            shared[self._head : self._head + count] = memory[source : source + count]
            return
        before = -self._head % self._rules.alignment
        after = (count - before) % GRANULE
        whole = count - before - after
        self.misaligned += int(whole > 0 and (source + before) % self._rules.alignment != 0)
        for start, length in ((before, whole), (0, before), (count - after, after)):
            at = self._head + start
            shared[at : at + length] = memory[source + start : source + start + length]

    def elements(self) -> Tensor:
        """The tile's elements by bytes: uint8 [blocks, tile_items, size]."""
        end = self._head + self._tile_items * self._array.size
        return self._bytes[:, self._head : end].reshape(len(self._bytes), self._tile_items, self._array.size)
