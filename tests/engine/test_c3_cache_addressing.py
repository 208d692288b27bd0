"""Case C-3: offsets into a KV cache beyond 2^31, and grids longer than an axis."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

X, YZ = 2**31 - 1, 65_535


@pytest.mark.parametrize(
    ("num_blocks", "bits"),
    [(64_000, 64), (32_767, 32), (32_768, 64)],  # blocks of 32 heads x 16 tokens x 128 elements: 2^16 each
)
def test_offsets_are_as_wide_as_the_cache_asks_for(tables: Any, num_blocks: int, bits: int) -> None:
    cache = {"num_blocks": num_blocks, "num_kv_heads": 32, "block_size": 16, "head_size": 128}
    assert tables.kv_cache.copy(num_pairs=64, **cache).offset_bits == bits
    assert tables.kv_cache.gather(num_tokens=64, **cache).offset_bits == bits


def test_the_models_own_cache_needs_32_bits(tables: Any) -> None:
    assert tables.kv_cache.copy(num_pairs=64).offset_bits == 32


def test_a_grid_of_three_thousand_million_is_split(tables: Any) -> None:
    plan = tables.kv_cache.copy(num_pairs=2_904_745_920 // 6_870, num_layers=6_870)
    assert plan.programs == 2_904_745_920
    assert (plan.grid_x, plan.grid_y, plan.grid_z) == (1_452_372_960, 2, 1)


@given(pairs=st.integers(0, X), layers=st.integers(1, YZ))
def test_a_grid_holds_all_programs_within_its_axes(tables: Any, pairs: int, layers: int) -> None:
    plan = tables.kv_cache.copy(num_pairs=pairs, num_layers=layers)
    assert 0 <= plan.grid_x <= X
    assert 1 <= plan.grid_y <= YZ
    assert 1 <= plan.grid_z <= YZ
    programs = plan.grid_x * plan.grid_y * plan.grid_z
    assert pairs * layers == plan.programs <= programs < plan.programs + plan.grid_y * plan.grid_z
