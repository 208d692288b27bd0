"""Sort of many segments by their length (`cub::DeviceSegmentedSort`), as `dispatch_segmented_sort.cuh` launches it.

Input: keys of an integer or floating-point type, values or none, and where each segment begins and ends; ascending or
descending. Output: each segment sorted, at its place; what belongs to no segment is not written. Counts are items; a
tile is threads x items of a policy, where of a warp's part it is its threads.

- Up to `partitioning_threshold` segments: `DeviceSegmentedSortFallbackKernel`, a block for each. Segments that a part
  of a warp can hold (the tile of `medium_segment`) are sorted by it, others as large ones.
- More: a three-way partition sorts them out. Longer than the tile of `medium_segment` is large; as long as the tile of
  `small_segment` or shorter is small; others are medium, in reverse order. `DeviceSegmentedSortKernelLarge` has a block
  for each large one, `DeviceSegmentedSortKernelSmall` blocks for medium ones, then blocks for small ones, a part of a
  warp for each. It is launched with the threads of `small_segment`: a medium one whose part would begin past them is
  not sorted.

Short segments are sorted by merging (`collectives.sub_warp_sort`). A large one that is shorter than a tile is sorted in
shared memory (`collectives.block_radix_sort`), others in sweeps, digit by digit (`collectives.segment_radix_sort`).

Order: stable. `<` for short segments, bits for large ones: that is the same, -0.0 and 0.0 being equal in both, but for
NaN, which `<` has no place for: only large segments have any here. Exact; no result depends on timing.

Not modelled: which of the buffers a pass reads and writes; how the partition is done (see `three_way_partition`).
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from typing import Final

import torch
from attrs import frozen
from torch import Tensor

from policygen.model.record import Record
from policygen.plan.counts import ceil_div
from policygen.reference.collectives.block_radix_sort import block_radix_sort
from policygen.reference.collectives.pairs import Pairs
from policygen.reference.collectives.pairs import with_origins
from policygen.reference.collectives.radix_passes import tile_items
from policygen.reference.collectives.radix_sweeps import Digit
from policygen.reference.collectives.regions import Regions
from policygen.reference.collectives.segment_radix_sort import segment_pass
from policygen.reference.collectives.segments import Segments
from policygen.reference.collectives.sort_segments import sorted_segments
from policygen.reference.collectives.sub_warp_sort import segments_per_block
from policygen.reference.collectives.sub_warp_sort import sub_warp_items
from policygen.reference.collectives.sub_warp_sort import sub_warp_sort
from policygen.reference.contract.case import Case
from policygen.reference.contract.comparison import Exact
from policygen.reference.contract.comparison import Expectation
from policygen.reference.contract.kernel import Problem
from policygen.reference.contract.kernel import ReferenceKernel
from policygen.reference.contract.sizes import BEYOND_INT32
from policygen.reference.contract.sizes import combinations
from policygen.reference.contract.tile_log import TileLog
from policygen.reference.values.elements import Element
from policygen.reference.values.radix_keys import RadixKeys
from policygen.reference.values.sort_keys import Bits
from policygen.reference.values.sort_keys import alike
from policygen.reference.values.sort_keys import elements_of_size
from policygen.reference.values.sort_keys import make_keys
from policygen.reference.values.sort_keys import sort_patterns

FALLBACK: Final = "DeviceSegmentedSortFallbackKernel"
LARGE: Final = "DeviceSegmentedSortKernelLarge"
SMALL: Final = "DeviceSegmentedSortKernelSmall"
ALL: Final = "all segments"


@frozen
class SegmentedSortProblem(Problem):
    """A sort of segments.

    Attributes:
        segments: to sort.
        key: type of the keys.
        pattern: of the keys.
        descending: whether greater keys come first.
        has_data: False for index arithmetic alone: the segments begin past the range of an int.
    """

    segments: Segments
    key: Element
    pattern: str
    descending: bool
    has_data: bool = True


@frozen(eq=False)
class Part:
    """Segments that one kernel sorts in one way.

    Attributes:
        kernel: name for the log.
        way: "merge", by a part of a warp, or "radix", by a block.
        policy: of the part.
        segments: sorted so.
        blocks: which block has each.
    """

    kernel: str
    way: str
    policy: Record
    segments: Regions
    blocks: Tensor


class SegmentedSortKernel(ReferenceKernel[SegmentedSortProblem, Pairs]):
    """See the module."""

    def problems(self, case: Case, *, quick: bool) -> Iterator[SegmentedSortProblem]:
        """See ReferenceKernel."""
        keys = elements_of_size(case.key.key_size)
        small, medium = sub_warp_items(case.policy.small_segment), sub_warp_items(case.policy.medium_segment)
        middle = Segments((3, 0, small + 1, 1, medium, medium + 1, 2))
        found = combinations(
            _layouts(case, quick=quick),
            keys,
            lambda key: sort_patterns(key, nan=False),
            middle,
            alike=alike,
            quick=quick,
        )
        for number, (segments, key, pattern) in enumerate(found):
            yield SegmentedSortProblem(segments, key, pattern, number % 2 == 1)
        large = Segments((medium + 1, tile_items(case.policy.large_segment) + 1))
        for key in keys:
            if key.is_floating:
                yield SegmentedSortProblem(large, key, "bits", descending=True)
        yield SegmentedSortProblem(_layouts(case, quick=True)[-1], keys[0], "random", False, has_data=False)

    def inputs(self, case: Case, problem: SegmentedSortProblem, random: torch.Generator) -> Pairs:
        """See ReferenceKernel."""
        n = problem.segments.num_items if problem.has_data else 0
        values = make_keys(problem.pattern, problem.key, n, random, case.device)
        return with_origins(RadixKeys(problem.key).raw(values), has_values=case.key.value_size > 0)

    def run(self, case: Case, problem: SegmentedSortProblem, inputs: Pairs, log: TileLog) -> Mapping[str, Tensor]:
        """See ReferenceKernel."""
        first = 0 if problem.has_data else BEYOND_INT32
        segments = problem.segments.regions(case.device, first)
        parts = parts_of(case, segments)
        for part in parts:
            for name in (part.kernel, ALL):
                log.record_all(name, part.blocks, part.segments.begins, part.segments.ends)
        if not problem.has_data:
            return {}
        if problem.segments.num_items == 0:
            return inputs.outputs()
        out = inputs.blank()
        for part in parts:
            _sort(case, problem, inputs, out, part, log)
        return out.outputs()

    def expected(
        self,
        case: Case,  # noqa: ARG002 - the same for all
        problem: SegmentedSortProblem,
        inputs: Pairs,
    ) -> Mapping[str, Expectation]:
        """See ReferenceKernel."""
        if not problem.has_data:
            return {}
        keys, regions = RadixKeys(problem.key), problem.segments.regions()
        found = sorted_segments(inputs, keys, Bits(0, keys.bits), regions, descending=problem.descending)
        return {name: Exact(values) for name, values in found.outputs().items()}

    def coverage(self, case: Case, problem: SegmentedSortProblem) -> Mapping[str, range]:  # noqa: ARG002
        """See ReferenceKernel."""
        if problem.segments.gap:
            return {}
        first = 0 if problem.has_data else BEYOND_INT32
        return {ALL: range(first, first + problem.segments.num_items)}

    def grain(self, case: Case, path: str) -> int:
        """See ReferenceKernel: a block takes one segment more for as many threads as a part of a warp has."""
        name, _, field = path.partition(".")
        is_of_parts = name != "large_segment" and field == "threads_per_block"
        return int(case.policy[name].threads_per_warp) if is_of_parts else 1


def parts_of(case: Case, segments: Regions) -> tuple[Part, ...]:
    """Which kernel and which block sorts each segment, and how."""
    policy, lengths, device = case.policy, segments.num_items, segments.begins.device
    number = torch.arange(segments.blocks, device=device)
    large = lengths > sub_warp_items(policy.medium_segment)
    if segments.blocks <= policy.partitioning_threshold:
        others = ~large & (lengths > 0)
        return (
            Part(FALLBACK, "merge", policy.medium_segment, segments.chosen(others), number[others]),
            Part(FALLBACK, "radix", policy.large_segment, segments.chosen(large), number[large]),
        )
    small = ~large & (lengths < sub_warp_items(policy.small_segment) + 1)
    medium_numbers = number[~large & ~small].flip(0)
    medium_per_block = segments_per_block(policy.medium_segment)
    place = number[: medium_numbers.shape[0]]
    # the threads of a part begin within the block and end there
    launched = policy.small_segment.threads_per_block
    has_threads = (place % medium_per_block + 1) * policy.medium_segment.threads_per_warp <= launched
    medium_blocks = ceil_div(medium_numbers.shape[0], medium_per_block)
    small_blocks = medium_blocks + number[: int(small.sum())] // segments_per_block(policy.small_segment)
    return (
        Part(LARGE, "radix", policy.large_segment, segments.chosen(large), number[: int(large.sum())]),
        Part(
            SMALL,
            "merge",
            policy.medium_segment,
            segments.chosen(medium_numbers[has_threads]),
            (place // medium_per_block)[has_threads],
        ),
        Part(SMALL, "merge", policy.small_segment, segments.chosen(small), small_blocks),
    )


def _sort(case: Case, problem: SegmentedSortProblem, items: Pairs, out: Pairs, part: Part, log: TileLog) -> None:
    keys, segments, policy = RadixKeys(problem.key), part.segments, part.policy
    if part.way == "merge":
        sub_warp_sort(items, out, keys, policy, segments, descending=problem.descending)
        return
    fits = segments.num_items < tile_items(policy)
    tiles = segments.chosen(fits).as_tiles(tile_items(policy))
    tiles.record(f"{part.kernel}, in shared memory", log)
    block_radix_sort(items, out, keys, policy, tiles, 0, keys.bits, descending=problem.descending)
    longer, swept = segments.chosen(~fits), items
    for bit in range(0, keys.bits, policy.radix_bits) if longer.blocks else ():
        digit = Digit(keys, bit, min(policy.radix_bits, keys.bits - bit), problem.descending)
        swept = segment_pass(swept, digit, policy, case.warp_size, longer, f"{part.kernel} from bit {bit}", log)
    index = longer.index()
    out.put(index, swept.at(index))


def _layouts(case: Case, *, quick: bool) -> tuple[Segments, ...]:
    """Segments around the edges of all tiles, fewer than the threshold, as many, and more."""
    policy = case.policy
    small, medium = sub_warp_items(policy.small_segment), sub_warp_items(policy.medium_segment)
    large, threshold = tile_items(policy.large_segment), policy.partitioning_threshold
    few = (0, 1, 2, 3, small - 1, small, small + 1, -2)
    found = [
        Segments(()),
        Segments((0,)),
        Segments((1, 0, -3, 2, 33)),
        Segments((medium - 1, medium, medium + 1), gap=2),
        Segments((large - 1, large, large + 1)),
        Segments((3, 2), repeats=threshold // 2),
        Segments((3, 2), repeats=threshold // 2, others=(4, medium, 5), gap=1),
        Segments(few, threshold // len(few) + 1, others=(medium - 1, medium, medium + 1, large - 1, large)),
    ]
    if not quick:
        found += [Segments((3 * large + large // 3 + 1, 7)), Segments((small, 1, medium), threshold)]
    return tuple(found)


KERNEL: Final = SegmentedSortKernel()
