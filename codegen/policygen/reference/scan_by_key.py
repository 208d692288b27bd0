"""Device-wide prefix scan that starts anew at every new key (`cub::DeviceScan::ExclusiveScanByKey` and its kin).

Input: [n] keys, [n] values, an initial value or none. Output: [n] values: each is everything before it in its run of
equal keys behind the initial value (exclusive), or everything up to it in its run (inclusive, without an initial
value). Counts are items; `threads` and `items` are the policy's, a tile is threads x items.

`DeviceScanByKeyInitKernel` copies the key before each tile; `DeviceScanByKeyKernel` takes a tile a block, in one pass
of decoupled lookback. Pairs of a flag, whether a run begins, and a value are scanned
(`collectives.segmented_pairs`, `collectives.chained_scan`), and only then is the initial value applied: on the left of
what a scan gives, or in its place where a run begins. The last tile is filled up with its own first item, and the place
behind the end is flagged, which changes nothing before it. Delays of lookback change when a block looks, not what it
finds, and how a tile is loaded and stored does not matter either.

Order: operators need not commute, and every result is that of a fold from the left but for its parentheses. These
depend on which predecessors have finished when a tile looks, so that a floating-point sum is not the same every time.

Arithmetic is in the accumulator's type (int8 sums are int32 sums), and results are cut to the values' type. NaN equals
no key: each is a run of its own. 0.0 and -0.0 are equal.

Error of a floating-point sum: an item passes through at most k additions, k = (in a thread, twice) + (in a block) +
(across tiles) + 2, so that a result is off by at most ((1 + u)^k - 1) times the sum of the absolute items that it
consists of (see `contract.error_bounds`). Everything else is exact.

Not modelled: launches after the first, which there would be for more tiles than a grid has blocks, 2^31 - 1. CUB's
kernel takes the number of its first tile, but works on the tiles from 0 on again.
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
from policygen.reference.collectives.chained_scan import ChainedScan
from policygen.reference.collectives.lookback import ADVERSARIES
from policygen.reference.collectives.lookback import known_inclusive
from policygen.reference.collectives.regions import Tiles
from policygen.reference.collectives.run_heads import differ
from policygen.reference.collectives.run_heads import with_predecessors
from policygen.reference.collectives.segmented_pairs import flagging_pairs
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
from policygen.reference.values.elements import wrapped
from policygen.reference.values.inputs import make
from policygen.reference.values.inputs import patterns_of
from policygen.reference.values.key_runs import make_runs
from policygen.reference.values.key_runs import paired
from policygen.reference.values.key_runs import run_patterns_of
from policygen.reference.values.operators import RECOGNISED
from policygen.reference.values.operators import Operator
from policygen.reference.values.operators import affine
from policygen.reference.values.operators import similar
from policygen.reference.values.run_reference import KeyRuns
from policygen.reference.values.run_reference import exact_run_scan
from policygen.reference.values.run_reference import run_sums
from policygen.reference.values.run_reference import runs_of
from policygen.reference.values.sort_keys import elements_of_size

KERNEL_NAME: Final = "DeviceScanByKeyKernel"
MODES: Final = ("exclusive", "inclusive")

_UNKNOWN_WITH: Final = ("int32", "int128")
_MOST_ITEMS: Final = 1 << 21


@frozen
class Kind:
    """What is scanned: values of a type by keys of a type, in the accumulator's type."""

    key: Element
    operator: Operator
    item: Element

    def __str__(self) -> str:
        return f"{self.key} {self.item} {self.operator}"


@frozen
class ScanByKeyProblem(Problem):
    """A scan by keys.

    Attributes:
        num_items: keys, and values.
        kind: of which types, and how values are combined.
        patterns: of the keys (`values.key_runs`), and of the values.
        mode: one of `MODES`.
        adversary: who decides what a tile finds of its predecessors, one of `ADVERSARIES`.
        has_data: False for index arithmetic alone: the last tiles.
    """

    num_items: int
    kind: Kind
    patterns: tuple[str, str]
    mode: str
    adversary: str
    has_data: bool = True


@frozen(eq=False)
class ScanByKeyInputs:
    """What a scan by keys is given.

    Attributes:
        keys: [num_items, *trailing].
        values: [num_items, *trailing].
        initial: one value.
        seed: of the adversary.
    """

    keys: Tensor
    values: Tensor
    initial: Tensor
    seed: int


