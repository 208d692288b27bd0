"""Device-wide reduction (`cub::DeviceReduce`), as `dispatch_reduce.cuh` launches it.

Input: [n] elements of the accumulator's type, an initial value. Output: one element. Counts are items; `threads`,
`items` and `vec_size` are the policy's.

One tile or none (run_to_run: n <= threads x items of `single_tile`): one block of `DeviceReduceSingleTileKernel`.
Else two passes: whole tiles are dealt to at most occupancy x SMs x 5 blocks, strip-mined (`cub::GridEvenShare`);
`DeviceReduceKernel` leaves one result a block, and the single-tile kernel reduces these as one block, then applies the
initial value on the left. With `not_guaranteed` there is no single-tile shortcut and no second pass: the output starts
as zero, and each block adds its result atomically, in any order; block 0 adds the initial value to its own first. The
same goes for the warps of a block.

Order: striped loads permute the items, so operators have to be commutative. run_to_run gives the same bits for the
same policy and grid; not_guaranteed promises nothing, and results of floating-point sums vary with the arrival.

Error of a floating-point sum: each item passes through at most k additions, k = (additions in a thread, tile by tile)
+ (in a warp, log2 of its lanes) + (one for each further warp) for either pass, + 1 for the initial value, so the
result is off by at most ((1 + u)^k - 1) times the sum of the absolute items (see `contract.error_bounds`). Blocks that
add atomically count as one addition each. Minimum, maximum and integers are exact; NaN loses against numbers.

With `gpu_to_gpu` (sums of float32 and float64) threads keep accumulators whose sums do not depend on their order
(`collectives.reproducible`, with the error of it), and stride by the threads of the grid
(`collectives.reduce_reproducible`): the same bits on every device and grid. Each is run on two grids here.

Not modelled: single-instruction warp reductions of integers (`redux.sync`), which give the same bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Final

import torch
from attrs import evolve
from attrs import frozen
from torch import Tensor

from policygen.model.record import Record
from policygen.plan.counts import ceil_div
from policygen.plan.reduce_plan import GPU_TO_GPU
from policygen.plan.reduce_plan import NOT_GUARANTEED
from policygen.plan.reduce_plan import ReducePlan
from policygen.plan.reduce_plan import reduce_plan
from policygen.plan.residency import Residency
from policygen.reference.collectives.agent_reduce import AgentReduce
from policygen.reference.collectives.agent_reduce import agent_of
from policygen.reference.collectives.agent_reduce import consecutive
from policygen.reference.collectives.agent_reduce import record_tiles
from policygen.reference.collectives.agent_reduce import strip_mined
from policygen.reference.collectives.reduce_reproducible import record_chunks
from policygen.reference.collectives.reduce_reproducible import reproducible_total
from policygen.reference.collectives.reproducible import binned_sum
from policygen.reference.collectives.reproducible import lost
from policygen.reference.contract.case import FEW_BLOCKS
from policygen.reference.contract.case import Case
from policygen.reference.contract.comparison import Close
from policygen.reference.contract.comparison import Exact
from policygen.reference.contract.comparison import Expectation
from policygen.reference.contract.error_bounds import sum_bound
from policygen.reference.contract.kernel import Given
from policygen.reference.contract.kernel import Problem
from policygen.reference.contract.kernel import ReferenceKernel
from policygen.reference.contract.sizes import BEYOND_INT32
from policygen.reference.contract.sizes import combinations
from policygen.reference.contract.sizes import sizes
from policygen.reference.contract.tile_log import TileLog
from policygen.reference.values.elements import element_of
from policygen.reference.values.inputs import make
from policygen.reference.values.inputs import patterns_of
from policygen.reference.values.operators import RECOGNISED
from policygen.reference.values.operators import Operator
from policygen.reference.values.operators import opaque_plus
from policygen.reference.values.operators import similar
from policygen.reference.values.reference import exact_fold
from policygen.reference.values.reference import exact_sum

FIRST_PASS: Final = "DeviceReduceKernel"
SINGLE_TILE: Final = "DeviceReduceSingleTileKernel"
SECOND_PASS: Final = "DeviceReduceSingleTileKernel of partial results"

_OTHER_GRID: Final = "totals that differ on another grid"
_FEWER_BLOCKS: Final = 3
_REPRODUCIBLE: Final = ("float32", "float64")
_ATOMIC: Final = ("int32", "uint32", "uint64", "float32", "float64")
_MOST_ITEMS: Final = 1 << 21


@frozen
class ReduceProblem(Problem):
    """A reduction.

    Attributes:
        num_items: items to reduce.
        operator: how two are combined.
        pattern: of the inputs.
        max_blocks: the most blocks of the first pass.
        misaligned: items by which the input starts after a multiple of a vector's size.
        has_data: False for index arithmetic alone, where nothing is loaded.
    """

    num_items: int
    operator: Operator
    pattern: str
    max_blocks: int
    misaligned: int = 0
    has_data: bool = True


@frozen(eq=False)
class ReduceInputs:
    """What a reduction is given.

    Attributes:
        values: [num_items, *trailing].
        initial: one element.
        block_arrival: the order in which blocks add their results atomically.
        warp_arrival: the order in which the warps of a block but the first do.
    """

    values: Tensor
    initial: Tensor
    block_arrival: Tensor
    warp_arrival: Tensor


class ReduceKernel(ReferenceKernel[ReduceProblem, ReduceInputs]):
    """See the module."""

    def keys(self, common: Sequence[Given]) -> Iterator[Given]:
        """The common keys, and sums that promise less or more: the kernels for these add, and do nothing else."""
        yield from common
        for given in common:
            if given["operation_t"] == "plus" and given["accum_t"] in _ATOMIC:
                yield {**given, "determinism": NOT_GUARANTEED}
            if given["operation_t"] == "plus" and given["accum_t"] in _REPRODUCIBLE:
                yield {**given, "determinism": GPU_TO_GPU}

    def problems(self, case: Case, *, quick: bool) -> Iterator[ReduceProblem]:
        """See ReferenceKernel."""
        tile = _tile_items(case.policy.multi_tile)
        operators = operators_of(case)
        few = FEW_BLOCKS.max_blocks
        edges = sizes(tile, vector=case.policy.multi_tile.vec_size, blocks=few, quick=quick)
        found = combinations(
            edges, operators, lambda operator: _patterns(case, operator), tile + 5, alike=similar, quick=quick
        )
        for number, (num_items, operator, pattern) in enumerate(found):
            yield ReduceProblem(num_items, operator, pattern, few, misaligned=number % 2)
        blocks = case.residency.max_blocks
        if blocks * tile <= _MOST_ITEMS:
            for operator in operators[:1] if quick else operators:
                yield ReduceProblem(blocks * tile + tile // 2, operator, "random", blocks)
        yield ReduceProblem(BEYOND_INT32, operators[0], "random", blocks, has_data=False)

    def inputs(self, case: Case, problem: ReduceProblem, random: torch.Generator) -> ReduceInputs:
        """See ReferenceKernel."""
        n = problem.num_items if problem.has_data else 0
        element = problem.operator.element
        warps = ceil_div(case.policy.multi_tile.threads_per_block, case.warp_size)
        return ReduceInputs(
            values=make(problem.pattern, element, n, random, case.device),
            initial=make("random", element, 1, random, case.device)[0],
            block_arrival=torch.randperm(_plan(case, problem).grid, generator=random),
            warp_arrival=torch.randperm(warps - 1, generator=random) + 1,
        )

    def run(self, case: Case, problem: ReduceProblem, inputs: ReduceInputs, log: TileLog) -> Mapping[str, Tensor]:
        """See ReferenceKernel."""
        plan = _plan(case, problem)
        if _is_reproducible(case):
            return _reproducible(case, problem, inputs, log)
        if not problem.has_data:
            assert plan.share is not None
            record_tiles(strip_mined(plan.share), problem.num_items, plan.tile_items, FIRST_PASS, log)
            return {}
        if problem.num_items == 0:
            return {"total": inputs.initial}
        if plan.single_tile:
            return {"total": _single_tile(case, problem, inputs.values, inputs.initial, SINGLE_TILE, log)}
        assert plan.share is not None
        agent = _agent(case, case.policy.multi_tile, problem)
        begins = strip_mined(plan.share)
        partials = agent.consume(inputs.values, begins, FIRST_PASS, log, inputs.warp_arrival)
        if plan.passes == 1:
            return {"total": _atomic_total(partials, inputs, problem.operator)}
        # the partial results are aligned, whatever the input is
        aligned = evolve(problem, misaligned=0)
        return {"total": _single_tile(case, aligned, partials, inputs.initial, SECOND_PASS, log)}

    def expected(self, case: Case, problem: ReduceProblem, inputs: ReduceInputs) -> Mapping[str, Expectation]:
        """See ReferenceKernel."""
        if not problem.has_data:
            return {}
        terms = torch.cat([inputs.initial.unsqueeze(0), inputs.values])
        if problem.operator.exact:
            return {"total": Exact(exact_fold(terms, problem.operator))}
        total, roundings = exact_sum(terms)
        if _is_reproducible(case):
            return _expected_reproducible(inputs, total, roundings)
        bound = sum_bound(terms.abs().to(torch.float64).sum(), additions(case, problem), terms.dtype, roundings)
        return {"total": Close(total, bound)}

    def coverage(self, case: Case, problem: ReduceProblem) -> Mapping[str, int]:
        """See ReferenceKernel."""
        plan = _plan(case, problem)
        prefix = "Deterministic" if _is_reproducible(case) else ""
        if problem.num_items == 0 or plan.single_tile:
            return {prefix + SINGLE_TILE: problem.num_items}
        second = {prefix + SECOND_PASS: plan.partials} if plan.passes == 2 and problem.has_data else {}
        return {prefix + FIRST_PASS: problem.num_items, **second}


def operators_of(case: Case) -> tuple[Operator, ...]:
    """The operators that the keys of a case are for: an unknown one is addition in a function of the user's."""
    found: dict[Operator, None] = {}
    for key in case.keys:
        element = element_of(key.accum_t, key.accum_size)
        if element is not None:
            found[RECOGNISED.get(key.operation_t, opaque_plus)(element)] = None
    return tuple(found)


