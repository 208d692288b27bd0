"""Search for the first item that a predicate holds for (`cub::DeviceFind::FindIf`), as `dispatch_find.cuh` launches it.

Input: [n] items of any size, as bytes, and a predicate: here, that every byte of an item is 0xFF. Output: the index of
the first one, n if there is none. Counts are items; a tile is threads x items of the policy.

`find_kernel` has as many blocks as are resident at once (occupancy x SMs, without a factor), at most one a tile; block
b takes tiles b, b + blocks, ... A thread looks at its items from the first on, and stops at the first that it finds;
the block takes the least of its threads, puts it into the result by an atomic minimum, and is done. Before each tile it
reads the result, and is done if that lies before the tile. So no tile that begins at the result or before it is left
out, whichever blocks run when, and whatever they see of each other's results: here an adversary decides both.

A tile is loaded in vectors of `vec_size` items if it is full, begins at a multiple of a vector's bytes, and the items
of a thread are whole vectors; else striped. Where a vector's bytes are no power of two, upstream still takes the bits
of one less for a mask, and it is so here: no vector is misaligned by that.

Exact; no result depends on timing.

Not modelled: the kernels of one thread that set the result to n and copy it to where it is wanted. Of no items upstream
launches no block, which is an error of CUDA; the result, 0, is there nevertheless. Offsets have 64 bits here; upstream,
of a `uint32_t` count that is less than a round of the grid away from 2^32, they wrap around to the first tiles.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from itertools import cycle
from typing import Final
from typing import TypeAlias

import torch
from attrs import frozen
from torch import Tensor

from policygen.plan.counts import ceil_div
from policygen.reference.collectives.arrangement import striped
from policygen.reference.collectives.arrangement import striped_vectors
from policygen.reference.contract.case import Case
from policygen.reference.contract.comparison import Exact
from policygen.reference.contract.comparison import Expectation
from policygen.reference.contract.kernel import Problem
from policygen.reference.contract.kernel import ReferenceKernel
from policygen.reference.contract.sizes import BEYOND_INT32
from policygen.reference.contract.sizes import first_tile
from policygen.reference.contract.sizes import sizes
from policygen.reference.contract.tile_log import TileLog
from policygen.reference.values.memory import GUARD
from policygen.reference.values.memory import Array
from policygen.reference.values.memory import array
from policygen.reference.values.memory import array_bytes
from policygen.reference.values.memory import random_bytes
from policygen.reference.values.memory import vector_alignment

KERNEL_NAME: Final = "find_kernel"
ADVERSARIES: Final = ("in turn", "any", "blind")
"""Blocks run one after the other, in any order; or tile by tile, interleaved; or so that none sees another's result."""

HOLDS: Final = 0xFF
"""What every byte of an item is that is looked for."""

LEFT_OUT: Final = "tiles left out that begin at the result or before it"
TWICE: Final = "tiles taken twice"
MISALIGNED: Final = "misaligned vectors"
_NEVER: Final = (LEFT_OUT, TWICE, MISALIGNED)

_FEW_BLOCKS: Final = 3
_LARGEST_ALIGNMENT: Final = 16


@frozen
class FindProblem(Problem):
    """A search.

    Attributes:
        num_items: items to search.
        where: of the items that the predicate holds for, one of `PLACES`.
        max_blocks: blocks that are resident at once.
        misaligned: items by which the first one starts after an aligned address.
        adversary: one of `ADVERSARIES`.
        has_data: False for index arithmetic alone, where nothing is found.
    """

    num_items: int
    where: str
    max_blocks: int
    misaligned: int
    adversary: str
    has_data: bool = True


@frozen(eq=False)
class FindInputs:
    """What a search is given.

    Attributes:
        items: what is searched; whatever surrounds it, the predicate holds for.
        steps: numbers of blocks, in the order in which they take their tiles.
    """

    items: Array
    steps: Tensor


