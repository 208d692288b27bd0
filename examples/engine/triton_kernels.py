"""Triton kernels that are launched with the blocks of the engine's tables: RMSNorm, SiLU and multiply, split-K decode.

Block sizes, warps, splits and the width of offsets come from `policygen_tables.<target>`; the functions take the
tables' modules, so that another target is another argument. All arithmetic is in float32, whatever the elements are.
"""

from __future__ import annotations

from types import ModuleType

import torch
import triton
import triton.language as tl
from torch import Tensor

from paged_attention import PagedCache


def rms_norm(norm: ModuleType, rows: Tensor, weight: Tensor, epsilon: float) -> Tensor:
    """Rows over the root of their mean square, times a weight: one program a row.

    Args:
        norm: a target's tables, `policygen_tables.h200.norm` say.
        rows: [num_rows, row_size], contiguous.
        weight: [row_size].
        epsilon: added to the mean square.

    Raises:
        ValueError: rows that are longer than one block of Triton's may be.
    """
    num_rows, row_size = rows.shape
    plan = norm.rms(row_size=row_size, element_size=rows.element_size())
    out = torch.empty_like(rows)
    _rms_norm[(num_rows,)](
        rows, weight, out, row_size, epsilon, BLOCK=plan.block_size, MASKED=plan.masked, num_warps=plan.num_warps
    )
    return out


def silu_and_multiply(norm: ModuleType, gates: Tensor) -> Tensor:
    """X / (1 + exp(-x)) of the first half of each row, times the second half: one program a row.

    Args:
        norm: a target's tables.
        gates: [num_rows, 2 x row_size], contiguous.

    Returns:
        [num_rows, row_size].

    Raises:
        ValueError: rows that are longer than one block of Triton's may be.
    """
    num_rows, row_size = gates.shape[0], gates.shape[1] // 2
    plan = norm.silu(row_size=row_size, element_size=gates.element_size())
    out = gates.new_empty(num_rows, row_size)
    _silu_and_multiply[(num_rows,)](
        gates, out, row_size, BLOCK=plan.block_size, MASKED=plan.masked, num_warps=plan.num_warps
    )
    return out


def split_k_decode(
    attention: ModuleType, kv_cache: ModuleType, query: Tensor, cache: PagedCache, *, window: int | None = None
) -> Tensor:
    """Attention of the last token of each sequence: a program for each split of it, and a merge of the splits.

    Args:
        attention: a target's tables.
        kv_cache: a target's tables; they say how wide an offset in the cache has to be.
        query: [num_seqs, num_heads, head_size], scores being scaled by 1 / sqrt(head_size).
        cache: keys and values, contiguous.
        window: how many tokens before the end are visible; all if None.

    Returns:
        As `query`; zeros for a sequence without tokens.

    Raises:
        ValueError: a length or a batch that the tables refuse.
    """
    num_seqs, num_heads, head_size = query.shape
    num_blocks, block_size, num_kv_heads, _ = cache.keys.shape
    longest = int(cache.lengths.max())
    plan = attention.split_k(seq_len=longest, num_seqs=num_seqs, num_heads=num_heads, head_size=head_size)
    if plan.num_splits == 0:
        return torch.zeros_like(query)
    offsets = kv_cache.gather(
        num_tokens=longest,
        num_blocks=num_blocks,
        block_size=block_size,
        num_kv_heads=num_kv_heads,
        head_size=head_size,
    )
    maxima = query.new_empty(num_seqs, num_heads, plan.num_splits, dtype=torch.float32)
    sums = torch.empty_like(maxima)
    outputs = query.new_empty(*maxima.shape, head_size, dtype=torch.float32)
    _split[(num_heads, num_seqs, plan.num_splits)](
        query,
        cache.keys,
        cache.values,
        cache.table,
        cache.lengths,
        maxima,
        sums,
        outputs,
        cache.table.shape[1],
        plan.tokens_per_split,
        longest if window is None else window,
        head_size**-0.5,
        head_size,
        num_kv_heads,
        num_heads // num_kv_heads,
        KV_BLOCK=block_size,
        BLOCK_N=plan.block_n,
        BLOCK_D=plan.block_d,
        WIDE=offsets.offset_bits == 64,
        num_warps=plan.num_warps,
    )
    out = torch.empty_like(query)
    _merge_splits[(num_heads, num_seqs)](
        maxima, sums, outputs, out, plan.num_splits, head_size, BLOCK_D=plan.block_d, num_warps=plan.num_warps
    )
    return out


