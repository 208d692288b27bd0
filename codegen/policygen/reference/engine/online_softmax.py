"""Online softmax as a reduction: (maximum, sum of exponentials, weighted outputs) in one compound accumulator.

Input: [n] scores, [n, d] outputs to be averaged, an accumulator that comes before them. Output: the greatest score, the
sum of exp(score - greatest), and the average of the outputs by these weights; of nothing, or of scores that are all
-infinity, they are -infinity, 0 and zeros. Scores, outputs and accumulators have one type, float32 or float64; an
accumulator has (2 + d) numbers. Counts are items; `threads` and `items` are the policy's.

Tiles, passes and the order of combination are those of `cub::DeviceReduce::TransformReduce` with a function of the
user's (`policygen.reference.reduce`, policy and key too: an accumulator of type `other` and of so many bytes), where a
score becomes (score, 1, output). An accumulator is too large for vectorised loads. Striped loads permute the items, so
the operator has to commute, as this one does but for rounding; threads, warps and blocks are merged in their order, and
the accumulator that comes before all items is on the left: the same bits for the same policy and grid.

Error: an item passes through at most k merges (`GridReduce.combinations`), each of `MERGE_ROUNDINGS`; see
`values.softmax_reference`. The maximum is exact, and so is everything where all is masked.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Final

import torch
from attrs import frozen
from torch import Tensor

from policygen.reference.collectives.grid_reduce import GridReduce
from policygen.reference.collectives.softmax_state import MERGE_ROUNDINGS
from policygen.reference.collectives.softmax_state import softmax_items
from policygen.reference.collectives.softmax_state import softmax_merge
from policygen.reference.collectives.softmax_state import softmax_output
from policygen.reference.contract.case import FEW_BLOCKS
from policygen.reference.contract.case import Case
from policygen.reference.contract.comparison import Close
from policygen.reference.contract.comparison import Exact
from policygen.reference.contract.comparison import Expectation
from policygen.reference.contract.kernel import Given
from policygen.reference.contract.kernel import Problem
from policygen.reference.contract.kernel import ReferenceKernel
from policygen.reference.contract.sizes import BEYOND_INT32
from policygen.reference.contract.sizes import combinations
from policygen.reference.contract.sizes import sizes
from policygen.reference.contract.tile_log import TileLog
from policygen.reference.values.scores import SCORE_PATTERNS
from policygen.reference.values.scores import make_scores
from policygen.reference.values.softmax_reference import softmax_average

_SIZES: Final = (12, 24, 72)
_MOST_NUMBERS: Final = 1 << 20


@frozen
class Accumulator:
    """An accumulator's type.

    Attributes:
        dtype: of its numbers.
        outputs: how many outputs are averaged.
    """

    dtype: torch.dtype
    outputs: int

    def __str__(self) -> str:
        return f"{str(self.dtype).removeprefix('torch.')}-of-{self.outputs}"


@frozen
class OnlineSoftmaxProblem(Problem):
    """A softmax average.

    Attributes:
        num_items: scores.
        accumulator: its type.
        pattern: of the scores.
        max_blocks: the most blocks of the first pass.
        continues: whether other items came before, else the initial accumulator is of nothing.
        has_data: False for index arithmetic alone.
    """

    num_items: int
    accumulator: Accumulator
    pattern: str
    max_blocks: int
    continues: bool
    has_data: bool = True


@frozen(eq=False)
class OnlineSoftmaxInputs:
    """What is averaged.

    Attributes:
        scores: [num_items].
        outputs: [num_items, d].
        initial: (maximum, sum, sum of weighted outputs) of what came before, [2 + d].
    """

    scores: Tensor
    outputs: Tensor
    initial: Tensor


class OnlineSoftmaxKernel(ReferenceKernel[OnlineSoftmaxProblem, OnlineSoftmaxInputs]):
    """See the module."""

    policy_of = "reduce"

    def keys(self, common: Sequence[Given]) -> Iterator[Given]:
        """Accumulators of a few sizes: of one output, of one in float64 or four, of sixteen."""
        for offset_size in dict.fromkeys(given["offset_size"] for given in common):
            for size in _SIZES:
                yield {"accum_t": "other", "accum_size": size, "operation_t": "other", "offset_size": offset_size}

    def problems(self, case: Case, *, quick: bool) -> Iterator[OnlineSoftmaxProblem]:
        """See ReferenceKernel."""
        multi = case.policy.multi_tile
        tile, few = multi.threads_per_block * multi.items_per_thread, FEW_BLOCKS.max_blocks
        kinds = accumulators_of(case.key.accum_size)
        found = combinations(
            sizes(tile, blocks=few, quick=quick),
            kinds,
            lambda _: SCORE_PATTERNS,
            tile + 5,
            alike=lambda _: 0,
            quick=quick,
        )
        for number, (n, kind, pattern) in enumerate(found):
            continues = number % 2 == 1 and pattern != "all-masked"
            yield OnlineSoftmaxProblem(n, kind, pattern, few, continues=continues)
        yield OnlineSoftmaxProblem(tile + 5, kinds[0], "all-masked", few, continues=True)
        blocks = case.residency.max_blocks
        if not quick and blocks * tile * case.key.accum_size <= 4 * _MOST_NUMBERS:
            yield OnlineSoftmaxProblem(blocks * tile + tile // 2, kinds[0], "random", blocks, continues=False)
        yield OnlineSoftmaxProblem(BEYOND_INT32, kinds[0], "random", blocks, continues=False, has_data=False)

    def inputs(self, case: Case, problem: OnlineSoftmaxProblem, random: torch.Generator) -> OnlineSoftmaxInputs:
        """See ReferenceKernel."""
        n, kind = problem.num_items if problem.has_data else 0, problem.accumulator
        initial = softmax_merge(kind.outputs, kind.dtype).identity()
        if problem.continues:
            some = torch.rand(1 + kind.outputs, generator=random, dtype=kind.dtype)
            initial = torch.cat([torch.zeros(1, dtype=kind.dtype), 1 + some])
        outputs = torch.rand(n, kind.outputs, generator=random, dtype=kind.dtype) * 2 - 1
        scores = make_scores(problem.pattern, n, random).to(kind.dtype)
        return OnlineSoftmaxInputs(scores.to(case.device), outputs.to(case.device), initial.to(case.device))

    def run(
        self, case: Case, problem: OnlineSoftmaxProblem, inputs: OnlineSoftmaxInputs, log: TileLog
    ) -> Mapping[str, Tensor]:
        """See ReferenceKernel."""
        grid = _grid(case, problem)
        if not problem.has_data:
            grid.record_last(problem.num_items, log)
            return {}
        state = grid.total(softmax_items(inputs.scores, inputs.outputs), inputs.initial, log)
        return {"maximum": state[0], "sum": state[1], "average": softmax_output(state)}

    def expected(
        self, case: Case, problem: OnlineSoftmaxProblem, inputs: OnlineSoftmaxInputs
    ) -> Mapping[str, Expectation]:
        """See ReferenceKernel."""
        if not problem.has_data:
            return {}
        dtype = problem.accumulator.dtype
        maximum, total, *_ = inputs.initial.unbind()
        maxima = torch.cat([maximum.unsqueeze(0), inputs.scores])
        sums = torch.cat([total.unsqueeze(0), torch.ones_like(inputs.scores)])
        before = inputs.initial[2:].to(torch.float64) / torch.where(total == 0, 1.0, total).to(torch.float64)
        outputs = torch.cat([before.unsqueeze(0), inputs.outputs.to(torch.float64)])
        roundings = MERGE_ROUNDINGS * _grid(case, problem).combinations(problem.num_items)
        found = softmax_average(maxima, sums, outputs, roundings, dtype)
        return {
            "maximum": Exact(found.maximum.to(dtype)),
            "sum": Close(found.total, found.total_bound),
            "average": found.stored_output(dtype),
        }

    def coverage(self, case: Case, problem: OnlineSoftmaxProblem) -> Mapping[str, int | range]:
        """See ReferenceKernel."""
        grid = _grid(case, problem)
        return grid.coverage(problem.num_items) if problem.has_data else grid.last_covered(problem.num_items)


def accumulators_of(size: int) -> tuple[Accumulator, ...]:
    """The accumulators of so many bytes, in float32 and in float64."""
    found = ((dtype, size // dtype.itemsize - 2) for dtype in (torch.float32, torch.float64))
    return tuple(Accumulator(dtype, outputs) for dtype, outputs in found if outputs > 0 and size % dtype.itemsize == 0)


def _grid(case: Case, problem: OnlineSoftmaxProblem) -> GridReduce:
    kind = problem.accumulator
    operator = softmax_merge(kind.outputs, kind.dtype)
    return GridReduce(case.policy, operator, case.warp_size, case.capability, problem.max_blocks)


KERNEL: Final = OnlineSoftmaxKernel()
