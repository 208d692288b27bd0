"""Items of a tile, moved to other places by way of shared memory."""

from __future__ import annotations

import torch
from torch import Tensor

from policygen.reference.values.elements import Element


def exchanged(items: Tensor, element: Element, to: Tensor, takes_part: Tensor, tile_items: int) -> Tensor:
    """Shared memory after each thread has put its items to their places.

    Args:
        items: [items, tiles, threads, *element.trailing].
        element: their type.
        to: the place of each in its tile, [items, tiles, threads].
        takes_part: which are put there, broadcast to the same.
        tile_items: places of a tile.

    Returns:
        [tiles, tile_items, *element.trailing]; where nothing was put, what makes every result wrong.
    """
    tiles = items.shape[1]
    memory = element.unset(tiles * tile_items, device=items.device)
    address = torch.arange(tiles, device=items.device).unsqueeze(-1) * tile_items + to
    put = takes_part.expand_as(address)
    memory[address[put]] = items[put]
    return memory.reshape(tiles, tile_items, *element.trailing)
