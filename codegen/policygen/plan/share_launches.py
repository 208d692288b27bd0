"""The plans of launches that need no policy: whole tiles of a bounded grid, and whole partitions."""

from __future__ import annotations

from attrs import frozen

from policygen.plan.device import Device
from policygen.plan.even_share import EvenShare
from policygen.plan.even_share import even_share
from policygen.plan.partitions import PartitionPlan
from policygen.plan.partitions import partition_plan
from policygen.plan.residency import Waves


@frozen(kw_only=True)
class EvenShareLaunch:
    """Whole tiles dealt to the blocks that a device takes.

    Attributes:
        max_blocks: the most blocks of the launch.
        share: how tiles are dealt.
        waves: how the launch runs.
    """

    max_blocks: int
    share: EvenShare
    waves: Waves


def even_share_launch(
    *, num_items: int, device: Device, tile_items: int, max_grid: int | None = None
) -> EvenShareLaunch:
    """Plans whole tiles of a bounded grid; see `even_share`.

    Args:
        num_items: items of the problem, at most 2^62.
        device: with the residency of the kernel.
        tile_items: items of a tile.
        max_grid: the most blocks to launch; by default occupancy x sm_count x subscription_factor.

    Raises:
        ValueError: an argument is out of bounds.
    """
    max_blocks = device.residency.max_blocks if max_grid is None else max_grid
    share = even_share(num_items, max_blocks, tile_items)
    return EvenShareLaunch(max_blocks=max_blocks, share=share, waves=device.residency.waves(share.grid))


@frozen(kw_only=True)
class PartitionLaunch:
    """A sequence in whole partitions, one block each.

    Attributes:
        partitions: how it is cut.
        waves: how a launch of a block a partition runs.
    """

    partitions: PartitionPlan
    waves: Waves


def partitions_launch(*, num_items: int, device: Device, partition_items: int) -> PartitionLaunch:
    """Plans whole partitions of a sequence, one block each; see `partition_plan`.

    Args:
        num_items: tokens of the sequence, 0 to 2^62.
        device: with the residency of the kernel.
        partition_items: tokens of a partition.

    Raises:
        ValueError: an argument is out of bounds.
    """
    partitions = partition_plan(num_items, partition_items)
    return PartitionLaunch(partitions=partitions, waves=device.residency.waves(partitions.num_partitions))
