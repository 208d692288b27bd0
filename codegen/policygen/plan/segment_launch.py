"""The plan of a segmented reduction from a resolved policy and a device."""

from __future__ import annotations

from policygen.plan.device import Device
from policygen.plan.policies import SegmentedReduceTiles
from policygen.plan.policies import WarpTile
from policygen.plan.segment_plan import SegmentPlan
from policygen.plan.segment_plan import WarpSegments
from policygen.plan.segment_plan import segment_plan


def segmented_reduce_launch(
    policy: SegmentedReduceTiles,
    key: object,  # noqa: ARG001 - every launch takes one
    *,
    num_items: int,
    device: Device,
    max_segment_size: int = 0,
) -> SegmentPlan:
    """Plans a segmented reduction; see `segment_plan`.

    Args:
        policy: of `segmented_reduce`.
        key: its whole key, which decides nothing but the policy.
        num_items: segments, 0 to 2^62.
        device: with the residency of the kernel.
        max_segment_size: items of the longest segment, if the caller promises one; 0 else.

    Raises:
        ValueError: an argument is out of bounds.
    """
    return segment_plan(
        num_items,
        small=_warp_segments(policy.small_reduce),
        medium=_warp_segments(policy.medium_reduce),
        residency=device.residency,
        max_segment_size=max_segment_size,
    )


def _warp_segments(counts: WarpTile) -> WarpSegments:
    return WarpSegments(
        most_items=counts.threads_per_warp * counts.items_per_thread,
        segments_per_block=counts.threads_per_block // counts.threads_per_warp,
    )
