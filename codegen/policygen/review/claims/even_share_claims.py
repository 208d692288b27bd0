"""C: what the notes say of dealing tiles to blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from policygen.plan.even_share import EvenShare
from policygen.plan.even_share import even_share
from policygen.plan.residency import Residency
from policygen.plan.scan_plan import lookback_plan
from policygen.review.claims.claim import Answers
from policygen.review.claims.claim import Claim
from policygen.review.upstream import Upstream

_SM_COUNT: Final = 16
_TILE: Final = 12_288
_SCAN_TILE: Final = 8_448
_TEN_MILLION: Final = 10_000_000
_DIFFER: Final = "cases that differ"


def _residency(occupancy: int) -> Residency:
    return Residency(sm_count=_SM_COUNT, occupancy=occupancy)


def _shares() -> Iterator[EvenShare]:
    for items in (1, 511, 8_193, 100_000, 1_000_000, 12_345_678, 2**33 + 5):
        for most in (1, 7, 80, 160, 1_184):
            for tile in (128, 1_024, _TILE):
                yield even_share(items, most, tile)


def _scan_is_raked(_: Upstream) -> Answers:
    plan = lookback_plan(_TEN_MILLION, tile_items=_SCAN_TILE, accum_size=4, single_word=True, residency=_residency(2))
    return {"blocks of a scan of 10,000,000 floats": plan.grid}


def _raked_tiles(_: Upstream) -> Answers:
    found: dict[str, bool] = {}
    for tiles in (160, 200):
        share = even_share(tiles * _TILE, _residency(2).max_blocks, _TILE)
        average = share.tiles_per_block
        found[f"{tiles} tiles: block k starts at k x average"] = all(
            share.rake(block).block_offset == block * average * _TILE for block in range(share.grid)
        )
    return found


def _big_shares(_: Upstream) -> Answers:
    return {_DIFFER: sum(share.big_shares != share.total_tiles % share.grid for share in _shares())}


def _grid(_: Upstream) -> Answers:
    wrong = 0
    for items in (1, 100_000, 12_345_678, 2**33 + 5):
        for most in (1, 7, 80, 160):
            share = even_share(items, most, 1_024)
            wrong += share.grid != min(-(-items // 1_024), most)
    return {_DIFFER: wrong}


def _short_problems(_: Upstream) -> Answers:
    return {
        f"{items:,} items": even_share(items, _residency(2).max_blocks, _TILE).total_tiles
        for items in (1_000, 8_000, 32_000, 100_000)
    }


def _million(_: Upstream) -> Answers:
    found: dict[str, str] = {}
    for occupancy in (2, 1):
        residency = _residency(occupancy)
        share = even_share(1_000_000, residency.max_blocks, _TILE)
        waves = residency.waves(share.grid).waves
        found[f"occupancy {occupancy}"] = f"{share.total_tiles} tiles, grid {share.grid}, {waves} waves"
    return found


def _two_hundred(_: Upstream) -> Answers:
    share = even_share(200 * _TILE, _residency(2).max_blocks, _TILE)
    return {"tiles of a block": share.tiles_per_block, "blocks with one more": share.big_shares}


_SHARE: Final = "the plan of an even share"

EVEN_SHARE_CLAIMS: Final = (
    Claim("C1", "N0", "scan", "scan deals its tiles to a bounded grid, raked",
          {"blocks of a scan of 10,000,000 floats": 160}, _scan_is_raked,
          "the plan of a lookback scan, tiles of 8,448"),
    Claim("C3", "N0", "", "raked: block k takes average tiles from k x average on",
          {
              "160 tiles: block k starts at k x average": True,
              "200 tiles: block k starts at k x average": True,
          }, _raked_tiles, _SHARE),
    Claim("C4", "N0", "", "as many blocks have one tile more as tiles are left over: tiles mod grid",
          {_DIFFER: 0}, _big_shares, _SHARE),
    Claim("C5", "N0", "", "the grid is min(tiles, most blocks)", {_DIFFER: 0}, _grid, _SHARE),
    Claim("C6", "N0", "", "1K, 8K, 32K and 100K items are 1, 1, 3 and 9 tiles of 12,288",
          {"1,000 items": 1, "8,000 items": 1, "32,000 items": 3, "100,000 items": 9}, _short_problems, _SHARE),
    Claim("C7", "N0", "", "a million items are 82 tiles on 82 blocks in 3 waves",
          {"occupancy 2": "82 tiles, grid 82, 3 waves", "occupancy 1": "82 tiles, grid 82, 3 waves"},
          _million, _SHARE),
    Claim("C8", "N0", "", "200 tiles on 160 blocks: one each, and 40 blocks have one more",
          {"tiles of a block": 1, "blocks with one more": 40}, _two_hundred, _SHARE),
)  # fmt: skip
