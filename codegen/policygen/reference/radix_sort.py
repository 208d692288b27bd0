"""Device-wide radix sort of keys or of pairs (`cub::DeviceRadixSort`), as `dispatch_radix_sort.cuh` launches it.

Input: [n] keys of an integer or floating-point type, [n] values or none; bits [begin, end) of a key; ascending or
descending. Output: keys and values in the order of these bits. Counts are items; `threads` and `items` are the
policy's.

- Nothing to do for no items; no bits: a copy.
- n <= threads x items of `single_tile`: one block sorts the tile, digit by digit (`collectives.block_radix_sort`).
- `onesweep`: a histogram of all digits, its exclusive sums, and a pass for each digit, in which tiles look back for
  what is before them (`collectives.onesweep`).
- `multi_pass`: for each digit an upsweep, which counts a digit for each block, a scan of the counts, digit by digit and
  within a digit block by block, in one block, and a downsweep, which scatters (`collectives.radix_sweeps`). Whole tiles
  are dealt evenly to at most occupancy x SMs x 5 blocks, consecutive ones each (`cub::GridEvenShare`); a tile is the
  greater of those of the two sweeps. Bits that are left over go first: so many passes of the narrower `alt_` policies
  that the others have whole digits.

Order: stable, by bits as `values.radix_keys` says: NaN of a negative sign comes first, one of a positive sign last, and
-0.0 equals 0.0. Exact, bit for bit; no result depends on timing. But where only some bits of floating-point keys are
sorted by, descending, zeros are not in the same place for every size: onesweep takes both for -0.0, the others for 0.0.

Not modelled: which of the two or three buffers a pass reads and writes: each has memory of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from typing import Final

import torch
from attrs import frozen
from torch import Tensor

from policygen.reference.collectives.block_radix_sort import block_radix_sort
from policygen.reference.collectives.onesweep import ADVERSARIES
from policygen.reference.collectives.onesweep import EXCLUSIVE_SUM
from policygen.reference.collectives.onesweep import HISTOGRAM
from policygen.reference.collectives.onesweep import MOST_PORTION_ITEMS
from policygen.reference.collectives.onesweep import SortOrder
from policygen.reference.collectives.onesweep import exclusive_sum
from policygen.reference.collectives.onesweep import histogram
from policygen.reference.collectives.onesweep import kernel_name
from policygen.reference.collectives.onesweep import onesweep
from policygen.reference.collectives.onesweep import portions
from policygen.reference.collectives.pairs import Pairs
from policygen.reference.collectives.pairs import with_origins
from policygen.reference.collectives.radix_passes import DOWNSWEEP
from policygen.reference.collectives.radix_passes import SCAN_BINS
from policygen.reference.collectives.radix_passes import UPSWEEP
from policygen.reference.collectives.radix_passes import DigitPass
from policygen.reference.collectives.radix_passes import SweepPolicies
from policygen.reference.collectives.radix_passes import passes_of
from policygen.reference.collectives.radix_passes import tile_items
from policygen.reference.collectives.radix_sweeps import batched_items
from policygen.reference.collectives.regions import one_region
from policygen.reference.contract.case import FEW_BLOCKS
from policygen.reference.contract.case import Case
from policygen.reference.contract.comparison import Exact
from policygen.reference.contract.comparison import Expectation
from policygen.reference.contract.kernel import Problem
from policygen.reference.contract.kernel import ReferenceKernel
from policygen.reference.contract.sizes import BEYOND_INT32
from policygen.reference.contract.sizes import combinations
from policygen.reference.contract.tile_log import TileLog
from policygen.reference.values.elements import Element
from policygen.reference.values.elements import element_of
from policygen.reference.values.radix_keys import RadixKeys
from policygen.reference.values.radix_keys import expected_order
from policygen.reference.values.sort_keys import Bits
from policygen.reference.values.sort_keys import alike
from policygen.reference.values.sort_keys import bits_to_sort
from policygen.reference.values.sort_keys import make_keys
from policygen.reference.values.sort_keys import sort_patterns

SINGLE_TILE: Final = "DeviceRadixSortSingleTileKernel"


@frozen
class RadixSortProblem(Problem):
    """A sort.

    Attributes:
        num_items: items to sort.
        key: type of the keys.
        pattern: of the keys.
        bits: that they are sorted by.
        descending: whether greater keys come first.
        blocks: of the histogram; the most of a sweep.
        portion: items of one launch of onesweep, at most.
        adversary: who decides what a tile finds of its predecessors, one of `ADVERSARIES`.
        has_data: False for index arithmetic alone.
    """

    num_items: int
    key: Element
    pattern: str
    bits: Bits
    descending: bool
    blocks: int
    portion: int
    adversary: str
    has_data: bool = True


@frozen(eq=False)
class RadixSortInputs:
    """What a sort is given: items, and the seed of the adversary."""

    items: Pairs
    seed: int


class RadixSortKernel(ReferenceKernel[RadixSortProblem, RadixSortInputs]):
    """See the module."""

    def problems(self, case: Case, *, quick: bool) -> Iterator[RadixSortProblem]:
        """See ReferenceKernel."""
        policy, keys, tile = case.policy, keys_of(case), _tile_items(case)
        few = FEW_BLOCKS.max_blocks
        middle = max(tile, tile_items(policy.single_tile)) + 5
        found = combinations(
            _sizes(case, quick=quick), keys, lambda key: sort_patterns(key, nan=True), middle, alike=alike, quick=quick
        )
        for number, (n, key, pattern) in enumerate(found):
            everything = n < tile or not quick
            bits = bits_to_sort(key, pattern, _digit_bits(case), everything=everything, turn=number)
            portion, adversary = (1 + number % 3) * tile, ADVERSARIES[number % 3]
            yield RadixSortProblem(n, key, pattern, bits, number % 2 == 1, few, portion, adversary)
        yield RadixSortProblem(middle, keys[0], "random", Bits(3, 3), False, few, tile, "all")
        blocks = case.residency.max_blocks
        if policy.algorithm == "multi_pass" and (not quick or case.key.value_size == 0):
            # so many keys with one digit for one block that it has to add up its counters in between
            many = 2 * batched_items(policy.alt_upsweep) + tile // 3
            yield RadixSortProblem(many, keys[0], "few", Bits(0, 3), False, 1, tile, "all")
        if policy.algorithm == "multi_pass":
            # so many blocks that their counts are several tiles
            blocks = max(blocks, (3 * tile_items(policy.scan.lookback) >> policy.downsweep.radix_bits) + 1)
        narrow = Bits(0, min(_digit_bits(case), keys[0].bits))
        yield RadixSortProblem(
            BEYOND_INT32, keys[0], "random", narrow, False, blocks, MOST_PORTION_ITEMS, "all", has_data=False
        )

    def inputs(self, case: Case, problem: RadixSortProblem, random: torch.Generator) -> RadixSortInputs:
        """See ReferenceKernel."""
        n = problem.num_items if problem.has_data else 0
        values = make_keys(problem.pattern, problem.key, n, random, case.device)
        raw = RadixKeys(problem.key).raw(values)
        seed = int(torch.randint(1 << 31, (1,), generator=random))
        return RadixSortInputs(with_origins(raw, has_values=case.key.value_size > 0), seed)

    def run(self, case: Case, problem: RadixSortProblem, inputs: RadixSortInputs, log: TileLog) -> Mapping[str, Tensor]:
        """See ReferenceKernel."""
        items, bits = inputs.items, problem.bits
        if not problem.has_data:
            _record(case, problem, log)
            return {}
        if problem.num_items == 0 or bits.begin == bits.end:
            return items.outputs()
        if problem.num_items <= tile_items(case.policy.single_tile):
            return _single_tile(case, problem, items, log).outputs()
        if _is_onesweep(case, problem):
            return _onesweep(case, problem, inputs, log).outputs()
        keys = RadixKeys(problem.key)
        for one in _passes(case, problem):
            sweeps = _sweeps(case, one)
            items = sweeps.sort(items, keys, one, case.warp_size, problem.blocks, log, descending=problem.descending)
        return items.outputs()

    def expected(self, case: Case, problem: RadixSortProblem, inputs: RadixSortInputs) -> Mapping[str, Expectation]:
        """See ReferenceKernel."""
        if not problem.has_data:
            return {}
        keys, bits = RadixKeys(problem.key), problem.bits
        order = expected_order(
            keys,
            inputs.items.keys,
            bits.begin,
            bits.end,
            descending=problem.descending,
            zero_is_negative=problem.descending and _is_onesweep(case, problem),
        )
        sorted_items = inputs.items.at(order.to(case.device))
        return {name: Exact(found) for name, found in sorted_items.outputs().items()}

    def coverage(self, case: Case, problem: RadixSortProblem) -> Mapping[str, int]:
        """See ReferenceKernel."""
        n, bits = problem.num_items, problem.bits
        if n == 0 or bits.begin == bits.end:
            return {}
        if problem.has_data and n <= tile_items(case.policy.single_tile):
            return {SINGLE_TILE: n}
        if case.policy.algorithm == "onesweep":
            places = range(bits.begin, bits.end, case.policy.onesweep.radix_bits)
            sums = {HISTOGRAM: n, EXCLUSIVE_SUM: len(places) << case.policy.exclusive_sum.radix_bits}
            return {**(sums if problem.has_data else {}), **{kernel_name(bit): n for bit in places}}
        found: dict[str, int] = {}
        for one in _passes(case, problem):
            sweeps = _sweeps(case, one)
            counts = sweeps.share(n, problem.blocks).grid * sweeps.digits
            found |= {one.named(UPSWEEP): n, one.named(SCAN_BINS): counts, one.named(DOWNSWEEP): n}
        return found

    def unbound(self, case: Case) -> Mapping[str, str]:
        """See ReferenceKernel."""
        if case.policy.algorithm == "onesweep":
            other = "onesweep needs no sweeps"
            return {
                **dict.fromkeys(("scan", "downsweep", "alt_downsweep", "upsweep", "alt_upsweep"), other),
                "exclusive_sum.threads_per_block": "a block sums up all digits of a place, however many threads it has",
            }
        return dict.fromkeys(("histogram", "exclusive_sum", "onesweep"), "of the other algorithm")


def keys_of(case: Case) -> tuple[Element, ...]:
    """The types of keys that a case is for."""
    found = (element_of(key.key_type, key.key_size) for key in case.keys)
    return tuple(dict.fromkeys(element for element in found if element is not None))


def _single_tile(case: Case, problem: RadixSortProblem, items: Pairs, log: TileLog) -> Pairs:
    """One block sorts everything."""
    policy, device = case.policy.single_tile, items.keys.device
    tiles = one_region(problem.num_items).to(device).tiles(tile_items(policy))
    tiles.record(SINGLE_TILE, log)
    out = items.blank()
    keys, bits = RadixKeys(problem.key), problem.bits
    block_radix_sort(items, out, keys, policy, tiles, bits.begin, bits.end, descending=problem.descending)
    return out


def _onesweep(case: Case, problem: RadixSortProblem, inputs: RadixSortInputs, log: TileLog) -> Pairs:
    """Counts of all digits, where they begin, then a pass for each."""
    policy, items, warp = case.policy, inputs.items, case.warp_size
    order = SortOrder(RadixKeys(problem.key), problem.bits.begin, problem.bits.end, problem.descending)
    places, count = order.passes(policy.onesweep.radix_bits), 1 << policy.onesweep.radix_bits
    bins = torch.zeros(len(places) * count, dtype=torch.int64, device=items.keys.device)
    histogram(items.keys, order, policy.histogram, warp, problem.blocks, bins, log)
    exclusive_sum(bins, len(places), policy.exclusive_sum, log)
    random = torch.Generator()
    random.manual_seed(inputs.seed)
    for bit, begins in zip(places, bins.view(-1, count), strict=True):
        items = onesweep(
            items, order, policy.onesweep, warp, bit, begins, problem.portion, problem.adversary, random, log
        )
    return items


def _record(case: Case, problem: RadixSortProblem, log: TileLog) -> None:
    """Notes the tiles, and sorts nothing."""
    if case.policy.algorithm == "onesweep":
        policy, bits = case.policy.onesweep, problem.bits
        for bit in range(bits.begin, bits.end, policy.radix_bits):
            for tiles in portions(problem.num_items, tile_items(policy), problem.portion):
                tiles.record(kernel_name(bit), log)
        return
    for one in _passes(case, problem):
        _sweeps(case, one).record(one, problem.num_items, problem.blocks, log)


def _passes(case: Case, problem: RadixSortProblem) -> tuple[DigitPass, ...]:
    regular, alternate = case.policy.downsweep.radix_bits, case.policy.alt_downsweep.radix_bits
    return passes_of(problem.bits.begin, problem.bits.end, regular, alternate)


def _sweeps(case: Case, one: DigitPass) -> SweepPolicies:
    policy = case.policy
    if one.is_alternate:
        return SweepPolicies(policy.alt_upsweep, policy.scan.lookback, policy.alt_downsweep)
    return SweepPolicies(policy.upsweep, policy.scan.lookback, policy.downsweep)


def _is_onesweep(case: Case, problem: RadixSortProblem) -> bool:
    return case.policy.algorithm == "onesweep" and problem.num_items > tile_items(case.policy.single_tile)


def _sizes(case: Case, *, quick: bool) -> tuple[int, ...]:
    """Around the edges of the one tile, and of several."""
    single, tile = tile_items(case.policy.single_tile), _tile_items(case)
    found = {0, 1, single - 1, single, single + 1, tile - 1, tile, tile + 1, 3 * tile + tile // 3 + 1}
    if not quick:
        found |= {2, single // 2, 2 * tile, 5 * tile, 5 * tile + 1, 1 << (2 * tile).bit_length()}
    return tuple(sorted(found))


def _digit_bits(case: Case) -> int:
    policy = case.policy
    return int(policy.onesweep.radix_bits if policy.algorithm == "onesweep" else policy.downsweep.radix_bits)


def _tile_items(case: Case) -> int:
    """Items of a tile of the passes."""
    policy = case.policy
    if policy.algorithm == "onesweep":
        return tile_items(policy.onesweep)
    return max(tile_items(policy.upsweep), tile_items(policy.downsweep))


KERNEL: Final = RadixSortKernel()
