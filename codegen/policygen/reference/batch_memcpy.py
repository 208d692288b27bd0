"""Copies of many buffers at once (`cub::DeviceMemcpy::Batched`, `cub::DeviceCopy::Batched`).

Input: sources, targets and sizes of buffers; targets overlap nothing. Sizes are bytes (Memcpy) or items of one type
(Copy); so are the policy's thresholds and tiles then. Output: every buffer is copied, and nothing else written.

`BatchMemcpyKernel`, as `dispatch_batch_memcpy.cuh` launches it: a block for each tile of threads x buffers_per_thread
buffers. It sorts them by size (`collectives.buffer_partition`). Those up to `warp_level_threshold` are for threads: all
their bytes are laid end to end (`cub::BlockRunLengthDecode`), and each round copies threads x bytes_per_thread of them,
a thread every so many-th byte. Those up to `block_level_threshold` are for warps, one buffer a warp
(`collectives.vector_copy`). Larger ones are queued: where a tile's buffers go in the queue, and how many tiles of
`block_level_tile_size` come before them, it finds out by two lookbacks (`collectives.lookback`).

`MultiBlockBatchMemcpyKernel`: as many blocks as the device keeps resident, five times over, take tiles of the queue
alternately. A block finds the buffer of its tile by searching, copies by vectors, or byte by byte what has no more than
32 left, and stops past the end of the last buffer.

More than 2^29 buffers are copied by several launches of both, one after the other.

Exact; buffers are independent, and no result depends on timing. Delays of lookback change when a block looks, not what
it finds.

The tiles of the log: of the first kernel, buffers; of rounds, bytes that threads copy, laid end to end over all tiles;
of the second, items in the queue.

Not modelled: iterators instead of pointers. They are copied as items are, one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from typing import Final

import torch
from attrs import frozen
from torch import Tensor

from policygen.plan.counts import ceil_div
from policygen.reference.collectives.buffer_partition import BY_WARPS
from policygen.reference.collectives.buffer_partition import BufferPartition
from policygen.reference.collectives.buffer_partition import Partition
from policygen.reference.collectives.large_buffers import LARGE
from policygen.reference.collectives.large_buffers import LargeBuffers
from policygen.reference.collectives.large_buffers import one_buffer
from policygen.reference.collectives.large_buffers import queued
from policygen.reference.collectives.lookback import ADVERSARIES
from policygen.reference.collectives.lookback import known_inclusive
from policygen.reference.collectives.thread_rounds import ThreadRounds
from policygen.reference.collectives.vector_copy import Copies
from policygen.reference.collectives.vector_copy import vectorized_copy
from policygen.reference.contract.case import FEW_BLOCKS
from policygen.reference.contract.case import Case
from policygen.reference.contract.comparison import Exact
from policygen.reference.contract.comparison import Expectation
from policygen.reference.contract.kernel import Problem
from policygen.reference.contract.kernel import ReferenceKernel
from policygen.reference.contract.sizes import BEYOND_INT32
from policygen.reference.contract.sizes import LAST_TILES
from policygen.reference.contract.sizes import sizes
from policygen.reference.contract.tile_log import TileLog
from policygen.reference.values.buffers import PLACEMENTS
from policygen.reference.values.buffers import SIZE_PATTERNS
from policygen.reference.values.buffers import Buffers
from policygen.reference.values.buffers import copied
from policygen.reference.values.buffers import make_buffers
from policygen.reference.values.buffers import make_sizes

SMALL: Final = "BatchMemcpyKernel"
MOST_BUFFERS: Final = 1 << 29
"""Buffers of a launch."""

_MANY_BUFFERS: Final = 6
_BAD: Final = "loads and stores that are refused"


@frozen
class BatchMemcpyProblem(Problem):
    """Copies.

    Attributes:
        num_buffers: how many.
        pattern: of their sizes.
        placement: where they lie.
        item: bytes of an item; 1 for Memcpy, else Copy.
        adversary: who decides what a tile finds of its predecessors, one of `ADVERSARIES`.
        max_blocks: the most blocks of the second kernel.
        has_data: False for index arithmetic alone: of many buffers, or of one that is `huge`.
    """

    num_buffers: int
    pattern: str
    placement: str
    item: int
    adversary: str
    max_blocks: int
    has_data: bool = True


@frozen(eq=False)
class BatchMemcpyInputs:
    """What copies are given.

    Attributes:
        buffers: with their memory.
        known: which predecessors are inclusive, for the lookback over buffers and for that over their tiles.
    """

    buffers: Buffers
    known: tuple[Tensor, Tensor]


class BatchMemcpyKernel(ReferenceKernel[BatchMemcpyProblem, BatchMemcpyInputs]):
    """See the module."""

    def problems(self, case: Case, *, quick: bool) -> Iterator[BatchMemcpyProblem]:
        """See ReferenceKernel."""
        tile, few = partition_of(case).tile_buffers, FEW_BLOCKS.max_blocks
        found = [(n, "mixed" if n < 2 * tile else "small") for n in sizes(tile, blocks=2, quick=quick)]
        found += [(_MANY_BUFFERS, pattern) for pattern in SIZE_PATTERNS[:-1]]
        found += [(tile + 5, pattern) for pattern in ("empty", "equal")]
        items = (1, 1, 4, 1) if quick else (1, 1, 2, 1, 1, 6, 1)
        for turn in range(1 if quick else len(PLACEMENTS)):
            for number, (n, pattern) in enumerate(found, start=turn):
                placement = PLACEMENTS[number % len(PLACEMENTS)]
                adversary = ADVERSARIES[(number + turn) % len(ADVERSARIES)]
                yield BatchMemcpyProblem(n, pattern, placement, items[number % len(items)], adversary, few)
        yield BatchMemcpyProblem(_MANY_BUFFERS, "large", "any", 1, "any", case.residency.max_blocks)
        # so many tiles that one window does not reach back to the first
        many = (2 * case.warp_size + 3) * tile - 2
        yield BatchMemcpyProblem(many, "sparse", "any", 1, "any", few)
        yield BatchMemcpyProblem(BEYOND_INT32, "many", "any", 1, "none", few, has_data=False)
        yield BatchMemcpyProblem(1, "huge", "any", 1, "none", few, has_data=False)

    def inputs(self, case: Case, problem: BatchMemcpyProblem, random: torch.Generator) -> BatchMemcpyInputs:
        """See ReferenceKernel."""
        small = case.policy.lookback.small_buffer
        count = problem.num_buffers if problem.has_data else 0
        thresholds = (small.warp_level_threshold, small.block_level_threshold)
        made = make_sizes(problem.pattern, count, thresholds, small.block_level_tile_size, random)
        spare = 2 * small.block_level_tile_size * problem.item
        buffers = make_buffers(made, problem.item, problem.placement, spare, random)
        tiles = ceil_div(count, partition_of(case).tile_buffers)
        first, second = (known_inclusive(problem.adversary, tiles, random) for _ in range(2))
        return BatchMemcpyInputs(buffers.to(case.device), (first, second))

    def run(
        self, case: Case, problem: BatchMemcpyProblem, inputs: BatchMemcpyInputs, log: TileLog
    ) -> Mapping[str, Tensor]:
        """See ReferenceKernel."""
        large = large_of(case, problem)
        if not problem.has_data:
            if problem.pattern == "huge":
                _huge(large, log)
            else:
                _record_last(problem.num_buffers, partition_of(case).tile_buffers, log)
            return {}
        buffers = inputs.buffers
        copier = _Copier(buffers, buffers.out.clone())
        if problem.num_buffers > 0:
            partition = _partitioned(case, buffers.sizes, log)
            queue = queued(buffers, partition, _counted_tile(case), inputs.known, case.warp_size)
            for buffer, item in rounds_of(case).items(partition, log):
                offset = item * problem.item
                copier.by_items(buffers.sources[buffer] + offset, buffers.targets[buffer] + offset)
            by_warps = partition.all_of_class(BY_WARPS)
            lengths = buffers.sizes[by_warps] * problem.item
            copier.by_vectors(Copies(buffers.sources[by_warps], buffers.targets[by_warps], lengths))
            if queue.sizes.numel():
                copies, is_tiny = large.tiles(queue, log)
                copier.by_bytes(copies.chosen(is_tiny))
                copier.by_vectors(copies.chosen(~is_tiny))
        return {"memory": copier.out, _BAD: copier.bad}

    def expected(
        self,
        case: Case,  # noqa: ARG002 - the same for all
        problem: BatchMemcpyProblem,
        inputs: BatchMemcpyInputs,
    ) -> Mapping[str, Expectation]:
        """See ReferenceKernel."""
        if not problem.has_data:
            return {}
        return {"memory": Exact(copied(inputs.buffers)), _BAD: Exact(torch.tensor(0))}

    def coverage(self, case: Case, problem: BatchMemcpyProblem) -> Mapping[str, int | range]:
        """See ReferenceKernel."""
        if problem.has_data:
            return {SMALL: problem.num_buffers}
        if problem.pattern == "huge":
            tile = large_of(case, problem).tile
            return {LARGE: range(_first_large(tile) * tile, BEYOND_INT32)}
        tile = partition_of(case).tile_buffers
        return {SMALL: range(_first_of_last(problem.num_buffers, tile), problem.num_buffers)}


def partition_of(case: Case) -> BufferPartition:
    """How a block sorts its buffers."""
    small = case.policy.lookback.small_buffer
    thresholds = (small.warp_level_threshold, small.block_level_threshold)
    return BufferPartition(small.threads_per_block, small.buffers_per_thread, thresholds, small.prefer_pow2_bits)


def large_of(case: Case, problem: BatchMemcpyProblem) -> LargeBuffers:
    """The grid of the second kernel."""
    policy = case.policy.lookback.large_buffer
    return LargeBuffers(problem.max_blocks, policy.threads_per_block * policy.bytes_per_thread, problem.item)


def rounds_of(case: Case) -> ThreadRounds:
    """How the threads of a block share what is theirs."""
    small = case.policy.lookback.small_buffer
    return ThreadRounds(small.threads_per_block, small.bytes_per_thread)


def _counted_tile(case: Case) -> int:
    """The tile by which the first kernel counts those of larger buffers."""
    return int(case.policy.lookback.small_buffer.block_level_tile_size)


class _Copier:
    """Copies, and counts loads and stores that the hardware would refuse."""

    def __init__(self, buffers: Buffers, out: Tensor) -> None:
        self._memory = buffers.memory
        self._item = buffers.item
        self.out = out
        self.bad = torch.tensor(0, device=out.device)

    def by_items(self, sources: Tensor, targets: Tensor) -> None:
        """Single items, at addresses."""
        byte = torch.arange(self._item, device=self.out.device)
        self.out[targets.unsqueeze(-1) + byte] = self._memory[sources.unsqueeze(-1) + byte]

    def by_bytes(self, copies: Copies) -> None:
        """Copies without vectors."""
        source, target = copies.part(torch.zeros_like(copies.counts), copies.counts)
        self.out[target] = self._memory[source]

    def by_vectors(self, copies: Copies) -> None:
        """Copies with vectors, where items are bytes."""
        if self._item > 1:
            self.by_bytes(copies)
        else:
            self.bad += vectorized_copy(self._memory, self.out, copies)


def _partitioned(case: Case, buffer_sizes: Tensor, log: TileLog) -> Partition:
    """The buffers of all tiles by class."""
    partition = partition_of(case)
    count, tile = buffer_sizes.shape[0], partition.tile_buffers
    begins = torch.arange(0, count, tile)
    log.record_all(SMALL, range(len(begins)), begins, (begins + tile).clamp(max=count))
    index = begins.unsqueeze(1).to(buffer_sizes.device) + torch.arange(tile, device=buffer_sizes.device)
    return partition(torch.where(index < count, buffer_sizes[index.clamp(max=count - 1)], 0))


def _first_of_last(num_buffers: int, tile: int) -> int:
    """Where the last thousand tiles of the last launch but one begin."""
    launches = ceil_div(num_buffers, MOST_BUFFERS)
    return (launches - 2) * MOST_BUFFERS + (ceil_div(MOST_BUFFERS, tile) - LAST_TILES) * tile


def _record_last(num_buffers: int, tile: int, log: TileLog) -> None:
    """Notes the last thousand tiles of the last launch but one, and those of the last."""
    launches = ceil_div(num_buffers, MOST_BUFFERS)
    for launch, first in ((launches - 2, ceil_div(MOST_BUFFERS, tile) - LAST_TILES), (launches - 1, 0)):
        begin, end = launch * MOST_BUFFERS, min((launch + 1) * MOST_BUFFERS, num_buffers)
        number = torch.arange(first, ceil_div(end - begin, tile))
        log.record_all(SMALL, number, begin + number * tile, (begin + (number + 1) * tile).clamp(max=end))


def _first_large(tile: int) -> int:
    return max(0, BEYOND_INT32 // tile - LAST_TILES)


def _huge(large: LargeBuffers, log: TileLog) -> None:
    """Notes the last tiles of one buffer of more than 2^31 items."""
    large.tiles(one_buffer(BEYOND_INT32), log, _first_large(large.tile))


KERNEL: Final = BatchMemcpyKernel()
