"""Device-wide merge sort of keys or of pairs (`cub::DeviceMergeSort`), as `dispatch_merge_sort.cuh` launches it.

Input: [n] keys of any type, values or none, and a function that says whether a key comes before another. Output: keys
and values in that order. Counts are items; `threads` and `items` are the policy's, a tile is threads x items.

`DeviceMergeSortBlockSortKernel`: a block for each tile sorts it (`collectives.block_merge_sort`). Then 2 tiles share
two lists, then 4, and so on, until one list is left: `DeviceMergeSortPartitionKernel` finds by merge path where each
tile of the output begins in both, and `DeviceMergeSortMergeKernel` merges, a block for each tile
(`collectives.tile_merge`).

Where a tile does not fit into shared memory, CUB takes 64 threads and one item instead, if these do.

Order: stable (`StableSortKeys` and `SortKeys` are one kernel). The function has to be a strict weak ordering: with `<`
NaN has no place. Exact; no result depends on timing.

Not modelled: which of the two buffers a pass reads and writes; tiles that are kept in global memory, because not even
the small ones fit: they are sorted in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from typing import Final

import torch
from attrs import frozen
from torch import Tensor

from policygen.plan.counts import ceil_div
from policygen.reference.collectives.block_merge_sort import merge_sort
from policygen.reference.collectives.merge_path import Span
from policygen.reference.collectives.merge_path import merge_path
from policygen.reference.collectives.pairs import Pairs
from policygen.reference.collectives.pairs import with_origins
from policygen.reference.collectives.regions import Tiles
from policygen.reference.collectives.regions import one_region
from policygen.reference.collectives.tile_merge import MergeTile
from policygen.reference.collectives.tile_merge import record_merge
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
from policygen.reference.values.elements import split
from policygen.reference.values.key_orders import KeyOrder
from policygen.reference.values.key_orders import orders_of
from policygen.reference.values.sort_keys import elements_of_size
from policygen.reference.values.sort_keys import make_keys
from policygen.reference.values.sort_keys import sort_patterns

BLOCK_SORT: Final = "DeviceMergeSortBlockSortKernel"
MERGE: Final = "DeviceMergeSortMergeKernel"
FALLBACK: Final = (64, 1)
"""Threads and items where a tile of the policy does not fit."""


@frozen
class MergeSortProblem(Problem):
    """A sort.

    Attributes:
        num_items: items to sort.
        order: of the keys, with their type.
        pattern: of the keys.
        has_data: False for index arithmetic alone: the last tiles of the block sort.
    """

    num_items: int
    order: KeyOrder
    pattern: str
    has_data: bool = True


class MergeSortKernel(ReferenceKernel[MergeSortProblem, Pairs]):
    """See the module."""

    def problems(self, case: Case, *, quick: bool) -> Iterator[MergeSortProblem]:
        """See ReferenceKernel."""
        threads, items = tile_of(case)
        orders = orders_of(elements_of_size(case.key.key_size))
        found = combinations(
            sizes(threads * items, blocks=2, quick=quick),
            orders,
            lambda order: sort_patterns(order.element, nan=False),
            threads * items + 5,
            alike=lambda order: order.element.is_floating,
            quick=quick,
        )
        for num_items, order, pattern in found:
            yield MergeSortProblem(num_items, order, pattern)
        yield MergeSortProblem(BEYOND_INT32, orders[0], "random", has_data=False)

    def inputs(self, case: Case, problem: MergeSortProblem, random: torch.Generator) -> Pairs:
        """See ReferenceKernel."""
        n = problem.num_items if problem.has_data else 0
        keys = make_keys(problem.pattern, problem.order.element, n, random, case.device)
        return with_origins(keys, has_values=case.key.value_size > 0)

    def run(self, case: Case, problem: MergeSortProblem, inputs: Pairs, log: TileLog) -> Mapping[str, Tensor]:
        """See ReferenceKernel."""
        threads, items = tile_of(case)
        n = problem.num_items
        tiles = one_region(n, _first(problem, threads * items)).tiles(threads * items).by_ticket()
        tiles.record(BLOCK_SORT, log)
        if not problem.has_data or n == 0:
            return inputs.outputs() if problem.has_data else {}
        block = MergeTile(threads, items, problem.order)
        lists = _block_sorted(inputs, block, tiles.to(case.device))
        for merged_tiles in merged_tiles_of(n, block.tile_items):
            lists = _merged(lists, block, merged_tiles, log)
        return lists.outputs()

    def expected(
        self,
        case: Case,  # noqa: ARG002 - the same for all
        problem: MergeSortProblem,
        inputs: Pairs,
    ) -> Mapping[str, Expectation]:
        """See ReferenceKernel."""
        if not problem.has_data:
            return {}
        found = inputs.at(problem.order.sorted_by(inputs.keys).to(inputs.keys.device))
        return {name: Exact(values, signed_zeros=True) for name, values in found.outputs().items()}

    def coverage(self, case: Case, problem: MergeSortProblem) -> Mapping[str, range]:
        """See ReferenceKernel."""
        threads, items = tile_of(case)
        n = problem.num_items
        found = {BLOCK_SORT: range(_first(problem, threads * items), n)}
        if problem.has_data:
            found |= {_name(tiles): range(n) for tiles in merged_tiles_of(n, threads * items)}
        return found

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
    return "shared-memory" in case.unmet and "shared-memory-fallback" not in case.unmet


def merged_tiles_of(num_items: int, tile_items: int) -> list[int]:
    """How many tiles share two lists, for each round of merging."""
    tiles = ceil_div(num_items, tile_items)
    return [2 << number for number in range(max(0, tiles - 1).bit_length())]


def _first(problem: MergeSortProblem, tile_items: int) -> int:
    """The first item of the first tile that is recorded."""
    if problem.has_data:
        return 0
    return max(0, ceil_div(problem.num_items, tile_items) - LAST_TILES) * tile_items


def _name(merged_tiles: int) -> str:
    return f"{MERGE} of {merged_tiles} tiles"


def _block_sorted(items: Pairs, block: MergeTile, tiles: Tiles) -> Pairs:
    """Each tile sorted; a last one that is not full is filled up with its first key."""
    index, exists = tiles.index(), tiles.exists()
    loaded = items.keys[torch.where(exists, index, tiles.begins.unsqueeze(-1))]
    keys = split(loaded, 1, block.threads, block.items)
    found = merge_sort(keys, tiles.ends - tiles.begins, block.order)
    out = items.blank()
    out.put(index[exists], items.at(index.gather(1, found)[exists]))
    return out


def _merged(items: Pairs, block: MergeTile, merged_tiles: int, log: TileLog) -> Pairs:
    """One round of merging."""
    n, tile, device = items.num_items, block.tile_items, items.keys.device
    begins1 = partitions(items, block, merged_tiles)
    number = torch.arange(begins1.shape[0] - 1, device=device)
    local = number % merged_tiles
    start, size = (number - local) * tile, tile * merged_tiles // 2
    # from here on within the two lists
    diagonal = local * tile
    begin1, end1 = begins1[:-1] - start, begins1[1:] - start
    most2 = (n - start - size).clamp(min=0)
    begin2 = torch.minimum(most2, diagonal - begin1)
    end2 = torch.minimum(most2, diagonal + tile - end1)
    is_last = local == merged_tiles - 1
    end1 = torch.where(is_last, (n - start).clamp(max=size), end1)
    end2 = torch.where(is_last, most2.clamp(max=size), end2)
    first = Span(start + begin1, end1 - begin1)
    second = Span(start + size + begin2, end2 - begin2)
    record_merge(_name(merged_tiles), first, second, log)
    out = items.blank()
    parts = consecutive_parts(first, second, tile)
    block.merge(items, first, second, out, parts, parts)
    return out


def partitions(items: Pairs, block: MergeTile, merged_tiles: int) -> Tensor:
    """Where in the first of its two lists each tile of the output begins (`AgentPartition`): [tiles + 1].

    The last one says where the first list of the last tile ends.
    """
    n, tile, device = items.num_items, block.tile_items, items.keys.device
    number = torch.arange(ceil_div(n, tile) + 1, device=device)
    local = number % merged_tiles
    start, size = (number - local) * tile, tile * merged_tiles // 2
    begin1, end1 = start.clamp(max=n), (start + size).clamp(max=n)
    end2 = (end1 + size).clamp(max=n)
    diagonal = torch.minimum(end2 - begin1, tile * local)
    taken = merge_path(items.keys, Span(begin1, end1 - begin1), Span(end1, end2 - end1), diagonal, block.order)
    return torch.cat([(begin1 + taken)[:-1], end1[-1:]])


KERNEL: Final = MergeSortKernel()
