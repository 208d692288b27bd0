"""RMSNorm over rows: each divided by the root of the mean of its squares.

Input: x [rows, hidden], weights [hidden], epsilon; with a residual, x + residual is rounded, stored, and normalised in
its place. Output: x / sqrt(mean(x^2) + epsilon) x weight. Types: float16, bfloat16, float32, arithmetic in float32, one
rounding at the end. Counts are numbers; `threads`, `items` and `vec_size` are the `vectorized` policy's (policy_of
`transform`; `collectives.row_tiles`).

A row that a warp holds, of at most lanes x items numbers, is a warp's, and a block takes as many rows as it has whole
warps (norms of heads are such). Else a block takes a row, tile after tile, its numbers spread over the threads: 3,584
numbers are two tiles of 256 x 8. A thread adds the squares of its numbers one after the other; lanes, then warps, are
reduced as in BLOCK_REDUCE_WARP_REDUCTIONS. Then numbers are read again, and written.

Order: threads, lanes and warps are added in theirs; the same bits in every run.

Error: all terms of the mean are positive, and one passes through k additions and three more roundings (square,
division, epsilon): r = (1 + u)^(k + 3) - 1. The reciprocal root halves it: at most r / 2 + r^2, and `RSQRT_ROUNDINGS`.
Two products, and the rounding to the type.

As in engines, squares of more than 3.4e38 make the mean an infinity, and the row zeros; a number that is infinite
becomes NaN, and all others of its row zeros.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from itertools import cycle
from typing import Final

import torch
from attrs import frozen
from torch import Tensor

from policygen.plan.counts import ceil_div
from policygen.plan.residency import Residency
from policygen.reference.collectives.block_reduce import WARP_REDUCTIONS
from policygen.reference.collectives.block_reduce import block_additions
from policygen.reference.collectives.block_reduce import block_reduce
from policygen.reference.collectives.row_tiles import MISALIGNED
from policygen.reference.collectives.row_tiles import NOT_USED
from policygen.reference.collectives.row_tiles import RowTile
from policygen.reference.collectives.row_tiles import row_tile
from policygen.reference.collectives.row_tiles import row_vector
from policygen.reference.collectives.warp_reduce import warp_additions
from policygen.reference.collectives.warp_reduce import warp_reduce
from policygen.reference.contract.case import Case
from policygen.reference.contract.comparison import Exact
from policygen.reference.contract.comparison import Expectation
from policygen.reference.contract.error_bounds import UNIT_ROUNDOFF
from policygen.reference.contract.error_bounds import relative_bound
from policygen.reference.contract.function_errors import RSQRT_ROUNDINGS
from policygen.reference.contract.function_errors import SMALLEST
from policygen.reference.contract.function_errors import stored_bound
from policygen.reference.contract.kernel import Given
from policygen.reference.contract.kernel import Problem
from policygen.reference.contract.kernel import ReferenceKernel
from policygen.reference.contract.sizes import BEYOND_INT32
from policygen.reference.contract.tile_log import TileLog
from policygen.reference.values.elements import ELEMENTS
from policygen.reference.values.elements import Element
from policygen.reference.values.inputs import FLOATING_PATTERNS
from policygen.reference.values.inputs import make
from policygen.reference.values.operators import plus
from policygen.reference.values.rows import Rows
from policygen.reference.values.rows import rows_of
from policygen.reference.values.rows import unwritten

KERNEL_NAME: Final = "rms_norm"
EPSILON: Final = 1e-6
HIDDEN: Final = (3584, 2048, 46, 4097)
DTYPES: Final = {2: ("float16", "bfloat16"), 4: ("float32",)}

_ONE_BLOCK: Final = Residency(sm_count=1, occupancy=1)
_FLOAT: Final = ELEMENTS["float32"]
_OVERFLOW: Final = 2.0**128
_LAST_ROWS: Final = 64
_SHIFTS: Final = ((0, 0, 0, 0), (4, 8, 0, 12), (1, 0, 0, 0), (0, 0, 0, 3), (0, 2, 0, 0), (0, 0, 1, 0))


@frozen
class RmsNormProblem(Problem):
    """A norm.

    Attributes:
        rows: tokens, or heads of tokens.
        hidden: numbers of a row.
        dtype: their type.
        shift: numbers by which x, weights, residual and output start past an aligned address.
        gap: numbers between rows of x and residual.
        residual: whether there is one.
        pattern: of x.
        has_data: False for index arithmetic alone.
    """

    rows: int
    hidden: int
    dtype: str
    shift: tuple[int, int, int, int]
    gap: int
    residual: bool
    pattern: str
    has_data: bool = True


@frozen(eq=False)
class RmsNormInputs:
    """What is normalised."""

    x: Rows
    weights: Rows
    residual: Rows
    output: Rows


class RmsNormKernel(ReferenceKernel[RmsNormProblem, RmsNormInputs]):
    """See the module."""

    policy_of = "transform"

    def keys(self, common: Sequence[Given]) -> Iterator[Given]:  # noqa: ARG002 - sizes are its own
        """Two inputs of a size, x and weights."""
        for size in DTYPES:
            yield {"output": {"value_type_size": size}, "inputs": [{"value_type_size": size}] * 2}

    def problems(self, case: Case, *, quick: bool) -> Iterator[RmsNormProblem]:
        """See ReferenceKernel."""
        own = case.policy.vectorized
        tile, of_warp = own.threads_per_block * own.items_per_thread, case.warp_size * own.items_per_thread
        edges = (1, of_warp - 1, of_warp, of_warp + 1, tile - 1, tile, tile + 1, 3 * tile + 12)
        dtypes = DTYPES[case.key.output.value_type_size]
        turns = zip(cycle(dtypes), cycle(_SHIFTS), cycle((0, 8, 3)), cycle((5, 3, 1)))
        found: dict[RmsNormProblem, None] = {}

        def add(hidden: int, pattern: str, *, residual: bool = False, more_rows: int = 0) -> None:
            dtype, shift, gap, rows = next(turns)
            found[RmsNormProblem(rows + more_rows, hidden, dtype, shift, gap, residual, pattern)] = None

        for number, hidden in enumerate(dict.fromkeys((*HIDDEN, *edges))):
            for residual in (number % 2 == 0,) if quick else (False, True):
                add(hidden, "random", residual=residual)
        for number, pattern in enumerate((*FLOATING_PATTERNS[1:], "huge")):
            for hidden in (HIDDEN[1 + number % 2],) if quick else HIDDEN:
                add(hidden, pattern, more_rows=1)
        # more rows of a warp each than a block has warps
        add(46, "random", more_rows=3 * own.threads_per_block // case.warp_size)
        for shift in _SHIFTS:
            found[RmsNormProblem(2, 2048, dtypes[0], shift, 4, True, "random")] = None
        found[RmsNormProblem(0, 2048, dtypes[0], _SHIFTS[0], 0, True, "random")] = None
        yield from found
        for hidden in HIDDEN:
            rows = BEYOND_INT32 // hidden + 1
            yield RmsNormProblem(rows, hidden, dtypes[0], _SHIFTS[0], 0, False, "random", has_data=False)

    def inputs(self, case: Case, problem: RmsNormProblem, random: torch.Generator) -> RmsNormInputs:
        """See ReferenceKernel."""
        rows, hidden = problem.rows if problem.has_data else 0, problem.hidden
        element, device = ELEMENTS[problem.dtype], case.device
        x = _numbers(problem.pattern, element, rows * hidden, random).view(rows, hidden)
        weights = make("random", element, hidden, random).view(1, hidden)
        residual = make("random", element, rows * hidden, random).view(rows, hidden)
        of_x, of_weights, of_residual, of_output = problem.shift
        return RmsNormInputs(
            rows_of(x, shift=of_x, gap=problem.gap, device=device),
            rows_of(weights, shift=of_weights, device=device),
            rows_of(residual, shift=of_residual, gap=problem.gap, device=device),
            unwritten(rows, hidden, x.dtype, shift=of_output, device=device),
        )

    def run(self, case: Case, problem: RmsNormProblem, inputs: RmsNormInputs, log: TileLog) -> Mapping[str, Tensor]:
        """See ReferenceKernel."""
        launch = _launch(case, problem, inputs)
        launch.record(problem, log)
        if not problem.has_data:
            return {}
        tile, hidden = launch.tile, problem.hidden
        columns = tile.index(tile.begins(hidden)).to(case.device)
        exists = columns < hidden
        column = torch.where(exists, columns, 0)
        row = torch.arange(problem.rows, device=case.device).view(-1, 1, 1, 1)
        there = exists.expand(problem.rows, *exists.shape)
        output, residual = inputs.output.copy(), inputs.residual.copy()
        at_x, at_weights, at_output = (
            rows.places(row * (rows.rows > 1), column) for rows in (inputs.x, inputs.weights, output)
        )
        accesses = [at_x, at_weights.expand_as(at_x), at_output]
        x = inputs.x.memory[at_x]
        if problem.residual:
            at_residual = residual.places(row, column)
            accesses.append(at_residual)
            x = x + residual.memory[at_residual]
            residual.memory[at_residual[there]] = x[there]
        numbers = x.to(torch.float32)
        total = launch.sum(torch.where(there, numbers * numbers, 0.0))
        scale = torch.rsqrt(total / hidden + EPSILON).view(-1, 1, 1, 1)
        results = numbers * scale * inputs.weights.memory[at_weights].to(torch.float32)
        output.memory[at_output[there]] = results[there].to(output.memory.dtype)
        misaligned = sum((tile.misaligned(places, there) for places in accesses), torch.tensor(0))
        found = {"output": output.memory, MISALIGNED: misaligned}
        return {**found, "residual": residual.memory} if problem.residual else found

    def expected(self, case: Case, problem: RmsNormProblem, inputs: RmsNormInputs) -> Mapping[str, Expectation]:
        """See ReferenceKernel."""
        if not problem.has_data:
            return {}
        dtype = inputs.x.memory.dtype
        x = inputs.x.values.to("cpu", torch.float64)
        found: dict[str, Expectation] = {MISALIGNED: Exact(torch.tensor(0))}
        if problem.residual:
            # a sum of two of them is rounded in the same way if it goes through float64
            x = (x + inputs.residual.values.to("cpu", torch.float64)).to(dtype).to(torch.float64)
            residual = inputs.residual.copy()
            residual.values.copy_(x)
            found["residual"] = Exact(residual.memory)
        squares = x * x
        mean = squares.mean(-1, keepdim=True)
        overflows = (squares >= _OVERFLOW).any(-1, keepdim=True)
        scale = torch.where(overflows, 0.0, torch.rsqrt(mean + EPSILON))
        weights = inputs.weights.values.to("cpu", torch.float64)
        exact = x * scale * weights
        relative = _relative_bound(_launch(case, problem, inputs).additions(problem.hidden), problem.hidden)
        off = exact.abs() * relative + SMALLEST[torch.float32] * (1 + weights.abs())
        bound = torch.where(overflows, 0.0, stored_bound(exact, off, dtype))
        return {**found, "output": inputs.output.expectation(exact, bound)}

    def coverage(self, case: Case, problem: RmsNormProblem) -> Mapping[str, range]:  # noqa: ARG002
        """See ReferenceKernel."""
        return {KERNEL_NAME: range(_first_row(problem) * problem.hidden, problem.rows * problem.hidden)}

    def unbound(self, case: Case) -> Mapping[str, str]:  # noqa: ARG002
        """See ReferenceKernel."""
        return NOT_USED


@frozen
class _Launch:
    """How rows are taken.

    Attributes:
        tile: of a row.
        rows_of_block: 0 where a block takes one row, else warps of a block, with a row each.
        warp_size: lanes of a warp.
    """

    tile: RowTile
    rows_of_block: int
    warp_size: int

    def sum(self, terms: Tensor) -> Tensor:
        """Adds up the terms of each row.

        Args:
            terms: [rows, tiles, items, threads]; zero where a thread has none.
        """
        held = terms.new_zeros(terms.shape[0], terms.shape[-1])
        for of_place in terms.flatten(1, 2).unbind(1):
            held = held + of_place
        if self.rows_of_block:
            return warp_reduce(held, plus(_FLOAT), self.warp_size)
        valid = torch.full(held.shape[:1], self.tile.threads, device=held.device)
        return block_reduce(held, plus(_FLOAT), WARP_REDUCTIONS, self.warp_size, valid)

    def additions(self, hidden: int) -> int:
        """The most additions that a term passes through."""
        in_thread = self.tile.items * ceil_div(hidden, self.tile.tile_items)
        if self.rows_of_block:
            return in_thread + warp_additions(self.warp_size)
        return in_thread + block_additions(self.tile.threads, WARP_REDUCTIONS, self.warp_size)

    def record(self, problem: RmsNormProblem, log: TileLog) -> None:
        """Notes the tiles: numbers count over all rows."""
        hidden, first = problem.hidden, _first_row(problem)
        if self.rows_of_block:
            begins = torch.arange(first, problem.rows, self.rows_of_block)
            ends = (begins + self.rows_of_block).clamp(max=problem.rows)
            log.record_all(KERNEL_NAME, begins // self.rows_of_block, begins * hidden, ends * hidden)
            return
        for row in range(first, problem.rows):
            begins = self.tile.begins(hidden)
            ends = (begins + self.tile.tile_items).clamp(max=hidden)
            log.record_all(KERNEL_NAME, row, row * hidden + begins, row * hidden + ends)


def _launch(case: Case, problem: RmsNormProblem, inputs: RmsNormInputs) -> _Launch:
    own, hidden = case.policy.vectorized, problem.hidden
    arrays = [inputs.x, inputs.weights, inputs.output, *([inputs.residual] if problem.residual else [])]
    distances = [hidden, *(x.stride for x in arrays if x.rows > 1)]
    vector = row_vector(own.vec_size, distances, [x.start for x in arrays])
    if hidden <= case.warp_size * own.items_per_thread:
        threads = {"threads_per_block": case.warp_size, "items_per_thread": own.items_per_thread}
        return _Launch(
            row_tile(threads, hidden, vector, _ONE_BLOCK), own.threads_per_block // case.warp_size, case.warp_size
        )
    return _Launch(row_tile(own, hidden, vector, _ONE_BLOCK), 0, case.warp_size)


def _first_row(problem: RmsNormProblem) -> int:
    """The row from which tiles are noted: where nothing is loaded, the last ones."""
    return 0 if problem.has_data else (problem.rows // _LAST_ROWS - 1) * _LAST_ROWS


def _numbers(pattern: str, element: Element, n: int, random: torch.Generator) -> Tensor:
    if pattern == "huge":
        # squares that float32 does not hold; of float16 the greatest numbers
        return make("random", element, n, random).sign() * min(2.0**66, torch.finfo(element.dtype).max)
    return make(pattern, element, n, random)


def _relative_bound(additions: int, hidden: int) -> float:
    """Relative to a result, before it is rounded to its type."""
    of_mean = relative_bound(additions + 3, torch.float32)
    # squares that underflow, against epsilon
    of_mean += hidden * SMALLEST[torch.float32] / EPSILON
    of_reference = hidden * UNIT_ROUNDOFF[torch.float64]
    of_root = of_mean / 2 + of_mean**2 + of_reference
    return (1 + of_root) * (1 + relative_bound(RSQRT_ROUNDINGS + 2, torch.float32)) - 1


KERNEL: Final = RmsNormKernel()
