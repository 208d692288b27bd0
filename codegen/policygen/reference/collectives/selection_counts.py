"""How many items are selected before each: a block's scan of its tile's flags, seeded with what lookback finds.

Flags are numbers, so that several may be packed into one and counted at once. What lies past the end of the input
counts as selected, and comes after everything else: whoever uses a tile's total takes it off again.
"""

from __future__ import annotations

import torch
from attrs import frozen
from torch import Tensor

from policygen.reference.collectives.block_scan import block_scan
from policygen.reference.collectives.lookback import lookback
from policygen.reference.collectives.sweep_shape import SweepShape
from policygen.reference.collectives.thread_reduce import Order
from policygen.reference.collectives.thread_reduce import thread_reduce
from policygen.reference.collectives.thread_scan import thread_scan
from policygen.reference.values.operators import Operator


@frozen(eq=False)
class SelectionCounts:
    """Counts of tiles, in one launch.

    Attributes:
        places: before each item: [items, tiles, threads, *trailing].
        before: before each tile: [tiles, *trailing].
        totals: in each tile, with what is past the end: [tiles, *trailing].
    """

    places: Tensor
    before: Tensor
    totals: Tensor


def count_selections(
    flags: Tensor, operator: Operator, shape: SweepShape, known: Tensor, earlier: Tensor
) -> SelectionCounts:
    """Counts what is selected, in tiles that follow upon others.

    Args:
        flags: [items, tiles, threads, *operator.element.trailing].
        operator: how flags are added.
        shape: of the tiles.
        known: see `lookback.known_inclusive`, for all tiles of the launch.
        earlier: totals of the tiles of the launch before these: [earlier tiles, *trailing].
    """
    in_threads = thread_reduce(flags, operator, Order.SEQUENTIAL)
    scan = block_scan(in_threads, operator, shape.scan_algorithm, shape.warp_size)
    totals = torch.cat([earlier, scan.aggregate])
    before = lookback(totals, operator, shape.warp_size, known)
    # nothing comes before the first tile
    before[0] = operator.identity()
    before = before[earlier.shape[0] :]
    prefixes = scan.seeded(before, known_early=False)
    has_prefix = torch.ones(flags.shape[1:3], dtype=torch.bool, device=flags.device)
    places = thread_scan(flags, operator, prefixes, has_prefix, inclusive=False)
    return SelectionCounts(places, before, scan.aggregate)
