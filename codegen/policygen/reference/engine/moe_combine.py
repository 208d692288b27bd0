"""The weighted sum of what each token's experts gave, in a fixed order.

Input: results of experts [places, hidden], a row for each pair of a token and an expert wherever the sort by expert has
put it (`policygen.reference.moe_align`, in `engine`); where each pair is, [tokens, k], -1 for pairs whose expert is not
here; weights [tokens, k], float32. Output: [tokens, hidden], the sum over k, first choice first, of weight x result;
zeros for a token without pairs. Types of results and output: float16, bfloat16, float32; arithmetic in float32, one
rounding at the end. Counts are numbers of the output; `threads`, `items` and `vec_size` are the `vectorized` policy's.

It is a reduction by key with keys (tokens) of the same number of items each, which is known: so nothing has to be found
by a scan or a lookback, and no sum depends on timing. What is left is a transform (policy_of `transform`;
`collectives.row_tiles`) of k inputs at places of their own: a grid of tiles over all numbers of the output, items of a
thread spread over the device. A thread adds up its numbers' k terms one after the other. A vector divides the row.

Error: a product and at most k additions for each term: ((1 + u)^(k + 1) - 1) sum |weight x result|, and the rounding to
the type.
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

from policygen.plan.residency import Residency
from policygen.reference.collectives.row_tiles import MISALIGNED
from policygen.reference.collectives.row_tiles import NOT_USED
from policygen.reference.collectives.row_tiles import RowTile
from policygen.reference.collectives.row_tiles import row_tile
from policygen.reference.collectives.row_tiles import row_vector
from policygen.reference.contract.case import Case
from policygen.reference.contract.comparison import Exact
from policygen.reference.contract.comparison import Expectation
from policygen.reference.contract.error_bounds import sum_bound
from policygen.reference.contract.function_errors import SMALLEST
from policygen.reference.contract.function_errors import stored_bound
from policygen.reference.contract.kernel import Given
from policygen.reference.contract.kernel import Problem
from policygen.reference.contract.kernel import ReferenceKernel
from policygen.reference.contract.sizes import BEYOND_INT32
from policygen.reference.contract.sizes import sizes
from policygen.reference.contract.tile_log import TileLog
from policygen.reference.values.elements import ELEMENTS
from policygen.reference.values.inputs import make
from policygen.reference.values.rows import Rows
from policygen.reference.values.rows import rows_of
from policygen.reference.values.rows import unwritten

KERNEL_NAME: Final = "moe_combine"
HIDDEN: Final = (2048, 3584, 46, 4097)
DTYPES: Final = {2: ("float16", "bfloat16"), 4: ("float32",)}
NOT_HERE: Final = -1

_SHIFTS: Final = ((0, 0), (4, 8), (1, 0), (0, 3), (2, 2))
_PATTERNS: Final = ("random", "absent", "all-absent", "equal", "zeros", "denormals", "infinities", "nan")


@frozen
class MoeCombineProblem(Problem):
    """A combination.

    Attributes:
        tokens: rows of the output.
        chosen: experts of a token.
        hidden: numbers of a row.
        dtype: of results and output.
        shift: numbers by which results and output start past an aligned address.
        gap: numbers between rows of results.
        sm_count: multiprocessors of the device.
        pattern: of the results; or how many pairs are not here.
        has_data: False for index arithmetic alone.
    """

    tokens: int
    chosen: int
    hidden: int
    dtype: str
    shift: tuple[int, int]
    gap: int
    sm_count: int
    pattern: str
    has_data: bool = True


@frozen(eq=False)
class MoeCombineInputs:
    """What is combined.

    Attributes:
        results: of experts; rows of no pair hold NaN.
        places: row of each pair, [tokens, k].
        weights: [tokens, k].
        output: where to.
    """

    results: Rows
    places: Tensor
    weights: Tensor
    output: Rows


class MoeCombineKernel(ReferenceKernel[MoeCombineProblem, MoeCombineInputs]):
    """See the module."""

    policy_of = "transform"

    def keys(self, common: Sequence[Given]) -> Iterator[Given]:  # noqa: ARG002 - sizes are its own
        """Results of a size."""
        for size in DTYPES:
            yield {"output": {"value_type_size": size}, "inputs": [{"value_type_size": size}]}

    def problems(self, case: Case, *, quick: bool) -> Iterator[MoeCombineProblem]:
        """See ReferenceKernel."""
        own, dtypes = case.policy.vectorized, DTYPES[case.key.output.value_type_size]
        tile, sm_count = own.threads_per_block * own.items_per_thread, case.residency.sm_count
        turns = zip(cycle(dtypes), cycle(_SHIFTS), cycle((0, 8, 3)), cycle((8, 1, 2)), cycle((1, 1, 1, sm_count)))
        found: dict[MoeCombineProblem, None] = {}

        def add(tokens: int, hidden: int, pattern: str) -> None:
            dtype, shift, gap, chosen, sms = next(turns)
            found[MoeCombineProblem(tokens, chosen, hidden, dtype, shift, gap, sms, pattern)] = None

        for hidden in HIDDEN:
            for tokens in (1, 5) if quick else (1, 2, 5, 9):
                add(tokens, hidden, "random")
        for n in sizes(tile, vector=own.vec_size, blocks=1, quick=quick)[1:]:
            add(1, n, "random")
        add(tile + 1, 1, "absent")
        add(0, 2048, "random")
        for number, pattern in enumerate(_PATTERNS[1:]):
            for hidden in (HIDDEN[number % 3],) if quick else HIDDEN:
                add(4, hidden, pattern)
        for shift in _SHIFTS:
            found[MoeCombineProblem(3, 8, 2048, dtypes[0], shift, 4, 1, "absent")] = None
        yield from found
        hidden = HIDDEN[0]
        yield MoeCombineProblem(
            BEYOND_INT32 // hidden + 1, 8, hidden, dtypes[0], (0, 0), 0, sm_count, "random", has_data=False
        )

    def inputs(self, case: Case, problem: MoeCombineProblem, random: torch.Generator) -> MoeCombineInputs:
        """See ReferenceKernel."""
        tokens, k, hidden = problem.tokens if problem.has_data else 0, problem.chosen, problem.hidden
        element, pairs = ELEMENTS[problem.dtype], tokens * k
        absent = {"absent": 0.5, "all-absent": 1.0}.get(problem.pattern, 0.0)
        pattern = problem.pattern if not absent else "random"
        # some places are padding of experts' blocks
        padding = 3
        places = torch.randperm(pairs + padding, generator=random)[:pairs].view(tokens, k)
        results = torch.full((pairs + padding, hidden), float("nan"), dtype=element.dtype)
        here = torch.rand(tokens, k, generator=random) >= absent
        rows = make(pattern, element, pairs * hidden, random).view(pairs, hidden)
        results[places[here]] = rows[here.flatten()]
        of_results, of_output = problem.shift
        return MoeCombineInputs(
            rows_of(results, shift=of_results, gap=problem.gap, device=case.device),
            torch.where(here, places, NOT_HERE).to(case.device),
            torch.rand(tokens, k, generator=random).to(case.device),
            unwritten(tokens, hidden, element.dtype, shift=of_output, device=case.device),
        )

    def run(
        self, case: Case, problem: MoeCombineProblem, inputs: MoeCombineInputs, log: TileLog
    ) -> Mapping[str, Tensor]:
        """See ReferenceKernel."""
        tile, hidden = _tile(case, problem), problem.hidden
        n = problem.tokens * hidden
        begins = tile.begins(n, _first_tile(tile, problem))
        tile.record(begins // tile.tile_items, begins, n, KERNEL_NAME, log)
        if not problem.has_data:
            return {}
        output, misaligned = inputs.output.copy(), torch.tensor(0)
        if n == 0:
            return {"output": output.memory, MISALIGNED: misaligned}
        index = tile.index(begins).to(case.device)
        exists = index < n
        at = torch.where(exists, index, 0)
        token, column = at // hidden, at % hidden
        total = torch.zeros(at.shape, device=case.device)
        for choice in range(problem.chosen):
            row = inputs.places[token, choice]
            is_here = row != NOT_HERE
            places = inputs.results.places(torch.where(is_here, row, 0), column)
            terms = inputs.weights[token, choice] * inputs.results.memory[places].to(torch.float32)
            total = torch.where(is_here, total + terms, total)
            misaligned = misaligned + tile.misaligned(places, exists & is_here)
        stored = output.places(token, column)
        output.memory[stored[exists]] = total[exists].to(output.memory.dtype)
        return {"output": output.memory, MISALIGNED: misaligned + tile.misaligned(stored, exists)}

    def expected(
        self,
        case: Case,  # noqa: ARG002 - the same for all
        problem: MoeCombineProblem,
        inputs: MoeCombineInputs,
    ) -> Mapping[str, Expectation]:
        """See ReferenceKernel."""
        if not problem.has_data:
            return {}
        places, weights = inputs.places.cpu(), inputs.weights.to("cpu", torch.float64)
        rows = inputs.results.values.to("cpu", torch.float64)[places.clamp(min=0)]
        here = (places != NOT_HERE).unsqueeze(-1)
        terms = torch.where(here, weights.unsqueeze(-1) * rows, 0.0)
        exact = terms.sum(1)
        off = sum_bound(terms.abs().sum(1), problem.chosen + 1, torch.float32, problem.chosen)
        off = off + problem.chosen * SMALLEST[torch.float32]
        bound = stored_bound(exact, off, inputs.output.memory.dtype)
        return {"output": inputs.output.expectation(exact, bound), MISALIGNED: Exact(torch.tensor(0))}

    def coverage(self, case: Case, problem: MoeCombineProblem) -> Mapping[str, range]:
        """See ReferenceKernel."""
        tile = _tile(case, problem)
        return {KERNEL_NAME: range(_first_tile(tile, problem) * tile.tile_items, problem.tokens * problem.hidden)}

    def unbound(self, case: Case) -> Mapping[str, str]:  # noqa: ARG002 - the same for all
        """See ReferenceKernel."""
        return NOT_USED


def _tile(case: Case, problem: MoeCombineProblem) -> RowTile:
    own = case.policy.vectorized
    vector = row_vector(own.vec_size, (problem.hidden, problem.hidden + problem.gap), problem.shift)
    residency = Residency(sm_count=problem.sm_count, occupancy=case.residency.occupancy)
    return row_tile(own, problem.tokens * problem.hidden, vector, residency)


def _first_tile(tile: RowTile, problem: MoeCombineProblem) -> int:
    """The tile from which they are noted: where nothing is loaded, the last ones."""
    return 0 if problem.has_data else tile.first_of_last(problem.tokens * problem.hidden)


KERNEL: Final = MoeCombineKernel()
