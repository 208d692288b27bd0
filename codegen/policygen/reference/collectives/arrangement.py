"""Which items of a tile a thread holds: the arrangements of CUB, as places in the tile."""

from __future__ import annotations

import torch
from torch import Tensor


def blocked(threads: int, items: int) -> Tensor:
    """Neighbours in one thread: int64 [items, threads]."""
    return torch.arange(threads) * items + torch.arange(items).unsqueeze(-1)


def striped(threads: int, items: int) -> Tensor:
    """Neighbours in neighbouring threads of a block: int64 [items, threads]."""
    return torch.arange(threads) + torch.arange(items).unsqueeze(-1) * threads


def striped_vectors(threads: int, items: int, vector: int) -> Tensor:
    """Vectors of neighbours in one thread, neighbouring vectors in neighbouring threads: int64 [items, threads].

    The items of a thread are whole vectors.
    """
    place = torch.arange(items).unsqueeze(-1)
    return (place // vector * threads + torch.arange(threads)) * vector + place % vector


def warp_striped(threads: int, items: int, warp_size: int) -> Tensor:
    """Consecutive parts of the tile for each warp, neighbours in neighbouring lanes: int64 [items, threads].

    Where threads are no multiple of a warp, which CUB does not allow, the last warp's stripes are as narrow as it is.
    """
    thread = torch.arange(threads)
    warp, lane = thread // warp_size, thread % warp_size
    lanes = (threads - warp * warp_size).clamp(max=warp_size)
    return warp * warp_size * items + lane + torch.arange(items).unsqueeze(-1) * lanes
