"""Tiles of an image's rows, and the blocks that take them (`DeviceHistogramSweepKernel`).

Counts are samples: a row has pixels of several channels, and rows may have samples between them. Blocks stride through
the tiles of a row and through rows, in two dimensions; or each takes the tile of its number, then tiles from a queue,
in whatever order blocks come.
"""

from __future__ import annotations

import torch
from attrs import frozen
from torch import Tensor

from policygen.plan.counts import ceil_div
from policygen.reference.contract.tile_log import TileLog
from policygen.reference.values.elements import ELEMENTS
from policygen.reference.values.elements import wrapped

_INT = ELEMENTS["int32"]


@frozen
class Image:
    """Rows of pixels.

    Attributes:
        row_pixels: pixels of a row.
        rows: how many.
        stride: samples from the begin of a row to that of the next.
        channels: samples of a pixel.
    """

    row_pixels: int
    rows: int
    stride: int
    channels: int

    @property
    def row_samples(self) -> int:
        """Samples of a row."""
        return self.row_pixels * self.channels

    @property
    def num_samples(self) -> int:
        """Samples from the first to the last one, those between rows too."""
        return (self.rows - 1) * self.stride + self.row_samples if self.rows and self.row_pixels else 0

    def linear(self) -> Image:
        """The same, as one row where there is nothing between rows."""
        if self.row_samples != self.stride:
            return self
        return Image(self.row_pixels * self.rows, 1, self.row_samples * self.rows, self.channels)


@frozen(eq=False)
class SweepTiles:
    """Tiles in the order in which they are taken.

    Attributes:
        blocks: who takes each, [tiles].
        begins: first samples, [tiles].
        counts: samples, [tiles].
        is_full: which ones are taken for full, [tiles].
    """

    blocks: Tensor
    begins: Tensor
    counts: Tensor
    is_full: Tensor

    def chosen(self, which: Tensor) -> SweepTiles:
        """Some of them, by a mask."""
        return SweepTiles(self.blocks[which], self.begins[which], self.counts[which], self.is_full[which])

    def record(self, kernel: str, log: TileLog) -> None:
        """Notes them."""
        log.record_all(kernel, self.blocks, self.begins, self.begins + self.counts)


def grid_of(image: Image, tile_pixels: int, max_blocks: int) -> tuple[int, int]:
    """Blocks along a row and across rows: (columns, rows); none for no pixels."""
    columns = min(max_blocks, ceil_div(image.row_pixels, tile_pixels))
    return columns, min(max_blocks // columns, image.rows) if columns else 0


def strided_tiles(image: Image, tile_pixels: int, grid: tuple[int, int], first: int = 0) -> SweepTiles:
    """Each block takes every so many-th tile of every so many-th row.

    Args:
        image: what there is.
        tile_pixels: pixels of a tile.
        grid: of blocks.
        first: tiles of a row that are left out, of a row that is longer than memory.
    """
    columns, rows = grid
    tile = tile_pixels * image.channels
    row, column = torch.meshgrid(
        torch.arange(image.rows), torch.arange(first, ceil_div(image.row_samples, tile)), indexing="ij"
    )
    row, column = row.flatten(), column.flatten()
    counts = (image.row_samples - column * tile).clamp(max=tile)
    return SweepTiles(
        row % rows * columns + column % columns, row * image.stride + column * tile, counts, counts == tile
    )


def stolen_tiles(
    image: Image, tile_pixels: int, grid: tuple[int, int], random: torch.Generator, first: int = 0
) -> SweepTiles:
    """Each block takes one tile, then the next that nobody has taken.

    The last tile of a row is never taken for full. Upstream counts the samples before a tile in an int: in a row of
    more than 2^31 samples that is too few bits, and so it is here.

    Args:
        image: what there is.
        tile_pixels: pixels of a tile.
        grid: of blocks.
        random: who comes when.
        first: tiles that are left out, of one row.
    """
    tile, per_row = tile_pixels * image.channels, ceil_div(image.row_pixels, tile_pixels)
    number = torch.arange(first, image.rows * per_row)
    blocks = grid[0] * grid[1]
    own = torch.randint(blocks, number.shape, generator=random)
    row, column = number // per_row, number % per_row
    before = wrapped(column * tile, _INT)
    is_last = column == per_row - 1
    counts = torch.where(is_last, image.row_samples - before, tile)
    return SweepTiles(torch.where(number < blocks, number, own), row * image.stride + before, counts, ~is_last)
