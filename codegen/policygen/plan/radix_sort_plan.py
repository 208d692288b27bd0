"""The launches of a radix sort: one tile, onesweep, or several passes.

Source: `dispatch_radix_sort.cuh`. Which of them runs is asked in this order: nothing to do; a copy, where no bit is
sorted by; one tile; then what the policy says.
"""

from __future__ import annotations

from typing import Final

from attrs import frozen

from policygen.plan.counts import MAX_ITEMS
from policygen.plan.counts import ceil_div
from policygen.plan.counts import checked
from policygen.plan.counts import checked_items
from policygen.plan.even_share import EvenShare
from policygen.plan.even_share import even_share
from policygen.plan.residency import Residency
from policygen.plan.residency import Waves
from policygen.plan.temporary_storage import NO_STORAGE
from policygen.plan.temporary_storage import size_query_bytes

SORT_NOTHING: Final = "nothing"
SORT_COPY: Final = "copy"
SORT_SINGLE_TILE: Final = "single_tile"
SORT_ONESWEEP: Final = "onesweep"
SORT_MULTI_PASS: Final = "multi_pass"

SORT_ALGORITHMS: Final = (SORT_NOTHING, SORT_COPY, SORT_SINGLE_TILE, SORT_ONESWEEP, SORT_MULTI_PASS)
"""What a sort can come to."""

MOST_DIGIT_BITS: Final = 30
"""The widest digit whose values an `int` counts; policies have 4 to 11 bits."""

_MOST_PORTION_ITEMS: Final = 2**28 - 1  # a lookback state has 30 bits for a count
_COUNTER_BYTES_OF_A_PORTION: Final = 4
_INIT_THREADS: Final = 256
_DEPENDENT_LAUNCH_ITEMS: Final = 2**24
_DEPENDENT_LAUNCH_CAPABILITY: Final = 90


@frozen(kw_only=True)
class SortShape:
    """What is sorted.

    Attributes:
        key_size: bytes of a key.
        value_size: bytes of a value; 0 where keys are sorted alone.
        offset_size: bytes of the offset type, 4 or 8. It is unsigned.
        begin_bit: the least significant bit that is compared.
        end_bit: one past the most significant bit that is.
        can_overwrite: whether the input may be overwritten, as it may where the caller gives double buffers.
    """

    key_size: int
    value_size: int
    offset_size: int
    begin_bit: int
    end_bit: int
    can_overwrite: bool

    def __attrs_post_init__(self) -> None:
        checked("key_size", self.key_size, 1)
        checked("value_size", self.value_size, 0)
        if self.offset_size not in (4, 8):
            raise ValueError(f"an offset has 4 or 8 bytes, not {self.offset_size}")
        checked("end_bit", self.end_bit, 0, 8 * self.key_size)
        checked("begin_bit", self.begin_bit, 0, self.end_bit)

    @property
    def bits(self) -> int:
        """Bits that are compared."""
        return self.end_bit - self.begin_bit

    def checked_items(self, num_items: int) -> int:
        """A number of items that the offsets can count. Raises ValueError for any other."""
        return min(checked_items(num_items), checked("num_items", num_items, 0, 2 ** (8 * self.offset_size) - 1))

    def buffer_bytes(self, num_items: int) -> tuple[int, int]:
        """Bytes of one more buffer for the keys, and of one for the values, where the input has to stay."""
        return (0, 0) if self.can_overwrite else (num_items * self.key_size, num_items * self.value_size)


@frozen(kw_only=True)
class RadixSortPlan:
    """The launches of a radix sort.

    Attributes:
        num_items: items to sort.
        algorithm: what runs, one of `SORT_ALGORITHMS`.
        pass_bits: bits of the digit of each pass, from the least significant; a single tile sorts by all its digits in
            one launch.
        tile_items: items of the tile of the kernels that move keys; 0 where none does. Of several passes, that of the
            regular digit.
        grid: blocks of a launch of the kernel that moves keys: of a whole portion, or of a pass of the regular digit.
        share: tiles of each block of a pass of the regular digit, raked; None but for several passes.
        alternate_share: the same for the narrower digit; None where no pass has it.
        alternate_passes: passes of the narrower digit, which come first.
        portion_items: items of a whole portion of onesweep, which sorts one after the other; 0 else.
        portions: portions; 0 but for onesweep.
        last_portion_grid: blocks of the launches for the last portion.
        histogram_grid: blocks of onesweep's histogram; 0 else.
        init_grid: blocks that set onesweep's bins and counters to zero; 0 else.
        dependent_launch: whether launches overlap with the ends of those before them. Onesweep's do up to 2^24 items,
            from 9.0 on; kernels then set the lookback states to zero in place of the driver.
        launches: kernels, one after the other.
        temporary_bytes: bytes of all temporary arrays, without slack; 1 where there are none.
        allocation_bytes: what upstream's size query answers.
        waves: how a launch of `grid` blocks runs.
    """

    num_items: int
    algorithm: str
    pass_bits: tuple[int, ...] = ()
    tile_items: int = 0
    grid: int = 0
    share: EvenShare | None = None
    alternate_share: EvenShare | None = None
    alternate_passes: int = 0
    portion_items: int = 0
    portions: int = 0
    last_portion_grid: int = 0
    histogram_grid: int = 0
    init_grid: int = 0
    dependent_launch: bool = False
    launches: int = 0
    temporary_bytes: int = NO_STORAGE
    allocation_bytes: int = NO_STORAGE
    waves: Waves

    @property
    def passes(self) -> int:
        """Passes over the keys."""
        return len(self.pass_bits)


