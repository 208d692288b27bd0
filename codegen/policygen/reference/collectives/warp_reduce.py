"""A warp's reduction by shuffles (`cub::WarpReduce`).

In step s each lane takes what the lane 2^s above it has, and combines its own with it: lane 0 ends up with all valid
lanes in their order. Lanes past the last valid one are not combined.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from policygen.reference.values.operators import Operator


def warp_reduce(lanes: Tensor, operator: Operator, valid: Tensor | int) -> Tensor:
    """Reduces the lanes of each warp.

    Args:
        lanes: [...warps..., lanes, *element.trailing].
        operator: how two are combined.
        valid: how many lanes of each warp hold something, at least 1: a number, or [...warps...].

    Returns:
        What lane 0 has in the end: [...warps..., *element.trailing].
    """
    dimension = lanes.dim() - 1 - len(operator.element.trailing)
    width = lanes.shape[dimension]
    lane = torch.arange(width, device=lanes.device)
    last = (valid.unsqueeze(-1) if isinstance(valid, Tensor) else valid) - 1
    offset = 1
    while offset < width:
        above = torch.roll(lanes, -offset, dims=dimension)
        lanes = operator.element.select(lane + offset <= last, operator.combine(lanes, above), lanes)
        offset *= 2
    return lanes.select(dimension, 0)


def warp_additions(lanes: int) -> int:
    """The most combinations that a lane's value passes through."""
    return math.ceil(math.log2(lanes)) if lanes > 1 else 0
