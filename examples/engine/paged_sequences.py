"""Sequences in a paged cache whose attention shows each token that is missed, doubled or out of place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from paged_attention import PagedCache

BLOCK = 16
"""Tokens of a block, as the tables have it; `decode` refuses a cache of other blocks."""


@dataclass(frozen=True)
class Sequences:
    """Queries, and keys and values by token.

    Attributes:
        query: [num_seqs, num_heads, head_size].
        keys: for each sequence [length, num_kv_heads, head_size].
        values: as `keys`.
        cache: the same keys and values in blocks that lie in any order, with NaN in every slot without a token.
    """

    query: Tensor
    keys: tuple[Tensor, ...]
    values: tuple[Tensor, ...]
    cache: PagedCache


def sequences(
    lengths: Sequence[int],
    *,
    num_heads: int = 4,
    num_kv_heads: int = 1,
    head_size: int = 16,
    dtype: torch.dtype = torch.float32,
    device: str = "cpu",
    seed: int = 1,
) -> Sequences:
    """Makes sequences whose scores are exact in float32, for every product and sum is a multiple of 1/64.

    Args:
        lengths: tokens of each.
        num_heads: of the queries.
        num_kv_heads: of the cache.
        head_size: a power of 4, so that scaling is exact as well.
        dtype: of queries, keys and values.
        device: where all of it is.
        seed: of the random numbers.

    Returns:
        Sequences in which only some tokens have a value, each in a feature of its own: those at both ends of the
        sequence and of its partitions. Errors are relative to absolute values, so one such token less is no rounding.
    """
    random = torch.Generator().manual_seed(seed)

    def eighths(*shape: int) -> Tensor:
        return (torch.randint(-8, 9, shape, generator=random) / 8).to(dtype)

    query = eighths(len(lengths), num_heads, head_size)
    keys = [eighths(length, num_kv_heads, head_size) for length in lengths]
    values = []
    for length in lengths:
        some = torch.zeros(length, num_kv_heads, head_size, dtype=dtype)
        ends = (512, 513, 1, 2)
        edges = {0, 1, BLOCK - 1, BLOCK, 510, 511, 512, 513, length // 2, *(length - back for back in ends)}
        for feature, edge in enumerate(sorted(edge for edge in edges if 0 <= edge < length)):
            some[edge, :, feature] = 1 + feature / 8
        values.append(some)
    blocks = [-(-length // BLOCK) for length in lengths]
    places = torch.randperm(sum(blocks) + 1, generator=random)
    shape = (sum(blocks) + 1, BLOCK, num_kv_heads, head_size)
    stored = [torch.full(shape, torch.nan, dtype=dtype) for _ in range(2)]
    table = torch.full((len(lengths), max(1, *blocks)), -1)
    begin = 0
    for row, (length, count) in enumerate(zip(lengths, blocks, strict=True)):
        own = places[begin : begin + count]
        table[row, :count] = own
        begin += count
        token = torch.arange(length)
        for into, given in zip(stored, (keys[row], values[row]), strict=True):
            into[own[token // BLOCK], token % BLOCK] = given
    cache = PagedCache(*(tensor.to(device) for tensor in (*stored, table, torch.tensor(lengths))))
    keys, values = ([tensor.to(device) for tensor in given] for given in (keys, values))
    return Sequences(query.to(device), tuple(keys), tuple(values), cache)
