"""The plans of a radix sort and of a selection from a resolved policy, its whole key and a device."""

from __future__ import annotations

from policygen.plan.device import Device
from policygen.plan.policies import BlockTile
from policygen.plan.policies import DigitTile
from policygen.plan.policies import RadixSortKey
from policygen.plan.policies import RadixSortTiles
from policygen.plan.policies import TopkKey
from policygen.plan.policies import TopkTile
from policygen.plan.policies import tile_of
from policygen.plan.radix_sort_plan import SORT_ONESWEEP
from policygen.plan.radix_sort_plan import RadixSortPlan
from policygen.plan.radix_sort_plan import SortShape
from policygen.plan.radix_sort_plan import SweepCounts
from policygen.plan.radix_sort_plan import multi_pass_plan
from policygen.plan.radix_sort_plan import onesweep_plan
from policygen.plan.radix_sort_plan import trivial_sort
from policygen.plan.residency import Residency
from policygen.plan.topk_plan import TopkPlan
from policygen.plan.topk_plan import topk_plan


def radix_sort_launch(
    policy: RadixSortTiles,
    key: RadixSortKey,
    *,
    num_items: int,
    device: Device,
    begin_bit: int = 0,
    end_bit: int | None = None,
    can_overwrite: bool = False,
    histogram_occupancy: int | None = None,
    alternate_occupancy: int | None = None,
) -> RadixSortPlan:
    """Plans a radix sort; see `trivial_sort`, `onesweep_plan` and `multi_pass_plan`.

    Args:
        policy: of `radix_sort`.
        key: its whole key.
        num_items: items to sort, 0 to 2^62, and no more than the offset type counts.
        device: with the residency of the kernel that moves keys: of several passes, that of the regular digit.
        begin_bit: the least significant bit that is compared.
        end_bit: one past the most significant bit that is; all bits of a key by default.
        can_overwrite: whether the input may be overwritten, as it may where the caller gives double buffers.
        histogram_occupancy: resident blocks a multiprocessor of onesweep's histogram kernel; by default as of the
            kernel that moves keys.
        alternate_occupancy: resident blocks a multiprocessor of the downsweep kernel of the narrower digit; likewise.

    Raises:
        ValueError: an argument is out of bounds; or upstream's own integers would not hold the plan.
    """
    residency = device.residency
    shape = SortShape(
        key_size=key.key_size,
        value_size=key.value_size,
        offset_size=key.offset_size,
        begin_bit=begin_bit,
        end_bit=8 * key.key_size if end_bit is None else end_bit,
        can_overwrite=can_overwrite,
    )
    trivial = trivial_sort(
        num_items,
        shape=shape,
        single_tile_items=tile_of(policy.single_tile),
        digit_bits=policy.single_tile.radix_bits,
        residency=residency,
    )
    if trivial is not None:
        return trivial
    if policy.algorithm == SORT_ONESWEEP:
        return onesweep_plan(
            num_items,
            shape=shape,
            tile_items=tile_of(policy.onesweep),
            digit_bits=policy.onesweep.radix_bits,
            residency=residency,
            histogram_occupancy=histogram_occupancy,
            compute_capability=device.compute_capability,
        )
    return multi_pass_plan(
        num_items,
        shape=shape,
        regular=_sweeps(policy.upsweep, policy.downsweep),
        alternate=_sweeps(policy.alt_upsweep, policy.alt_downsweep),
        scan_items=tile_of(policy.scan.lookback),
        residency=residency,
        alternate_residency=None if alternate_occupancy is None else _with_occupancy(residency, alternate_occupancy),
    )


def _sweeps(upsweep: BlockTile, downsweep: DigitTile) -> SweepCounts:
    return SweepCounts(
        radix_bits=downsweep.radix_bits, upsweep_items=tile_of(upsweep), downsweep_items=tile_of(downsweep)
    )


def _with_occupancy(residency: Residency, occupancy: int) -> Residency:
    return Residency(
        sm_count=residency.sm_count, occupancy=occupancy, subscription_factor=residency.subscription_factor
    )


def topk_launch(
    policy: TopkTile,
    key: TopkKey,
    *,
    num_items: int,
    device: Device,
    k: int,
    value_size: int = 0,
    k_size: int | None = None,
    key_bits: int | None = None,
    histogram_occupancy: int | None = None,
    last_filter_occupancy: int | None = None,
) -> TopkPlan:
    """Plans a selection of the greatest or least keys; see `topk_plan`.

    Args:
        policy: of `topk`.
        key: its whole key.
        num_items: keys to choose from, 0 to 2^62, and no more than the offset type counts.
        device: with the residency of the kernel that filters and counts.
        k: keys to choose.
        value_size: bytes of a value that goes with a key; 0 for none.
        k_size: bytes of the type of k, 4 or 8; by default as of the offset type.
        key_bits: bits of a key that are compared; all by default.
        histogram_occupancy: resident blocks a multiprocessor of the first kernel; by default as of the main one.
        last_filter_occupancy: resident blocks a multiprocessor of the last kernel; likewise.

    Raises:
        ValueError: an argument is out of bounds, or the offset type does not count so many keys.
    """
    return topk_plan(
        num_items,
        k=k,
        key_size=key.key_size,
        value_size=value_size,
        offset_size=key.offset_size,
        tile_items=tile_of(policy),
        digit_bits=policy.bits_per_pass,
        residency=device.residency,
        k_size=k_size,
        key_bits=key_bits,
        histogram_occupancy=histogram_occupancy,
        last_filter_occupancy=last_filter_occupancy,
    )
