"""Prefix scan of many segments (`cub::DeviceSegmentedScan`), as `dispatch_segmented_scan.cuh` launches it.

Input: elements of the accumulator's type, where each segment begins and ends, where its results go, an initial value or
none. Output: for each element everything before it in its segment (exclusive, with an initial value), or everything up
to it (inclusive, with or without one). A segment that ends before it begins is empty. Counts are items; a tile is
threads x items of the policy.

`device_segmented_scan_kernel`: a block for one segment, or for several, at most `max_segments`. A block of one segment
scans it tile by tile (`collectives.tilewise_scan`). A block of several scans all of them at once: it finds out to which
of them an item belongs (`collectives.segment_search`), flags the first item of each, and scans values with flags
(`values.flagged`); the initial value is combined with the flagged items beforehand, and where a result is exclusive, it
is what they get. Every call of `cub::DeviceSegmentedScan` 3.5 takes one segment a block: the other way is there, and
the policy pays for it in shared memory and items, but nobody comes to it.

What lies past the end of a tile is zero, and changes nothing before it. A launch has 2^31 - 1 segments at most.

Order: operators need not commute, and every result is that of a fold from the left but for its parentheses, which are
the same in every run.

Error of a floating-point sum: an item passes through at most k additions, k = (in a thread, twice) + (in a block) +
(one for each tile) + 2, so that a result is off by at most ((1 + u)^k - 1) times the sum of the absolute items of its
segment up to it (see `contract.error_bounds`). Everything else is exact.

Not modelled: types of input and output other than the accumulator's.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from itertools import cycle
from typing import Final

import torch
from attrs import frozen
from torch import Tensor

from policygen.plan.counts import INT32_MAX
from policygen.plan.counts import ceil_div
from policygen.reference.collectives.regions import Regions
from policygen.reference.collectives.segment_search import block_segments
from policygen.reference.collectives.segments import Segments
from policygen.reference.collectives.tilewise_scan import TilewiseScan
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
from policygen.reference.values.flagged import flagged
from policygen.reference.values.inputs import make
from policygen.reference.values.inputs import patterns_of
from policygen.reference.values.operators import Operator
from policygen.reference.values.operators import affine
from policygen.reference.values.operators import maximum
from policygen.reference.values.operators import minimum
from policygen.reference.values.operators import plus
from policygen.reference.values.operators import similar
from policygen.reference.values.reference import exact_scan
from policygen.reference.values.reference import prefix_sums
from policygen.reference.values.sort_keys import elements_of_size

KERNEL_NAME: Final = "device_segmented_scan_kernel"
MODES: Final = ("exclusive", "inclusive", "inclusive-init")


@frozen
class SegmentedScanProblem(Problem):
    """A scan of segments.

    Attributes:
        segments: to scan.
        per_block: segments of a block; more than `max_segments` count as so many.
        operator: how two items are combined.
        pattern: of the items.
        mode: one of `MODES`.
        out_gap: items between the results of two segments.
        has_data: False for index arithmetic alone: the last segments, all of one length, a block for each.
    """

    segments: Segments
    per_block: int
    operator: Operator
    pattern: str
    mode: str
    out_gap: int = 0
    has_data: bool = True

    @property
    def out(self) -> Segments:
        """Where results go."""
        own = self.segments
        return Segments(own.lengths, own.repeats, self.out_gap, own.others)


@frozen(eq=False)
class SegmentedScanInputs:
    """What a scan of segments is given: memory, [n, *trailing], and one element."""

    values: Tensor
    initial: Tensor


class SegmentedScanKernel(ReferenceKernel[SegmentedScanProblem, SegmentedScanInputs]):
    """See the module."""

    def problems(self, case: Case, *, quick: bool) -> Iterator[SegmentedScanProblem]:
        """See ReferenceKernel."""
        tile, most = scan_of(case).tile_items, case.policy.block.max_segments
        operators = operators_of(case)
        middle = (Segments((3, 0, tile + 1, 1, -2, 2, 5), gap=1), 3)
        modes = cycle(MODES)
        for number, ((segments, per_block), operator, pattern) in enumerate(
            combinations(
                _layouts(tile, most, quick=quick),
                operators,
                lambda operator: patterns_of(operator.element),
                middle,
                alike=similar,
                quick=quick,
            )
        ):
            yield SegmentedScanProblem(segments, per_block, operator, pattern, next(modes), number % 2 * 2)
        for mode in MODES:
            for per_block in (4,) if quick else (1, 4):
                # operators that do not commute show the order
                yield SegmentedScanProblem(middle[0], per_block, operators[-1], "random", mode)
        count, size = MANY_SEGMENTS
        for segments in (Segments((size,), repeats=count), Segments((1,), repeats=BEYOND_INT32)):
            yield SegmentedScanProblem(segments, 1, operators[0], "random", MODES[0], has_data=False)

    def inputs(self, case: Case, problem: SegmentedScanProblem, random: torch.Generator) -> SegmentedScanInputs:
        """See ReferenceKernel."""
        n = problem.segments.num_items if problem.has_data else 0
        element = problem.operator.element
        return SegmentedScanInputs(
            values=make(problem.pattern, element, n, random, case.device),
            initial=make("random", element, 1, random, case.device)[0],
        )

    def run(
        self, case: Case, problem: SegmentedScanProblem, inputs: SegmentedScanInputs, log: TileLog
    ) -> Mapping[str, Tensor]:
        """See ReferenceKernel."""
        if not problem.has_data:
            numbers = torch.arange(_first_segment(problem), problem.segments.num_segments)
            size = problem.segments.lengths[0]
            _record(case, numbers % INT32_MAX, numbers * size, (numbers + 1) * size, log)
            return {}
        segments, out_segments = problem.segments.regions(case.device), problem.out.regions(case.device)
        out = problem.operator.element.unset(problem.out.num_items, device=case.device)
        per_block = max(1, min(problem.per_block, case.policy.block.max_segments))
        # the items of all segments, one behind the other: what tiles are counted in
        ends = segments.num_items.cumsum(0)
        begins = ends - segments.num_items
        number = torch.arange(segments.blocks, device=case.device)
        last = (number // per_block * per_block + per_block - 1).clamp(max=segments.blocks - 1)
        is_first = number % per_block == 0
        _record(case, number[is_first] // per_block, begins[is_first], ends[last[is_first]], log)
        # the last block may have one segment only
        is_alone = is_first & (last == number)
        _alone(case, problem, inputs, segments.chosen(is_alone), out_segments.chosen(is_alone), out)
        if not bool(is_alone.all()):
            _together(case, problem, inputs, segments.chosen(~is_alone), out_segments.chosen(~is_alone), out)
        return {"results": out}

    def expected(
        self, case: Case, problem: SegmentedScanProblem, inputs: SegmentedScanInputs
    ) -> Mapping[str, Expectation]:
        """See ReferenceKernel."""
        if not problem.has_data:
            return {}
        values, initial = inputs.values.cpu(), inputs.initial.cpu().unsqueeze(0)
        segments, outs = problem.segments.regions(), problem.out.regions()
        found = problem.operator.element.unset(problem.out.num_items)
        picked = {"exclusive": slice(0, -1), "inclusive": slice(None), "inclusive-init": slice(1, None)}[problem.mode]
        bound = torch.zeros(found.shape[0], dtype=torch.float64)
        exact = problem.operator.exact
        found = found if exact else found.to(torch.float64)
        k = additions(case, problem)
        spans = zip(segments.begins.tolist(), segments.ends.tolist(), outs.begins.tolist(), strict=True)
        for begin, end, out in spans:
            if begin == end:
                continue
            own = values[begin:end]
            terms = own if problem.mode == "inclusive" else torch.cat([initial, own])
            place = slice(out, out + end - begin)
            if exact:
                found[place] = exact_scan(terms, problem.operator)[picked]
            else:
                sums, off = prefix_sums(terms)
                absolute = terms.abs().to(torch.float64).nan_to_num(0.0, 0.0, 0.0).cumsum(0)
                found[place] = sums[picked]
                bound[place] = (sum_bound(absolute, k, terms.dtype) + off)[picked]
        return {"results": Exact(found) if exact else Close(found, bound)}

    def coverage(self, case: Case, problem: SegmentedScanProblem) -> Mapping[str, range]:  # noqa: ARG002
        """See ReferenceKernel."""
        if problem.has_data:
            return {KERNEL_NAME: range(sum(max(0, length) for length in problem.segments.all_lengths))}
        size, count = problem.segments.lengths[0], problem.segments.num_segments
        return {KERNEL_NAME: range(_first_segment(problem) * size, count * size)}


def scan_of(case: Case) -> TilewiseScan:
    """How a block of a policy scans."""
    own = case.policy.block
    return TilewiseScan(
        own.threads_per_block, own.items_per_thread, own.scan_algorithm, case.warp_size, case.capability
    )


def operators_of(case: Case) -> tuple[Operator, ...]:
    """Operators for accumulators of a key's size: those of numbers, and affine maps, which do not commute."""
    size = case.key.accum_size
    elements = elements_of_size(size)
    extrema = (minimum(elements[0]), maximum(elements[-1])) if elements else ()
    return (*map(plus, elements), *extrema, affine(size))


