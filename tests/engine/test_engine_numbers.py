"""What the engine's tables say for bi100: the numbers that its notes and findings give, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.mark.parametrize(
    ("head_size", "element_size", "block", "smem_bytes"),
    [(256, 2, (32, 32), 33_024), (256, 4, (16, 16), 32_896), (128, 2, (64, 64), 33_280), (64, 4, (64, 64), 33_280)],
)
def test_prefill_blocks_fit(
    attention: Any, head_size: int, element_size: int, block: tuple[int, int], smem_bytes: int
) -> None:
    plan = attention.prefill(head_size=head_size, element_size=element_size)
    assert ((plan.block_m, plan.block_n), plan.smem_bytes) == (block, smem_bytes)
    assert plan.smem_bytes <= 49_152


def test_prefill_never_goes_below_16_rows(attention: Any) -> None:
    with pytest.raises(
        ValueError, match="prefill-shared-memory: 131,200 bytes are needed at the least, and the limit is"
    ):
        attention.prefill(head_size=1024, element_size=4)


@pytest.mark.parametrize(
    ("seq_len", "kernel", "num_partitions", "last_partition"),
    [
        (0, "v1", 0, 0),
        (512, "v1", 0, 0),
        (8_192, "v1", 0, 0),
        (8_193, "v2", 17, 1),
        (32_768, "v2", 64, 512),
        (100_000, "v2", 196, 160),
        (524_289, "v2", 1_025, 1),
        (2_147_450_879, "v2", 4_194_240, 511),
    ],
)
def test_v1_or_v2(attention: Any, seq_len: int, kernel: str, num_partitions: int, last_partition: int) -> None:
    plan = attention.decode(seq_len=seq_len)
    assert (plan.kernel, plan.num_partitions, plan.last_partition) == (kernel, num_partitions, last_partition)
    assert plan.partition_size == (512 if kernel == "v2" else 0)
    assert plan.blocks == 4 * max(1, num_partitions)
    assert plan.temporary_bytes == 4 * num_partitions * (4 + 4 + 256 * 2)


def test_many_sequences_need_no_partitions_but_v1_has_an_end(attention: Any) -> None:
    # 40 sequences of 4 heads are the 160 blocks of a bounded grid at an occupancy of 2, 20 the 80 at 1
    assert attention.decode(seq_len=32_768, num_seqs=40).kernel == "v1"
    assert attention.decode(seq_len=32_768, num_seqs=39).kernel == "v2"
    assert attention.decode(seq_len=32_768, num_seqs=20, occupancy=1).kernel == "v1"
    assert attention.decode(seq_len=32_769, num_seqs=40).kernel == "v2"


def test_a_sequence_longer_than_the_models_is_refused(attention: Any) -> None:
    with pytest.raises(ValueError, match="seq_len: expected an integer from 0 to 2147450879, not 2147450880"):
        attention.decode(seq_len=2_147_450_880)


def test_single_tile(attention: Any) -> None:
    lengths = (100, 500, 1_024, 5_000, 12_288, 50_000)
    assert [attention.single_tile(seq_len=n).single_tile for n in lengths] == [True] * 5 + [False]
    assert attention.single_tile(seq_len=1).tile_items == 12_288


def test_the_precompiled_prefill_kernel_does_not_take_the_models_heads(attention: Any) -> None:
    assert attention.flash(head_size=128).max_head_size == 128
    with pytest.raises(ValueError, match="flash-head-size"):
        attention.flash()


@pytest.mark.parametrize(
    ("pairs", "block_size_m"),
    [(8, 16), (1_280, 16), (1_288, 64), (5_120, 64), (5_128, 128), (10_240, 128), (10_248, 256)],
)
def test_expert_blocks(tables: Any, pairs: int, block_size_m: int) -> None:
    plan = tables.moe.block_size(num_tokens=pairs // 8)
    assert (plan.num_pairs, plan.block_size_m) == (pairs, block_size_m)
    # the worst case: each expert that has pairs has one more than whole blocks
    experts = min(pairs, 256)
    assert plan.max_padded_pairs == pairs + experts * (block_size_m - 1)


def test_no_routing_pads_more_than_the_most(tables: Any) -> None:
    for num_tokens, counts in ((2, [1] * 16), (1, [8]), (160, [5] * 256), (40, [257, 63])):
        plan = tables.moe.block_size(num_tokens=num_tokens)
        assert sum(counts) == plan.num_pairs
        padded = sum(-(-count // plan.block_size_m) * plan.block_size_m for count in counts)
        assert padded <= plan.max_padded_pairs
        assert padded // plan.block_size_m <= plan.max_blocks


@pytest.mark.parametrize(
    ("row_size", "alignment", "vec_size", "tiles", "block_size"),
    [
        (3_584, 16, 8, 2, 4_096),
        (2_048, 16, 8, 1, 2_048),
        (7_168, 16, 8, 4, 8_192),
        (46, 16, 2, 1, 64),  # rows of 92 bytes: every second one begins off 4 bytes
        (4_097, 16, 1, 3, 8_192),
        (3_584, 2, 1, 2, 4_096),
        (3_584, 8, 4, 2, 4_096),
        (64, 16, 8, 1, 64),
    ],
)
def test_rows_of_two_bytes(
    tables: Any, row_size: int, alignment: int, vec_size: int, tiles: int, block_size: int
) -> None:
    plan = tables.norm.rms(row_size=row_size, alignment=alignment)
    assert (plan.vec_size, plan.tiles_per_row, plan.block_size) == (vec_size, tiles, block_size)
    assert plan.masked == (block_size != row_size)
    # a block is whole warps of 64 lanes, also where 8 threads would do
    assert plan.threads_per_block % 64 == 0
    assert 64 <= plan.threads_per_block <= 256


def test_a_row_longer_than_triton_takes_is_refused(tables: Any) -> None:
    with pytest.raises(ValueError, match="row_size: expected an integer from 1 to 1048576, not 2097152"):
        tables.norm.rms(row_size=2**21)


def test_split_k_has_no_more_blocks_than_a_bounded_grid(attention: Any) -> None:
    for seq_len in (1, 512, 513, 100_000, 524_289):
        for num_seqs in (1, 3, 40, 1_000):
            plan = attention.split_k(seq_len=seq_len, num_seqs=num_seqs)
            assert plan.num_splits * num_seqs * 4 <= max(160, num_seqs * 4)
            assert plan.tokens_per_split % 16 == 0
            assert (plan.num_splits - 1) * plan.tokens_per_split < seq_len <= plan.num_splits * plan.tokens_per_split
    assert attention.split_k(seq_len=0).num_splits == 0


def test_top_k_passes(tables: Any) -> None:
    topk = tables.sampling.topk
    assert [topk(k=50, key_size=size).num_passes for size in (1, 2, 4, 8)] == [1, 2, 3, 6]
    assert topk(k=0).num_passes == topk(k=151_936).num_passes == 0
    assert topk(k=50).bits_per_pass == tables.topk.policy(key_size=4).bits_per_pass == 11


def test_more_tokens_than_the_cache_holds_are_refused(tables: Any) -> None:
    budget = tables.budget.tokens
    assert budget(num_tokens=88_112).blocks_left == 0
    with pytest.raises(ValueError, match="100,000 tokens are needed at the least, and the limit is 88,112"):
        budget(num_tokens=100_000)
    with pytest.raises(ValueError, match="88,113 tokens"):
        budget(num_tokens=88_113)
