"""Keys and values of sequences in pages: blocks of some tokens, anywhere in memory, found by a table for each sequence.

Token t of a sequence is in slot t % block_tokens of the physical block tables[sequence, t // block_tokens]. Slots that
no token has been written to hold NaN, and the entries of a table past its sequence are no blocks: who looks at them
gets NaN, or an IndexError.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import torch
from attrs import frozen
from torch import Tensor

from policygen.plan.counts import ceil_div

NO_BLOCK: Final = 2**31 - 1
"""What a table has where there is no block."""

_SPARE_BLOCKS: Final = 3


@frozen(eq=False)
class PagedCache:
    """Keys and values.

    Attributes:
        keys: [blocks, block_tokens, heads, d].
        values: of the same shape.
        tables: physical blocks of each sequence, int64 [sequences, most blocks of one].
    """

    keys: Tensor
    values: Tensor
    tables: Tensor

    @property
    def block_tokens(self) -> int:
        """Tokens of a block."""
        return self.keys.shape[1]

    def places(self, sequences: Tensor, tokens: Tensor, exists: Tensor) -> tuple[Tensor, Tensor]:
        """Physical block and slot of some tokens; of what does not exist, the table is not read.

        Args:
            sequences: [rows].
            tokens: [rows, n].
            exists: [rows, n].
        """
        logical = torch.where(exists, tokens // self.block_tokens, 0)
        block = torch.zeros_like(tokens)
        row, place = torch.nonzero(exists, as_tuple=True)
        block[row, place] = self.tables[sequences[row], logical[row, place]]
        return block, torch.where(exists, tokens % self.block_tokens, 0)


def paged(
    keys: Sequence[Tensor], values: Sequence[Tensor], block_tokens: int, random: torch.Generator, device: str
) -> PagedCache:
    """Puts sequences into pages, in any order.

    Args:
        keys: of each sequence, [tokens, heads, d].
        values: the same.
        block_tokens: tokens of a block.
        random: chooses the blocks.
        device: where they are to be.
    """
    counts = [ceil_div(one.shape[0], block_tokens) for one in keys]
    blocks = sum(counts) + _SPARE_BLOCKS
    shape = (blocks, block_tokens, *keys[0].shape[1:])
    key_blocks, value_blocks = (torch.full(shape, float("nan"), dtype=keys[0].dtype) for _ in range(2))
    tables = torch.full((len(keys), max(1, *counts)), NO_BLOCK)
    free = torch.randperm(blocks, generator=random)
    for sequence, count in enumerate(counts):
        own, free = free[:count], free[count:]
        tables[sequence, :count] = own
        token = torch.arange(keys[sequence].shape[0])
        block, slot = own[token // block_tokens], token % block_tokens
        key_blocks[block, slot] = keys[sequence]
        value_blocks[block, slot] = values[sequence]
    return PagedCache(key_blocks.to(device), value_blocks.to(device), tables.to(device))
