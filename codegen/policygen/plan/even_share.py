"""Even share: whole tiles dealt to a bounded grid, as `cub::GridEvenShare` deals them."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from policygen.plan.counts import INT32_MAX
from policygen.plan.counts import MAX_ITEMS
from policygen.plan.counts import ceil_div
from policygen.plan.counts import checked


@frozen
class BlockShare:
    """What one block of a grid works on, by the names of `cub::GridEvenShare`.

    Attributes:
        block_offset: the first item of the block's first tile.
        block_end: one past the last item that the block may touch.
        block_stride: items from one of its tiles to the next.
        tile_items: items of a whole tile.
    """

    block_offset: int
    block_end: int
    block_stride: int
    tile_items: int

    @property
    def num_tiles(self) -> int:
        """Tiles of the block; the last may be partly full."""
        return ceil_div(max(0, self.block_end - self.block_offset), self.block_stride)

    @property
    def num_items(self) -> int:
        """Items of the block."""
        if self.num_tiles == 0:
            return 0
        last = self.block_offset + (self.num_tiles - 1) * self.block_stride
        return (self.num_tiles - 1) * self.tile_items + min(self.tile_items, self.block_end - last)

    def tile_ranges(self) -> Iterator[tuple[int, int]]:
        """[start, end) of each tile of the block, in the block's order."""
        for start in range(self.block_offset, self.block_end, self.block_stride):
            yield start, min(start + self.tile_items, self.block_end)


@frozen
class EvenShare:
    """Tiles dealt to blocks: the first `big_shares` get one tile more than the others. All zero for nothing to do.

    Attributes:
        num_items: items of the problem.
        tile_items: items of a whole tile.
        total_tiles: tiles of the problem, at most 2^31 - 1 as upstream counts them.
        grid: blocks to launch.
        tiles_per_block: tiles of a block without a big share.
        big_shares: blocks with one tile more.
    """

    num_items: int
    tile_items: int
    total_tiles: int
    grid: int
    tiles_per_block: int
    big_shares: int

    @property
    def single_tile(self) -> bool:
        """Whether one tile or none holds everything."""
        return self.total_tiles <= 1

    def strip_mine(self, block: int) -> BlockShare:
        """The share of a block whose tiles lie a whole grid of tiles apart (GRID_MAPPING_STRIP_MINE: reduce).

        Args:
            block: 0 to grid - 1.

        Raises:
            ValueError: the grid has no such block.
        """
        self._check_block(block)
        return BlockShare(
            block_offset=block * self.tile_items,
            block_end=self.num_items,
            block_stride=self.grid * self.tile_items,
            tile_items=self.tile_items,
        )

    def rake(self, block: int) -> BlockShare:
        """The share of a block whose tiles are consecutive (GRID_MAPPING_RAKE: the radix sort's passes).

        Args:
            block: 0 to grid - 1.

        Raises:
            ValueError: the grid has no such block; or the tiles are more than upstream can count, where raking would
                leave out the items beyond the last counted tile.
        """
        self._check_block(block)
        if self.total_tiles * self.tile_items < self.num_items:
            raise ValueError(
                f"{self.num_items} items are more than {INT32_MAX} tiles of {self.tile_items}: "
                "raking would leave some out; use larger tiles or split the input"
            )
        normal_share = self.tiles_per_block * self.tile_items
        big_share = normal_share + self.tile_items
        if block < self.big_shares:
            start = block * big_share
            end = start + big_share
        else:
            start = self.big_shares * self.tile_items + block * normal_share
            end = start + min(self.num_items - start, normal_share)
        return BlockShare(start, end, block_stride=self.tile_items, tile_items=self.tile_items)

    def _check_block(self, block: int) -> None:
        if not 0 <= block < self.grid:
            raise ValueError(f"block {block} is not one of the {self.grid} blocks of this grid")


NO_SHARE = EvenShare(num_items=0, tile_items=0, total_tiles=0, grid=0, tiles_per_block=0, big_shares=0)
"""Nothing to do."""


def even_share(num_items: int, max_grid: int, tile_items: int) -> EvenShare:
    """Deals whole tiles to at most `max_grid` blocks (`GridEvenShare::DispatchInit`).

    Args:
        num_items: items of the problem, at most 2^62.
        max_grid: the most blocks to launch, such as `Residency.max_blocks`; at most 2^31 - 1.
        tile_items: items of a tile; at most 2^31 - 1.

    Returns:
        The plan; an empty one, with a grid of 0, if an argument is 0 or negative.

    Raises:
        ValueError: an argument is beyond its bound.
    """
    lowest = -MAX_ITEMS
    num_items = checked("num_items", num_items, lowest, MAX_ITEMS)
    max_grid = checked("max_grid", max_grid, lowest)
    tile_items = checked("tile_items", tile_items, lowest)
    if min(num_items, max_grid, tile_items) <= 0:
        return NO_SHARE
    total_tiles = min(INT32_MAX, ceil_div(num_items, tile_items))
    grid = min(total_tiles, max_grid)
    tiles_per_block, big_shares = divmod(total_tiles, grid)
    return EvenShare(num_items, tile_items, total_tiles, grid, tiles_per_block, big_shares)
