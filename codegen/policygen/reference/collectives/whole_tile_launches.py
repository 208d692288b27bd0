"""Which launch takes which tiles, where offsets of 32 bits do not reach over the whole input.

Where the number of items has 8 bytes, algorithms with offsets of 32 bits take as many whole tiles as these hold in one
launch, and then the next ones in another: each launch has blocks from 0 on.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve

from policygen.reference.collectives.regions import Tiles
from policygen.reference.collectives.regions import one_region
from policygen.reference.contract.sizes import LAST_TILES

_GREATEST_OFFSET = 2**31 - 1


def most_launched(tile_items: int) -> int:
    """The most tiles of one launch, if they have so many items."""
    return _GREATEST_OFFSET // tile_items


def first_of_last_tiles(num_items: int, tile_items: int) -> int:
    """Where the last tiles begin that are enough to see index arithmetic."""
    return max(0, -(-num_items // tile_items) - LAST_TILES) * tile_items


def launches(num_items: int, tile_items: int, most_tiles: int | None, *, first_item: int = 0) -> Iterator[Tiles]:
    """The tiles of each launch, a block each.

    Args:
        num_items: all items.
        tile_items: items of a tile.
        most_tiles: of one launch; None for a single launch, however many there are.
        first_item: the first item of the tiles that are wanted, the first of a tile.
    """
    step = max(1, num_items) if most_tiles is None else most_tiles * tile_items
    for begin in range(0, num_items, step):
        skipped = max(0, first_item - begin) // tile_items
        end = min(num_items, begin + step)
        if begin + skipped * tile_items < end:
            tiles = one_region(end, begin + skipped * tile_items).tiles(tile_items)
            yield evolve(tiles, blocks=tiles.numbers + skipped)


def tiles_past_offsets(tiles: Tiles) -> int:
    """How many tiles of a launch end past what an offset of 32 bits holds."""
    return int(((tiles.blocks + 1) * tiles.tile_items > _GREATEST_OFFSET).sum())
