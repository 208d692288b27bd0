"""A block's exclusive scan of one value of each thread (`cub::BlockScan`), in the orders of its algorithms.

- BLOCK_SCAN_WARP_SCANS: each warp scans its lanes; the warps' totals are combined one after the other; a thread has
  what came before its warp, then what came before it in its warp. Blocks that are not whole warps are raked instead.
- BLOCK_SCAN_RAKING: the threads of one warp rake a segment each (upsweep), that warp scans their results, and each of
  them scans its segment again, seeded (downsweep). BLOCK_SCAN_RAKING_MEMOIZE keeps segments in registers: same order.

A block's total is known before what comes before the block is: so a scan has an `upsweep`, which gives the totals, and
then results for a seed. A seed that is known from the start (an initial value) is combined with the warps' totals, one
that arrives later (from the tiles before) with the finished results: in floating point that differs.
"""

from __future__ import annotations

from abc import ABC
from abc import abstractmethod
from typing import Final

import torch
from attrs import frozen
from torch import Tensor

from policygen.plan.counts import ceil_div
from policygen.reference.collectives.block_reduce import padded
from policygen.reference.collectives.raking import raking_layout
from policygen.reference.collectives.thread_scan import thread_scan
from policygen.reference.collectives.warp_scan import scan_additions
from policygen.reference.collectives.warp_scan import shifted_up
from policygen.reference.collectives.warp_scan import warp_scan
from policygen.reference.values.elements import split
from policygen.reference.values.operators import Operator

WARP_SCANS: Final = "BLOCK_SCAN_WARP_SCANS"
RAKING: Final = "BLOCK_SCAN_RAKING"
MEMOIZE: Final = "BLOCK_SCAN_RAKING_MEMOIZE"


@frozen(eq=False)
class BlockScan(ABC):
    """Blocks after the upsweep.

    Attributes:
        operator: how two values are combined.
        threads: threads of a block.
        aggregate: the total of each block, [blocks, *element.trailing].
    """

    operator: Operator
    threads: int
    aggregate: Tensor

    @abstractmethod
    def unseeded(self) -> Tensor:
        """What comes before each thread in its block, [blocks, threads, *trailing]; of thread 0 without meaning."""

    @abstractmethod
    def seeded(self, seed: Tensor, *, known_early: bool) -> Tensor:
        """The same with something before the block.

        Args:
            seed: for each block, [blocks, *trailing].
            known_early: an initial value, else a prefix that arrives after the block's total is known.
        """


def block_scan(values: Tensor, operator: Operator, algorithm: str, warp_size: int) -> BlockScan:
    """The upsweep of each block.

    Args:
        values: [blocks, threads, *element.trailing].
        operator: how two are combined.
        algorithm: an enumerator of `BlockScanAlgorithm`.
        warp_size: lanes of a warp.
    """
    scan = _warp_scans if _effective(algorithm, values.shape[1], warp_size) == WARP_SCANS else _rake
    return scan(values, operator, warp_size)


def block_scan_additions(threads: int, algorithm: str, warp_size: int) -> int:
    """The most combinations that a thread's value passes through, a seed's included."""
    if _effective(algorithm, threads, warp_size) == WARP_SCANS:
        return scan_additions(min(threads, warp_size)) + ceil_div(threads, warp_size) + 2
    layout = raking_layout(threads, warp_size)
    return 2 * layout.segment + scan_additions(layout.raking_threads) + 1


def _effective(algorithm: str, threads: int, warp_size: int) -> str:
    """What CUB takes: warps can only be scanned where a block is whole warps; else it rakes."""
    if algorithm not in (WARP_SCANS, RAKING, MEMOIZE):
        raise ValueError(f"{algorithm} is no algorithm of a block's scan")
    return RAKING if algorithm == WARP_SCANS and threads % warp_size else algorithm