def _is_reproducible(case: Case) -> bool:
    return bool(case.key.determinism == GPU_TO_GPU)


def _patterns(case: Case, operator: Operator) -> tuple[str, ...]:
    """Inputs for an operator; accumulators by bins know no infinities, and of denormals only those of float32."""
    known = patterns_of(operator.element)
    if not _is_reproducible(case):
        return known
    finite = known[: known.index("denormals")]
    return (*finite, "denormals") if operator.element.name == "float32" else finite


def _reproducible(case: Case, problem: ReduceProblem, inputs: ReduceInputs, log: TileLog) -> dict[str, Tensor]:
    """The total, and whether it is another one on a grid of fewer blocks."""
    if not problem.has_data:
        record_chunks(problem.num_items, log)
        return {}
    if problem.num_items == 0:
        return {"total": inputs.initial, _OTHER_GRID: torch.tensor(0)}
    operator = binned_sum(problem.operator.element)
    totals: list[Tensor] = []
    for own, noted in ((problem, log), (evolve(problem, max_blocks=_FEWER_BLOCKS), TileLog())):
        plan = _plan(case, own)
        total = reproducible_total(inputs.values, inputs.initial, operator, case.policy, plan, case.warp_size, noted)
        totals.append(total)
    return {"total": totals[0], _OTHER_GRID: (totals[0] != totals[1]).sum()}


