from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policygen.plan.counts import INT32_MAX
from policygen.plan.counts import MAX_ITEMS
from policygen.plan.even_share import NO_SHARE
from policygen.plan.even_share import BlockShare
from policygen.plan.even_share import EvenShare
from policygen.plan.even_share import even_share

GRID_SIZES = Path(__file__).parents[1] / "data" / "grid-even-share-cccl-3.5.csv"


def raked(share: EvenShare) -> list[tuple[int, int]]:
    return [(part.block_offset, part.block_end) for part in map(share.rake, range(share.grid))]


def every_tile(share: EvenShare, strategy: str) -> Iterator[tuple[int, int]]:
    for block in range(share.grid):
        part: BlockShare = getattr(share, strategy)(block)
        ranges = list(part.tile_ranges())
        assert len(ranges) == part.num_tiles
        assert sum(end - start for start, end in ranges) == part.num_items
        yield from ranges


def test_grid_sizes_are_upstream_s() -> None:
    with GRID_SIZES.open(newline="") as file:
        rows = [{name: int(value) for name, value in row.items()} for row in csv.DictReader(file)]
    assert len(rows) == 1008
    for row in rows:
        assert even_share(row["num_items"], row["max_grid"], row["tile_items"]).grid == row["grid_size"], row


@pytest.mark.parametrize(
    "arguments",
    [(0, 4, 256), (-1, 4, 256), (5, 0, 256), (5, 4, 0), (5, -1, 256), (5, 4, -2), (0, 0, 0), (-(2**40), 1, 1)],
)
def test_nothing_to_do_is_an_empty_plan(arguments: tuple[int, int, int]) -> None:
    share = even_share(*arguments)
    assert share == NO_SHARE
    assert share.grid == share.total_tiles == 0
    assert share.single_tile


def test_one_item_is_one_block() -> None:
    share = even_share(1, 100, 256)
    assert (share.grid, share.tiles_per_block, share.big_shares) == (1, 1, 0)
    assert raked(share) == [(0, 1)]
    assert list(share.strip_mine(0).tile_ranges()) == [(0, 1)]


def test_one_item_more_than_the_blocks_hold_makes_one_big_share() -> None:
    share = even_share(1025, 4, 256)
    assert (share.total_tiles, share.grid, share.big_shares) == (5, 4, 1)
    assert raked(share) == [(0, 512), (512, 768), (768, 1024), (1024, 1025)]


def test_shares_differ_by_one_tile() -> None:
    share = even_share(10_000, 7, 512)
    assert (share.total_tiles, share.big_shares) == (20, 6)
    assert [end - start for start, end in raked(share)] == [1536] * 6 + [10_000 - 6 * 1536]
    assert share.tiles_per_block * share.tile_items == 1024


def test_strip_mining_strides_by_the_grid() -> None:
    share = even_share(10_000, 7, 512)
    assert share.strip_mine(3) == BlockShare(block_offset=1536, block_end=10_000, block_stride=3584, tile_items=512)
    assert list(share.strip_mine(5).tile_ranges()) == [(2560, 3072), (6144, 6656), (9728, 10_000)]


def test_raking_gives_consecutive_tiles() -> None:
    share = even_share(10_000, 7, 512)
    assert share.rake(1) == BlockShare(block_offset=1536, block_end=3072, block_stride=512, tile_items=512)
    assert list(share.rake(6).tile_ranges()) == [(9216, 9728), (9728, 10_000)]


def test_tile_rounding_does_not_wrap() -> None:
    share = even_share(INT32_MAX, 160, 4096)
    assert share.total_tiles * share.tile_items == INT32_MAX + 1
    assert raked(share)[-1][1] == INT32_MAX
    assert all(0 <= start < end for start, end in raked(share))
    assert max(end for _, end in every_tile(share, "strip_mine")) == INT32_MAX