@frozen(eq=False)
class _WarpScans(BlockScan):
    """BLOCK_SCAN_WARP_SCANS.

    Attributes:
        in_warp: what comes before each lane in its warp: [blocks, warps, lanes, *trailing].
        before_warp: the totals of the warps before, combined: [blocks, warps, *trailing].
    """

    in_warp: Tensor
    before_warp: Tensor

    def unseeded(self) -> Tensor:
        """See BlockScan."""
        return self._in_block(self.before_warp, first_warp_has_prefix=False)

    def seeded(self, seed: Tensor, *, known_early: bool) -> Tensor:
        """See BlockScan."""
        if known_early:
            before = self.operator.combine(seed.unsqueeze(1), self.before_warp)
            first = torch.arange(before.shape[1], device=seed.device) == 0
            return self._in_block(
                self.operator.element.select(first, seed.unsqueeze(1), before), first_warp_has_prefix=True
            )
        results = self.operator.combine(seed.unsqueeze(1), self.unseeded())
        first = torch.arange(self.threads, device=seed.device) == 0
        return self.operator.element.select(first, seed.unsqueeze(1), results)

    def _in_block(self, before_warp: Tensor, *, first_warp_has_prefix: bool) -> Tensor:
        before = before_warp.unsqueeze(2)
        results = self.operator.combine(before, self.in_warp)
        lane = torch.arange(self.in_warp.shape[2], device=before.device)
        results = self.operator.element.select(lane == 0, before, results)
        if not first_warp_has_prefix:
            warp = torch.arange(self.in_warp.shape[1], device=before.device)
            results = self.operator.element.select((warp == 0).unsqueeze(-1), self.in_warp, results)
        return results.flatten(1, 2)


def _warp_scans(values: Tensor, operator: Operator, warp_size: int) -> BlockScan:
    threads = values.shape[1]
    warps = threads // warp_size
    inclusive = warp_scan(split(values, 1, warps, warp_size), operator)
    totals = inclusive[:, :, -1]
    before = [totals[:, 0]]
    for warp in range(1, warps):
        before.append(operator.combine(before[-1], totals[:, warp]))
    before_warp = torch.stack([totals[:, 0], *before[:-1]], dim=1)
    return _WarpScans(operator, threads, before[-1], shifted_up(inclusive, operator), before_warp)


@frozen(eq=False)
class _Rake(BlockScan):
    """BLOCK_SCAN_RAKING and BLOCK_SCAN_RAKING_MEMOIZE.

    Attributes:
        segments: the values of each raking thread: [segment, blocks, raking threads, *trailing].
        before_segment: what comes before each segment: [blocks, raking threads, *trailing].
    """

    segments: Tensor
    before_segment: Tensor

    def unseeded(self) -> Tensor:
        """See BlockScan."""
        raker = torch.arange(self.before_segment.shape[1], device=self.before_segment.device)
        return self._downsweep(self.before_segment, raker != 0)

    def seeded(self, seed: Tensor, *, known_early: bool) -> Tensor:  # noqa: ARG002 - the order is the same
        """See BlockScan."""
        before = self.operator.combine(seed.unsqueeze(1), self.before_segment)
        raker = torch.arange(before.shape[1], device=seed.device)
        before = self.operator.element.select(raker == 0, seed.unsqueeze(1), before)
        return self._downsweep(before, raker >= 0)

    def _downsweep(self, before: Tensor, has_prefix: Tensor) -> Tensor:
        results = thread_scan(self.segments, self.operator, before, has_prefix, inclusive=False)
        # [segment, blocks, rakers] back to [blocks, threads]
        return results.movedim(0, 2).flatten(1, 2)[:, : self.threads]


def _rake(values: Tensor, operator: Operator, warp_size: int) -> BlockScan:
    threads = values.shape[1]
    layout = raking_layout(threads, warp_size)
    grid = padded(values, layout.raking_threads * layout.segment, operator)
    segments = split(grid, 1, layout.raking_threads, layout.segment).movedim(2, 0)
    starts = torch.arange(layout.raking_threads, device=values.device) * layout.segment
    partials = segments[0]
    for place in range(1, layout.segment):
        partials = operator.element.select(
            starts + place < threads, operator.combine(partials, segments[place]), partials
        )
    inclusive = warp_scan(partials, operator)
    return _Rake(operator, threads, inclusive[:, -1], segments, shifted_up(inclusive, operator))
