"""Where runs of equal items begin (`cub::BlockDiscontinuity`).

Each thread compares its items with their predecessors. Its first one's is the last item of the thread before, which
that has put into shared memory; the first thread's is the last item of the tile before, or there is none.
"""

from __future__ import annotations

import torch
from torch import Tensor

from policygen.reference.values.equalities import Equality


def flag_heads(items: Tensor, equality: Equality, predecessors: Tensor, has_predecessor: Tensor) -> Tensor:
    """Which items begin a run.

    Args:
        items: [items, tiles, threads, *element.trailing].
        equality: of items.
        predecessors: the item before each tile, [tiles, *element.trailing].
        has_predecessor: bool [tiles]; the first item of a tile without one begins a run, whatever it is.

    Returns:
        bool [items, tiles, threads].
    """
    last_items = items[-1]
    before_threads = torch.cat([predecessors.unsqueeze(1), last_items[:, :-1]], dim=1)
    before = torch.cat([before_threads.unsqueeze(0), items[:-1]])
    heads = ~equality.same(before, items)
    heads[0, :, 0] |= ~has_predecessor
    return heads
