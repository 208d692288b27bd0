"""Device-wide reduction of the values of equal neighbouring keys (`cub::DeviceReduce::ReduceByKey`).

Input: [n] keys and [n] values of the accumulator's type. Output: for each run of equal keys one key and one total, and
how many runs there are, as many as n at most; memory behind them is left as it is. Counts are items; `threads` and
`items` are the policy's, a tile is threads x items.

`DeviceReduceByKeyKernel` takes a tile a block, in one pass of decoupled lookback (`collectives.agent_reduce_by_key`).
Delays of lookback change when a block looks, not what it finds: no result depends on them. Nor does it matter how a
tile is loaded. Offsets have the size of the number of items, so there is a single launch, whatever that is.

Order: operators need not commute: values of a run are combined from the left but for their parentheses. These depend
on which predecessors have finished when a tile looks, so a floating-point sum of a run over several tiles is not the
same in every run of the kernel. CUB documents that it is ("run-to-run determinism"), but its kernel does not ask for a
stable order of reduction, as that of the scan can: on an H200, sums of 2^24 floats differ from time to time.

A run's key is its last one: of -0.0 and 0.0, which are equal, that is what counts. NaN equals nothing, so each NaN is a
run of its own.

Error of a floating-point sum: an item passes through at most k additions, k = (in a thread, twice) + (in a block) +
(across tiles) + 1, so that a total is off by at most ((1 + u)^k - 1) times the sum of the run's absolute values (see
`contract.error_bounds`). Everything else is exact.

Not modelled: 64 threads and one item, which CUB takes where a tile does not fit into 48 KiB and these do; tiles that
are kept in global memory, because not even these fit. No common key needs either. Values whose type is not the
accumulator's: they are converted as they are loaded.
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
from policygen.reference.collectives.agent_reduce_by_key import AgentReduceByKey
from policygen.reference.collectives.agent_reduce_by_key import Runs
from policygen.reference.collectives.lookback import ADVERSARIES
from policygen.reference.collectives.lookback import known_inclusive
from policygen.reference.collectives.whole_tile_launches import first_of_last_tiles
from policygen.reference.collectives.whole_tile_launches import launches
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
from policygen.reference.values.elements import Element
from policygen.reference.values.elements import element_of
from policygen.reference.values.inputs import make
from policygen.reference.values.inputs import patterns_of
from policygen.reference.values.key_runs import make_runs
from policygen.reference.values.key_runs import paired
from policygen.reference.values.key_runs import run_patterns_of
from policygen.reference.values.operators import RECOGNISED
from policygen.reference.values.operators import Operator
from policygen.reference.values.operators import affine
from policygen.reference.values.operators import opaque_plus
from policygen.reference.values.operators import similar
from policygen.reference.values.run_reference import exact_run_scan
from policygen.reference.values.run_reference import run_sums
from policygen.reference.values.run_reference import runs_of
from policygen.reference.values.sort_keys import elements_of_size

KERNEL_NAME: Final = "DeviceReduceByKeyKernel"

_UNKNOWN_WITH: Final = ("int32", "int128")
_MOST_ITEMS: Final = 1 << 21


@frozen
class Kind:
    """What is reduced.

    Attributes:
        key: type of the keys.
        operator: how two values are combined, with their type.
    """

    key: Element
    operator: Operator

    def __str__(self) -> str:
        return f"{self.key} {self.operator}"


@frozen
class ReduceByKeyProblem(Problem):
    """A reduction by keys.

    Attributes:
        num_items: keys, and values.
        kind: of which types.
        patterns: of the keys (`values.key_runs`), and of the values.
        adversary: who decides what a tile finds of its predecessors, one of `ADVERSARIES`.
        has_data: False for index arithmetic alone: the last tiles.
    """

    num_items: int
    kind: Kind
    patterns: tuple[str, str]
    adversary: str
    has_data: bool = True


@frozen(eq=False)
class ReduceByKeyInputs:
    """What a reduction by keys is given.

    Attributes:
        keys: [num_items, *trailing].
        values: [num_items, *trailing].
        seed: of the adversary.
    """

    keys: Tensor
    values: Tensor
    seed: int


class ReduceByKeyKernel(ReferenceKernel[ReduceByKeyProblem, ReduceByKeyInputs]):
    """See the module."""

    def keys(self, common: Sequence[Given]) -> Iterator[Given]:
        """The common keys, and some with an operator that CUB does not know: one that does not commute."""
        yield from common
        yield from ({**given, "operation_t": "other"} for given in common if given["accum_t"] in _UNKNOWN_WITH)

    def problems(self, case: Case, *, quick: bool) -> Iterator[ReduceByKeyProblem]:
        """See ReferenceKernel."""
        tile, kinds = tile_items_of(case), kinds_of(case)
        found = combinations(
            sizes(tile, blocks=2, quick=quick),
            kinds,
            lambda kind: paired(run_patterns_of(kind.key), patterns_of(kind.operator.element)),
            tile + 5,
            alike=lambda kind: (similar(kind.operator), kind.key.is_floating),
            quick=quick,
        )
        for number, (num_items, kind, patterns) in enumerate(found):
            yield ReduceByKeyProblem(num_items, kind, patterns, ADVERSARIES[number % len(ADVERSARIES)])
        # so many tiles that one window does not reach back to the first
        many = min(((1 if quick else 2) * case.warp_size + 3) * tile - 2, _MOST_ITEMS)
        turns = range(1 if quick else max(len(kinds), len(ADVERSARIES)))
        for _, kind, adversary in zip(turns, cycle(kinds), cycle(ADVERSARIES), strict=False):
            yield ReduceByKeyProblem(many, kind, ("mixed", "random"), adversary)
        yield ReduceByKeyProblem(BEYOND_INT32, kinds[0], ("one", "random"), ADVERSARIES[0], has_data=False)

    def inputs(self, case: Case, problem: ReduceByKeyProblem, random: torch.Generator) -> ReduceByKeyInputs:
        """See ReferenceKernel."""
        n, kind = problem.num_items if problem.has_data else 0, problem.kind
        keys, values = problem.patterns
        return ReduceByKeyInputs(
            keys=make_runs(keys, kind.key, n, tile_items_of(case), random, case.device),
            values=make(values, kind.operator.element, n, random, case.device),
            seed=int(torch.randint(1 << 31, (), generator=random)),
        )

    def run(
        self, case: Case, problem: ReduceByKeyProblem, inputs: ReduceByKeyInputs, log: TileLog
    ) -> Mapping[str, Tensor]:
        """See ReferenceKernel."""
        agent = agent_of(case, problem.kind)
        random = torch.Generator()
        random.manual_seed(inputs.seed)
        keys, values = inputs.keys, inputs.values
        out = Runs(*(blank(x, e) for x, e in ((keys, agent.key), (values, agent.operator.element))))
        count = 0
        for tiles in launches(problem.num_items, agent.tile_items, None, first_item=_first_item(case, problem)):
            tiles.record(KERNEL_NAME, log)
            if problem.has_data:
                known = known_inclusive(problem.adversary, tiles.begins.shape[0], random)
                count = agent.launch(keys, values, tiles.to(case.device), known, None, out).runs
        if not problem.has_data:
            return {}
        return {"keys": out.keys, "totals": out.totals, "runs": torch.tensor(count)}

    def expected(self, case: Case, problem: ReduceByKeyProblem, inputs: ReduceByKeyInputs) -> Mapping[str, Expectation]:
        """See ReferenceKernel."""
        if not problem.has_data:
            return {}
        kind, keys, values = problem.kind, inputs.keys.cpu(), inputs.values.cpu()
        runs = runs_of(keys, kind.key)
        last = runs.ends - 1
        found = {
            "keys": Exact(followed(keys[last], keys, kind.key), signed_zeros=True),
            "runs": Exact(torch.tensor(runs.count)),
        }
        if kind.operator.exact:
            totals = exact_run_scan(values, runs, kind.operator)[last]
            return {**found, "totals": Exact(followed(totals, values, kind.operator.element))}
        sums, off = run_sums(values, runs)
        absolute, _ = run_sums(values.abs().nan_to_num(0.0, 0.0, 0.0), runs)
        tiles = ceil_div(problem.num_items, tile_items_of(case))
        bound = sum_bound(absolute, agent_of(case, kind).additions(tiles), values.dtype, 1) + off
        totals = followed(sums[last], values, kind.operator.element)
        return {**found, "totals": Close(totals, torch.cat([bound[last], torch.zeros(len(keys) - runs.count)]))}

    def coverage(self, case: Case, problem: ReduceByKeyProblem) -> Mapping[str, range]:
        """See ReferenceKernel."""
        return {KERNEL_NAME: range(_first_item(case, problem), problem.num_items)}


def tile_items_of(case: Case) -> int:
    """Items of a tile."""
    return int(case.policy.lookback.threads_per_block * case.policy.lookback.items_per_thread)


def _first_item(case: Case, problem: ReduceByKeyProblem) -> int:
    return 0 if problem.has_data else first_of_last_tiles(problem.num_items, tile_items_of(case))


def agent_of(case: Case, kind: Kind) -> AgentReduceByKey:
    """The agent of a policy."""
    own = case.policy.lookback
    return AgentReduceByKey(
        own.threads_per_block, own.items_per_thread, kind.key, kind.operator, own.scan_algorithm, case.warp_size
    )


def kinds_of(case: Case) -> tuple[Kind, ...]:
    """What the keys of a case reduce: for an unknown operator, affine maps of the accumulator's size."""
    operators: dict[Operator, None] = {}
    extrema = cycle(("max", "min"))
    for key in case.keys:
        accumulator = element_of(key.accum_t, key.accum_size)
        if key.operation_t == "other":
            operators[affine(key.accum_size)] = None
            if accumulator is not None:
                operators[opaque_plus(accumulator)] = None
        elif accumulator is not None:
            # a policy is the same for all operators that CUB knows
            operators |= {RECOGNISED[name](accumulator): None for name in ("plus", next(extrema))}
    keys = elements_of_size(case.key.key_size)
    turns = range(max(len(operators), len(keys)))
    return tuple(Kind(key, operator) for _, key, operator in zip(turns, cycle(keys), cycle(operators), strict=False))


def blank(like: Tensor, element: Element) -> Tensor:
    """Memory for results, as many as there are items, that nothing has been written to."""
    return element.unset(like.shape[0], device=like.device)


def followed(results: Tensor, like: Tensor, element: Element) -> Tensor:
    """Results, and memory behind them that nothing has been written to."""
    return torch.cat([results, element.unset(like.shape[0]).to(results.dtype)[results.shape[0] :]])


KERNEL: Final = ReduceByKeyKernel()
