"""What a block of a decode attention does: one query of one head against some tokens of its sequence.

The block takes tile after tile of its span. Of a tile, thread t takes tokens t, t + threads, ...: it finds the token's
page, takes the product of query and key, scales it, and merges (score, 1, value) into its accumulator
(`collectives.softmax_state`), which starts as the identity. In the end the block reduces what its threads have
(`cub::BlockReduce`). Tokens before the window are masked; they are merged too, as what changes nothing, whatever their
pages hold.

Arithmetic is in float32. The order of the d products of a score is not modelled: bounds hold for any.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from attrs import frozen
from torch import Tensor

from policygen.plan.counts import ceil_div
from policygen.reference.collectives.arrangement import striped
from policygen.reference.collectives.block_reduce import block_additions
from policygen.reference.collectives.block_reduce import block_reduce
from policygen.reference.collectives.paged_cache import PagedCache
from policygen.reference.collectives.softmax_state import MERGE_ROUNDINGS
from policygen.reference.collectives.softmax_state import softmax_items
from policygen.reference.collectives.softmax_state import softmax_merge
from policygen.reference.contract.tile_log import TileLog


@frozen(eq=False)
class Spans:
    """What each block works on, [blocks] each.

    Attributes:
        sequences: whose tokens.
        heads: of the query.
        begins: first tokens.
        ends: one past the last tokens.
        firsts: tokens of all the rows before the block's row: a row is a head of a sequence. For the log.
    """

    sequences: Tensor
    heads: Tensor
    begins: Tensor
    ends: Tensor
    firsts: Tensor

    def to(self, device: torch.device | str) -> Spans:
        """The same on another device."""
        parts = (self.sequences, self.heads, self.begins, self.ends, self.firsts)
        return Spans(*(part.to(device) for part in parts))


@frozen(eq=False)
class Attention:
    """What all blocks share.

    Attributes:
        queries: [sequences, heads, d].
        cache: keys and values; as many heads, or a divisor of them, which share a head then.
        lengths: tokens of each sequence, [sequences].
        window: the last tokens that a query sees; 0 for all.
        scale: of scores.
    """

    queries: Tensor
    cache: PagedCache
    lengths: Tensor
    window: int
    scale: float


@frozen
class AttentionBlock:
    """A block.

    Attributes:
        threads: threads of a block.
        items: tokens of a thread in a full tile.
        algorithm: enumerator of `BlockReduceAlgorithm`.
        warp_size: lanes of a warp.
    """

    threads: int
    items: int
    algorithm: str
    warp_size: int

    @property
    def tile_items(self) -> int:
        """Tokens of a full tile."""
        return self.threads * self.items

    def attend(self, given: Attention, spans: Spans, name: str, log: TileLog) -> Tensor:
        """The accumulators of all blocks, [blocks, 2 + d].

        Args:
            given: queries, keys and values.
            spans: the blocks.
            name: of the kernel, for the log.
            log: notes the tiles.
        """
        head_size, device = given.queries.shape[-1], given.queries.device
        operator = softmax_merge(head_size)
        held = operator.filled(spans.begins.shape[0], self.threads, device=device)
        offsets = striped(self.threads, self.items).to(device)
        for begins in self.tiles(spans, name, log):
            longest = int((spans.ends - begins).max())
            for offset in offsets[: ceil_div(longest, self.threads)]:
                tokens = begins.unsqueeze(-1) + offset
                exists = tokens < spans.ends.unsqueeze(-1)
                items = _items(given, spans, tokens, exists)
                held = operator.element.select(exists, operator.combine(held, items), held)
        valid = torch.full((held.shape[0],), self.threads, device=device)
        return block_reduce(held, operator, self.algorithm, self.warp_size, valid)

    def tiles(self, spans: Spans, name: str, log: TileLog) -> list[Tensor]:
        """Where each block's tiles begin, one tensor [blocks] for each round; notes those that exist."""
        longest = int((spans.ends - spans.begins).max()) if spans.ends.numel() else 0
        rounds = [spans.begins + at for at in range(0, longest, self.tile_items)]
        block = torch.arange(spans.begins.shape[0], device=spans.begins.device)
        for begins in rounds:
            exist = begins < spans.ends
            ends = torch.minimum(begins + self.tile_items, spans.ends)
            log.record_all(name, block[exist], (spans.firsts + begins)[exist], (spans.firsts + ends)[exist])
        return rounds

    def roundings(self, longest: int) -> int:
        """The most roundings that a token's weight passes through in a span of so many tokens."""
        merges = ceil_div(longest, self.threads) + block_additions(self.threads, self.algorithm, self.warp_size)
        return MERGE_ROUNDINGS * merges


def attention_block(policy: Mapping[str, Any], warp_size: int) -> AttentionBlock:
    """The block of a `ReducePassPolicy`."""
    return AttentionBlock(
        policy["threads_per_block"], policy["items_per_thread"], policy["reduce_algorithm"], warp_size
    )


def _items(given: Attention, spans: Spans, tokens: Tensor, exists: Tensor) -> Tensor:
    """The accumulators of some tokens, [blocks, threads, 2 + d]."""
    cache, head_size = given.cache, given.queries.shape[-1]
    block, slot = cache.places(spans.sequences, tokens, exists)
    group = given.queries.shape[1] // cache.keys.shape[2]
    head = (spans.heads // group).unsqueeze(-1)
    query = given.queries[spans.sequences, spans.heads].to(torch.float32).view(-1, 1, head_size)
    scores = (query * cache.keys[block, slot, head].to(torch.float32)).sum(-1) * given.scale
    if given.window:
        first_seen = (given.lengths[spans.sequences] - given.window).unsqueeze(-1)
        scores = torch.where(tokens < first_seen, float("-inf"), scores)
    return softmax_items(scores, cache.values[block, slot, head].to(torch.float32))