class ScanByKeyKernel(ReferenceKernel[ScanByKeyProblem, ScanByKeyInputs]):
    """See the module."""

    def keys(self, common: Sequence[Given]) -> Iterator[Given]:
        """The common keys, and some with an operator that CUB does not know: one that does not commute."""
        yield from common
        for given in common:
            if given["operation_t"] == "plus" and given["value_type"] in _UNKNOWN_WITH:
                yield {**given, "operation_t": "other"}

    def problems(self, case: Case, *, quick: bool) -> Iterator[ScanByKeyProblem]:
        """See ReferenceKernel."""
        tile, kinds = _tile_items(case), _kinds_of(case)
        found = combinations(
            sizes(tile, blocks=2, quick=quick),
            kinds,
            lambda kind: paired(run_patterns_of(kind.key), patterns_of(kind.item)),
            tile + 5,
            alike=lambda kind: (similar(kind.operator), kind.key.is_floating),
            quick=quick,
        )
        for number, (num_items, kind, patterns) in enumerate(found):
            mode, adversary = MODES[number % len(MODES)], ADVERSARIES[number // 2 % len(ADVERSARIES)]
            yield ScanByKeyProblem(num_items, kind, patterns, mode, adversary)
        # so many tiles that one window does not reach back to the first
        many = min(((1 if quick else 2) * case.warp_size + 3) * tile - 2, _MOST_ITEMS)
        turns = range(1 if quick else max(len(kinds), len(ADVERSARIES)))
        for _, kind, adversary, mode in zip(turns, cycle(kinds), cycle(ADVERSARIES), cycle(MODES), strict=False):
            yield ScanByKeyProblem(many, kind, ("mixed", "random"), mode, adversary)
        yield ScanByKeyProblem(BEYOND_INT32, kinds[0], ("one", "random"), MODES[0], ADVERSARIES[0], has_data=False)

    def inputs(self, case: Case, problem: ScanByKeyProblem, random: torch.Generator) -> ScanByKeyInputs:
        """See ReferenceKernel."""
        n, kind = problem.num_items if problem.has_data else 0, problem.kind
        keys, values = problem.patterns
        return ScanByKeyInputs(
            keys=make_runs(keys, kind.key, n, _tile_items(case), random, case.device),
            values=make(values, kind.item, n, random, case.device),
            initial=make("random", kind.item, 1, random, case.device)[0],
            seed=int(torch.randint(1 << 31, (), generator=random)),
        )

    def run(self, case: Case, problem: ScanByKeyProblem, inputs: ScanByKeyInputs, log: TileLog) -> Mapping[str, Tensor]:
        """See ReferenceKernel."""
        results = torch.empty_like(inputs.values)
        for tiles in launches(problem.num_items, _tile_items(case), None, first_item=_first_item(case, problem)):
            tiles.record(KERNEL_NAME, log)
            if problem.has_data:
                _scan(case, problem, inputs, tiles.to(case.device), results)
        return {"results": results} if problem.has_data else {}

    def expected(self, case: Case, problem: ScanByKeyProblem, inputs: ScanByKeyInputs) -> Mapping[str, Expectation]:
        """See ReferenceKernel."""
        return {"results": _expected(case, problem, inputs)} if problem.has_data else {}

    def coverage(self, case: Case, problem: ScanByKeyProblem) -> Mapping[str, range]:
        """See ReferenceKernel."""
        return {KERNEL_NAME: range(_first_item(case, problem), problem.num_items)}


def _tile_items(case: Case) -> int:
    return int(case.policy.lookback.threads_per_block * case.policy.lookback.items_per_thread)


def _first_item(case: Case, problem: ScanByKeyProblem) -> int:
    return 0 if problem.has_data else first_of_last_tiles(problem.num_items, _tile_items(case))


def _kinds_of(case: Case) -> tuple[Kind, ...]:
    """What the keys of a case scan: for an unknown operator, affine maps of the accumulator's size.

    CUB asks for the size of keys alone: all types of that size take turns.
    """
    operators: dict[tuple[Operator, Element], None] = {}
    for key in case.keys:
        item = element_of(key.value_type, key.value_size)
        accumulator = element_of(key.accum_type, key.accum_size)
        if key.operation_t == "other":
            operator = affine(key.accum_size)
            operators[operator, operator.element] = None
        elif item is not None and accumulator is not None:
            operators[RECOGNISED[key.operation_t](accumulator), item] = None
    keys = elements_of_size(case.key.key_size)
    turns = range(max(len(operators), len(keys)))
    return tuple(Kind(key, *own) for _, key, own in zip(turns, cycle(keys), cycle(operators), strict=False))


def _chained(case: Case, kind: Kind) -> ChainedScan:
    return ChainedScan(flagging_pairs(kind.operator), case.policy.lookback.scan_algorithm, case.warp_size)


def _scan(case: Case, problem: ScanByKeyProblem, inputs: ScanByKeyInputs, tiles: Tiles, results: Tensor) -> None:
    """Scans all tiles into the results."""
    own, kind, keys = case.policy.lookback, problem.kind, inputs.keys
    operator, pairs = kind.operator, flagging_pairs(kind.operator)
    place = torch.arange(own.threads_per_block) * own.items_per_thread
    place = place + torch.arange(own.items_per_thread).reshape(-1, 1, 1)
    index = tiles.begins.unsqueeze(-1) + place.to(keys.device)
    exists = index < tiles.ends.unsqueeze(-1)
    # items past the end are the last tile's first one
    loaded = torch.where(exists, index, tiles.begins.unsqueeze(-1))
    previous = with_predecessors(keys[loaded], keys[(tiles.begins - 1).clamp(min=0)])
    flags = differ(previous, keys[loaded], kind.key) | (index == tiles.ends.unsqueeze(-1))
    # the very first item has nothing before it
    flags[0, 0, 0] = True
    random = torch.Generator()
    random.manual_seed(inputs.seed)
    scanned = _chained(case, kind).scan(
        pairs.zipped(flags.long(), inputs.values[loaded]),
        known_inclusive(problem.adversary, tiles.begins.shape[0], random),
        inclusive=problem.mode == "inclusive",
    )
    found = pairs.values(scanned.results)
    if problem.mode == "exclusive":
        begun = operator.combine(inputs.initial, found)
        found = operator.element.select(flags, inputs.initial.expand_as(begun), begun)
    results[index[exists]] = _stored(found[exists], kind)


def _stored(results: Tensor, kind: Kind) -> Tensor:
    """Results in the values' type."""
    return wrapped(results, kind.item) if kind.item.is_integer else results


def _expected(case: Case, problem: ScanByKeyProblem, inputs: ScanByKeyInputs) -> Expectation:
    kind, values, initial = problem.kind, inputs.values.cpu(), inputs.initial.cpu()
    runs = runs_of(inputs.keys, kind.key)
    if kind.operator.exact:
        found = exact_run_scan(values, runs, kind.operator)
        if problem.mode == "exclusive":
            begun = kind.operator.combine(initial, _before(found, runs))
            found = kind.operator.element.select(_is_first(runs), initial.expand_as(begun), begun)
        return Exact(wrapped(found, kind.item) if kind.item.is_integer else found)
    sums, off = run_sums(values, runs)
    absolute, _ = run_sums(values.abs().nan_to_num(0.0, 0.0, 0.0), runs)
    own, tiles = case.policy.lookback, ceil_div(problem.num_items, _tile_items(case))
    additions = _chained(case, kind).additions(own.items_per_thread, own.threads_per_block, tiles) + 1
    if problem.mode == "inclusive":
        return Close(sums, sum_bound(absolute, additions, values.dtype, 1) + off)
    before, first = initial.to(torch.float64), _is_first(runs)
    bound = sum_bound(_before(absolute, runs) + before.abs(), additions, values.dtype, 2) + _before(off, runs)
    # where a run begins nothing is added
    return Close(torch.where(first, before, before + _before(sums, runs)), torch.where(first, 0.0, bound))


def _is_first(runs: KeyRuns) -> Tensor:
    """Which items begin a run."""
    return torch.arange(runs.number.shape[0]) == runs.of_items(runs.begins)


def _before(results: Tensor, runs: KeyRuns) -> Tensor:
    """What the item before each has, within runs; of a run's first item without meaning."""
    return results[(torch.arange(runs.number.shape[0]) - 1).clamp(min=0)]


KERNEL: Final = ScanByKeyKernel()