class FindKernel(ReferenceKernel[FindProblem, FindInputs]):
    """See the module."""

    def problems(self, case: Case, *, quick: bool) -> Iterator[FindProblem]:
        """See ReferenceKernel."""
        tile = _tile_items(case)
        vector = case.policy.vec_size
        edges = sizes(tile, vector=vector, blocks=_FEW_BLOCKS, quick=quick)
        places = cycle(PLACES)
        adversaries = cycle(ADVERSARIES)
        for number, n in enumerate(edges):
            for where in (next(places), next(places)) if quick else PLACES:
                yield FindProblem(n, where, _FEW_BLOCKS, number % 2, next(adversaries))
        for misaligned in range(vector + 1):
            for where in PLACES:
                n = (3 * _FEW_BLOCKS + 1) * tile - misaligned
                yield FindProblem(n, where, _FEW_BLOCKS, misaligned, next(adversaries))
        for adversary in ADVERSARIES:
            for where in ("few", "borders") if quick else PLACES:
                yield FindProblem(30 * tile + 1, where, 4 * _FEW_BLOCKS, 0, adversary)
        blocks = case.residency.resident_blocks
        yield FindProblem(BEYOND_INT32, "none", blocks, 0, ADVERSARIES[0], has_data=False)

    def inputs(self, case: Case, problem: FindProblem, random: torch.Generator) -> FindInputs:
        """See ReferenceKernel."""
        n, size = problem.num_items if problem.has_data else 0, case.key.input_type_size
        contents = random_bytes(array_bytes(n, size, problem.misaligned), random) % HOLDS
        items = array(n, size, _alignment(size), problem.misaligned, contents)
        items.memory[: items.address] = HOLDS
        items.memory[-GUARD:] = HOLDS
        if n:
            items.elements[PLACES[problem.where](n, _tile_items(case), random)] = HOLDS
        tiles = ceil_div(n, _tile_items(case))
        return FindInputs(
            Array(items.memory.to(case.device), items.address, size, items.alignment, n),
            _steps(tiles, problem, random),
        )

    def run(self, case: Case, problem: FindProblem, inputs: FindInputs, log: TileLog) -> Mapping[str, Tensor]:
        """See ReferenceKernel."""
        n, tile = problem.num_items, _tile_items(case)
        tiles = ceil_div(n, tile)
        grid = min(tiles, problem.max_blocks)
        numbers = torch.arange(_first_tile(case, problem), tiles)
        begins, ends = numbers * tile, ((numbers + 1) * tile).clamp(max=n)
        if not problem.has_data:
            log.record_all(KERNEL_NAME, numbers % grid, begins, ends)
            return {}
        found, misaligned = _in_tiles(case, inputs.items, begins)
        taken, result = _searched(problem, inputs.steps, begins.tolist(), found.tolist(), grid)
        which = torch.tensor(taken, dtype=torch.int64)
        log.record_all(KERNEL_NAME, which % max(1, grid), begins[which], ends[which])
        needed = numbers[begins <= result]
        return {
            "index": torch.tensor(result),
            LEFT_OUT: (~torch.isin(needed, which)).sum(),
            TWICE: torch.tensor(len(taken) - len(set(taken))),
            MISALIGNED: torch.tensor(misaligned),
        }

    def expected(
        self,
        case: Case,  # noqa: ARG002 - the same for all
        problem: FindProblem,
        inputs: FindInputs,
    ) -> Mapping[str, Expectation]:
        """See ReferenceKernel."""
        if not problem.has_data:
            return {}
        places = torch.nonzero((inputs.items.elements == HOLDS).all(-1))
        index = places[0, 0].cpu() if places.numel() else torch.tensor(problem.num_items)
        return {"index": Exact(index), **{name: Exact(torch.tensor(0)) for name in _NEVER}}

    def coverage(self, case: Case, problem: FindProblem) -> Mapping[str, range]:
        """See ReferenceKernel."""
        if problem.where != "none":
            return {}
        return {KERNEL_NAME: range(_first_tile(case, problem) * _tile_items(case), problem.num_items)}


Places: TypeAlias = Callable[[int, int, torch.Generator], Tensor]
"""Indices that the predicate holds for: of so many items, in tiles of so many."""


def _any(count: int) -> Places:
    return lambda n, _, random: torch.randint(n, (count,), generator=random)


