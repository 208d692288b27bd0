"""An input in parts, a launch of the kernel each, because a kernel counts items in 32 bits; a block takes one tile.

Selections round the items of a launch down to whole tiles; partitions do not, so that the last tile of each launch is
one that is not full.
"""

from __future__ import annotations

from typing import Final

import torch

from policygen.plan.counts import ceil_div
from policygen.reference.collectives.regions import Tiles
from policygen.reference.contract.sizes import LAST_TILES

MOST_LAUNCH_ITEMS: Final = 2**31 - 1
"""What a signed 32-bit number of items holds."""


def launches(num_items: int, tile_items: int, launch_items: int, *, has_data: bool) -> list[Tiles]:
    """The tiles of each launch; a tile's block is its number in the launch.

    Args:
        num_items: items of all launches.
        tile_items: items of a tile.
        launch_items: the most items of a launch.
        has_data: False where nothing is loaded: the last tiles of each launch are enough. There may be no more of
            them in a launch but the first, or items between two launches are in none.

    Returns:
        One entry for each launch, on the CPU; none for no items.
    """
    found = []
    for begin in range(0, num_items, launch_items):
        end = min(begin + launch_items, num_items)
        tiles = ceil_div(end - begin, tile_items)
        numbers = torch.arange(0 if has_data else max(0, tiles - LAST_TILES), tiles)
        begins = begin + numbers * tile_items
        found.append(Tiles(tile_items, numbers, numbers, begins, (begins + tile_items).clamp(max=end)))
    return found
