"""Decoupled lookback (`cub::TilePrefixCallbackOp`): how a tile finds out what comes before it.

A tile publishes its own total (PARTIAL), then looks back over a window of one warp of predecessors at a time, nearest
first, waiting until each has published something. If one of them has published everything up to its end (INCLUSIVE),
the totals after it are combined with it, and the tile is done; else the window's totals go before what it has, and it
looks further back. Then it publishes its own INCLUSIVE. Tile 0 has nothing to wait for and is INCLUSIVE at once.

Which predecessors are INCLUSIVE when a tile looks is up to the hardware's timing, and no two tiles need to agree: here
an adversary decides, as `known[tile, predecessor]`. Waiting and its delays are of no consequence for results: a
predecessor is read when it has published, whenever that is.

With a stable order of reduction, only every 32nd tile (an anchor) publishes INCLUSIVE, and a tile waits for its
nearest anchor to do so: sums are then the same in every run.
"""

from __future__ import annotations

import torch
from torch import Tensor

from policygen.plan.counts import ceil_div
from policygen.reference.collectives.warp_reduce import warp_additions
from policygen.reference.collectives.warp_reduce import warp_reduce
from policygen.reference.values.operators import Operator
from policygen.reference.values.operators import swapped

ADVERSARIES = ("none", "all", "any")
"""Predecessors known inclusively: none but the first tile, all of them, or any."""


def known_inclusive(adversary: str, tiles: int, random: torch.Generator) -> Tensor:
    """Which predecessors are INCLUSIVE when a tile looks, as an adversary has it.

    Args:
        adversary: one of `ADVERSARIES`.
        tiles: how many tiles there are.
        random: for `any`.

    Returns:
        bool [tiles, tiles]: by tile and predecessor; the first tile always is.
    """
    match adversary:
        case "none":
            known = torch.zeros(tiles, tiles, dtype=torch.bool)
        case "all":
            known = torch.ones(tiles, tiles, dtype=torch.bool)
        case _:
            # each tile has its own share of predecessors that are further on
            share = torch.rand(tiles, 1, generator=random) ** 3
            known = torch.rand(tiles, tiles, generator=random) < share
    known[:, :1] = True
    return known


def lookback(totals: Tensor, operator: Operator, window: int, known: Tensor) -> Tensor:
    """What comes before each tile.

    Args:
        totals: of each tile, the first with an initial value: [tiles, *element.trailing].
        operator: how two are combined, earlier tiles on the left.
        window: predecessors of one step: the lanes of a warp.
        known: see `known_inclusive`.

    Returns:
        [tiles, *element.trailing]; of the first tile without meaning.
    """
    before, inclusive = [totals[0]], [totals[0]]
    for tile in range(1, totals.shape[0]):
        nearest, prefix = tile - 1, None
        while True:
            found = torch.nonzero(known[tile, max(0, nearest - window + 1) : nearest + 1])
            is_done = found.numel() > 0
            lanes = window if not is_done else nearest - max(0, nearest - window + 1) - int(found[-1, 0]) + 1
            values = [totals[nearest - lane] for lane in range(lanes)]
            if is_done:
                values[-1] = inclusive[nearest - lanes + 1]
            part = _window(values, operator)
            prefix = part if prefix is None else operator.combine(part, prefix)
            if is_done:
                break
            nearest -= window
        before.append(prefix)
        inclusive.append(operator.combine(prefix, totals[tile]))
    return torch.stack(before)


def stable_lookback(totals: Tensor, operator: Operator, window: int) -> Tensor:
    """The same with a stable order of reduction: each tile combines the totals since its nearest anchor.

    Args:
        totals: of each tile, the first with an initial value: [tiles, *element.trailing].
        operator: how two are combined.
        window: tiles from one anchor to the next.
    """
    before, inclusive = [totals[0]], [totals[0]]
    for tile in range(1, totals.shape[0]):
        anchor = (tile - 1) // window * window
        values = [*(totals[place] for place in range(tile - 1, anchor, -1)), inclusive[anchor]]
        before.append(_window(values, operator))
        inclusive.append(operator.combine(before[-1], totals[tile]))
    return torch.stack(before)


def lookback_additions(tiles: int, window: int) -> int:
    """The most combinations that a tile's total passes through: into inclusive values, tile after tile, and windows."""
    return tiles * (1 + warp_additions(window)) + ceil_div(tiles, window)


def _window(values: list[Tensor], operator: Operator) -> Tensor:
    """A warp's reduction in which higher lanes are earlier tiles; lanes past the last value do not take part."""
    return warp_reduce(torch.stack(values), swapped(operator), len(values))
