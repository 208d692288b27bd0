"""The plan of a reduction from a resolved policy, its whole key and a device."""

from __future__ import annotations

from policygen.plan.device import Device
from policygen.plan.policies import ReduceKey
from policygen.plan.policies import ReduceTiles
from policygen.plan.policies import tile_of
from policygen.plan.reduce_plan import ReducePlan
from policygen.plan.reduce_plan import reduce_plan


def reduce_launch(policy: ReduceTiles, key: ReduceKey, *, num_items: int, device: Device) -> ReducePlan:
    """Plans a reduction; see `reduce_plan`.

    Args:
        policy: of `reduce`.
        key: its whole key.
        num_items: items to reduce, 0 to 2^62.
        device: with the residency of the first pass's kernel.

    Raises:
        ValueError: an argument is out of bounds; or upstream's own integers would not hold the plan.
    """
    return reduce_plan(
        num_items,
        determinism=key.determinism,
        single_tile_items=tile_of(policy.single_tile),
        multi_tile_items=tile_of(policy.multi_tile),
        accum_size=key.accum_size,
        residency=device.residency,
    )
