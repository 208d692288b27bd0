"""Items of a tile, moved to other places by way of shared memory."""

from __future__ import annotations

import torch
from torch import Tensor

from policygen.reference.collectives.selection_counts import SelectionCounts
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


def write_compacted(
    items: Tensor,
    element: Element,
    flags: Tensor,
    counts: SelectionCounts,
    selections: Tensor,
    begins: Tensor,
    out: Tensor,
) -> None:
    """Moves what is selected up in shared memory, and writes it from there, so that neighbours write to neighbours.

    Args:
        items: [items, tiles, threads, *element.trailing].
        element: their type.
        flags: which are selected, bool [items, tiles, threads].
        counts: how many are before each.
        selections: how many of each tile are to be written, [tiles].
        begins: where in the output those of each tile begin, [tiles].
        out: [n, *element.trailing].
    """
    tile_items = flags.shape[0] * flags.shape[2]
    to = counts.places - counts.before.unsqueeze(-1)
    shared = exchanged(items, element, to, flags, tile_items)
    place = torch.arange(tile_items, device=out.device)
    writes = place < selections.unsqueeze(-1)
    out[(begins.unsqueeze(-1) + place)[writes]] = shared[writes]