def additions(case: Case, problem: SegmentedScanProblem) -> int:
    """The most additions that an item passes through."""
    longest = max(problem.segments.all_lengths, default=0)
    # a block of several segments may begin one anywhere in a tile
    return scan_of(case).additions(problem.operator, longest + scan_of(case).tile_items)


def _first_segment(problem: SegmentedScanProblem) -> int:
    """The segment from which they are looked at where there is no data: the last ones, those of two launches if so."""
    return min(problem.segments.num_segments, INT32_MAX) - LAST_TILES


def _record(case: Case, blocks: Tensor, begins: Tensor, ends: Tensor, log: TileLog) -> None:
    """Notes the tiles of each block."""
    tiles = Regions(begins, ends).tiles(scan_of(case).tile_items)
    log.record_all(KERNEL_NAME, blocks[tiles.blocks], tiles.begins, tiles.ends)


def _alone(
    case: Case,
    problem: SegmentedScanProblem,
    inputs: SegmentedScanInputs,
    segments: Regions,
    out_segments: Regions,
    out: Tensor,
) -> None:
    """A block for each segment."""

    def load(blocks: Tensor, places: Tensor) -> Tensor:
        index = segments.begins[blocks].unsqueeze(-1) + places
        return _or_zero(problem, inputs, index, places < segments.num_items[blocks].unsqueeze(-1))

    def store(blocks: Tensor, places: Tensor, exists: Tensor, results: Tensor) -> None:
        out[(out_segments.begins[blocks].unsqueeze(-1) + places)[exists]] = results[exists]

    initial = None if problem.mode == "inclusive" else inputs.initial
    inclusive = problem.mode != "exclusive"
    scan_of(case).scan(segments.num_items, problem.operator, initial, load, store, inclusive=inclusive)