def _expected_reproducible(inputs: ReduceInputs, total: Tensor, roundings: int) -> dict[str, Expectation]:
    """Off by what no bin keeps, three additions in float64, and two roundings to the result's type."""
    absolute = inputs.values.abs().to(torch.float64).sum() + inputs.initial.abs().to(torch.float64)
    bound = sum_bound(absolute, 2, inputs.values.dtype, roundings + 3) + lost(inputs.values)
    return {"total": Close(total, bound), _OTHER_GRID: Exact(torch.tensor(0))}


def additions(case: Case, problem: ReduceProblem) -> int:
    """The most additions that an item passes through."""
    plan = _plan(case, problem)
    second = _agent(case, case.policy.single_tile, problem)
    if plan.single_tile:
        return second.additions(1) + 1
    assert plan.share is not None
    first = _agent(case, case.policy.multi_tile, problem)
    rounds = ceil_div(plan.share.total_tiles, max(1, plan.share.grid))
    after = plan.grid if plan.passes == 1 else second.additions(ceil_div(plan.partials, second.tile_items))
    return first.additions(rounds) + after + 1


def _plan(case: Case, problem: ReduceProblem) -> ReducePlan:
    return reduce_plan(
        problem.num_items,
        determinism=case.key.determinism,
        single_tile_items=_tile_items(case.policy.single_tile),
        multi_tile_items=_tile_items(case.policy.multi_tile),
        accum_size=case.key.accum_size,
        residency=Residency(sm_count=1, occupancy=1, subscription_factor=problem.max_blocks),
    )


def _agent(case: Case, policy: Record, problem: ReduceProblem) -> AgentReduce:
    agent = agent_of(policy, problem.operator, case.warp_size, case.capability)
    return agent.unvectorised() if problem.misaligned % agent.vector else agent


def _single_tile(
    case: Case, problem: ReduceProblem, values: Tensor, initial: Tensor, name: str, log: TileLog
) -> Tensor:
    """One block takes all tiles, one after the other, and applies the initial value on the left."""
    agent = _agent(case, case.policy.single_tile, problem)
    begins = consecutive(values.shape[0], agent.tile_items)
    (aggregate,) = agent.consume(values, begins, name, log)
    return problem.operator.combine(initial, aggregate)


def _atomic_total(partials: Tensor, inputs: ReduceInputs, operator: Operator) -> Tensor:
    """The output starts as zero; block 0 adds the initial value with its own result."""
    total = operator.filled(device=partials.device)
    for block in inputs.block_arrival.tolist():
        addend = operator.combine(inputs.initial, partials[block]) if block == 0 else partials[block]
        total = operator.combine(total, addend)
    return total


def _tile_items(policy: Record) -> int:
    return int(policy.threads_per_block * policy.items_per_thread)


KERNEL: Final = ReduceKernel()
