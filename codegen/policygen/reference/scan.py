"""Device-wide prefix scan (`cub::DeviceScan`), as `dispatch_scan.cuh` launches it.

Input: [n] elements, an initial value or none. Output: [n] elements of the input's type: each is everything before it
(exclusive, with an initial value), or everything up to it (inclusive, with or without one). Counts are items.

A block takes a tile of threads x items consecutive items, a thread `items_per_thread` consecutive ones (what load and
store algorithms do is to move them there and back). Each thread reduces its items, the block scans the threads' totals,
the block finds out what comes before its tile, and each thread scans its items again, seeded. The last tile is filled
up with its own first item: what lies past the end changes nothing before it.

What comes before a tile: by decoupled lookback (`collectives.lookback`), a tile a block; or, with policies for
lookahead, by going ahead from the last tile of the block (`collectives.lookahead`), where blocks of
`reduce_and_scan_warps` warps take one tile after the other. Delays of lookback change when a block looks, not what it
finds: no result depends on them.

Order: operators need not commute, and every result is that of a fold from the left but for its parentheses. These
depend on which predecessors have finished when a tile looks; so a floating-point sum is not the same in every run,
unless the key asks for `require_stable_reduction_order`.

Arithmetic is in the accumulator's type (int8 sums are int32 sums), and results are cut to the output's type.

Error of a floating-point sum: an item passes through at most k additions, k = (in a thread, twice) + (in a block) +
(across tiles) + 2, so that a result is off by at most ((1 + u)^k - 1) times the sum of the absolute items up to it
(see `contract.error_bounds`). Everything else is exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Final

import torch
from attrs import frozen
from torch import Tensor

from policygen.plan.counts import ceil_div
from policygen.reference.collectives.block_scan import block_scan
from policygen.reference.collectives.block_scan import block_scan_additions
from policygen.reference.collectives.lookahead import LANES
from policygen.reference.collectives.lookahead import lookahead
from policygen.reference.collectives.lookahead import lookahead_additions
from policygen.reference.collectives.lookahead import schedule
from policygen.reference.collectives.lookahead import stable_lookahead
from policygen.reference.collectives.lookback import ADVERSARIES
from policygen.reference.collectives.lookback import known_inclusive
from policygen.reference.collectives.lookback import lookback
from policygen.reference.collectives.lookback import lookback_additions
from policygen.reference.collectives.lookback import stable_lookback
from policygen.reference.collectives.thread_reduce import Order
from policygen.reference.collectives.thread_reduce import order_of
from policygen.reference.collectives.thread_reduce import thread_additions
from policygen.reference.collectives.thread_reduce import thread_reduce
from policygen.reference.collectives.thread_scan import thread_scan
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
from policygen.reference.values.elements import wrapped
from policygen.reference.values.inputs import make
from policygen.reference.values.inputs import patterns_of
from policygen.reference.values.operators import RECOGNISED
from policygen.reference.values.operators import Operator
from policygen.reference.values.operators import affine
from policygen.reference.values.operators import similar
from policygen.reference.values.reference import exact_scan
from policygen.reference.values.reference import prefix_sums

KERNEL_NAME: Final = "DeviceScanKernel"
MODES: Final = ("exclusive", "inclusive", "inclusive-init")


@frozen
class Kind:
    """What is scanned: items of a type, in the accumulator's type."""

    operator: Operator
    item: Element

    def __str__(self) -> str:
        return f"{self.item} {self.operator}"


@frozen
class ScanProblem(Problem):
    """A scan.

    Attributes:
        num_items: items to scan.
        kind: of which type, and how they are combined.
        pattern: of the inputs.
        mode: one of `MODES`.
        adversary: who decides what a tile finds of its predecessors, one of `ADVERSARIES`.
        has_data: False for index arithmetic alone.
    """

    num_items: int
    kind: Kind
    pattern: str
    mode: str
    adversary: str
    has_data: bool = True


@frozen(eq=False)
class ScanInputs:
    """What a scan is given.

    Attributes:
        values: [num_items, *trailing], in the accumulator's type.
        initial: one element.
        seeds: of the adversary, for two runs.
    """

    values: Tensor
    initial: Tensor
    seeds: tuple[int, int]


@frozen
class Shape:
    """A tile as the policy has it.

    Attributes:
        threads: threads that scan.
        items: items of a thread.
        algorithm: enumerator of `BlockScanAlgorithm`.
        warp_size: lanes of a warp.
        is_lookahead: whether blocks go ahead from tile to tile.
    """

    threads: int
    items: int
    algorithm: str
    warp_size: int
    is_lookahead: bool

    @property
    def tile_items(self) -> int:
        """Items of a tile."""
        return self.threads * self.items


