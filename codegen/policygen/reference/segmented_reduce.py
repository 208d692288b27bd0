"""Reduction of many segments (`cub::DeviceSegmentedReduce`), as `dispatch_segmented_reduce.cuh` launches it.

Input: elements of the accumulator's type, where each segment begins and ends, an initial value. Output: one element a
segment, the initial value of an empty one. Counts are items; a tile is threads x items of a part of the policy, of
`medium_reduce` and `small_reduce` the threads of a warp's part.

Who reduces a segment is the same for all of a launch:

- the tile of `small_reduce` or less: `threads_per_warp` threads (one), as many segments a block as fit.
- the tile of `medium_reduce` or less: `threads_per_warp` threads (a warp of 32).
- more: a block.

With offsets (`DeviceSegmentedReduceKernel`) the longest segment counts that the caller promises; without a promise each
has a block. A longer one than promised is reduced all the same. With segments of one size
(`DeviceFixedSizeSegmentedReduceKernel`) it is this size; where it is the tile of `large_reduce` or more, a block for
each of the segment's tiles leaves a partial result, and these are segments of one size again, which are reduced
directly. All blocks have the threads of `large_reduce`. A launch has 2^31 - 1 segments, or tiles of them, at most.

Order: striped loads permute items, so operators have to be commutative; the same bits in every run, and for every
launch with the same parts. Each segment's address decides on its own whether it is loaded by vectors.

Error of a floating-point sum: an item passes through at most k additions, k = (in a thread, tile by tile) + (in a warp,
log2 of its lanes) + (one for each further warp), for either pass, + 1 for the initial value, so the result is off by at
most ((1 + u)^k - 1) times the sum of the segment's absolute items (see `contract.error_bounds`). Minimum, maximum and
integers are exact; NaN loses against numbers.

Not modelled: segments that end before they begin, of which upstream's documentation says that they are empty: its
kernels compare for equality, and go wrong. Segments are counted in an int by upstream: where the segments of a block
are no power of two, the last block of a launch with 2^31 - 1 of them counts beyond it.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from typing import Final

import torch
from attrs import frozen
from torch import Tensor

from policygen.plan.counts import INT32_MAX
from policygen.plan.counts import ceil_div
from policygen.reference.collectives.regions import Regions
from policygen.reference.collectives.segment_reduce import Groups
from policygen.reference.collectives.segment_reduce import Launches
from policygen.reference.collectives.segment_reduce import block_groups
from policygen.reference.collectives.segment_reduce import warp_groups
from policygen.reference.collectives.segments import Segments
from policygen.reference.contract.case import Case
from policygen.reference.contract.comparison import Close
from policygen.reference.contract.comparison import Exact
from policygen.reference.contract.comparison import Expectation
from policygen.reference.contract.error_bounds import sum_bound
from policygen.reference.contract.kernel import Problem
from policygen.reference.contract.kernel import ReferenceKernel
from policygen.reference.contract.sizes import BEYOND_INT32
from policygen.reference.contract.sizes import LAST_TILES
from policygen.reference.contract.sizes import MANY_SEGMENTS
from policygen.reference.contract.sizes import combinations
from policygen.reference.contract.tile_log import TileLog
from policygen.reference.reduce import operators_of
from policygen.reference.values.inputs import make
from policygen.reference.values.inputs import patterns_of
from policygen.reference.values.memory import vector_alignment
from policygen.reference.values.operators import Operator
from policygen.reference.values.operators import similar
from policygen.reference.values.segment_folds import exact_folds
from policygen.reference.values.segment_folds import exact_sums

KERNEL_NAME: Final = "DeviceSegmentedReduceKernel"
FIXED: Final = "DeviceFixedSizeSegmentedReduceKernel"
PARTIAL: Final = "DeviceFixedSizeSegmentedReduceKernel of tiles"
FINAL: Final = "DeviceFixedSizeSegmentedReduceKernel of partial results"


_MOST_ITEMS: Final = 1 << 21


@frozen
class SegmentedReduceProblem(Problem):
    """A reduction of segments.

    Attributes:
        segments: to reduce.
        is_fixed: whether they are called as segments of one size.
        promised: items of the longest segment as the caller says; 0 for no promise. It may be wrong.
        operator: how two items are combined.
        pattern: of the items.
        misaligned: items by which the first one starts after an aligned address.
        has_data: False for index arithmetic alone: the last segments, all of one length.
    """

    segments: Segments
    is_fixed: bool
    promised: int
    operator: Operator
    pattern: str
    misaligned: int
    has_data: bool = True

    @property
    def size(self) -> int:
        """Items of a segment, of those of one size."""
        return self.segments.lengths[0]


@frozen(eq=False)
class SegmentedReduceInputs:
    """What a reduction of segments is given: memory, [n, *trailing], and one element."""

    values: Tensor
    initial: Tensor


class SegmentedReduceKernel(ReferenceKernel[SegmentedReduceProblem, SegmentedReduceInputs]):
    """See the module."""

    def problems(self, case: Case, *, quick: bool) -> Iterator[SegmentedReduceProblem]:
        """See ReferenceKernel."""
        operators = operators_of(case)
        layouts = _layouts(case, quick=quick)
        medium = _tile(case, "medium")
        middle = (Segments((3, 0, medium, 1, medium + 1, 2, 33)), False, 0)
        found = combinations(
            layouts,
            operators,
            lambda operator: patterns_of(operator.element),
            middle,
            alike=similar,
            quick=quick,
        )
        for number, ((segments, is_fixed, promised), operator, pattern) in enumerate(found):
            yield SegmentedReduceProblem(segments, is_fixed, promised, operator, pattern, number % 3)
        if not quick:
            # so many tiles a segment that their results are more than one thread takes
            long = Segments(((_tile(case, "small") + 1) * _tile(case, "large") - 5,), repeats=2)
            if long.num_items <= _MOST_ITEMS:
                yield from (SegmentedReduceProblem(long, True, 0, operator, "random", 0) for operator in operators)
        count, size = MANY_SEGMENTS
        two_passes = 3 * _tile(case, "large") + 1
        for segments, is_fixed, promised in (
            (Segments((size,), repeats=count), True, 0),
            (Segments((two_passes,), repeats=BEYOND_INT32 // two_passes + LAST_TILES), True, 0),
            (Segments((1,), repeats=BEYOND_INT32), False, 1),
        ):
            yield SegmentedReduceProblem(segments, is_fixed, promised, operators[0], "random", 0, has_data=False)

    def inputs(self, case: Case, problem: SegmentedReduceProblem, random: torch.Generator) -> SegmentedReduceInputs:
        """See ReferenceKernel."""
        n = problem.segments.num_items if problem.has_data else 0
        element = problem.operator.element
        return SegmentedReduceInputs(
            values=make(problem.pattern, element, n, random, case.device),
            initial=make("random", element, 1, random, case.device)[0],
        )

    def run(
        self, case: Case, problem: SegmentedReduceProblem, inputs: SegmentedReduceInputs, log: TileLog
    ) -> Mapping[str, Tensor]:
        """See ReferenceKernel."""
        numbers, segments = _segments(case, problem)
        if _takes_two_passes(case, problem):
            return _in_two_passes(case, problem, inputs, numbers, segments, log)
        launches = Launches(_name(problem), _groups_of(case, problem), INT32_MAX, numbers, segments)
        launches.record(log)
        if not problem.has_data:
            return {}
        aggregates = launches.reduced(inputs.values, _is_aligned(case, problem, segments.begins), inputs.initial)
        return {"totals": _with_initial(problem, inputs, aggregates, segments)}

    def expected(
        self, case: Case, problem: SegmentedReduceProblem, inputs: SegmentedReduceInputs
    ) -> Mapping[str, Expectation]:
        """See ReferenceKernel."""
        if not problem.has_data:
            return {}
        segments, count = problem.segments.regions(), problem.segments.num_segments
        values = inputs.values.cpu()[segments.index()]
        terms = torch.cat([inputs.initial.cpu().expand(count, *inputs.initial.shape), values])
        number = torch.arange(count)
        segment = torch.cat([number, number.repeat_interleave(segments.num_items)])
        if problem.operator.exact:
            return {"totals": Exact(exact_folds(terms, segment, count, problem.operator))}
        sums, absolute, roundings = exact_sums(terms, segment, count)
        return {"totals": Close(sums, sum_bound(absolute, additions(case, problem), terms.dtype, roundings))}

    def coverage(self, case: Case, problem: SegmentedReduceProblem) -> Mapping[str, range]:
        """See ReferenceKernel."""
        if problem.segments.gap:
            return {}
        first, end = _first_segment(problem), problem.segments.num_segments
        if problem.has_data:
            items = range(problem.segments.num_items)
        else:
            items = range(first * problem.size, end * problem.size)
        if not _takes_two_passes(case, problem):
            return {_name(problem): items}
        tiles = ceil_div(problem.size, _tile(case, "large"))
        return {PARTIAL: items, FINAL: range(first * tiles, end * tiles)}

    def grain(self, case: Case, path: str) -> int:
        """See ReferenceKernel: a block takes one segment more for as many threads as a part of a warp has."""
        name, _, field = path.partition(".")
        is_of_parts = name != "large_reduce" and field == "threads_per_block"
        return int(case.policy[name].threads_per_warp) if is_of_parts else 1


def additions(case: Case, problem: SegmentedReduceProblem) -> int:
    """The most additions that an item passes through."""
    longest = max(problem.segments.all_lengths, default=0)
    if not _takes_two_passes(case, problem):
        groups = _groups_of(case, problem)
        return groups.agent.additions(ceil_div(longest, groups.tile_items)) + 1
    groups = _groups(case, problem.operator, "large")
    tiles = ceil_div(longest, groups.tile_items)
    final = _by_size(case, problem.operator, tiles)
    return groups.agent.additions(1) + final.agent.additions(ceil_div(tiles, final.tile_items)) + 1


def _takes_two_passes(case: Case, problem: SegmentedReduceProblem) -> bool:
    return problem.is_fixed and problem.size >= _tile(case, "large")


def _tile(case: Case, part: str) -> int:
    """Items of a full tile of a part of the policy."""
    policy = case.policy[f"{part}_reduce"]
    return int((policy.threads_per_block if part == "large" else policy.threads_per_warp) * policy.items_per_thread)


def _groups(case: Case, operator: Operator, part: str) -> Groups:
    if part == "large":
        return block_groups(case.policy.large_reduce, operator, case.warp_size, case.capability)
    launched = case.policy.large_reduce.threads_per_block
    return warp_groups(part, case.policy[f"{part}_reduce"], operator, launched, case.capability)


def _by_size(case: Case, operator: Operator, size: int) -> Groups:
    """Who reduces segments of so many items."""
    fits = (part for part in ("small", "medium") if size <= _tile(case, part))
    return _groups(case, operator, next(fits, "large"))


def _groups_of(case: Case, problem: SegmentedReduceProblem) -> Groups:
    """Who reduces the segments of a problem, unless in two passes."""
    if problem.is_fixed:
        return _by_size(case, problem.operator, problem.size)
    if problem.promised == 0:
        return _groups(case, problem.operator, "large")
    return _by_size(case, problem.operator, problem.promised)


def _name(problem: SegmentedReduceProblem) -> str:
    return FIXED if problem.is_fixed else KERNEL_NAME


def _first_segment(problem: SegmentedReduceProblem) -> int:
    """The segment from which they are looked at: where there is no data, the last ones, those of two launches if so."""
    if problem.has_data:
        return 0
    return min(problem.segments.num_segments, INT32_MAX) - LAST_TILES


def _segments(case: Case, problem: SegmentedReduceProblem) -> tuple[Tensor, Regions]:
    """The segments that are looked at: their numbers, and where they are."""
    numbers = torch.arange(_first_segment(problem), problem.segments.num_segments)
    if not problem.has_data:
        return numbers, Regions(numbers * problem.size, (numbers + 1) * problem.size)
    return numbers.to(case.device), problem.segments.regions(case.device)


def _is_aligned(case: Case, problem: SegmentedReduceProblem, begins: Tensor) -> Tensor:
    """Whether vectors may begin at some items; all parts of the policy have vectors of one size."""
    element = problem.operator.element
    alignment = element.size
    if element.primitive:
        alignment = vector_alignment(element.size, element.size, case.policy.large_reduce.vec_size)
    return (problem.misaligned + begins) * element.size % alignment == 0


def _with_initial(
    problem: SegmentedReduceProblem, inputs: SegmentedReduceInputs, aggregates: Tensor, segments: Regions
) -> Tensor:
    """The initial value goes on the left, but for empty segments, which have nothing else."""
    operator = problem.operator
    return operator.element.select(segments.num_items > 0, operator.combine(inputs.initial, aggregates), aggregates)


def _in_two_passes(
    case: Case,
    problem: SegmentedReduceProblem,
    inputs: SegmentedReduceInputs,
    numbers: Tensor,
    segments: Regions,
    log: TileLog,
) -> dict[str, Tensor]:
    """A block for each tile of a segment, then the partial results as segments."""
    large = _groups(case, problem.operator, "large")
    tiles = ceil_div(problem.size, large.tile_items)
    most = INT32_MAX // tiles
    chunks = segments.tiles(large.tile_items)
    chunk_numbers = numbers[chunks.blocks] * tiles + chunks.numbers
    first = Launches(PARTIAL, large, most * tiles, chunk_numbers, Regions(chunks.begins, chunks.ends))
    first.record(log)
    begins = numbers * tiles
    final = Launches(FINAL, _by_size(case, problem.operator, tiles), most, numbers, Regions(begins, begins + tiles))
    final.record(log)
    if not problem.has_data:
        return {}
    partials = first.reduced(inputs.values, _is_aligned(case, problem, chunks.begins), inputs.initial)
    # partial results begin at an aligned address
    aligned = _is_aligned(case, problem, begins - problem.misaligned)
    aggregates = final.reduced(partials, aligned, inputs.initial)
    return {"totals": _with_initial(problem, inputs, aggregates, segments)}


def _layouts(case: Case, *, quick: bool) -> tuple[tuple[Segments, bool, int], ...]:
    """Segments around the edges of all tiles, whether they are of one size, and what is promised."""
    small, medium, large = (_tile(case, part) for part in ("small", "medium", "large"))
    threads = case.policy.large_reduce.threads_per_block
    short, middling = (small, 0, 1, small - 1, 2), (medium, small + 1, 0, medium - 1, 33, 1)
    found = [
        (Segments(()), False, 0),
        (Segments((0, 0)), False, small),
        (Segments(short, repeats=threads // len(short) + 1), False, small),
        (Segments(middling, repeats=threads // 32 // len(middling) + 1, gap=3), False, medium),
        (Segments((small + 1, 1, 0, 5)), False, small + 1),
        (Segments((medium + 1, 0, 4)), False, medium + 1),
        (Segments((small + 1, 0, 2 * medium + 3, 2)), False, small),
        (Segments((large + 1, 2 * medium, 5)), False, medium),
        (Segments((0, 1, threads - 1, threads, threads + 1, small), gap=1), False, 0),
        (Segments((large - 1, large, large + 1)), False, 0),
        (Segments((3 * large + large // 3 + 1, 7)), False, 0),
        (Segments((0,), repeats=3), True, 0),
        (Segments((1,), repeats=threads + 1), True, 0),
        (Segments((small,), repeats=3), True, 0),
        (Segments((small + 1,), repeats=3), True, 0),
        (Segments((medium,), repeats=threads // 32 + 1), True, 0),
        (Segments((medium + 1,), repeats=2), True, 0),
        (Segments((large - 1,), repeats=2), True, 0),
        (Segments((large,), repeats=3), True, 0),
        (Segments((2 * large + large // 3 + 1,), repeats=2), True, 0),
    ]
    if not quick:
        found += [(Segments((2 * large, 2), repeats=2), False, 0)]
    return tuple(found)


KERNEL: Final = SegmentedReduceKernel()
