"""Lookahead (`cub::detail::warpspeed::warpIncrementalLookahead`): how a block of many tiles knows what comes before.

A block keeps what came before the tile that it took last, and goes on from there: a warp reads the totals of the next
32 tiles, combines those that have been published without a gap, and repeats that until it arrives at its next tile.
Which tiles a block takes, and how far totals have been published when its warp reads them, is up to the hardware's
timing: here an adversary decides both. With a stable order of reduction a block starts at multiples of 32 tiles only,
and waits for 32 totals at a time, so that sums are the same in every run.
"""

from __future__ import annotations

from typing import Final

import torch
from attrs import frozen
from torch import Tensor

from policygen.plan.counts import ceil_div
from policygen.reference.collectives.warp_reduce import warp_additions
from policygen.reference.collectives.warp_reduce import warp_reduce
from policygen.reference.values.operators import Operator

LANES: Final = 32
"""Lanes of the warp that looks ahead; there is no lookahead but on NVIDIA hardware."""


@frozen(eq=False)
class Schedule:
    """What an adversary decides.

    Attributes:
        previous: the tile that the block of each tile took before it, 0 for none: [tiles].
        published: totals that a warp finds without a gap, 1 to 32: read one after the other, again and again.
    """

    previous: tuple[int, ...]
    published: tuple[int, ...]


def schedule(adversary: str, tiles: int, random: torch.Generator) -> Schedule:
    """A schedule.

    Args:
        adversary: `none` (a block for each tile, totals come one by one), `all` (one block, everything is there) or
            `any`.
        tiles: how many tiles there are.
        random: for `any`.
    """
    if adversary == "none":
        return Schedule((0,) * tiles, (1,))
    if adversary == "all":
        return Schedule(tuple(max(0, tile - 1) for tile in range(tiles)), (LANES,))
    previous = (torch.rand(tiles, generator=random) * torch.arange(tiles)).long()
    published = torch.randint(1, LANES + 1, (97,), generator=random)
    return Schedule(tuple(previous.tolist()), tuple(published.tolist()))


def lookahead(totals: Tensor, operator: Operator, found: Schedule) -> Tensor:
    """What comes before each tile.

    Args:
        totals: of each tile, the first with an initial value: [tiles, *element.trailing].
        operator: how two are combined, earlier tiles on the left.
        found: what the adversary has decided.

    Returns:
        [tiles, *element.trailing]; of the first tile without meaning.
    """
    before = [totals[0]]
    turn = 0
    for tile in range(1, totals.shape[0]):
        at = found.previous[tile]
        value = before[at]
        while at < tile:
            count = min(found.published[turn % len(found.published)], tile - at)
            turn += 1
            part = warp_reduce(totals[at : at + count], operator, count)
            value = part if at == 0 else operator.combine(value, part)
            at += count
        before.append(value)
    return torch.stack(before)


def stable_lookahead(totals: Tensor, operator: Operator) -> Tensor:
    """The same with a stable order of reduction: batches of 32 tiles from the first on, whoever took which tile."""
    before = [totals[0]]
    whole = totals[0]
    for tile in range(1, totals.shape[0]):
        at = (tile - 1) // LANES * LANES
        missing = operator.filled(LANES - (tile - at), device=totals.device)
        part = warp_reduce(torch.cat([totals[at:tile], missing]), operator, LANES)
        value = part if at == 0 else operator.combine(whole, part)
        before.append(value)
        if tile - at == LANES:
            whole = value
    return torch.stack(before)


def lookahead_additions(tiles: int) -> int:
    """The most combinations that a tile's total passes through: each step may bring one tile only."""
    return tiles + ceil_div(tiles, LANES) + warp_additions(LANES)
