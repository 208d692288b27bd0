"""Paged decode attention in torch that takes its numbers from the engine's tables: V1, or V2 and its merge.

One query token a sequence looks at the keys and values of a paged cache. V1 lets one block of the grid walk a whole
sequence; V2 lets one walk each partition and merges them by their maxima and exponential sums. Which of them runs, the
size of a partition, the buffers between the two kernels and the threads of the merge are what
`policygen_tables.<target>.attention` says; nothing of that is written here.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType

import torch
from torch import Tensor


@dataclass(frozen=True)
class PagedCache:
    """Keys and values of some sequences, in blocks that lie anywhere.

    Attributes:
        keys: [num_blocks, block_size, num_kv_heads, head_size]. Slots that no token fills may hold anything.
        values: of the same shape.
        table: [num_seqs, table_blocks], int64: the blocks of each sequence in order. Entries past its end are not read.
        lengths: [num_seqs], int64: tokens of each sequence.
    """

    keys: Tensor
    values: Tensor
    table: Tensor
    lengths: Tensor


@dataclass(frozen=True)
class Partials:
    """What attention over some parts of a sequence came to.

    A part without a visible token has the maximum -inf, the sum 0 and the output 0: merged with it, any other part
    stays what it was, to the bit.

    Attributes:
        maxima: [..., parts], float32: the greatest score.
        sums: [..., parts], float32: of exp(score - maximum).
        outputs: [..., parts, head_size]: values weighted by exp(score - maximum) over the sum.
    """

    maxima: Tensor
    sums: Tensor
    outputs: Tensor

    def part(self, chosen: slice) -> Partials:
        """Some of the parts."""
        return Partials(self.maxima[..., chosen], self.sums[..., chosen], self.outputs[..., chosen, :])

    def masked(self, there: Tensor) -> Partials:
        """The parts that are there; the others become parts without a visible token, whatever they held.

        Args:
            there: bool, as `maxima`.
        """
        return Partials(
            self.maxima.masked_fill(~there, -torch.inf),
            self.sums.masked_fill(~there, 0.0),
            self.outputs.masked_fill(~there[..., None], 0.0),
        )


def decode(
    attention: ModuleType, query: Tensor, cache: PagedCache, *, choice: str = "by_rule", window: int | None = None
) -> Tensor:
    """Attention of the last token of each sequence.

    Args:
        attention: a target's tables, `policygen_tables.bi100.attention` say.
        query: [num_seqs, num_heads, head_size], scores being scaled by 1 / sqrt(head_size).
        cache: its blocks have the size that the tables say.
        choice: "v1" or "v2" to have one kernel whatever the tables' rule says.
        window: how many tokens before the end are visible; all if None.

    Returns:
        As `query`; zeros for a sequence without tokens.

    Raises:
        ValueError: a length, a batch or a kernel that the tables refuse, or a cache of other blocks than theirs.
    """
    num_seqs, num_heads, head_size = query.shape
    plan = attention.decode(
        seq_len=int(cache.lengths.max()),
        num_seqs=num_seqs,
        num_heads=num_heads,
        head_size=head_size,
        element_size=query.element_size(),
        choice=choice,
    )
    if cache.keys.shape[1] != plan.kv_block_size or cache.table.shape[1] < plan.table_blocks:
        raise ValueError(
            f"the cache has blocks of {cache.keys.shape[1]} tokens and {cache.table.shape[1]} blocks a sequence; "
            f"expected {plan.kv_block_size} tokens and {plan.table_blocks} blocks"
        )
    first = torch.zeros_like(cache.lengths) if window is None else (cache.lengths - window).clamp(min=0)
    if plan.kernel == "v1":
        start = torch.zeros_like(cache.lengths)[:, None]
        walked = _walk(query, cache, first, start, plan.table_blocks)
        return walked.outputs[:, :, 0].to(query.dtype)
    if plan.num_partitions == 0:
        return torch.zeros_like(query)
    launch = attention.merge(num_partitions=plan.num_partitions, num_seqs=num_seqs, num_heads=num_heads)
    start = torch.arange(plan.num_partitions, device=query.device) * plan.partition_size
    written = start < cache.lengths[:, None]
    partitions = _buffers(plan, query)
    walked = _walk(query, cache, first, start.expand(num_seqs, -1), plan.partition_size // plan.kv_block_size)
    # a block whose partition lies past the end of its sequence writes nothing
    seqs, places = written.nonzero(as_tuple=True)
    partitions.maxima[seqs, :, places] = walked.maxima[seqs, :, places]
    partitions.sums[seqs, :, places] = walked.sums[seqs, :, places]
    partitions.outputs[seqs, :, places] = walked.outputs[seqs, :, places].to(query.dtype)
    there = written[:, None, :].expand(-1, num_heads, -1)
    whole = merge(partitions.masked(there), launch.threads_per_block)
    return whole.outputs[:, :, 0].to(query.dtype)


def merge(parts: Partials, threads: int) -> Partials:
    """Merges all parts to one, as a block of threads does.

    Thread t merges the parts t, t + threads .. in order; then the threads merge in halves, as by shuffles. Any other
    grouping gives the same within rounding: `merged` is associative.

    Args:
        parts: at least one.
        threads: of a block.

    Returns:
        One part, in float32.
    """
    count = parts.maxima.shape[-1]
    width = min(threads, count)
    own = parts.part(slice(0, width))
    for begin in range(width, count, width):
        row = parts.part(slice(begin, begin + width))
        idle = own.part(slice(row.maxima.shape[-1], width))
        own = _beside(merged(own.part(slice(0, row.maxima.shape[-1])), row), idle)
    while width > 1:
        half = (width + 1) // 2
        pairs = merged(own.part(slice(0, width - half)), own.part(slice(half, width)))
        own = _beside(pairs, own.part(slice(width - half, half)))
        width = half
    return own


def merged(one: Partials, other: Partials) -> Partials:
    """Merges two parts of a sequence, place by place, in float32.

    With g the greater maximum and w = exp(maximum - g) x sum, the sum is that of both w, and the output that of both
    outputs x (w / sum). The weight over the sum comes first: it is exactly 1 where the other part is masked.
    """
    greatest = torch.maximum(one.maxima, other.maxima)
    # -inf less -inf is no number
    base = greatest.masked_fill(greatest == -torch.inf, 0.0)
    weights = [torch.exp(part.maxima - base) * part.sums for part in (one, other)]
    total = weights[0] + weights[1]
    shares = [(weight / torch.where(total > 0, total, 1.0))[..., None] for weight in weights]
    outputs = one.outputs.float() * shares[0] + other.outputs.float() * shares[1]
    return Partials(greatest, total, outputs)


def _beside(one: Partials, other: Partials) -> Partials:
    return Partials(
        torch.cat([one.maxima, other.maxima], -1),
        torch.cat([one.sums, other.sums], -1),
        torch.cat([one.outputs.float(), other.outputs.float()], -2),
    )


def _buffers(plan: object, query: Tensor) -> Partials:
    """What the kernels of V2 leave for the merge: [num_seqs, num_heads, num_partitions], of the plan's sizes."""
    grid = (plan.grid_y, plan.grid_x, plan.grid_z)  # type: ignore[attr-defined]
    sums = query.new_empty(plan.sums_elements, dtype=torch.float32)  # type: ignore[attr-defined]
    outputs = query.new_empty(plan.outputs_elements)  # type: ignore[attr-defined]
    return Partials(torch.empty_like(sums).view(grid), sums.view(grid), outputs.view(*grid, -1))