def _together(
    case: Case,
    problem: SegmentedScanProblem,
    inputs: SegmentedScanInputs,
    segments: Regions,
    out_segments: Regions,
    out: Tensor,
) -> None:
    """A block for several segments, the last one perhaps for fewer."""
    most, shape, operator = case.policy.block.max_segments, scan_of(case), flagged(problem.operator)
    per_block = min(problem.per_block, most)
    blocks_ = ceil_div(segments.blocks, per_block)
    number = torch.arange(most, device=out.device) + torch.arange(blocks_, device=out.device).unsqueeze(-1) * per_block
    counts = (segments.blocks - number[:, 0]).clamp(max=per_block)
    exists = torch.arange(most, device=out.device) < counts.unsqueeze(-1)
    number = torch.where(exists, number, 0)
    bag = block_segments(
        torch.where(exists, segments.num_items[number], 0),
        counts,
        threads=shape.threads,
        algorithm=shape.algorithm,
        warp_size=shape.warp_size,
    )
    row = torch.arange(blocks_, device=out.device).unsqueeze(-1)

    def located(blocks: Tensor, places: Tensor) -> tuple[Tensor, Tensor]:
        """Numbers of segments, and places in them."""
        own, place = bag.located(blocks, places)
        return number[row[blocks], own.clamp(max=most - 1)], place

    def load(blocks: Tensor, places: Tensor) -> Tensor:
        own, place = located(blocks, places)
        exists = places < bag.num_items[blocks].unsqueeze(-1)
        values = _or_zero(problem, inputs, segments.begins[own] + place, exists)
        is_head = (place == 0) & exists
        if problem.mode != "inclusive":
            element = problem.operator.element
            values = element.select(is_head, problem.operator.combine(inputs.initial, values), values)
        return operator.pack(values, is_head)

    def store(blocks: Tensor, places: Tensor, exists: Tensor, results: Tensor) -> None:
        own, place = located(blocks, places)
        values = operator.values(results)
        if problem.mode == "exclusive":
            values = problem.operator.element.select(place == 0, inputs.initial, values)
        out[(out_segments.begins[own] + place)[exists]] = values[exists]

    initial = None if problem.mode == "inclusive" else operator.pack(inputs.initial, torch.tensor(0))
    inclusive = problem.mode != "exclusive"
    shape.scan(bag.num_items, operator, initial, load, store, inclusive=inclusive)


def _or_zero(problem: SegmentedScanProblem, inputs: SegmentedScanInputs, index: Tensor, exists: Tensor) -> Tensor:
    """Items, and zero where there are none."""
    values = inputs.values
    items = values[torch.where(exists, index, 0)]
    return problem.operator.element.select(exists, items, torch.zeros_like(items))


def _layouts(tile: int, most: int, *, quick: bool) -> tuple[tuple[Segments, int], ...]:
    """Segments around the edges of a tile and of the number of a block's segments, and how many a block has."""
    few = min(most, 4)
    found = [
        (Segments(()), 1),
        (Segments((0,)), 1),
        (Segments((1, 0, -3, 2, 33)), 1),
        (Segments((tile - 1, tile, tile + 1), gap=2), 1),
        (Segments((3 * tile + tile // 3 + 1, 7)), 1),
        (Segments((0, 0, 0)), few),
        (Segments((0, 1, -3, 0, 33, 2, 0)), few),
        (Segments((tile - 1, 1, tile, tile + 1, 2), gap=1), few),
        (Segments((tile // 2 + 1,), repeats=9), few),
        (Segments((4, 4, 9, 1)), few),
        (Segments((3 * tile + tile // 3 + 1, 7, 0, 1)), few),
        # one segment is left for the last block
        (Segments((5, 3), repeats=most // 2, others=(tile + 1,)), most),
        (Segments((2, 0, 7), repeats=most // 3 + 1, others=(1, 0)), most + 1),
        (Segments((3,), repeats=most + 2), most),
    ]
    if not quick:
        found += [(Segments((1, 2, 3), 40, gap=1), few), (Segments((2 * tile, 2), 3), few)]
        found += [(Segments((1 << (2 * tile).bit_length(),)), 1), (Segments((0, 5 * tile - 1, 0)), few)]
    return tuple(found)


KERNEL: Final = SegmentedScanKernel()
