"""A warp's scan by shuffles (`cub::WarpScan`): a lane combines what the lane 2^s below it has with its own."""

from __future__ import annotations

import torch
from torch import Tensor

from policygen.reference.collectives.warp_reduce import warp_additions
from policygen.reference.values.operators import Operator

scan_additions = warp_additions


def warp_scan(lanes: Tensor, operator: Operator) -> Tensor:
    """Scans the lanes of each warp, each lane's own value included.

    Args:
        lanes: [...warps..., lanes, *element.trailing].
        operator: how two are combined.
    """
    dimension = lanes.dim() - 1 - len(operator.element.trailing)
    lane = torch.arange(lanes.shape[dimension], device=lanes.device)
    offset = 1
    while offset < lanes.shape[dimension]:
        below = torch.roll(lanes, offset, dims=dimension)
        lanes = operator.element.select(lane >= offset, operator.combine(below, lanes), lanes)
        offset *= 2
    return lanes


def shifted_up(lanes: Tensor, operator: Operator) -> Tensor:
    """What the lane below has; lane 0 gets what must not be looked at: the last lane's value."""
    return torch.roll(lanes, 1, dims=lanes.dim() - 1 - len(operator.element.trailing))