@triton.jit
def _rms_norm(rows, weight, out, row_size, epsilon, BLOCK: tl.constexpr, MASKED: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * row_size
    columns = tl.arange(0, BLOCK)
    if MASKED:
        inside = columns < row_size
        x = tl.load(rows + start + columns, mask=inside, other=0.0).to(tl.float32)
        w = tl.load(weight + columns, mask=inside, other=0.0).to(tl.float32)
    else:
        inside = None
        x = tl.load(rows + start + columns).to(tl.float32)
        w = tl.load(weight + columns).to(tl.float32)
    mean = tl.sum(x * x, axis=0) / row_size
    tl.store(out + start + columns, (x * tl.rsqrt(mean + epsilon) * w).to(out.dtype.element_ty), mask=inside)


@triton.jit
def _silu_and_multiply(gates, out, row_size, BLOCK: tl.constexpr, MASKED: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK)
    gate = gates + row * 2 * row_size + columns
    if MASKED:
        inside = columns < row_size
        x = tl.load(gate, mask=inside, other=0.0).to(tl.float32)
        factor = tl.load(gate + row_size, mask=inside, other=0.0).to(tl.float32)
    else:
        inside = None
        x = tl.load(gate).to(tl.float32)
        factor = tl.load(gate + row_size).to(tl.float32)
    # of the absolute value, so that no exponential overflows
    small = tl.exp(-tl.abs(x))
    sigmoid = tl.where(x >= 0, 1.0, small) / (1.0 + small)
    tl.store(out + row * row_size + columns, (x * sigmoid * factor).to(out.dtype.element_ty), mask=inside)


@triton.jit
def _split(
    query, keys, values, table, lengths, maxima, sums, outputs,
    table_blocks, tokens_per_split, window, scale, head_size, num_kv_heads, heads_per_kv_head,
    KV_BLOCK: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    head, row, split = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    pair = row.to(tl.int64) * tl.num_programs(0) + head
    length = tl.load(lengths + row)
    features = tl.arange(0, BLOCK_D)
    of_head = features < head_size
    q = tl.load(query + pair * head_size + features, mask=of_head, other=0.0).to(tl.float32) * scale
    greatest = tl.full((), float("-inf"), tl.float32)
    total = tl.zeros((), tl.float32)
    output = tl.zeros((BLOCK_D,), tl.float32)
    split_begin = split.to(tl.int64) * tokens_per_split
    begin = tl.maximum(split_begin, length - window)
    end = tl.minimum(split_begin + tokens_per_split, length)
    for first in range(begin, end, BLOCK_N):
        tokens = first + tl.arange(0, BLOCK_N)
        there = tokens < end
        block = tl.load(table + row.to(tl.int64) * table_blocks + tokens // KV_BLOCK, mask=there, other=0)
        block = block.to(tl.int64 if WIDE else tl.int32)
        slot = block * KV_BLOCK + (tokens % KV_BLOCK).to(block.dtype)
        at = (slot * num_kv_heads + head // heads_per_kv_head)[:, None] * head_size + features[None, :]
        inside = there[:, None] & of_head[None, :]
        k = tl.load(keys + at, mask=inside, other=0.0).to(tl.float32)
        v = tl.load(values + at, mask=inside, other=0.0).to(tl.float32)
        scores = tl.where(there, tl.sum(k * q[None, :], axis=1), float("-inf"))
        # a step has a visible token, so the new maximum is a number
        risen = tl.maximum(greatest, tl.max(scores, axis=0))
        weights = tl.exp(scores - risen)
        kept = tl.exp(greatest - risen)
        total = total * kept + tl.sum(weights, axis=0)
        output = output * kept + tl.sum(weights[:, None] * v, axis=0)
        greatest = risen
    place = pair * tl.num_programs(2) + split
    tl.store(maxima + place, greatest)
    tl.store(sums + place, total)
    tl.store(outputs + place * head_size + features, output / tl.where(total > 0, total, 1.0), mask=of_head)


@triton.jit
def _merge_splits(maxima, sums, outputs, out, num_splits, head_size, BLOCK_D: tl.constexpr):
    pair = tl.program_id(1).to(tl.int64) * tl.num_programs(0) + tl.program_id(0)
    features = tl.arange(0, BLOCK_D)
    of_head = features < head_size
    greatest = tl.full((), float("-inf"), tl.float32)
    total = tl.zeros((), tl.float32)
    output = tl.zeros((BLOCK_D,), tl.float32)
    for split in range(num_splits):
        place = pair * num_splits + split
        maximum = tl.load(maxima + place)
        risen = tl.maximum(greatest, maximum)
        # -inf less -inf is no number: a split without a visible token, and none before it
        base = tl.where(risen == float("-inf"), 0.0, risen)
        before = tl.exp(greatest - base) * total
        own = tl.exp(maximum - base) * tl.load(sums + place)
        total = before + own
        over = tl.where(total > 0, total, 1.0)
        share = tl.load(outputs + place * head_size + features, mask=of_head, other=0.0)
        output = output * (before / over) + share * (own / over)
        greatest = risen
    tl.store(out + pair * head_size + features, output.to(out.dtype.element_ty), mask=of_head)
