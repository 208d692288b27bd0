"""Where runs of equal keys begin and end in a tile (`cub::BlockDiscontinuity`).

A thread has consecutive keys in registers and compares each with its neighbour. The last (or first) key of the thread
beside it comes through shared memory, and the keys beside the tile are read from the input by the tile's first (or
last) thread. NaN equals nothing, so that it is a run of its own; 0.0 and -0.0 are equal.
"""

from __future__ import annotations

import torch
from torch import Tensor

from policygen.reference.values.elements import Element


def differ(first: Tensor, second: Tensor, element: Element) -> Tensor:
    """Whether two keys are not equal: bool, without the trailing dimension."""
    unequal = first != second
    return unequal.any(-1) if element.words else unequal


def with_predecessors(keys: Tensor, before_tile: Tensor) -> Tensor:
    """The key before each key.

    Args:
        keys: [items, tiles, threads, *element.trailing]: neighbours in one thread.
        before_tile: the key before each tile's first, [tiles, *element.trailing].

    Returns:
        Of the same shape as `keys`.
    """
    last_items = torch.roll(keys[-1], 1, dims=1)
    last_items[:, 0] = before_tile
    return torch.cat([last_items.unsqueeze(0), keys[:-1]])


def with_successors(keys: Tensor, after_tile: Tensor) -> Tensor:
    """The key after each key; the arguments are those of `with_predecessors`, with the key after each tile's last."""
    first_items = torch.roll(keys[0], -1, dims=1)
    first_items[:, -1] = after_tile
    return torch.cat([keys[1:], first_items.unsqueeze(0)])
