"""Differences of neighbours (`cub::DeviceAdjacentDifference`), as `dispatch_adjacent_difference.cuh` launches it.

Input: [n] items of any type, and a function of an item and its neighbour. Output: [n] items: the function of each item
and the one on its left, or on its right. Counts are items; a tile is threads x items of the policy.

A block takes a tile, a thread `items_per_thread` neighbours of it. Threads show each other their last items (first
ones, towards the right); what lies past the end of the last tile is filled up with the tile's first item, and never
looked at. At the border of its tile a block reads the neighbour from the input: but where the output may be the input
(`may_alias`), other blocks may have written there, so that `DeviceAdjacentDifferenceInitKernel` saves all borders
first, in blocks of 128 tiles. Here blocks come in waves, in any order, and what one has written the next one finds.

The first item has none on its left, and the last one none on its right: it is converted to what the function returns,
and stored so. Where that is a bool, upstream stores whether the item is not zero, and it is so here.

Order of operands: the item, then its neighbour. Exact: floating-point differences are rounded once.

Not modelled: what load and store algorithms do, which is to move items from and to a thread's registers.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from typing import Final

import torch
from attrs import evolve
from attrs import frozen
from torch import Tensor

from policygen.plan.counts import ceil_div
from policygen.reference.collectives.regions import Tiles
from policygen.reference.collectives.regions import one_region
from policygen.reference.contract.case import Case
from policygen.reference.contract.comparison import Exact
from policygen.reference.contract.comparison import Expectation
from policygen.reference.contract.kernel import Problem
from policygen.reference.contract.kernel import ReferenceKernel
from policygen.reference.contract.sizes import BEYOND_INT32
from policygen.reference.contract.sizes import combinations
from policygen.reference.contract.sizes import first_tile
from policygen.reference.contract.sizes import sizes
from policygen.reference.contract.tile_log import TileLog
from policygen.reference.values.differences import Difference
from policygen.reference.values.differences import differences_of
from policygen.reference.values.elements import split
from policygen.reference.values.inputs import make
from policygen.reference.values.inputs import patterns_of

KERNEL_NAME: Final = "DeviceAdjacentDifferenceDifferenceKernel"
INIT: Final = "DeviceAdjacentDifferenceInitKernel"
INIT_THREADS: Final = 128
"""Tiles whose borders a block saves: no matter of the policy."""

DIRECTIONS: Final = ("left", "right")
_WAVES: Final = 3


@frozen
class DifferenceProblem(Problem):
    """Differences of neighbours.

    Attributes:
        num_items: items.
        difference: the function.
        pattern: of the items.
        direction: where the neighbours are, one of `DIRECTIONS`.
        has_data: False for index arithmetic alone.
    """

    num_items: int
    difference: Difference
    pattern: str
    direction: str
    has_data: bool = True


@frozen(eq=False)
class DifferenceInputs:
    """What is given.

    Attributes:
        values: [num_items, *trailing].
        waves: tiles that run at the same time, one wave after the other; every tile is in one of them.
    """

    values: Tensor
    waves: tuple[Tensor, ...]


class DifferenceKernel(ReferenceKernel[DifferenceProblem, DifferenceInputs]):
    """See the module."""

    def problems(self, case: Case, *, quick: bool) -> Iterator[DifferenceProblem]:
        """See ReferenceKernel."""
        tile = _tile_items(case)
        found = combinations(
            sizes(tile, blocks=2, quick=quick),
            differences_of(case.key.value_type_size),
            lambda difference: patterns_of(difference.element),
            2 * tile + 5,
            alike=lambda difference: (difference.name, difference.element.is_floating),
            quick=quick,
        )
        for n, difference, pattern in found:
            for direction in DIRECTIONS:
                yield DifferenceProblem(n, difference, pattern, direction)
        difference = differences_of(case.key.value_type_size)[0]
        for direction in DIRECTIONS:
            if case.key.may_alias or not quick:
                # so many tiles that one block does not save all borders
                yield DifferenceProblem((INIT_THREADS + 1) * tile + 1, difference, "random", direction)
            yield DifferenceProblem(BEYOND_INT32, difference, "random", direction, has_data=False)

    def inputs(self, case: Case, problem: DifferenceProblem, random: torch.Generator) -> DifferenceInputs:
        """See ReferenceKernel."""
        n = problem.num_items if problem.has_data else 0
        order = torch.randperm(ceil_div(n, _tile_items(case)), generator=random)
        return DifferenceInputs(
            values=make(problem.pattern, problem.difference.element, n, random, case.device),
            waves=order.tensor_split(_WAVES),
        )

    def run(
        self, case: Case, problem: DifferenceProblem, inputs: DifferenceInputs, log: TileLog
    ) -> Mapping[str, Tensor]:
        """See ReferenceKernel."""
        tiles = _tiles(case, problem)
        tiles.record(KERNEL_NAME, log)
        if case.key.may_alias:
            _record_init(case, problem, log)
        if not problem.has_data:
            return {}
        source, borders = inputs.values, None
        out = problem.difference.element.unset(problem.num_items, device=source.device)
        tiles = tiles.to(source.device)
        if case.key.may_alias:
            source = out = source.clone()
            borders = _saved(problem, source, tiles)
        for wave in inputs.waves:
            _subtract(case, problem, source, out, borders, tiles.chosen(wave.to(source.device)))
        return {"results": out}

    def expected(
        self,
        case: Case,  # noqa: ARG002 - the same for all
        problem: DifferenceProblem,
        inputs: DifferenceInputs,
    ) -> Mapping[str, Expectation]:
        """See ReferenceKernel."""
        if not problem.has_data:
            return {}
        values, difference = inputs.values.cpu(), problem.difference
        if problem.direction == "left":
            found = torch.cat([difference.of_one(values[:1]), difference.of(values[1:], values[:-1])])
        else:
            found = torch.cat([difference.of(values[:-1], values[1:]), difference.of_one(values[-1:])])
        return {"results": Exact(found, signed_zeros=True)}

    def coverage(self, case: Case, problem: DifferenceProblem) -> Mapping[str, range]:
        """See ReferenceKernel."""
        tile, first = _tile_items(case), _first_tile(case, problem)
        found = {KERNEL_NAME: range(first * tile, problem.num_items)}
        if case.key.may_alias:
            found[INIT] = range(first // INIT_THREADS * INIT_THREADS, ceil_div(problem.num_items, tile))
        return found


def _tile_items(case: Case) -> int:
    return int(case.policy.threads_per_block * case.policy.items_per_thread)


def _first_tile(case: Case, problem: DifferenceProblem) -> int:
    return first_tile(problem.num_items, _tile_items(case), has_data=problem.has_data)


def _tiles(case: Case, problem: DifferenceProblem) -> Tiles:
    """A block for each tile."""
    first, tile = _first_tile(case, problem), _tile_items(case)
    tiles = one_region(problem.num_items, begin=first * tile).tiles(tile)
    return evolve(tiles, blocks=first + tiles.numbers)


def _record_init(case: Case, problem: DifferenceProblem, log: TileLog) -> None:
    """Notes the tiles whose borders each block saves."""
    tiles, first = ceil_div(problem.num_items, _tile_items(case)), _first_tile(case, problem)
    begins = torch.arange(first // INIT_THREADS * INIT_THREADS, tiles, INIT_THREADS)
    log.record_all(INIT, begins // INIT_THREADS, begins, (begins + INIT_THREADS).clamp(max=tiles))


def _saved(problem: DifferenceProblem, source: Tensor, tiles: Tiles) -> Tensor:
    """The neighbour of each tile that another tile has: [tiles, *trailing]; nothing where there is none."""
    borders = problem.difference.element.unset(tiles.numbers.shape[0], device=source.device)
    if problem.direction == "left":
        borders[1:] = source[tiles.begins[1:] - 1]
    else:
        borders[:-1] = source[tiles.begins[1:]]
    return borders


def _subtract(
    case: Case, problem: DifferenceProblem, source: Tensor, out: Tensor, borders: Tensor | None, tiles: Tiles
) -> None:
    """What blocks do with their tiles: all of them read before any of them writes."""
    n, is_left = problem.num_items, problem.direction == "left"
    # blocked: [items, tiles, threads]
    index = split(tiles.index(), 1, case.policy.threads_per_block, case.policy.items_per_thread).movedim(2, 0)
    exists = index < n
    items = source[torch.where(exists, index, tiles.begins.unsqueeze(-1))]
    # the neighbour that another tile has; where there is none, any item stands for it
    if borders is None:
        border = source[(tiles.begins - 1).clamp(min=0) if is_left else tiles.ends.clamp(max=n - 1)]
    else:
        border = borders[tiles.numbers]
    if is_left:
        shown = torch.cat([border.unsqueeze(1), items[-1, :, :-1]], dim=1)
        neighbours = torch.cat([shown.unsqueeze(0), items[:-1]])
    else:
        shown = torch.cat([items[0, :, 1:], border.unsqueeze(1)], dim=1)
        neighbours = torch.cat([items[1:], shown.unsqueeze(0)])
    difference = problem.difference
    is_alone = index == (0 if is_left else n - 1)
    results = difference.element.select(is_alone, difference.of_one(items), difference.of(items, neighbours))
    out[index[exists]] = results[exists]


KERNEL: Final = DifferenceKernel()
