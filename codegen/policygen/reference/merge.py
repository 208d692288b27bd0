"""Device-wide merge of two sorted sequences (`cub::DeviceMerge`), as `dispatch_merge.cuh` launches it.

Input: two sequences of keys of one type, each sorted, values or none, and a function that says whether a key comes
before another. Output: all of them in that order. Counts are items; `threads` and `items` are the policy's, a tile is
threads x items.

`device_partition_merge_path_kernel` finds by merge path where each tile of the output begins in both sequences;
`device_merge_kernel` merges, a block for each tile (`collectives.tile_merge`).

A block brings its keys to shared memory item by item, or by bulk copy (`use_bulk_copy_for_keys`, and so for values).
Bulk copies take 16 bytes at a time from addresses that are multiples of them, so each sequence has a buffer of its own,
at either end of shared memory, in which it begins as many bytes after 16 as it does in global memory: where a key of
the second sequence lies then is no count of keys, and where its value lies is something else again.

Where a tile does not fit into shared memory, CUB takes 64 threads and one item instead, without bulk copies.

Order: stable, and of equal keys those of the first sequence come first. The function has to be a strict weak ordering:
with `<` NaN has no place. Exact; no result depends on timing.

Not modelled: tiles that are kept in global memory, because not even the small ones fit: they are merged in the same
way.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from itertools import cycle
from typing import Final

import torch
from attrs import frozen
from torch import Tensor

from policygen.plan.counts import ceil_div
from policygen.reference.collectives.merge_path import Span
from policygen.reference.collectives.merge_path import merge_path
from policygen.reference.collectives.pairs import Pairs
from policygen.reference.collectives.pairs import with_origins
from policygen.reference.collectives.tile_merge import MergeTile
from policygen.reference.collectives.tile_merge import record_merge
from policygen.reference.collectives.two_part_tile import TwoParts
from policygen.reference.collectives.two_part_tile import bulk_copied_parts
from policygen.reference.collectives.two_part_tile import consecutive_parts
from policygen.reference.contract.case import Case
from policygen.reference.contract.comparison import Exact
from policygen.reference.contract.comparison import Expectation
from policygen.reference.contract.kernel import Problem
from policygen.reference.contract.kernel import ReferenceKernel
from policygen.reference.contract.sizes import BEYOND_INT32
from policygen.reference.contract.sizes import LAST_TILES
from policygen.reference.contract.sizes import combinations
from policygen.reference.contract.sizes import sizes
from policygen.reference.contract.tile_log import TileLog
from policygen.reference.values.key_orders import KeyOrder
from policygen.reference.values.key_orders import orders_of
from policygen.reference.values.sort_keys import elements_of_size
from policygen.reference.values.sort_keys import make_keys
from policygen.reference.values.sort_keys import sort_patterns

KERNEL_NAME: Final = "device_merge_kernel"
FALLBACK: Final = (64, 1)
"""Threads and items where a tile of the policy does not fit."""

_PARTS: Final = ((1, 2), (1, 3), (0, 1), (1, 1), (7, 8))
_STARTS: Final = ((0, 0), (1, 0), (3, 1), (0, 7))


@frozen
class MergeProblem(Problem):
    """A merge.

    Attributes:
        first: keys of the first sequence.
        second: keys of the second one.
        order: of the keys, with their type.
        pattern: of the keys; of sorted ones, the first sequence has the last.
        starts: items by which the sequences start after a multiple of 16 bytes.
        has_data: False for index arithmetic alone: the last tiles, where the first sequence comes before the second.
    """

    first: int
    second: int
    order: KeyOrder
    pattern: str
    starts: tuple[int, int]
    has_data: bool = True

    @property
    def num_items(self) -> int:
        """Keys of both."""
        return self.first + self.second


class MergeKernel(ReferenceKernel[MergeProblem, Pairs]):
    """See the module."""

    def problems(self, case: Case, *, quick: bool) -> Iterator[MergeProblem]:
        """See ReferenceKernel."""
        threads, items = tile_of(case)
        orders = orders_of(elements_of_size(case.key.key_size))
        found = combinations(
            sizes(threads * items, blocks=2, quick=quick),
            orders,
            lambda order: sort_patterns(order.element, nan=False),
            2 * threads * items + 5,
            alike=lambda order: order.element.is_floating,
            quick=quick,
        )
        for (n, order, pattern), (part, whole), starts in zip(found, cycle(_PARTS), cycle(_STARTS), strict=False):
            first = n * part // whole
            yield MergeProblem(first, n - first, order, pattern, starts)
        yield MergeProblem(2**31 - 1, BEYOND_INT32 - 2**31 + 1, orders[0], "random", (0, 0), has_data=False)

    def inputs(self, case: Case, problem: MergeProblem, random: torch.Generator) -> Pairs:
        """See ReferenceKernel."""
        n = problem.num_items if problem.has_data else 0
        keys = make_keys(problem.pattern, problem.order.element, n, random, case.device)
        if n and problem.pattern == "sorted":
            keys = keys[problem.order.sorted_by(keys).to(keys.device)].roll(problem.first, 0)
        elif n:
            parts = (keys[: problem.first], keys[problem.first :])
            keys = torch.cat([part[problem.order.sorted_by(part).to(part.device)] for part in parts])
        return with_origins(keys, has_values=case.key.value_size > 0)

    def run(self, case: Case, problem: MergeProblem, inputs: Pairs, log: TileLog) -> Mapping[str, Tensor]:
        """See ReferenceKernel."""
        block = MergeTile(*tile_of(case), problem.order)
        diagonals = _diagonals(problem, block.tile_items)
        if not problem.has_data:
            record_merge(KERNEL_NAME, *_spans(problem, diagonals, diagonals.clamp(max=problem.first)), log)
            return {}
        if problem.num_items == 0:
            return inputs.outputs()
        diagonals = diagonals.to(case.device)
        first, second = _spans(problem, diagonals, _partition(problem, inputs.keys, diagonals))
        record_merge(KERNEL_NAME, first, second, log)
        out = inputs.blank()
        policy, key, fits = case.policy, case.key, not uses_fallback(case)
        keys_at = _parts(problem, block, first, second, key.key_size, in_bulk=fits and policy.use_bulk_copy_for_keys)
        in_bulk = fits and policy.use_bulk_copy_for_values
        values_at = _parts(problem, block, first, second, max(1, key.value_size), in_bulk=in_bulk)
        block.merge(inputs, first, second, out, keys_at, values_at)
        return out.outputs()

    def expected(
        self,
        case: Case,  # noqa: ARG002 - the same for all
        problem: MergeProblem,
        inputs: Pairs,
    ) -> Mapping[str, Expectation]:
        """See ReferenceKernel."""
        if not problem.has_data:
            return {}
        # a stable sort of one sequence behind the other
        found = inputs.at(problem.order.sorted_by(inputs.keys).to(inputs.keys.device))
        return {name: Exact(values, signed_zeros=True) for name, values in found.outputs().items()}

    def coverage(self, case: Case, problem: MergeProblem) -> Mapping[str, range]:
        """See ReferenceKernel."""
        threads, items = tile_of(case)
        return {KERNEL_NAME: range(_first_tile(problem, threads * items) * threads * items, problem.num_items)}

    def unbound(self, case: Case) -> Mapping[str, str]:
        """See ReferenceKernel."""
        if uses_fallback(case):
            return dict.fromkeys(("threads_per_block", "items_per_thread"), "its tile does not fit")
        return {}


def tile_of(case: Case) -> tuple[int, int]:
    """Threads of a block, and items of a thread."""
    if uses_fallback(case):
        return FALLBACK
    return case.policy.threads_per_block, case.policy.items_per_thread


def uses_fallback(case: Case) -> bool:
    """Whether CUB takes small tiles, because the policy's do not fit into shared memory."""
    return "shared-memory" in case.unmet


