"""The launches of a segmented reduction.

Source: `dispatch_segmented_reduce.cuh`, for segments between offsets.
"""

from __future__ import annotations

from attrs import frozen

from policygen.plan.counts import INT32_MAX
from policygen.plan.counts import MAX_ITEMS
from policygen.plan.counts import ceil_div
from policygen.plan.counts import checked
from policygen.plan.counts import checked_items
from policygen.plan.residency import Residency
from policygen.plan.residency import Waves
from policygen.plan.temporary_storage import NO_STORAGE


@frozen(kw_only=True)
class SegmentPlan:
    """The launches of a segmented reduction; only how long the longest segment is may count.

    Attributes:
        num_segments: segments; an empty one is worked on too.
        segments_per_block: segments that a block works on.
        launches: launches, each over 2^31 - 1 segments at most.
        grid: blocks of each launch but the last one; of the only one.
        last_grid: blocks of the last launch.
        allocation_bytes: what upstream's size query answers; 0 for no segments, of which it says nothing and leaves the
            caller's number as it was.
        waves: how a launch of `grid` blocks runs, if segments are equally long.
    """

    num_segments: int
    segments_per_block: int
    launches: int
    grid: int
    last_grid: int
    allocation_bytes: int
    waves: Waves


@frozen(kw_only=True)
class WarpSegments:
    """How a block shares its threads among short segments.

    Attributes:
        most_items: items of the longest segment that is short enough.
        segments_per_block: segments that a block works on.
    """

    most_items: int
    segments_per_block: int

    def __attrs_post_init__(self) -> None:
        checked("most_items", self.most_items, 0)
        checked("segments_per_block", self.segments_per_block, 1)


def segment_plan(
    num_segments: int, *, small: WarpSegments, medium: WarpSegments, residency: Residency, max_segment_size: int = 0
) -> SegmentPlan:
    """Plans a segmented reduction.

    Args:
        num_segments: segments, 0 to 2^62.
        small: of `small_reduce`.
        medium: of `medium_reduce`.
        residency: of the kernel; grids do not depend on it.
        max_segment_size: items of the longest segment, if the caller promises one; 0 else, which gives each segment a
            block.

    Raises:
        ValueError: an argument is out of bounds.
    """
    num_segments = checked_items(num_segments)
    longest = checked("max_segment_size", max_segment_size, 0, MAX_ITEMS)
    segments_per_block = 1
    if 1 <= longest <= small.most_items:
        segments_per_block = small.segments_per_block
    elif 1 <= longest <= medium.most_items:
        segments_per_block = medium.segments_per_block
    launches = ceil_div(num_segments, INT32_MAX)
    grid = ceil_div(min(num_segments, INT32_MAX), segments_per_block)
    last_segments = num_segments - (launches - 1) * INT32_MAX if launches else 0
    return SegmentPlan(
        num_segments=num_segments,
        segments_per_block=segments_per_block,
        launches=launches,
        grid=grid,
        last_grid=ceil_div(last_segments, segments_per_block),
        allocation_bytes=NO_STORAGE if num_segments else 0,
        waves=residency.waves(grid),
    )
