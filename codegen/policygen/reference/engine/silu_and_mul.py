"""SiLU of one half of each row, times the other half: the activation of a gated feed-forward layer.

Input: x [rows, 2 d]. Output: [rows, d], gate / (1 + exp(-gate)) x up, the gate being a row's first half. Types:
float16, bfloat16, float32; arithmetic in float32, one rounding at the end. Counts are numbers of the output; `threads`,
`items` and `vec_size` are the `vectorized` policy's (policy_of `transform`; `collectives.row_tiles`).

A grid of tiles over all numbers of the output, as a transform has it; a tile may begin and end anywhere in a row. Items
of a thread are spread over the device. A vector divides d, so that it is in one row, and in one half of it.

Numbers do not see each other: there is no order to promise, and the same bits come out in every run.

Error: -gate is exact; exp has `EXP_ROUNDINGS`, which the sum with 1 does not make larger; that sum, the division and
the product are rounded once each. Where exp(-gate) is more than float32 holds the result is a zero: off by all of
itself. A gate of -infinity gives NaN, as -infinity / infinity is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from itertools import cycle
from typing import Final

import torch
from attrs import frozen
from torch import Tensor

from policygen.plan.residency import Residency
from policygen.reference.collectives.row_tiles import MISALIGNED
from policygen.reference.collectives.row_tiles import NOT_USED
from policygen.reference.collectives.row_tiles import RowTile
from policygen.reference.collectives.row_tiles import row_tile
from policygen.reference.collectives.row_tiles import row_vector
from policygen.reference.contract.case import Case
from policygen.reference.contract.comparison import Exact
from policygen.reference.contract.comparison import Expectation
from policygen.reference.contract.error_bounds import relative_bound
from policygen.reference.contract.function_errors import DIVISION_ROUNDINGS
from policygen.reference.contract.function_errors import EXP_ROUNDINGS
from policygen.reference.contract.function_errors import SMALLEST
from policygen.reference.contract.function_errors import stored_bound
from policygen.reference.contract.kernel import Given
from policygen.reference.contract.kernel import Problem
from policygen.reference.contract.kernel import ReferenceKernel
from policygen.reference.contract.sizes import BEYOND_INT32
from policygen.reference.contract.sizes import sizes
from policygen.reference.contract.tile_log import TileLog
from policygen.reference.values.elements import ELEMENTS
from policygen.reference.values.inputs import FLOATING_PATTERNS
from policygen.reference.values.inputs import make
from policygen.reference.values.rows import Rows
from policygen.reference.values.rows import rows_of
from policygen.reference.values.rows import unwritten

KERNEL_NAME: Final = "silu_and_mul"
HALVES: Final = (3584, 2048, 46, 4097, 128)
DTYPES: Final = {2: ("float16", "bfloat16"), 4: ("float32",)}

_LARGEST_EXPONENT: Final = math.log(torch.finfo(torch.float32).max)
_SHIFTS: Final = ((0, 0), (4, 8), (1, 0), (0, 3), (2, 2))


@frozen
class SiluProblem(Problem):
    """An activation.

    Attributes:
        rows: tokens.
        half: numbers of the output's row.
        dtype: their type.
        shift: numbers by which input and output start past an aligned address.
        gap: numbers between the input's rows.
        sm_count: multiprocessors of the device.
        pattern: of the input; `steep` are gates from -200 to 200.
        has_data: False for index arithmetic alone.
    """

    rows: int
    half: int
    dtype: str
    shift: tuple[int, int]
    gap: int
    sm_count: int
    pattern: str
    has_data: bool = True


@frozen(eq=False)
class SiluInputs:
    """What is activated, and where to."""

    x: Rows
    output: Rows


class SiluKernel(ReferenceKernel[SiluProblem, SiluInputs]):
    """See the module."""

    policy_of = "transform"

    def keys(self, common: Sequence[Given]) -> Iterator[Given]:  # noqa: ARG002 - sizes are its own
        """Two inputs of a size, the halves."""
        for size in DTYPES:
            yield {"output": {"value_type_size": size}, "inputs": [{"value_type_size": size}] * 2}

    def problems(self, case: Case, *, quick: bool) -> Iterator[SiluProblem]:
        """See ReferenceKernel."""
        own, dtypes = case.policy.vectorized, DTYPES[case.key.output.value_type_size]
        tile = own.threads_per_block * own.items_per_thread
        turns = zip(cycle(dtypes), cycle(_SHIFTS), cycle((0, 8, 3)))
        found: dict[SiluProblem, None] = {}

        def add(rows: int, half: int, pattern: str, sm_count: int = 1) -> None:
            dtype, shift, gap = next(turns)
            found[SiluProblem(rows, half, dtype, shift, gap, sm_count, pattern)] = None

        for half in HALVES:
            for rows in (1, 7) if quick else (0, 1, 2, 7, 16):
                add(rows, half, "random")
        # one row with the edges of tiles in it, so many rows of one number, and nothing at all
        for n in sizes(tile, vector=own.vec_size, blocks=2, quick=quick)[1:]:
            add(1, n, "random")
        add(tile + 1, 1, "random")
        add(0, 2048, "random")
        for number, pattern in enumerate((*FLOATING_PATTERNS[1:], "steep")):
            for half in (HALVES[number % 3],) if quick else HALVES:
                add(3, half, pattern)
        for shift in _SHIFTS:
            found[SiluProblem(5, 2048, dtypes[0], shift, 4, case.residency.sm_count, "steep")] = None
        yield from found
        for half in HALVES[:1] if quick else HALVES:
            rows = BEYOND_INT32 // half + 1
            sm_count = case.residency.sm_count
            yield SiluProblem(rows, half, dtypes[0], (0, 0), 0, sm_count, "random", has_data=False)

    def inputs(self, case: Case, problem: SiluProblem, random: torch.Generator) -> SiluInputs:
        """See ReferenceKernel."""
        rows, element = problem.rows if problem.has_data else 0, ELEMENTS[problem.dtype]
        steep = problem.pattern == "steep"
        x = make("random" if steep else problem.pattern, element, rows * 2 * problem.half, random)
        x = x.view(rows, 2 * problem.half)
        if steep:
            x[:, : problem.half] *= 200
        of_x, of_output = problem.shift
        return SiluInputs(
            rows_of(x, shift=of_x, gap=problem.gap, device=case.device),
            unwritten(rows, problem.half, x.dtype, shift=of_output, device=case.device),
        )

    def run(self, case: Case, problem: SiluProblem, inputs: SiluInputs, log: TileLog) -> Mapping[str, Tensor]:
        """See ReferenceKernel."""
        tile, n, half = _tile(case, problem), problem.rows * problem.half, problem.half
        begins = tile.begins(n, _first_tile(tile, problem))
        tile.record(begins // tile.tile_items, begins, n, KERNEL_NAME, log)
        if not problem.has_data:
            return {}
        index = tile.index(begins).to(case.device)
        exists = index < n
        at = torch.where(exists, index, 0)
        row, column = at // half, at % half
        output = inputs.output.copy()
        accesses = [inputs.x.places(row, column), inputs.x.places(row, half + column), output.places(row, column)]
        gate, up = (inputs.x.memory[places].to(torch.float32) for places in accesses[:2])
        results = gate / (1 + torch.exp(-gate)) * up
        output.memory[accesses[2][exists]] = results[exists].to(output.memory.dtype)
        misaligned = sum((tile.misaligned(places, exists) for places in accesses), torch.tensor(0))
        return {"output": output.memory, MISALIGNED: misaligned}

    def expected(
        self,
        case: Case,  # noqa: ARG002 - the same for all
        problem: SiluProblem,
        inputs: SiluInputs,
    ) -> Mapping[str, Expectation]:
        """See ReferenceKernel."""
        if not problem.has_data:
            return {}
        x = inputs.x.values.to("cpu", torch.float64)
        gate, up = x[:, : problem.half], x[:, problem.half :]
        exact = gate / (1 + torch.exp(-gate)) * up
        roundings = EXP_ROUNDINGS + 1 + DIVISION_ROUNDINGS + 1
        # what underflows on the way is multiplied by the other half
        off = exact.abs() * relative_bound(roundings, torch.float32) + SMALLEST[torch.float32] * (1 + up.abs())
        vanishes = gate < -_LARGEST_EXPONENT * (1 - 2.0**-20)
        off = torch.where(vanishes, off + exact.abs(), off)
        bound = stored_bound(exact, off, inputs.x.memory.dtype)
        return {"output": inputs.output.expectation(exact, bound), MISALIGNED: Exact(torch.tensor(0))}

    def coverage(self, case: Case, problem: SiluProblem) -> Mapping[str, range]:
        """See ReferenceKernel."""
        tile = _tile(case, problem)
        first = _first_tile(tile, problem) * tile.tile_items
        return {KERNEL_NAME: range(first, problem.rows * problem.half)}

    def unbound(self, case: Case) -> Mapping[str, str]:  # noqa: ARG002 - the same for all
        """See ReferenceKernel."""
        return NOT_USED


def _tile(case: Case, problem: SiluProblem) -> RowTile:
    own = case.policy.vectorized
    vector = row_vector(own.vec_size, (problem.half, 2 * problem.half + problem.gap), problem.shift)
    residency = Residency(sm_count=problem.sm_count, occupancy=case.residency.occupancy)
    return row_tile(own, problem.rows * problem.half, vector, residency)


def _first_tile(tile: RowTile, problem: SiluProblem) -> int:
    """The tile from which they are noted: where nothing is loaded, the last ones."""
    return 0 if problem.has_data else tile.first_of_last(problem.rows * problem.half)


KERNEL: Final = SiluKernel()