def _first_tile(problem: MergeProblem, tile_items: int) -> int:
    return 0 if problem.has_data else max(0, ceil_div(problem.num_items, tile_items) - LAST_TILES)


def _diagonals(problem: MergeProblem, tile_items: int) -> Tensor:
    """How many keys come before each tile, and all of them: [tiles + 1]."""
    tiles = ceil_div(problem.num_items, tile_items)
    begins = torch.arange(_first_tile(problem, tile_items), tiles + 1) * tile_items
    return begins.clamp(max=problem.num_items)


def _partition(problem: MergeProblem, keys: Tensor, diagonals: Tensor) -> Tensor:
    """How many keys of the first sequence come before each diagonal."""
    zero = torch.zeros_like(diagonals)
    first, second = Span(zero, zero + problem.first), Span(zero + problem.first, zero + problem.second)
    return merge_path(keys, first, second, diagonals, problem.order)


def _spans(problem: MergeProblem, diagonals: Tensor, taken1: Tensor) -> tuple[Span, Span]:
    """What each tile has of either sequence; the second one lies behind the first."""
    taken2 = diagonals - taken1
    return (
        Span(taken1[:-1], taken1[1:] - taken1[:-1]),
        Span(problem.first + taken2[:-1], taken2[1:] - taken2[:-1]),
    )


def _parts(problem: MergeProblem, block: MergeTile, first: Span, second: Span, size: int, *, in_bulk: bool) -> TwoParts:
    """How keys or values of so many bytes are brought to shared memory."""
    if not in_bulk:
        return consecutive_parts(first, second, block.tile_items)
    start1, start2 = problem.starts
    return bulk_copied_parts(
        first,
        second,
        block.tile_items,
        threads=block.threads,
        size=size,
        address1=(start1 + first.begin) * size,
        address2=(start2 + second.begin - problem.first) * size,
    )


KERNEL: Final = MergeKernel()