def test_tiles_are_counted_as_upstream_counts_them() -> None:
    share = even_share(2**33, 160, 1)
    assert (share.total_tiles, share.grid) == (INT32_MAX, 160)
    # Strip mining walks to the end whatever the count says; raking would not, and is refused.
    assert sum(share.strip_mine(block).num_items for block in range(160)) == 2**33
    with pytest.raises(ValueError, match=r"more than 2147483647 tiles of 1: raking would leave some out"):
        share.rake(0)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [((MAX_ITEMS + 1, 1, 1), "num_items"), ((1, 2**31, 1), "max_grid"), ((1, 1, 2**31), "tile_items")],
)
def test_what_upstream_cannot_hold_is_refused(arguments: tuple[int, int, int], name: str) -> None:
    with pytest.raises(ValueError, match=rf"^{name} is \d+: a plan needs"):
        even_share(*arguments)


def test_a_fraction_is_no_count() -> None:
    with pytest.raises(TypeError):
        even_share(1e6, 160, 12_288)  # type: ignore[arg-type]


@pytest.mark.parametrize("block", [-1, 4])
def test_a_block_beyond_the_grid_is_refused(block: int) -> None:
    share = even_share(1025, 4, 256)
    for strategy in (share.rake, share.strip_mine):
        with pytest.raises(ValueError, match="is not one of the 4 blocks"):
            strategy(block)


@given(num_items=st.integers(1, 3000), max_grid=st.integers(1, 70), tile_items=st.integers(1, 300))
def test_tiles_partition_the_items(num_items: int, max_grid: int, tile_items: int) -> None:
    share = even_share(num_items, max_grid, tile_items)
    for strategy in ("rake", "strip_mine"):
        tiles = sorted(every_tile(share, strategy))
        assert [start for start, _ in tiles] == list(range(0, num_items, tile_items))
        assert [end for _, end in tiles] == [*(start for start, _ in tiles[1:]), num_items]


@given(
    num_items=st.integers(1, 2**40) | st.integers(1, MAX_ITEMS),
    max_grid=st.integers(1, 10**6),
    tile_items=st.integers(1, 2**16),
    data=st.data(),
)
def test_raked_blocks_join_without_gap_or_overlap(
    num_items: int, max_grid: int, tile_items: int, data: st.DataObject
) -> None:
    share = even_share(num_items, max_grid, tile_items)
    if share.total_tiles * tile_items < num_items:
        with pytest.raises(ValueError, match="raking would leave some out"):
            share.rake(0)
        return
    assert share.rake(0).block_offset == 0
    assert share.rake(share.grid - 1).block_end == num_items
    # Offsets are linear in the block on either side of the last big share, so these blocks stand for all.
    drawn = data.draw(st.integers(0, share.grid - 1))
    for block in {0, share.big_shares - 1, share.big_shares, share.grid - 2, drawn} & set(range(share.grid - 1)):
        part = share.rake(block)
        assert part.block_offset < part.block_end == share.rake(block + 1).block_offset
        assert part.num_tiles == share.tiles_per_block + (block < share.big_shares)


@given(
    num_items=st.integers(1, 2**40) | st.integers(1, MAX_ITEMS),
    max_grid=st.integers(1, 10**6),
    tile_items=st.integers(1, 2**16),
    data=st.data(),
)
def test_strip_mined_blocks_own_every_tile_once(
    num_items: int, max_grid: int, tile_items: int, data: st.DataObject
) -> None:
    share = even_share(num_items, max_grid, tile_items)
    real_tiles = -(-num_items // tile_items)
    block = data.draw(st.integers(0, share.grid - 1))
    part = share.strip_mine(block)
    # A block's tiles are those whose number is its own modulo the grid: each tile has exactly one owner.
    assert part.num_tiles == len(range(block, real_tiles, share.grid))
    if real_tiles <= INT32_MAX:
        assert part.num_tiles == share.tiles_per_block + (block < share.big_shares)
    owner = share.strip_mine((real_tiles - 1) % share.grid)
    last = owner.block_offset + (owner.num_tiles - 1) * owner.block_stride
    assert (last, owner.block_end) == ((real_tiles - 1) * tile_items, num_items)
    is_last_owner = owner == part
    assert part.num_items == part.num_tiles * tile_items - is_last_owner * (real_tiles * tile_items - num_items)
