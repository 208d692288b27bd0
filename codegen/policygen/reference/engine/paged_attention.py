"""Decode attention over keys and values in pages: one query a sequence, in one pass (V1) or by partitions (V2).

Input: queries [sequences, heads, d]; keys and values in blocks of `block_tokens` tokens, [blocks, block_tokens,
key-value heads, d], found by a table for each sequence (`collectives.paged_cache`); lengths; a scale; a window, of the
last tokens that a query sees. Several heads may share a key-value head (GQA). Output: [sequences, heads, d] in the
queries' type, softmax(scale q k) v; zeros for a sequence without tokens, or without any that is seen. Types: float16,
bfloat16, float32; arithmetic is in float32. Counts are tokens; `threads` and `items` are the policy's.

- V1: a block for each head of each sequence takes all its tokens, tile after tile (`collectives.attention_block`).
- V2: a block for each partition of them, which leaves (maximum, sum, output); then a block for each head merges these
  (`collectives.partition_merge`). A partition has a fixed number of tokens, a multiple of a page's: the size, never how
  many there are. Partitions past the end of a shorter sequence are not run, and what they would leave is not looked at.

A window may mask a partition as a whole: it leaves (-infinity, 0, zeros), and changes nothing. Pages before the window
may be others' by then: what they hold is not looked at either.

The policy is that of `reduce` with a compound accumulator of (2 + d) float32 (`policygen.reference.online_softmax`): V1
runs with its single tile, the partitions of V2 with its first pass, and their merge with the single tile, as the second
pass does. Tile, partition and block sizes are the problem's; partitions are chosen around the policy's tile.

It models the two passes of `DeviceReduceKernel` and `DeviceReduceSingleTileKernel` over a compound accumulator.

Order: threads, warps and partitions are merged in theirs; the same bits in every run.

Error: a score is off by at most scale ((1 + u)^(d + 1) - 1) sum |q k|; a weight passes through the roundings of
`AttentionBlock.roundings`, one division, and those of `PartitionMerge.roundings`. See `values.softmax_reference`.

Not modelled: groups of threads that share a token, vectors of a key, logits kept in shared memory, which V1 of an
engine does and which ends it at a length; sparse blocks, ALiBi, quantised caches.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from itertools import cycle
from typing import Final

import torch
from attrs import frozen
from torch import Tensor

from policygen.plan.counts import ceil_div
from policygen.plan.partitions import partition_plan
from policygen.reference.collectives.attention_block import Attention
from policygen.reference.collectives.attention_block import Spans
from policygen.reference.collectives.attention_block import attention_block
from policygen.reference.collectives.paged_cache import paged
from policygen.reference.collectives.partition_merge import Partitions
from policygen.reference.collectives.partition_merge import merge_of
from policygen.reference.collectives.softmax_state import softmax_output
from policygen.reference.contract.case import Case
from policygen.reference.contract.comparison import Close
from policygen.reference.contract.comparison import Expectation
from policygen.reference.contract.error_bounds import relative_bound
from policygen.reference.contract.kernel import Given
from policygen.reference.contract.kernel import Problem
from policygen.reference.contract.kernel import ReferenceKernel
from policygen.reference.contract.sizes import BEYOND_INT32
from policygen.reference.contract.sizes import LAST_TILES
from policygen.reference.contract.tile_log import TileLog
from policygen.reference.values.softmax_reference import softmax_average

V1_KERNEL: Final = "paged_attention_v1"
V2_KERNEL: Final = "paged_attention_v2"
V2_MERGE: Final = "paged_attention_v2 merge"

HEAD_SIZES: Final = (16, 64, 128, 256)
BLOCK_TOKENS: Final = (16, 32)
_WHOLE_PAGES: Final = 32
"""What every page size divides."""
_HEADS: Final = ((3, 1), (2, 2), (4, 2))
_DTYPES: Final = ("float16", "float32", "bfloat16")
PATTERNS: Final = ("random", "far", "equal", "evicted", "nan")


@frozen
class PagedAttentionProblem(Problem):
    """A step of decoding.

    Attributes:
        version: 1 or 2.
        lengths: tokens of each sequence.
        heads: of a query.
        kv_heads: of keys and values; divides the heads.
        head_size: numbers of a head.
        dtype: of queries, keys, values and output.
        block_tokens: tokens of a page.
        partition: tokens of a partition of V2, a multiple of a page's.
        window: tokens that a query sees, 0 for all.
        pattern: of keys, one of `PATTERNS`.
        has_data: False for index arithmetic alone.
    """

    version: int
    lengths: tuple[int, ...]
    heads: int
    kv_heads: int
    head_size: int
    dtype: str
    block_tokens: int
    partition: int
    window: int
    pattern: str
    has_data: bool = True


@frozen(eq=False)
class PagedAttentionInputs:
    """What a step is given.

    Attributes:
        attention: as the kernel takes it.
        keys: of each sequence, by token: [tokens, kv_heads, d].
        values: the same.
    """

    attention: Attention
    keys: tuple[Tensor, ...]
    values: tuple[Tensor, ...]


class PagedAttentionKernel(ReferenceKernel[PagedAttentionProblem, PagedAttentionInputs]):
    """See the module."""

    policy_of = "reduce"

    def keys(self, common: Sequence[Given]) -> Iterator[Given]:  # noqa: ARG002 - accumulators are no common keys
        """Accumulators of a head."""
        for head_size in HEAD_SIZES:
            size = 4 * (2 + head_size)
            yield {"accum_t": "other", "accum_size": size, "operation_t": "other", "offset_size": 4}

    def problems(self, case: Case, *, quick: bool) -> Iterator[PagedAttentionProblem]:
        """See ReferenceKernel."""
        multi, single, head_size = case.policy.multi_tile, case.policy.single_tile, case.key.accum_size // 4 - 2
        tile = multi.threads_per_block * multi.items_per_thread
        first = single.threads_per_block * single.items_per_thread
        turns = zip(cycle(_HEADS), cycle(_DTYPES), cycle(BLOCK_TOKENS))
        found: dict[PagedAttentionProblem, None] = {}

        def add(version: int, lengths: tuple[int, ...], partition: int, window: int, pattern: str) -> None:
            (heads, kv_heads), dtype, block = next(turns)
            problem = PagedAttentionProblem(
                version, lengths, heads, kv_heads, head_size, dtype, block, partition, window, pattern
            )
            found[problem] = None

        for wanted in (tile,) if quick else (tile, 2 * tile + 1, tile // 2):
            partition = max(1, wanted // _WHOLE_PAGES) * _WHOLE_PAGES
            around = (0, 1, partition - 1, partition, partition + 1)
            several = (2 * partition + partition // 3 + 1, 3)
            for version in (1, 2):
                # one token of the last partition is seen: all others are masked as a whole
                for window in (0, partition // 2 + 1, 1):
                    add(version, around, partition, window, "random")
                    if not (quick and window):
                        add(version, several, partition, window, "far")
                for pattern in PATTERNS[2:]:
                    window = partition // 2 if pattern == "evicted" else 0
                    add(version, several, partition, window, pattern)
        add(1, (first - 1, first, first + 1), _WHOLE_PAGES, 0, "random")
        # partitions of more than a tile
        wide = ceil_div(tile + 1, _WHOLE_PAGES) * _WHOLE_PAGES
        add(2, (wide + 3,), wide, 0, "random")
        yield from found
        yield PagedAttentionProblem(
            2, (BEYOND_INT32,), 1, 1, head_size, "float16", 16, _WHOLE_PAGES, 0, "random", has_data=False
        )

    def inputs(self, case: Case, problem: PagedAttentionProblem, random: torch.Generator) -> PagedAttentionInputs:
        """See ReferenceKernel."""
        lengths = problem.lengths if problem.has_data else (0,) * len(problem.lengths)
        dtype, d = getattr(torch, problem.dtype), problem.head_size

        def numbers(*shape: int) -> Tensor:
            return torch.rand(*shape, generator=random) * 2 - 1

        queries = (numbers(len(lengths), problem.heads, d) * (200 if problem.pattern == "far" else 4)).to(dtype)
        keys = tuple(numbers(length, problem.kv_heads, d).to(dtype) for length in lengths)
        values = tuple(numbers(length, problem.kv_heads, d).to(dtype) for length in lengths)
        for key, value in zip(keys, values, strict=True):
            _apply_pattern(problem, key, value, random)
        cache = paged(keys, values, problem.block_tokens, random, case.device)
        known = torch.tensor(lengths, device=case.device)
        attention = Attention(queries.to(case.device), cache, known, problem.window, d**-0.5)
        return PagedAttentionInputs(attention, keys, values)

    def run(
        self, case: Case, problem: PagedAttentionProblem, inputs: PagedAttentionInputs, log: TileLog
    ) -> Mapping[str, Tensor]:
        """See ReferenceKernel."""
        given, policy, warp = inputs.attention, case.policy, case.warp_size
        spans = _partitions(problem) if problem.version == 2 else _whole(problem)
        if not problem.has_data:
            attention_block(policy.multi_tile, warp).tiles(spans, V2_KERNEL, log)
            return {}
        spans = spans.to(case.device)
        if problem.version == 1:
            states = attention_block(policy.single_tile, warp).attend(given, spans, V1_KERNEL, log)
            outputs = softmax_output(states)
        else:
            states = attention_block(policy.multi_tile, warp).attend(given, spans, V2_KERNEL, log)
            partitions, counts = _temporary(problem, spans, states)
            outputs = merge_of(policy.single_tile, warp).merge(partitions, counts, V2_MERGE, log).outputs
        return {"output": outputs.view(given.queries.shape).to(given.queries.dtype)}

    def expected(
        self, case: Case, problem: PagedAttentionProblem, inputs: PagedAttentionInputs
    ) -> Mapping[str, Expectation]:
        """See ReferenceKernel."""
        if not problem.has_data:
            return {}
        dtype, roundings = inputs.attention.queries.dtype, _roundings(case, problem)
        found: list[Close] = []
        for query, keys, values in zip(inputs.attention.queries.cpu(), inputs.keys, inputs.values, strict=True):
            found.append(_exact(problem, query, keys, values, inputs.attention.scale, roundings, dtype))
        return {"output": Close(torch.stack([one.values for one in found]), torch.stack([one.bound for one in found]))}

    def coverage(self, case: Case, problem: PagedAttentionProblem) -> Mapping[str, int | range]:  # noqa: ARG002
        """See ReferenceKernel."""
        total = problem.heads * sum(problem.lengths)
        if not problem.has_data:
            first = _first_partition(problem, problem.lengths[0]) * problem.partition
            return {V2_KERNEL: range(first, total)}
        if problem.version == 1:
            return {V1_KERNEL: total}
        merged = problem.heads * sum(ceil_div(length, problem.partition) for length in problem.lengths)
        return {V2_KERNEL: total, V2_MERGE: merged}


def _apply_pattern(problem: PagedAttentionProblem, keys: Tensor, values: Tensor, random: torch.Generator) -> None:
    """Changes keys and values of one sequence, in place."""
    n = keys.shape[0]
    if n == 0:
        return
    match problem.pattern:
        case "equal":
            keys[:] = keys[0]
        case "nan":
            keys[int(torch.randint(n, (1,), generator=random))] = float("nan")
        case "evicted":
            gone = max(0, n - problem.window)
            keys[:gone] = values[:gone] = float("nan")


def _rows(problem: PagedAttentionProblem) -> Iterator[tuple[int, int, int, int]]:
    """Sequence, head, length, and the tokens of all rows before, of each row."""
    before = 0
    for sequence, length in enumerate(problem.lengths):
        for head in range(problem.heads):
            yield sequence, head, length, before
            before += length


def _whole(problem: PagedAttentionProblem) -> Spans:
    """All tokens of a row for each block."""
    rows = [(sequence, head, 0, length, before) for sequence, head, length, before in _rows(problem)]
    return Spans(*torch.tensor(rows).unbind(1))


def _partitions(problem: PagedAttentionProblem) -> Spans:
    """A partition for each block. Raises ValueError if pages do not divide it."""
    if problem.partition % problem.block_tokens:
        raise ValueError(
            f"a partition of {problem.partition} tokens is no multiple of a page of {problem.block_tokens}: "
            "its blocks would read parts of pages"
        )
    rows: list[tuple[int, ...]] = []
    for sequence, head, length, before in _rows(problem):
        plan = partition_plan(length, problem.partition)
        numbers = range(_first_partition(problem, length), plan.num_partitions)
        rows += [(sequence, head, *plan.partition(number), before) for number in numbers]
    return Spans(*torch.tensor(rows, dtype=torch.int64).reshape(-1, 5).unbind(1))


def _first_partition(problem: PagedAttentionProblem, length: int) -> int:
    """The partition from which tiles are noted: where nothing is loaded, the last ones."""
    return 0 if problem.has_data else max(0, ceil_div(length, problem.partition) - LAST_TILES)


def _temporary(problem: PagedAttentionProblem, spans: Spans, states: Tensor) -> tuple[Partitions, Tensor]:
    """What partitions leave for the merge, in rows as long as the longest sequence needs; the rest is not written."""
    device, d = states.device, problem.head_size
    longest = ceil_div(max(problem.lengths), problem.partition)
    rows = len(problem.lengths) * problem.heads
    maxima, sums = (torch.full((rows, longest), float("nan"), device=device) for _ in range(2))
    outputs = torch.full((rows, longest, d), float("nan"), device=device)
    row, number = spans.sequences * problem.heads + spans.heads, spans.begins // problem.partition
    maxima[row, number], sums[row, number] = states[:, 0], states[:, 1]
    outputs[row, number] = softmax_output(states)
    counts = [ceil_div(length, problem.partition) for _, _, length, _ in _rows(problem)]
    return Partitions(maxima, sums, outputs), torch.tensor(counts, device=device)


def _roundings(case: Case, problem: PagedAttentionProblem) -> int:
    """The most that a token's weight passes through, its division included."""
    longest, policy, warp = max(problem.lengths), case.policy, case.warp_size
    if problem.version == 1:
        return attention_block(policy.single_tile, warp).roundings(longest) + 1
    in_partition = attention_block(policy.multi_tile, warp).roundings(min(longest, problem.partition)) + 1
    return in_partition + merge_of(policy.single_tile, warp).roundings(ceil_div(longest, problem.partition))


def _exact(
    problem: PagedAttentionProblem,
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    scale: float,
    roundings: int,
    dtype: torch.dtype,
) -> Close:
    """The output of one sequence, [heads, d], from its tokens in their order."""
    group = problem.heads // problem.kv_heads
    # [heads, tokens, d]
    k, v = (x.to(torch.float64).repeat_interleave(group, dim=1).transpose(0, 1) for x in (keys, values))
    products = query.to(torch.float64).unsqueeze(1) * k
    scores = products.sum(-1) * scale
    errors = products.abs().sum(-1) * scale * relative_bound(problem.head_size + 1, torch.float32)
    if problem.window:
        scores[:, : max(0, keys.shape[0] - problem.window)] = float("-inf")
    found = softmax_average(scores, torch.ones_like(scores), v, roundings, torch.float32, errors)
    return found.stored_output(dtype)


KERNEL: Final = PagedAttentionKernel()