class ScanKernel(ReferenceKernel[ScanProblem, ScanInputs]):
    """See the module."""

    def keys(self, common: Sequence[Given]) -> Iterator[Given]:
        """The common keys, and floating-point sums that have to be the same in every run."""
        yield from common
        for given in common:
            if given["operation_t"] == "plus" and given["input_type"] in ("float32", "float64"):
                yield {**given, "require_stable_reduction_order": True}

    def problems(self, case: Case, *, quick: bool) -> Iterator[ScanProblem]:
        """See ReferenceKernel."""
        shape, kinds = shape_of(case), kinds_of(case)
        tile = shape.tile_items
        found = combinations(
            sizes(tile, blocks=2, quick=quick),
            kinds,
            lambda kind: patterns_of(kind.item),
            tile + 5,
            alike=lambda kind: similar(kind.operator),
            quick=quick,
        )
        for number, (num_items, kind, pattern) in enumerate(found):
            mode = MODES[number % len(MODES)]
            yield ScanProblem(num_items, kind, pattern, mode, ADVERSARIES[number // 2 % len(ADVERSARIES)])
        # so many tiles that one window does not reach back to the first
        many = min((2 * shape.warp_size + 3) * tile - 2, _MOST_ITEMS)
        for number, adversary in enumerate(ADVERSARIES[2:] if quick else ADVERSARIES):
            for kind in sorted(kinds, key=lambda kind: kind.operator.commutative)[: 1 if quick else None]:
                yield ScanProblem(many, kind, "random", MODES[number % len(MODES)], adversary)
        yield ScanProblem(BEYOND_INT32, kinds[0], "random", MODES[0], ADVERSARIES[0], has_data=False)

    def inputs(self, case: Case, problem: ScanProblem, random: torch.Generator) -> ScanInputs:
        """See ReferenceKernel."""
        n = problem.num_items if problem.has_data else 0
        first, second = torch.randint(1 << 31, (2,), generator=random).tolist()
        return ScanInputs(
            values=make(problem.pattern, problem.kind.item, n, random, case.device),
            initial=make("random", problem.kind.item, 1, random, case.device)[0],
            seeds=(first, second),
        )

    def run(self, case: Case, problem: ScanProblem, inputs: ScanInputs, log: TileLog) -> Mapping[str, Tensor]:
        """See ReferenceKernel."""
        begins = torch.arange(0, problem.num_items, shape_of(case).tile_items)
        ends = (begins + shape_of(case).tile_items).clamp(max=problem.num_items)
        log.record_all(KERNEL_NAME, range(len(begins)), begins, ends)
        if not problem.has_data:
            return {}
        results = _scan(case, problem, inputs, begins, inputs.seeds[0])
        if not case.key.require_stable_reduction_order:
            return {"results": results}
        again = _scan(case, problem, inputs, begins, inputs.seeds[1])
        differ = (results != again) & ~(torch.isnan(results) & torch.isnan(again))
        return {"results": results, "results that differ in another run": differ.sum()}

    def expected(self, case: Case, problem: ScanProblem, inputs: ScanInputs) -> Mapping[str, Expectation]:
        """See ReferenceKernel."""
        if not problem.has_data:
            return {}
        found: dict[str, Expectation] = {"results": _expected(case, problem, inputs)}
        if case.key.require_stable_reduction_order:
            found["results that differ in another run"] = Exact(torch.tensor(0))
        return found

    def coverage(self, case: Case, problem: ScanProblem) -> Mapping[str, int]:  # noqa: ARG002 - the same for all
        """See ReferenceKernel."""
        return {KERNEL_NAME: problem.num_items}


_MOST_ITEMS: Final = 1 << 21


def shape_of(case: Case) -> Shape:
    """The tile of a policy."""
    policy = case.policy
    if policy.algorithm == "lookahead":
        threads = policy.lookahead.reduce_and_scan_warps * LANES
        return Shape(threads, policy.lookahead.items_per_thread, "BLOCK_SCAN_WARP_SCANS", LANES, is_lookahead=True)
    own = policy.lookback
    return Shape(own.threads_per_block, own.items_per_thread, own.scan_algorithm, case.warp_size, is_lookahead=False)


def kinds_of(case: Case) -> tuple[Kind, ...]:
    """What the keys of a case scan: for an unknown operator, affine maps of the accumulator's size."""
    found: dict[Kind, None] = {}
    for key in case.keys:
        item = element_of(key.input_type, key.input_value_size)
        accumulator = element_of(key.accum_type, key.accum_size)
        if key.operation_t == "other":
            operator = affine(key.accum_size)
            found[Kind(operator, operator.element)] = None
        elif item is not None and accumulator is not None:
            found[Kind(RECOGNISED[key.operation_t](accumulator), item)] = None
    return tuple(found)


def _scan(case: Case, problem: ScanProblem, inputs: ScanInputs, begins: Tensor, seed: int) -> Tensor:
    """All tiles: [num_items, *trailing]."""
    values, shape, operator = inputs.values, shape_of(case), problem.kind.operator
    n, device = values.shape[0], values.device
    if n == 0:
        return values
    place = torch.arange(shape.items).reshape(-1, 1, 1)
    thread = torch.arange(shape.threads) * shape.items
    index = (begins.unsqueeze(-1) + thread + place).to(device)
    # items past the end are the last tile's first one
    items = values[torch.where(index < n, index, begins[-1].to(device))]
    initial = None if problem.mode == "inclusive" else inputs.initial
    inclusive = problem.mode != "exclusive"
    exclusive, has_prefix = _threads_prefixes(case, problem, items, initial, seed)
    results = thread_scan(items, operator, exclusive, has_prefix, inclusive=inclusive)
    out = torch.empty_like(values)
    exists = index < n
    out[index[exists]] = _stored(results[exists], problem.kind)
    return out


def _threads_prefixes(
    case: Case, problem: ScanProblem, items: Tensor, initial: Tensor | None, seed: int
) -> tuple[Tensor, Tensor]:
    """What comes before each thread, [tiles, threads, *trailing], and which threads have something before them."""
    shape, operator = shape_of(case), problem.kind.operator
    totals = thread_reduce(
        items, operator, order_of(operator, shape.items, case.capability), capability=case.capability
    )
    if shape.is_lookahead and problem.num_items % shape.tile_items:
        # a last tile that is not full is reduced one item after the other
        totals[-1] = thread_reduce(items[:, -1], operator, Order.SEQUENTIAL)
    first = block_scan(totals[:1], operator, shape.algorithm, shape.warp_size)
    rest = block_scan(totals[1:], operator, shape.algorithm, shape.warp_size)
    begun = first.aggregate if initial is None else operator.combine(initial, first.aggregate)
    before = _tiles_prefixes(case, problem, torch.cat([begun, rest.aggregate]), seed)
    if initial is None:
        in_first = first.unseeded()
    else:
        in_first = first.seeded(initial.unsqueeze(0), known_early=not shape.is_lookahead)
    in_rest = rest.seeded(before[1:], known_early=False)
    has_prefix = torch.ones(totals.shape[:2], dtype=torch.bool, device=items.device)
    has_prefix[0, 0] = initial is not None
    return torch.cat([in_first, in_rest]), has_prefix


def _tiles_prefixes(case: Case, problem: ScanProblem, totals: Tensor, seed: int) -> Tensor:
    """What comes before each tile."""
    shape, operator, tiles = shape_of(case), problem.kind.operator, totals.shape[0]
    random = torch.Generator()
    random.manual_seed(seed)
    stable = case.key.require_stable_reduction_order
    if shape.is_lookahead:
        if stable:
            return stable_lookahead(totals, operator)
        return lookahead(totals, operator, schedule(problem.adversary, tiles, random))
    if stable:
        return stable_lookback(totals, operator, shape.warp_size)
    return lookback(totals, operator, shape.warp_size, known_inclusive(problem.adversary, tiles, random))


def _stored(results: Tensor, kind: Kind) -> Tensor:
    """Results in the output's type, which is the input's."""
    return wrapped(results, kind.item) if kind.item.is_integer else results


def _expected(case: Case, problem: ScanProblem, inputs: ScanInputs) -> Expectation:
    operator = problem.kind.operator
    values, initial = inputs.values.cpu(), inputs.initial.cpu().unsqueeze(0)
    terms = values if problem.mode == "inclusive" else torch.cat([initial, values])
    picked = {"exclusive": slice(0, -1), "inclusive": slice(None), "inclusive-init": slice(1, None)}[problem.mode]
    if operator.exact:
        return Exact(_stored(exact_scan(terms, operator), problem.kind)[picked])
    sums, off = prefix_sums(terms)
    absolute = terms.abs().to(torch.float64).nan_to_num(0.0, 0.0, 0.0).cumsum(0)
    bound = sum_bound(absolute, additions(case, problem), terms.dtype) + off
    return Close(sums[picked], bound[picked])


def additions(case: Case, problem: ScanProblem) -> int:
    """The most additions that an item passes through."""
    shape, operator = shape_of(case), problem.kind.operator
    tiles = ceil_div(problem.num_items, shape.tile_items)
    in_thread = max(thread_additions(shape.items, order_of(operator, shape.items, case.capability)), shape.items)
    in_block = block_scan_additions(shape.threads, shape.algorithm, shape.warp_size)
    across = lookahead_additions(tiles) if shape.is_lookahead else lookback_additions(tiles, shape.warp_size)
    return in_thread + in_block + across + shape.items + 2


KERNEL: Final = ScanKernel()