def _walk(query: Tensor, cache: PagedCache, first: Tensor, start: Tensor, steps: int) -> Partials:
    """Each block of the grid walks from its first token on, one block of the cache a step, with a running maximum.

    Args:
        query: [num_seqs, num_heads, head_size].
        cache: keys and values.
        first: [num_seqs], the first visible token.
        start: [num_seqs, parts], where each block of the grid begins: the first token of a block of the cache.
        steps: blocks of the cache that each walks.

    Returns:
        [num_seqs, num_heads, parts], float32.
    """
    num_seqs, num_heads, head_size = query.shape
    block_size, num_kv_heads = cache.keys.shape[1:3]
    shape = (num_seqs, num_kv_heads, num_heads // num_kv_heads, start.shape[1])
    scaled = query.float().view(*shape[:3], head_size) * head_size**-0.5
    maxima = scaled.new_full(shape, -torch.inf)
    sums = scaled.new_zeros(shape)
    outputs = scaled.new_zeros(*shape, head_size)
    for step in range(steps):
        tokens = start[..., None] + step * block_size + torch.arange(block_size, device=start.device)
        visible = (tokens < cache.lengths[:, None, None]) & (tokens >= first[:, None, None])
        blocks = cache.table.gather(1, (start // block_size + step).clamp(max=cache.table.shape[1] - 1))
        # what lies past the end of a sequence is no block
        blocks = blocks.masked_fill(~visible.any(-1), 0)
        keys, values = cache.keys[blocks].float(), cache.values[blocks].float()
        values = values.masked_fill(~visible[..., None, None], 0.0)
        scores = torch.einsum("sngd,sptnd->sngpt", scaled, keys)
        scores = scores.masked_fill(~visible[:, None, None], -torch.inf)
        greatest = torch.maximum(maxima, scores.amax(-1))
        base = greatest.masked_fill(greatest == -torch.inf, 0.0)
        weights, kept = torch.exp(scores - base[..., None]), torch.exp(maxima - base)
        sums = sums * kept + weights.sum(-1)
        outputs = outputs * kept[..., None] + torch.einsum("sngpt,sptnd->sngpd", weights, values)
        maxima = greatest
    outputs = outputs / torch.where(sums > 0, sums, 1.0)[..., None]
    flat = (num_seqs, num_heads, shape[3])
    return Partials(maxima.view(flat), sums.view(flat), outputs.view(*flat, head_size))
