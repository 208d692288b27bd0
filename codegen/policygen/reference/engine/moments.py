"""Central moments as a reduction: (n, mean, M2, M3, M4) in one compound accumulator (Welford's algorithm, merged).

Input: [n] numbers, float32 or float64, and an accumulator that comes before them. Output: their number, their mean, and
the sums of the second, third and fourth powers of the differences to it; zeros for nothing. Counts are items;
`threads` and `items` are the policy's.

Tiles, passes and the order of combination are those of `cub::DeviceReduce::TransformReduce` with a function of the
user's (`policygen.reference.reduce`; policy and key too: an accumulator of type `other` and of 20 or 40 bytes), where x
becomes (1, x, 0, 0, 0). Striped loads permute the items, so the operator has to commute, as this one does but for
rounding; threads, warps and blocks are merged in their order: the same bits for the same policy and grid.

Error: by the depth of the tree of merges, `GridReduce.combinations`; derived in `values.moments_reference`. The number
of items is exact up to 2^24 of them in float32, and numbers that are all equal have moments of exactly zero. NaN makes
all but the number NaN. Not modelled: infinities, of which upstream's formulas make infinities or NaN by the order.
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
from policygen.reference.collectives.moments_state import NUMBERS
from policygen.reference.collectives.moments_state import moments_items
from policygen.reference.collectives.moments_state import moments_merge
from policygen.reference.contract.case import FEW_BLOCKS
from policygen.reference.contract.case import Case
from policygen.reference.contract.comparison import Exact
from policygen.reference.contract.comparison import Expectation
from policygen.reference.contract.kernel import Given
from policygen.reference.contract.kernel import Problem
from policygen.reference.contract.kernel import ReferenceKernel
from policygen.reference.contract.sizes import BEYOND_INT32
from policygen.reference.contract.sizes import combinations
from policygen.reference.contract.sizes import sizes
from policygen.reference.contract.tile_log import TileLog
from policygen.reference.values.elements import ELEMENTS
from policygen.reference.values.elements import Element
from policygen.reference.values.inputs import make
from policygen.reference.values.moments_reference import MOMENTS
from policygen.reference.values.moments_reference import exact_moments

_ELEMENTS: Final = {NUMBERS * ELEMENTS[name].size: ELEMENTS[name] for name in ("float32", "float64")}
_PATTERNS: Final = ("random", "skewed", "far", "equal", "sorted", "zeros", "denormals", "nan", "nans")
_BEFORE: Final = (-1.0, 0.0, 1.0)
"""Items that came before: mean, M2, M3 and M4 of them are 0, 2, 0 and 2."""


@frozen
class MomentsProblem(Problem):
    """Moments of some numbers.

    Attributes:
        num_items: how many.
        element: their type.
        pattern: of them.
        max_blocks: the most blocks of the first pass.
        continues: whether other items came before.
        has_data: False for index arithmetic alone.
    """

    num_items: int
    element: Element
    pattern: str
    max_blocks: int
    continues: bool
    has_data: bool = True


class MomentsKernel(ReferenceKernel[MomentsProblem, Tensor]):
    """See the module."""

    policy_of = "reduce"

    def keys(self, common: Sequence[Given]) -> Iterator[Given]:
        """Accumulators of float32 and of float64."""
        for offset_size in dict.fromkeys(given["offset_size"] for given in common):
            for size in _ELEMENTS:
                yield {"accum_t": "other", "accum_size": size, "operation_t": "other", "offset_size": offset_size}

    def problems(self, case: Case, *, quick: bool) -> Iterator[MomentsProblem]:
        """See ReferenceKernel."""
        multi = case.policy.multi_tile
        tile, few = multi.threads_per_block * multi.items_per_thread, FEW_BLOCKS.max_blocks
        element = _ELEMENTS[case.key.accum_size]
        edges = sizes(tile, blocks=few, quick=quick)
        found = combinations(edges, [element], lambda _: _PATTERNS, tile + 5, alike=str, quick=quick)
        for number, (n, _, pattern) in enumerate(found):
            continues = number % 2 == 1 and pattern != "equal"
            yield MomentsProblem(n, element, pattern, few, continues)
        blocks = case.residency.max_blocks
        if not quick:
            yield MomentsProblem(blocks * tile + tile // 2, element, "random", blocks, continues=True)
        yield MomentsProblem(BEYOND_INT32, element, "random", blocks, continues=False, has_data=False)

    def inputs(self, case: Case, problem: MomentsProblem, random: torch.Generator) -> Tensor:
        """See ReferenceKernel."""
        n, element = problem.num_items if problem.has_data else 0, problem.element
        match problem.pattern:
            case "skewed":
                return make("random", element, n, random, case.device) ** 2
            case "far":
                return make("random", element, n, random, case.device) + 1000
        return make(problem.pattern, element, n, random, case.device)

    def run(self, case: Case, problem: MomentsProblem, inputs: Tensor, log: TileLog) -> Mapping[str, Tensor]:
        """See ReferenceKernel."""
        grid = _grid(case, problem)
        if not problem.has_data:
            grid.record_last(problem.num_items, log)
            return {}
        before = [3.0, 0.0, 2.0, 0.0, 2.0] if problem.continues else [0.0] * NUMBERS
        initial = torch.tensor(before, dtype=inputs.dtype, device=inputs.device)
        state = grid.total(moments_items(inputs), initial, log)
        return dict(zip(("number", *MOMENTS), state, strict=True))

    def expected(self, case: Case, problem: MomentsProblem, inputs: Tensor) -> Mapping[str, Expectation]:
        """See ReferenceKernel."""
        if not problem.has_data:
            return {}
        before = torch.tensor(_BEFORE if problem.continues else [], dtype=inputs.dtype)
        values = torch.cat([before, inputs.cpu()])
        number = Exact(torch.tensor(values.shape[0], dtype=inputs.dtype))
        if values.shape[0] == 0:
            return {"number": number, **dict.fromkeys(MOMENTS, Exact(torch.zeros((), dtype=inputs.dtype)))}
        return {"number": number, **exact_moments(values, _grid(case, problem).combinations(problem.num_items))}

    def coverage(self, case: Case, problem: MomentsProblem) -> Mapping[str, int | range]:
        """See ReferenceKernel."""
        grid = _grid(case, problem)
        return grid.coverage(problem.num_items) if problem.has_data else grid.last_covered(problem.num_items)


def _grid(case: Case, problem: MomentsProblem) -> GridReduce:
    operator = moments_merge(problem.element.dtype)
    return GridReduce(case.policy, operator, case.warp_size, case.capability, problem.max_blocks)


KERNEL: Final = MomentsKernel()
