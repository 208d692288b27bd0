"""Paged decode attention that runs with the tables' numbers, against softmax attention in float64."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from types import ModuleType
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from exact_attention import PAIR
from exact_attention import ROUNDOFF
from exact_attention import attention_bound
from exact_attention import exact_attention
from paged_attention import PagedCache
from paged_attention import Partials
from paged_attention import decode
from paged_attention import merge
from paged_attention import merged
from paged_sequences import Sequences
from paged_sequences import sequences

LONGEST = 2_147_450_879


@pytest.fixture(autouse=True)
def _buffers_begin_as_nan() -> Iterator[None]:
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


def checked(target: ModuleType, made: Sequences, choice: str = "by_rule", window: int | None = None) -> Tensor:
    """Attention of some sequences, each of which is held against the exact result."""
    got = decode(target.attention, made.query, made.cache, choice=choice, window=window)
    assert got.shape == made.query.shape
    assert got.dtype == made.query.dtype
    lengths = made.cache.lengths.tolist()
    size = {"num_seqs": len(lengths), "num_heads": got.shape[1], "head_size": got.shape[2]}
    plan = target.attention.decode(seq_len=max(lengths), element_size=got.element_size(), choice=choice, **size)
    merges, steps = 0, plan.table_blocks
    if plan.kernel == "v2" and plan.num_partitions:
        steps = plan.partition_size // plan.kv_block_size
        threads = target.attention.merge(num_partitions=plan.num_partitions).threads_per_block
        merges = math.ceil(plan.num_partitions / threads) + math.ceil(math.log2(threads))
    for row, length in enumerate(lengths):
        begin = 0 if window is None else max(0, length - window)
        exact = exact_attention(made.query[row], made.keys[row][begin:], made.values[row][begin:])
        bound = attention_bound(exact, steps=steps, block=plan.kv_block_size, merges=merges, dtype=got.dtype)
        assert torch.all((got[row].double() - exact.outputs).abs() <= bound), f"sequence {row} of {length} tokens"
    return got


@pytest.mark.parametrize("choice", ["v1", "v2", "by_rule"])
@pytest.mark.parametrize("length", [0, 1, 15, 16, 17, 511, 512, 513, 1024])
def test_v1_and_v2_are_softmax_attention(target: ModuleType, length: int, choice: str) -> None:
    got = checked(target, sequences([length]), choice)
    assert length or torch.equal(got, torch.zeros_like(got))


@pytest.mark.parametrize("choice", ["v1", "v2"])
def test_a_batch_mixes_lengths(target: ModuleType, choice: str) -> None:
    together = sequences([0, 1, 512, 513])
    got = checked(target, together, choice)
    assert torch.equal(got[0], torch.zeros_like(got[0]))
    # one token has all the weight
    assert torch.equal(got[1], together.values[1].expand_as(got[1:2])[0])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("choice", ["v1", "v2"])
def test_heads_in_groups_and_small_elements(target: ModuleType, choice: str, dtype: torch.dtype) -> None:
    checked(target, sequences([700, 33], num_heads=6, num_kv_heads=2, dtype=dtype), choice)


@pytest.mark.parametrize("window", [1, 2, 16, 512, 513, 600])
def test_a_window_may_mask_partitions_entirely(target: ModuleType, window: int) -> None:
    made = sequences([513, 0, 5, 1600])
    results = [checked(target, made, choice, window) for choice in ("v1", "v2")]
    assert all(torch.isfinite(result).all() for result in results)
    if window == 1:
        last = torch.stack([v[-1].expand(4, -1) if len(v) else torch.zeros(4, 16) for v in made.values])
        assert all(torch.equal(result, last) for result in results)


def test_the_rule_takes_v2_for_what_is_long(target: ModuleType) -> None:
    assert target.attention.decode(seq_len=8193).kernel == "v2"
    checked(target, sequences([8193, 0, 4000]))


def test_a_very_long_sequence(target: ModuleType) -> None:
    made = sequences([524_289], num_heads=2)
    assert target.attention.decode(seq_len=524_289, num_heads=2).num_partitions == 1025
    checked(target, made)
    with pytest.raises(ValueError, match="v1-length: V1 is right to 32,768 tokens"):
        checked(target, made, "v1")


def test_the_longest_sequence_is_planned_and_a_longer_one_refused(target: ModuleType) -> None:
    plan = target.attention.decode(seq_len=LONGEST)
    assert plan.num_partitions == 4_194_240
    assert (plan.num_partitions - 1) * plan.partition_size + plan.last_partition == LONGEST
    slot = torch.zeros(1, 16, 1, 16)
    for longer in (LONGEST + 1, 2**31, 2**40):
        cache = PagedCache(slot, slot, torch.zeros(1, 1, dtype=torch.int64), torch.tensor([longer]))
        with pytest.raises(ValueError, match=f"seq_len: expected an integer from 0 to {LONGEST}, not {longer}"):
            decode(target.attention, torch.zeros(1, 4, 16), cache)


def test_a_merge_that_does_not_fit_is_refused(target: ModuleType) -> None:
    limit = target.HARDWARE.max_smem_per_block // 8
    assert target.attention.merge(num_partitions=limit).smem_bytes == limit * 8
    with pytest.raises(ValueError, match="merge-shared-memory"):
        target.attention.merge(num_partitions=limit + 1)


def test_a_cache_of_other_blocks_is_refused(target: ModuleType) -> None:
    made = sequences([40])
    halved = made.cache.keys.view(-1, 8, 1, 16)
    with pytest.raises(ValueError, match="the cache has blocks of 8 tokens and 3 blocks a sequence; expected 16"):
        decode(target.attention, made.query, PagedCache(halved, halved, made.cache.table, made.cache.lengths))
    short = PagedCache(made.cache.keys, made.cache.values, made.cache.table[:, :2], made.cache.lengths)
    with pytest.raises(ValueError, match="2 blocks a sequence; expected 16 tokens and 3"):
        decode(target.attention, made.query, short)


def partials(count: int, seed: int, masked: Any = ()) -> Partials:
    """Parts as a walk leaves them, with maxima up to 20 apart."""
    random = torch.Generator().manual_seed(seed)
    made = Partials(
        torch.rand(count, generator=random) * 20 - 10,
        1 + torch.rand(count, generator=random) * 500,
        torch.randn(count, 8, generator=random),
    )
    there = torch.ones(count, dtype=torch.bool)
    there[list(masked)] = False
    return made.masked(there)


def same(one: Partials, other: Partials) -> bool:
    """Whether two merges came to the same bits."""
    pairs = [(one.maxima, other.maxima), (one.sums, other.sums), (one.outputs, other.outputs)]
    return all(torch.equal(a, b) for a, b in pairs)


def assert_is_the_merge(got: Partials, parts: Partials, merges: int) -> None:
    """Holds a merge against the weighted mean in float64. See `attention_bound`: a merge's share of it."""
    assert got.maxima.item() == parts.maxima.max()
    weights = torch.exp(parts.maxima.double() - parts.maxima.max()) * parts.sums
    spread = float(parts.maxima.max() - parts.maxima[parts.sums > 0].min())
    relative = math.expm1((merges * PAIR + 4 * spread) * ROUNDOFF[torch.float32])
    assert abs(got.sums.item() - weights.sum()) <= relative * weights.sum()
    means, absolute = (
        (weights[:, None] * o).sum(0) / weights.sum() for o in (parts.outputs.double(), parts.outputs.abs())
    )
    assert torch.all((got.outputs[0] - means).abs() <= relative * absolute)