def _neighbours(n: int, tile: int, random: torch.Generator) -> Tensor:  # noqa: ARG001 - one signature
    return (torch.randint(n, (1,), generator=random) + torch.arange(2)).clamp(max=n - 1)


def _borders(n: int, tile: int, random: torch.Generator) -> Tensor:  # noqa: ARG001
    begins = torch.arange(1, ceil_div(n, tile)) * tile
    begins = begins[begins.shape[0] // 2 :]
    return torch.cat([begins - 1, begins])


PLACES: Final[Mapping[str, Places]] = {
    "none": _any(0),
    "one": _any(1),
    "few": _any(4),
    "many": _any(100),
    "all": lambda n, *_: torch.arange(n),
    "first": lambda *_: torch.tensor([0]),
    "last": lambda n, *_: torch.tensor([n - 1]),
    "neighbours": _neighbours,
    "borders": _borders,
}
"""Which items the predicate holds for: `borders` are the last and first ones of tiles in the second half."""


def _alignment(size: int) -> int:
    """The largest power of two that divides a size, 16 at most."""
    return min(_LARGEST_ALIGNMENT, size & -size)


def _tile_items(case: Case) -> int:
    return int(case.policy.threads_per_block * case.policy.items_per_thread)


def _first_tile(case: Case, problem: FindProblem) -> int:
    return first_tile(problem.num_items, _tile_items(case), has_data=problem.has_data)


def _steps(tiles: int, problem: FindProblem, random: torch.Generator) -> Tensor:
    """As many steps for each block as it has tiles."""
    blocks = torch.arange(tiles) % max(1, min(tiles, problem.max_blocks))
    if problem.adversary != "in turn":
        return blocks[torch.randperm(tiles, generator=random)]
    order = torch.randperm(max(1, min(tiles, problem.max_blocks)), generator=random)
    return blocks[torch.sort(order[blocks], stable=True).indices]


def _in_tiles(case: Case, items: Array, begins: Tensor) -> tuple[Tensor, int]:
    """The first item of each tile that the predicate holds for, [tiles], and how many vectors were misaligned."""
    n, size, vector = items.num_items, items.size, int(case.policy.vec_size)
    threads, per_thread = case.policy.threads_per_block, case.policy.items_per_thread
    addresses = items.address + begins * size
    vectorised = torch.zeros_like(begins, dtype=torch.bool)
    places = striped(threads, per_thread)
    index = begins.reshape(-1, 1, 1) + places
    misaligned = 0
    if vector > 1 and per_thread % vector == 0:
        # the mask is right for powers of two only
        vectorised = (begins + threads * per_thread <= n) & (addresses & (vector * size - 1) == 0)
        vectors = begins.reshape(-1, 1, 1) + striped_vectors(threads, per_thread, vector)
        index = torch.where(vectorised.reshape(-1, 1, 1), vectors, index)
        loaded = items.address + vectors[vectorised][:, ::vector] * size
        misaligned = int((loaded % vector_alignment(size, items.alignment, vector) != 0).sum())
    if n == 0:
        return begins, misaligned
    read = items.elements[index.clamp(max=n - 1).to(items.memory.device)]
    holds = (read == HOLDS).all(-1).cpu() & (index < n)
    # a thread stops at its first item: [tiles, threads]
    place = holds.long().argmax(1, keepdim=True)
    of_thread = torch.where(holds.gather(1, place), index.gather(1, place), n).squeeze(1)
    return of_thread.amin(1), misaligned


def _searched(
    problem: FindProblem, steps: Tensor, begins: list[int], found: list[int], grid: int
) -> tuple[list[int], int]:
    """Which tiles blocks take, in their order, and the result."""
    n = result = problem.num_items
    following = list(range(grid))
    done: set[int] = set()
    taken: list[int] = []
    for block in steps.tolist():
        tile = following[block]
        seen = n if problem.adversary == "blind" else result
        if block in done or seen < begins[tile]:
            done.add(block)
            continue
        taken.append(tile)
        following[block] += grid
        if found[tile] < n:
            result = min(result, found[tile])
            done.add(block)
    return taken, result


KERNEL: Final = FindKernel()
