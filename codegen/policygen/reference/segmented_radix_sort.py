"""Radix sort of many segments (`cub::DeviceSegmentedRadixSort`), as `dispatch_segmented_radix_sort.cuh` launches it.

Input: keys of an integer or floating-point type, values or none, and where each segment begins and ends; bits
[begin, end) of a key; ascending or descending. Output: each segment in the order of these bits, at its place; what
belongs to no segment is not written. Counts are items; `threads` and `items` are the policy's.

A launch for each digit, with a block for each segment: the block counts the segment's digits (upsweep), adds the counts
up, and scatters the segment's keys (downsweep), tile by tile (`collectives.radix_sweeps`). Both sweeps have the tiles
of the same policy, and offsets within a segment are of type int. Bits that are left over go first, by the
`alternate_pass` for narrower digits (`collectives.radix_passes`). No bits are a digit of none: a copy.

Order: stable, by bits as `values.radix_keys` says. Exact, bit for bit; no result depends on timing.

A block that has fewer threads than a digit has values sorts descending wrongly: where threads have several values, they
exchange offsets by the number of the thread instead of that of the value. CUB 3.5 does so, and it is modelled here;
none of its policies is like that.

Not modelled: which of the buffers a pass reads and writes: each has memory of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from typing import Final

import torch
from attrs import frozen
from torch import Tensor

from policygen.model.record import Record
from policygen.reference.collectives.pairs import Pairs
from policygen.reference.collectives.pairs import with_origins
from policygen.reference.collectives.radix_passes import DigitPass
from policygen.reference.collectives.radix_passes import passes_of
from policygen.reference.collectives.radix_passes import tile_items
from policygen.reference.collectives.radix_sweeps import batched_items
from policygen.reference.collectives.segment_radix_sort import DOWNSWEEP
from policygen.reference.collectives.segment_radix_sort import UPSWEEP
from policygen.reference.collectives.segment_radix_sort import segment_pass
from policygen.reference.collectives.segments import Segments
from policygen.reference.collectives.sort_segments import sorted_segments
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
from policygen.reference.values.sort_keys import bits_to_sort
from policygen.reference.values.sort_keys import elements_of_size
from policygen.reference.values.sort_keys import make_keys
from policygen.reference.values.sort_keys import sort_patterns

KERNEL_NAME: Final = "DeviceSegmentedRadixSortKernel"
MANY: Final = 10
"""Segments that take a while by all bits of their keys."""


@frozen
class SegmentedRadixSortProblem(Problem):
    """A sort of segments.

    Attributes:
        segments: to sort.
        key: type of the keys.
        pattern: of the keys.
        bits: that they are sorted by.
        descending: whether greater keys come first.
        has_data: False for index arithmetic alone: the segments begin past the range of an int.
    """

    segments: Segments
    key: Element
    pattern: str
    bits: Bits
    descending: bool
    has_data: bool = True


class SegmentedRadixSortKernel(ReferenceKernel[SegmentedRadixSortProblem, Pairs]):
    """See the module."""

    def problems(self, case: Case, *, quick: bool) -> Iterator[SegmentedRadixSortProblem]:
        """See ReferenceKernel."""
        keys = elements_of_size(case.key.key_size)
        regular, alternate = tile_items(case.policy.regular_pass), tile_items(case.policy.alternate_pass)
        middle = Segments((3, 0, regular + 1, alternate - 1, 40))
        found = combinations(
            _layouts(regular, alternate, quick=quick),
            keys,
            lambda key: sort_patterns(key, nan=True),
            middle,
            alike=alike,
            quick=quick,
        )
        for number, (segments, key, pattern) in enumerate(found):
            everything = not quick or (len(segments.all_lengths) < MANY and segments.num_items < regular)
            bits = bits_to_sort(key, pattern, case.policy.regular_pass.radix_bits, everything=everything, turn=number)
            yield SegmentedRadixSortProblem(segments, key, pattern, bits, number % 2 == 1)
        if not quick or case.key.value_size == 0:
            # so many keys with one digit that counters have to be added up in between
            many = Segments((5, 2 * batched_items(case.policy.alternate_pass) + 5))
            yield SegmentedRadixSortProblem(many, keys[0], "few", Bits(0, 3), True)
        yield SegmentedRadixSortProblem(middle, keys[0], "random", Bits(3, 3), False)
        yield SegmentedRadixSortProblem(middle, keys[0], "random", Bits(0, keys[0].bits), False, has_data=False)

    def inputs(self, case: Case, problem: SegmentedRadixSortProblem, random: torch.Generator) -> Pairs:
        """See ReferenceKernel."""
        n = problem.segments.num_items if problem.has_data else 0
        values = make_keys(problem.pattern, problem.key, n, random, case.device)
        return with_origins(RadixKeys(problem.key).raw(values), has_values=case.key.value_size > 0)

    def run(self, case: Case, problem: SegmentedRadixSortProblem, inputs: Pairs, log: TileLog) -> Mapping[str, Tensor]:
        """See ReferenceKernel."""
        segments = problem.segments
        if not problem.has_data:
            regions = segments.regions(first=BEYOND_INT32)
            for one in passes(case, problem):
                for kernel in (UPSWEEP, DOWNSWEEP):
                    regions.tiles(tile_items(_policy(case, one))).record(_name(one, kernel), log)
            return {}
        if not segments.num_items:
            return inputs.outputs()
        items, keys, regions = inputs, RadixKeys(problem.key), segments.regions(case.device)
        for one in passes(case, problem):
            digit = one.digit(keys, descending=problem.descending)
            items = segment_pass(items, digit, _policy(case, one), case.warp_size, regions, _name(one, ""), log)
        return items.outputs()

    def expected(
        self,
        case: Case,  # noqa: ARG002 - the same for all
        problem: SegmentedRadixSortProblem,
        inputs: Pairs,
    ) -> Mapping[str, Expectation]:
        """See ReferenceKernel."""
        if not problem.has_data:
            return {}
        keys, regions = RadixKeys(problem.key), problem.segments.regions()
        found = sorted_segments(inputs, keys, problem.bits, regions, descending=problem.descending)
        return {name: Exact(values) for name, values in found.outputs().items()}

    def coverage(self, case: Case, problem: SegmentedRadixSortProblem) -> Mapping[str, range]:
        """See ReferenceKernel."""
        segments = problem.segments
        if segments.gap or not segments.num_items:
            return {}
        first = 0 if problem.has_data else BEYOND_INT32
        return {
            _name(one, kernel): range(first, first + segments.num_items)
            for one in passes(case, problem)
            for kernel in (UPSWEEP, DOWNSWEEP)
        }


def passes(case: Case, problem: SegmentedRadixSortProblem) -> tuple[DigitPass, ...]:
    """The digits of a sort: one at least."""
    policy, bits = case.policy, problem.bits
    found = passes_of(bits.begin, bits.end, policy.regular_pass.radix_bits, policy.alternate_pass.radix_bits)
    return found or (DigitPass(bits.begin, 0, is_alternate=False),)


def _policy(case: Case, one: DigitPass) -> Record:
    found: Record = case.policy.alternate_pass if one.is_alternate else case.policy.regular_pass
    return found


def _name(one: DigitPass, kernel: str) -> str:
    return f"{one.named(KERNEL_NAME)}{kernel}"


def _layouts(regular: int, alternate: int, *, quick: bool) -> tuple[Segments, ...]:
    """Segments around the edges of the tiles of both passes."""
    found = [
        Segments(()),
        Segments((0,)),
        Segments((1, 0, -3, 2, 33)),
        Segments((regular - 1, regular, regular + 1)),
        Segments((alternate - 1, alternate, alternate + 1)),
        Segments((3 * regular + regular // 3 + 1, 7), gap=3),
        Segments((5, 1, 64, 0, 31), repeats=3),
    ]
    if not quick:
        found += [Segments((2 * regular, 2 * alternate)), Segments((1, 2, 3), 40, gap=1)]
        found += [Segments((1 << (2 * regular).bit_length(),))]
    return tuple(found)


KERNEL: Final = SegmentedRadixSortKernel()
