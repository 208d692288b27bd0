"""A block's reduction (`cub::BlockReduce`), in the orders of its algorithms.

- BLOCK_REDUCE_WARP_REDUCTIONS: each warp reduces its lanes, then thread 0 adds the warps' results one after the other.
- BLOCK_REDUCE_WARP_REDUCTIONS_NONDETERMINISTIC: the same, but warps 1 and up add theirs atomically, in any order.
- BLOCK_REDUCE_RAKING: the threads of one warp rake a segment each, one after the other, then that warp is reduced.
"""

from __future__ import annotations

import torch
from torch import Tensor

from policygen.plan.counts import ceil_div
from policygen.reference.collectives.raking import raking_layout
from policygen.reference.collectives.warp_reduce import warp_additions
from policygen.reference.collectives.warp_reduce import warp_reduce
from policygen.reference.values.elements import split
from policygen.reference.values.operators import Operator

RAKING = "BLOCK_REDUCE_RAKING"
WARP_REDUCTIONS = "BLOCK_REDUCE_WARP_REDUCTIONS"
NONDETERMINISTIC = "BLOCK_REDUCE_WARP_REDUCTIONS_NONDETERMINISTIC"


def block_reduce(
    partials: Tensor,
    operator: Operator,
    algorithm: str,
    warp_size: int,
    valid: Tensor,
    arrival: Tensor | None = None,
) -> Tensor:
    """Reduces a value of each thread, for each block.

    Args:
        partials: [blocks, threads, *element.trailing].
        operator: how two are combined.
        algorithm: an enumerator of `BlockReduceAlgorithm`.
        warp_size: lanes of a warp.
        valid: how many threads of each block hold something, from the first on, at least 1: [blocks].
        arrival: of the atomic algorithm, the order in which the warps of a block but the first add theirs: a
            permutation of 1 to warps - 1.

    Returns:
        [blocks, *element.trailing].
    """
    if algorithm == RAKING:
        return _rake(partials, operator, warp_size, valid)
    if algorithm not in (WARP_REDUCTIONS, NONDETERMINISTIC):
        raise ValueError(f"{algorithm} is not modelled: no policy uses it")
    return _warp_reductions(partials, operator, warp_size, valid, arrival if algorithm == NONDETERMINISTIC else None)


def block_additions(threads: int, algorithm: str, warp_size: int) -> int:
    """The most combinations that a thread's value passes through."""
    if algorithm == RAKING:
        layout = raking_layout(threads, warp_size)
        return layout.segment - 1 + warp_additions(layout.raking_threads)
    return warp_additions(min(threads, warp_size)) + ceil_div(threads, warp_size) - 1


def _warp_reductions(
    partials: Tensor, operator: Operator, warp_size: int, valid: Tensor, arrival: Tensor | None
) -> Tensor:
    warps = ceil_div(partials.shape[1], warp_size)
    lanes = split(padded(partials, warps * warp_size, operator), 1, warps, warp_size)
    first_thread = torch.arange(warps, device=partials.device) * warp_size
    lanes_valid = (valid.unsqueeze(-1) - first_thread).clamp(max=warp_size)
    aggregates = warp_reduce(lanes, operator, lanes_valid)
    total = aggregates[:, 0]
    for warp in range(1, warps) if arrival is None else arrival.tolist():
        total = operator.element.select(lanes_valid[:, warp] > 0, operator.combine(total, aggregates[:, warp]), total)
    return total


def _rake(partials: Tensor, operator: Operator, warp_size: int, valid: Tensor) -> Tensor:
    layout = raking_layout(partials.shape[1], warp_size)
    grid = padded(partials, layout.raking_threads * layout.segment, operator)
    segments = split(grid, 1, layout.raking_threads, layout.segment)
    starts = torch.arange(layout.raking_threads, device=partials.device) * layout.segment
    total = segments[:, :, 0]
    for place in range(1, layout.segment):
        total = operator.element.select(
            starts + place < valid.unsqueeze(-1), operator.combine(total, segments[:, :, place]), total
        )
    return warp_reduce(total, operator, (valid + layout.segment - 1) // layout.segment)


def padded(partials: Tensor, threads: int, operator: Operator) -> Tensor:
    """Values of a block's threads, and nothing for those that the block does not have: [blocks, threads, ...]."""
    missing = threads - partials.shape[1]
    if missing == 0:
        return partials
    return torch.cat([partials, operator.element.unset(partials.shape[0], missing, device=partials.device)], dim=1)
