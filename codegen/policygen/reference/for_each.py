"""Device-wide loop (`cub::DeviceFor`), as `dispatch_for.cuh` launches it.

Input: a number of calls and a function; where the function takes elements, [n] of any size, as bytes. Output: what the
function does. Counts are calls, which are items but where vectors are copied; a tile is threads x items of the policy.

A block calls the function for a tile of consecutive indices, thread t for t, t + threads, ... of it (`static_kernel`).
Where the policy's threads are less than one, the kernel (`dynamic_kernel`) is launched with as many as the occupancy of
kernel and function suggests: an input here, for it is not known before the function is.

- `Bulk`: the function takes the index.
- `ForEach`, `ForEachN`: it takes the element, and may write to it.
- `ForEachCopy`, `ForEachCopyN`: it takes a copy of an element. Where the first one is aligned to a vector of four, an
  index stands for a vector, and what is left at the end is taken one by one. Four is no matter of the policy.
- `ForEachInExtents`, `ForEachInLayout`: it takes the index and its coordinates, by rows or by columns.

Order: none is promised, nor is one kept; each index is called exactly once. Exact.

Not modelled: division by multiplication, of which coordinates are made. Upstream computes a tile's items in the type of
the count: where that is of 8 bits, 256 threads are none, and the number of tiles is divided by zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from itertools import cycle
from math import prod
from typing import Final

import torch
from attrs import frozen
from torch import Tensor

from policygen.plan.counts import ceil_div
from policygen.reference.collectives.arrangement import striped
from policygen.reference.contract.case import Case
from policygen.reference.contract.comparison import AnyOrder
from policygen.reference.contract.comparison import Exact
from policygen.reference.contract.comparison import Expectation
from policygen.reference.contract.kernel import Problem
from policygen.reference.contract.kernel import ReferenceKernel
from policygen.reference.contract.sizes import BEYOND_INT32
from policygen.reference.contract.sizes import first_tile
from policygen.reference.contract.sizes import sizes
from policygen.reference.contract.tile_log import TileLog
from policygen.reference.values.memory import Array
from policygen.reference.values.memory import array
from policygen.reference.values.memory import array_bytes
from policygen.reference.values.memory import random_bytes
from policygen.reference.values.memory import vector_alignment

STATIC: Final = "static_kernel"
DYNAMIC: Final = "dynamic_kernel"
WAYS: Final = ("bulk", "elements", "copies", "rows", "columns")
"""What the function takes: an index, an element, a copy of one, an index with coordinates by rows or by columns."""

VECTOR: Final = 4
"""Elements of a vector that is copied."""

_SUGGESTED: Final = (1024, 768, 96)
_ELEMENTS: Final = ((4, 4), (1, 1), (8, 8), (12, 4), (2, 2), (16, 16), (3, 1))
_UNCALLED: Final = -1


@frozen
class ForProblem(Problem):
    """A loop.

    Attributes:
        extents: their product is the number of items; one but for rows and columns.
        way: one of `WAYS`.
        element: bytes of an element, and what they are aligned to.
        misaligned: elements by which the first one starts after an aligned address.
        suggested: threads of a block that the occupancy suggests; 0 where the policy has its own.
        has_data: False for index arithmetic alone.
    """

    extents: tuple[int, ...]
    way: str
    element: tuple[int, int]
    misaligned: int
    suggested: int
    has_data: bool = True

    @property
    def num_items(self) -> int:
        """Items to call the function for."""
        return prod(self.extents)

    @property
    def is_vectorised(self) -> bool:
        """Whether an index stands for a vector."""
        size, alignment = self.element
        return self.way == "copies" and self.misaligned * size % vector_alignment(size, alignment, VECTOR) == 0

    @property
    def calls(self) -> int:
        """Indices."""
        return ceil_div(self.num_items, VECTOR) if self.is_vectorised else self.num_items


class ForKernel(ReferenceKernel[ForProblem, Array]):
    """See the module."""

    def problems(self, case: Case, *, quick: bool) -> Iterator[ForProblem]:
        """See ReferenceKernel."""
        elements = cycle(_ELEMENTS)
        for suggested in _suggestions(case):
            tile = (suggested or case.policy.threads_per_block) * case.policy.items_per_thread
            for way in WAYS:
                edges = sizes(tile, vector=VECTOR, blocks=2, quick=quick)
                scale = VECTOR if way == "copies" else 1
                for number, n in enumerate(dict.fromkeys((*edges, *(scale * edge + scale - 1 for edge in edges)))):
                    extents = _factors(n) if way in ("rows", "columns") else (n,)
                    yield ForProblem(extents, way, next(elements), number % 3, suggested)
            for way in ("bulk", "copies"):
                yield ForProblem((BEYOND_INT32,), way, (1, 1), 0, suggested, has_data=False)

    def inputs(self, case: Case, problem: ForProblem, random: torch.Generator) -> Array:
        """See ReferenceKernel."""
        n, (size, alignment) = problem.num_items if problem.has_data else 0, problem.element
        contents = random_bytes(array_bytes(n, size, problem.misaligned), random).to(case.device)
        return array(n, size, alignment, problem.misaligned, contents)

    def run(self, case: Case, problem: ForProblem, inputs: Array, log: TileLog) -> Mapping[str, Tensor]:
        """See ReferenceKernel."""
        threads, items = _threads(case, problem), int(case.policy.items_per_thread)
        tiles = ceil_div(problem.calls, threads * items)
        blocks = range(_first_tile(case, problem), tiles)
        begins = torch.arange(blocks.start, blocks.stop) * (threads * items)
        counts = (problem.calls - begins).clamp(max=threads * items)
        log.record_all(_name(case), blocks, begins, begins + counts)
        if not problem.has_data:
            return {}
        in_tile = striped(threads, items)
        exists = in_tile < counts.reshape(-1, 1, 1)
        called = (begins.reshape(-1, 1, 1) + in_tile)[exists].to(case.device)
        return _effects(problem, inputs, called)

    def expected(
        self,
        case: Case,  # noqa: ARG002 - the same for all
        problem: ForProblem,
        inputs: Array,
    ) -> Mapping[str, Expectation]:
        """See ReferenceKernel."""
        if not problem.has_data:
            return {}
        n, extents = problem.num_items, problem.extents
        match problem.way:
            case "bulk":
                return {"calls": Exact(torch.ones(n, dtype=torch.int64))}
            case "elements":
                memory = inputs.memory.clone()
                own = memory[inputs.address : inputs.address + n * inputs.size]
                own += 1
                return {"memory": Exact(memory)}
            case "copies":
                return {"copies": AnyOrder(_as_numbers(inputs.elements)), "misaligned copies": Exact(torch.tensor(0))}
            case "rows":
                coordinates = torch.cartesian_prod(*map(torch.arange, extents)).reshape(n, len(extents))
            case _:
                reverse = torch.cartesian_prod(*map(torch.arange, reversed(extents))).reshape(n, len(extents))
                coordinates = reverse.flip(1)
        return {"coordinates": Exact(coordinates), "calls": Exact(torch.ones(n, dtype=torch.int64))}

    def coverage(self, case: Case, problem: ForProblem) -> Mapping[str, range]:
        """See ReferenceKernel."""
        tile = _threads(case, problem) * int(case.policy.items_per_thread)
        return {_name(case): range(_first_tile(case, problem) * tile, problem.calls)}


def is_dynamic(case: Case) -> bool:
    """Whether the threads of a block are what the occupancy suggests."""
    return bool(case.policy.threads_per_block < 1)


def _suggestions(case: Case) -> tuple[int, ...]:
    return _SUGGESTED if is_dynamic(case) else (0,)


def _threads(case: Case, problem: ForProblem) -> int:
    return problem.suggested if is_dynamic(case) else int(case.policy.threads_per_block)


def _name(case: Case) -> str:
    return DYNAMIC if is_dynamic(case) else STATIC


def _first_tile(case: Case, problem: ForProblem) -> int:
    tile_items = _threads(case, problem) * int(case.policy.items_per_thread)
    return first_tile(problem.calls, tile_items, has_data=problem.has_data)


def _factors(n: int) -> tuple[int, int, int]:
    """Three extents of so many items, the first two as small as they can be."""
    if n == 0:
        return (3, 0, 2)
    first = _smallest_factor(n)
    second = _smallest_factor(n // first)
    return first, second, n // first // second


def _smallest_factor(n: int) -> int:
    return next((factor for factor in range(2, n) if n % factor == 0), n)


def _effects(problem: ForProblem, inputs: Array, called: Tensor) -> dict[str, Tensor]:
    """What the function does when it is called with these indices."""
    n = problem.num_items
    if problem.way == "copies":
        return _copied(problem, inputs, called)
    calls = torch.bincount(called, minlength=n)
    if problem.way == "bulk":
        return {"calls": calls}
    if problem.way == "elements":
        # each byte of an element is one more than before
        memory = inputs.memory.clone()
        elements = memory[inputs.address : inputs.address + n * inputs.size].reshape(n, inputs.size)
        elements += calls.unsqueeze(-1).to(torch.uint8)
        return {"memory": memory}
    coordinates = torch.full((n, len(problem.extents)), _UNCALLED, device=called.device)
    coordinates[called] = _coordinates(problem, called)
    return {"coordinates": coordinates, "calls": calls}


def _coordinates(problem: ForProblem, called: Tensor) -> Tensor:
    """What remains of an index, divided by the product of the extents that run faster: [calls, extents]."""
    found, extents = [], problem.extents
    for axis, extent in enumerate(extents):
        faster = extents[axis + 1 :] if problem.way == "rows" else extents[:axis]
        found.append(called // prod(faster) % extent)
    return torch.stack(found, dim=-1)


def _copied(problem: ForProblem, inputs: Array, called: Tensor) -> dict[str, Tensor]:
    """The copies that the function is given, and how many vectors were read from addresses that they do not allow."""
    n, size = problem.num_items, inputs.size
    if not problem.is_vectorised:
        return {"copies": _as_numbers(inputs.elements[called]), "misaligned copies": torch.tensor(0)}
    partial = n // VECTOR
    whole = called[called != partial]
    items = whole.unsqueeze(-1) * VECTOR + torch.arange(VECTOR, device=called.device)
    rest = torch.arange(partial * VECTOR, n, device=called.device).repeat(int((called == partial).sum()))
    # a vector past the end is read from what follows
    read = inputs.memory[inputs.address :].unfold(0, size, 1)
    copies = read[torch.cat([items.flatten(), rest]) * size]
    addresses = inputs.address + whole * VECTOR * size
    misaligned = addresses % vector_alignment(size, inputs.alignment, VECTOR) != 0
    return {"copies": _as_numbers(copies), "misaligned copies": misaligned.sum()}


def _as_numbers(elements: Tensor) -> Tensor:
    """A number for each element, that hardly any other has: int64 [n] of uint8 [n, size]."""
    weights = torch.tensor([pow(257, place, 1 << 62) for place in range(elements.shape[-1])], device=elements.device)
    return (elements.long() * weights).sum(-1)


KERNEL: Final = ForKernel()
