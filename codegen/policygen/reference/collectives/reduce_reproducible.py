"""The kernels of a gpu_to_gpu reduction (`dispatch_reduce_deterministic.cuh`): striding by threads, not by tiles.

Thread t of a grid of N threads takes items t, t + N, ..., `items_per_thread` of them at a time; items that are not
there count as zero. Blocks reduce their threads' accumulators by the policy's algorithm, and one block of the
single-tile kernel does the same with the blocks' (or with the items, if they are one tile). Inputs of more than
2^31 - 1 items are taken in chunks of so many, one launch each. The total is rounded once, then the initial value is
added.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from typing import Final

import torch
from torch import Tensor

from policygen.plan.counts import INT32_MAX
from policygen.plan.counts import ceil_div
from policygen.plan.reduce_plan import ReducePlan
from policygen.reference.collectives.block_reduce import block_reduce
from policygen.reference.collectives.reproducible import BinnedSum
from policygen.reference.contract.tile_log import TileLog

FIRST_PASS: Final = "DeterministicDeviceReduceKernel"
SINGLE_TILE: Final = "DeterministicDeviceReduceSingleTileKernel"
SECOND_PASS: Final = "DeterministicDeviceReduceSingleTileKernel of partial results"


def first_pass(
    values: Tensor, operator: BinnedSum, policy: Mapping[str, Any], grid: int, warp_size: int, log: TileLog
) -> Tensor:
    """The accumulators of the blocks of one launch.

    Args:
        values: the input, [num_items].
        operator: for its type.
        policy: a `ReducePassPolicy`.
        grid: blocks.
        warp_size: lanes of a warp.
        log: notes what each block takes: of one item of each of its threads, `threads` neighbours.
    """
    threads, items, n = policy["threads_per_block"], policy["items_per_thread"], values.shape[0]
    all_threads = grid * threads
    thread = torch.arange(all_threads).reshape(grid, threads)
    place = torch.arange(items).reshape(items, 1, 1) * all_threads
    accumulators = operator.filled(grid, threads, device=values.device)
    for first in range(0, n, all_threads * items):
        index = first + place + thread
        begins = index[:, :, 0]
        exist = begins < n
        blocks = torch.arange(grid).expand_as(begins)
        log.record_all(FIRST_PASS, blocks[exist], begins[exist], (begins[exist] + threads).clamp(max=n))
        found = torch.where((index < n).to(values.device), values[index.clamp(max=n - 1)], 0.0)
        accumulators = operator.with_numbers(accumulators, found)
    valid = torch.full((grid,), threads, device=values.device)
    return block_reduce(accumulators, operator, policy["reduce_algorithm"], warp_size, valid)


def single_tile(
    accumulators: Tensor, operator: BinnedSum, policy: Mapping[str, Any], warp_size: int, name: str, log: TileLog
) -> Tensor:
    """One block reduces accumulators, [count, 4], to one, [4]. An item is an accumulator of nothing else."""
    threads, count = policy["threads_per_block"], accumulators.shape[0]
    held = operator.filled(threads, device=accumulators.device)
    for first in range(0, count, threads):
        last = min(first + threads, count)
        log.record(name, 0, first, last)
        held[: last - first] = operator.combine(held[: last - first], accumulators[first:last])
    valid = torch.tensor([min(threads, count)], device=accumulators.device)
    return block_reduce(held.unsqueeze(0), operator, policy["reduce_algorithm"], warp_size, valid)[0]


def reproducible_total(
    values: Tensor,
    initial: Tensor,
    operator: BinnedSum,
    policy: Mapping[str, Any],
    plan: ReducePlan,
    warp_size: int,
    log: TileLog,
) -> Tensor:
    """A whole reduction of at least one item, and fewer than a chunk."""
    if plan.single_tile:
        numbers = operator.with_numbers(operator.filled(*values.shape, device=values.device), values.unsqueeze(0))
        total = single_tile(numbers, operator, policy["single_tile"], warp_size, SINGLE_TILE, log)
    else:
        partials = first_pass(values, operator, policy["multi_tile"], plan.grid, warp_size, log)
        total = single_tile(partials, operator, policy["single_tile"], warp_size, SECOND_PASS, log)
    return initial + operator.value(total)


def record_chunks(num_items: int, log: TileLog) -> None:
    """Notes the launches of the first pass, where nothing is loaded."""
    for chunk in range(ceil_div(num_items, INT32_MAX)):
        log.record(FIRST_PASS, chunk, chunk * INT32_MAX, min((chunk + 1) * INT32_MAX, num_items))