def folded(parts: Partials, tree: Any) -> Partials:
    """Merges as a nested pair of indices says."""
    if isinstance(tree, int):
        return parts.part(slice(tree, tree + 1))
    return merged(folded(parts, tree[0]), folded(parts, tree[1]))


def test_the_merge_is_associative() -> None:
    for seed in range(20):
        parts = partials(3, seed)
        for tree in (((0, 1), 2), (0, (1, 2)), ((0, 2), 1)):
            assert_is_the_merge(folded(parts, tree), parts, 2)
        assert same(folded(parts, (0, 1)), folded(parts, (1, 0)))


@given(data=st.data(), count=st.integers(1, 24), seed=st.integers(0, 2**31))
def test_any_grouping_gives_the_same(data: st.DataObject, count: int, seed: int) -> None:
    masked = data.draw(st.sets(st.integers(0, count - 1), max_size=count - 1))
    parts = partials(count, seed, masked)
    trees: list[Any] = data.draw(st.permutations(range(count)))
    while len(trees) > 1:
        at = data.draw(st.integers(0, len(trees) - 2))
        trees[at : at + 2] = [(trees[at], trees[at + 1])]
    assert_is_the_merge(folded(parts, trees[0]), parts, count)


@pytest.mark.parametrize("count", [1, 2, 3, 64, 127, 128, 129, 255, 300])
@pytest.mark.parametrize("threads", [1, 2, 32, 64, 128])
def test_the_threads_of_a_block_group_as_they_like(threads: int, count: int) -> None:
    parts = partials(count, count, masked=range(1, count, 3))
    got = merge(parts, threads)
    assert got.maxima.shape == (1,)
    assert_is_the_merge(got, parts, math.ceil(count / threads) + 7)


def test_a_masked_part_changes_nothing() -> None:
    one, nothing = partials(1, 3), partials(1, 4, masked=[0])
    assert same(merged(one, nothing), one)
    assert same(merged(nothing, one), one)
    for count, threads in [(5, 2), (200, 128), (7, 1)]:
        for alone in range(0, count, 3):
            parts = partials(count, 5, masked=[i for i in range(count) if i != alone])
            assert same(merge(parts, threads), parts.part(slice(alone, alone + 1)))


def test_nothing_but_masked_parts_gives_zeros() -> None:
    for count, threads in pairwise([1, 2, 5, 128, 130]):
        got = merge(partials(count, 6, masked=range(count)), threads)
        assert got.maxima.item() == -torch.inf
        assert not got.sums.any()
        assert not got.outputs.any()