def trivial_sort(
    num_items: int, *, shape: SortShape, single_tile_items: int, digit_bits: int, residency: Residency
) -> RadixSortPlan | None:
    """The plan of a sort that takes one block or none, or None for any other.

    Args:
        num_items: items to sort.
        shape: what is sorted.
        single_tile_items: threads_per_block x items_per_thread of `single_tile`.
        digit_bits: `radix_bits` of `single_tile`.
        residency: of the kernel.

    Raises:
        ValueError: an argument is out of bounds.
    """
    num_items = shape.checked_items(num_items)
    single_tile_items = checked("single_tile_items", single_tile_items, 1)
    if num_items == 0 or (shape.bits == 0 and shape.can_overwrite):
        return RadixSortPlan(num_items=num_items, algorithm=SORT_NOTHING, waves=residency.waves(0))
    if shape.bits == 0:
        return RadixSortPlan(num_items=num_items, algorithm=SORT_COPY, waves=residency.waves(0))
    if num_items > single_tile_items:
        return None
    return RadixSortPlan(
        num_items=num_items,
        algorithm=SORT_SINGLE_TILE,
        pass_bits=digit_passes(shape, regular_bits=digit_bits, alternate_bits=digit_bits),
        tile_items=single_tile_items,
        grid=1,
        launches=1,
        waves=residency.waves(1),
    )


def digit_passes(shape: SortShape, *, regular_bits: int, alternate_bits: int) -> tuple[int, ...]:
    """The bits of the digit of each pass.

    There are as many passes as regular digits cover the bits, and the first of them have the narrower digit: as many
    as the regular ones would have bits too many. Where both digits are the same, the last pass takes what is left.

    Args:
        shape: what is sorted.
        regular_bits: bits of the regular digit, 1 to 30.
        alternate_bits: bits of the narrower digit, 1 to 30; upstream's is one bit narrower.

    Raises:
        ValueError: an argument is out of bounds.
    """
    regular_bits = checked("radix_bits", regular_bits, 1, MOST_DIGIT_BITS)
    alternate_bits = checked("radix_bits of the alternate digit", alternate_bits, 1, MOST_DIGIT_BITS)
    too_many = ceil_div(shape.bits, regular_bits) * regular_bits - shape.bits
    alternate_end = min(shape.bits, too_many * alternate_bits)
    found: list[int] = []
    bit = 0
    while bit < shape.bits:
        bits = min(alternate_bits if bit < alternate_end else regular_bits, shape.bits - bit)
        found.append(bits)
        bit += bits
    return tuple(found)


