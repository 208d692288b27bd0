"""The plan of a batched copy from a resolved policy and a device."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from policygen.plan.batch_memcpy_plan import BatchMemcpyPlan
from policygen.plan.batch_memcpy_plan import CopyThresholds
from policygen.plan.batch_memcpy_plan import CopyWork
from policygen.plan.batch_memcpy_plan import batch_memcpy_plan
from policygen.plan.batch_memcpy_plan import copy_work
from policygen.plan.device import Device
from policygen.plan.policies import BatchMemcpyTiles


@frozen(kw_only=True)
class BatchMemcpyLaunch:
    """The launches of a batched copy, and what its buffers come to.

    Attributes:
        plan: the launches.
        work: who copies the buffers; None where their sizes are not given.
    """

    plan: BatchMemcpyPlan
    work: CopyWork | None = None


def batch_memcpy_launch(
    policy: BatchMemcpyTiles,
    key: object,  # noqa: ARG001 - every launch takes one; this algorithm's has no field
    *,
    num_items: int,
    device: Device,
    size_bytes: int = 8,
    sizes: Sequence[int] = (),
    large_occupancy: int | None = None,
) -> BatchMemcpyLaunch:
    """Plans a batched copy; see `batch_memcpy_plan` and `copy_work`.

    Args:
        policy: of `batch_memcpy`.
        key: its whole key, which decides nothing.
        num_items: buffers to copy, 0 to 2^62.
        device: with the residency of the first kernel.
        size_bytes: bytes of the type that sizes have.
        sizes: bytes of each buffer, if they are known on the host; upstream does not need them.
        large_occupancy: resident blocks a multiprocessor of the second kernel; by default as of the first one.

    Raises:
        ValueError: an argument is out of bounds; sizes are given, but not one for each buffer; or upstream's own
            integers would not hold the plan.
    """
    small, large = policy.lookback.small_buffer, policy.lookback.large_buffer
    if sizes and len(sizes) != num_items:
        raise ValueError(f"there are {len(sizes)} sizes for {num_items} buffers")
    thresholds = CopyThresholds(
        warp_level_threshold=small.warp_level_threshold,
        block_level_threshold=small.block_level_threshold,
        block_level_tile_size=small.block_level_tile_size,
    )
    plan = batch_memcpy_plan(
        num_items,
        tile_buffers=small.threads_per_block * small.buffers_per_thread,
        large_tile_bytes=large.threads_per_block * large.bytes_per_thread,
        size_bytes=size_bytes,
        residency=device.residency,
        large_occupancy=large_occupancy,
    )
    return BatchMemcpyLaunch(plan=plan, work=copy_work(sizes, thresholds) if sizes else None)