def onesweep_plan(
    num_items: int,
    *,
    shape: SortShape,
    tile_items: int,
    digit_bits: int,
    residency: Residency,
    histogram_occupancy: int | None = None,
    compute_capability: int | None = None,
) -> RadixSortPlan:
    """Plans a sort by onesweep: all histograms at once, then a pass a digit that looks back for where to scatter to.

    Args:
        num_items: items to sort, at least 1.
        shape: what is sorted, by at least one bit.
        tile_items: threads_per_block x items_per_thread of `onesweep`, at most 2^28 - 1.
        digit_bits: `radix_bits` of `onesweep`.
        residency: of the onesweep kernel, whose grid does not depend on it.
        histogram_occupancy: resident blocks a multiprocessor of the histogram kernel, which fills the device once; by
            default as of the onesweep kernel.
        compute_capability: major x 10 + minor; None for hardware that has none, where launches do not overlap.

    Raises:
        ValueError: an argument is out of bounds; or upstream's own integers would not hold the plan.
    """
    num_items = checked("num_items", shape.checked_items(num_items), 1, MAX_ITEMS)
    tile_items = checked("tile_items", tile_items, 1, _MOST_PORTION_ITEMS)
    pass_bits = digit_passes(shape, regular_bits=digit_bits, alternate_bits=digit_bits)
    passes, digits = len(pass_bits), 1 << digit_bits
    portion_items = _MOST_PORTION_ITEMS // tile_items * tile_items
    portions = ceil_div(num_items, portion_items)
    grid = ceil_div(min(num_items, portion_items), tile_items)
    last_items = num_items - (portions - 1) * portion_items
    arrays = (
        portions * passes * digits * shape.offset_size,
        checked("digits of all blocks", grid * digits, 1) * _COUNTER_BYTES_OF_A_PORTION,
        *(shape.buffer_bytes(num_items) if passes > 1 else (0, 0)),
        portions * passes * _COUNTER_BYTES_OF_A_PORTION,
    )
    is_dependent = (
        num_items <= _DEPENDENT_LAUNCH_ITEMS
        and compute_capability is not None
        and compute_capability >= _DEPENDENT_LAUNCH_CAPABILITY
    )
    sweeps = passes * portions
    histogram_occupancy = residency.occupancy if histogram_occupancy is None else histogram_occupancy
    return RadixSortPlan(
        num_items=num_items,
        algorithm=SORT_ONESWEEP,
        pass_bits=pass_bits,
        tile_items=tile_items,
        grid=grid,
        portion_items=portion_items,
        portions=portions,
        last_portion_grid=ceil_div(last_items, tile_items),
        histogram_grid=checked("histogram_occupancy", histogram_occupancy, 1) * residency.sm_count,
        init_grid=ceil_div(max(portions * passes, passes * digits), _INIT_THREADS),
        dependent_launch=is_dependent,
        launches=3 + sweeps * (2 if is_dependent else 1),
        temporary_bytes=sum(arrays),
        allocation_bytes=size_query_bytes(*arrays),
        waves=residency.waves(grid),
    )


@frozen(kw_only=True)
class SweepCounts:
    """What a plan reads of the policies of one digit of several passes.

    Attributes:
        radix_bits: bits of the digit: `radix_bits` of the downsweep, whatever the upsweep says.
        upsweep_items: items of the upsweep's tile.
        downsweep_items: items of the downsweep's tile.
    """

    radix_bits: int
    upsweep_items: int
    downsweep_items: int

    @property
    def tile_items(self) -> int:
        """Items that blocks are dealt at once: the larger tile."""
        return max(checked("upsweep_items", self.upsweep_items, 1), checked("downsweep_items", self.downsweep_items, 1))


def multi_pass_plan(
    num_items: int,
    *,
    shape: SortShape,
    regular: SweepCounts,
    alternate: SweepCounts,
    scan_items: int,
    residency: Residency,
    alternate_residency: Residency | None = None,
) -> RadixSortPlan:
    """Plans a sort by several passes: of each digit a count, a scan of the counts and a scatter.

    Args:
        num_items: items to sort, at least 1.
        shape: what is sorted, by at least one bit.
        regular: of the regular digit.
        alternate: of the narrower digit.
        scan_items: items of the tile of the kernel that scans the counts.
        residency: of the downsweep kernel of the regular digit.
        alternate_residency: of that of the narrower digit; by default the same.

    Raises:
        ValueError: an argument is out of bounds; or upstream's own integers would not hold the plan.
    """
    num_items = checked("num_items", shape.checked_items(num_items), 1, MAX_ITEMS)
    alternate_residency = alternate_residency or residency
    pass_bits = digit_passes(shape, regular_bits=regular.radix_bits, alternate_bits=alternate.radix_bits)
    share = even_share(num_items, residency.max_blocks, regular.tile_items)
    if alternate.radix_bits > regular.radix_bits:
        # upstream allots counts for the regular digit alone
        raise ValueError(f"a digit of {alternate.radix_bits} bits is no narrower one than {regular.radix_bits}")
    alternate_passes = min(len(pass_bits), -shape.bits % regular.radix_bits)
    most_blocks = max(residency.max_blocks, alternate_residency.max_blocks)
    scan_items = checked("scan_items", scan_items, 1)
    counts = checked("the number of counts", most_blocks * (1 << regular.radix_bits) + scan_items, 1)
    arrays = (counts * shape.offset_size, *shape.buffer_bytes(num_items))
    return RadixSortPlan(
        num_items=num_items,
        algorithm=SORT_MULTI_PASS,
        pass_bits=pass_bits,
        tile_items=regular.tile_items,
        grid=share.grid,
        share=share,
        alternate_share=(
            even_share(num_items, alternate_residency.max_blocks, alternate.tile_items) if alternate_passes else None
        ),
        alternate_passes=alternate_passes,
        launches=3 * len(pass_bits),
        temporary_bytes=sum(arrays),
        allocation_bytes=size_query_bytes(*arrays),
        waves=residency.waves(share.grid),
    )
