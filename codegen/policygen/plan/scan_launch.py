"""The plan of a scan from a resolved policy, its whole key and a device."""

from __future__ import annotations

from attrs import frozen

from policygen.plan.device import Device
from policygen.plan.lookahead_plan import ElementLayout
from policygen.plan.lookahead_plan import LookaheadCounts
from policygen.plan.lookahead_plan import LookaheadPlan
from policygen.plan.lookahead_plan import lookahead_plan
from policygen.plan.lookback_delay import DelayActivity
from policygen.plan.lookback_delay import delay_activity
from policygen.plan.lookback_delay import first_ungated_items
from policygen.plan.policies import ScanKey
from policygen.plan.policies import ScanTiles
from policygen.plan.policies import tile_of
from policygen.plan.scan_plan import LookbackPlan
from policygen.plan.scan_plan import is_single_word
from policygen.plan.scan_plan import lookback_plan


@frozen(kw_only=True)
class ScanPlan:
    """The launches of a scan.

    Attributes:
        algorithm: lookback or lookahead.
        lookback: the launches of a lookback scan; None for the other.
        lookahead: the launch of a lookahead scan; None for the other.
        delay: what the policy's delay does at the grid of a lookback scan; None for the other.
        first_ungated_items: the fewest items at whose grid a gated delay sleeps; None for a lookahead scan.
    """

    algorithm: str
    lookback: LookbackPlan | None = None
    lookahead: LookaheadPlan | None = None
    delay: DelayActivity | None = None
    first_ungated_items: int | None = None


def scan_launch(policy: ScanTiles, key: ScanKey, *, num_items: int, device: Device, static_smem: int = 0) -> ScanPlan:
    """Plans a scan; see `lookback_plan`, `lookahead_plan` and `delay_activity`.

    A tile state of lookback is one word where the accumulator's bytes are copied as such; that it is constructed so is
    what the key says, and is taken for it.

    Args:
        policy: of `scan`.
        key: its whole key.
        num_items: items to scan, 0 to 2^62.
        device: with the residency of the scan kernel.
        static_smem: bytes of static shared memory of the lookahead kernel, which its stages cannot have.

    Raises:
        ValueError: an argument is out of bounds; there are more tiles than upstream counts; or of a lookahead scan, no
            stage fits or the most shared memory of a block is not known.
    """
    residency = device.residency
    if policy.algorithm == "lookahead":
        return _lookahead(policy, key, num_items, device, device.known("max_smem_per_block_optin") - static_smem)
    tile_items = tile_of(policy.lookback)
    plan = lookback_plan(
        num_items,
        tile_items=tile_items,
        accum_size=key.accum_size,
        single_word=is_single_word(
            key.accum_size,
            primitive=False,
            trivially_copyable=key.accum_is_primitive_or_trivially_copy_constructible,
        ),
        residency=residency,
    )
    delay = policy.lookback.lookback_delay
    activity = delay_activity(
        delay.kind,
        delay_ns=delay.delay,
        l2_write_latency_ns=delay.l2_write_latency,
        grid=plan.grid,
        compute_capability=device.compute_capability,
    )
    return ScanPlan(
        algorithm=policy.algorithm,
        lookback=plan,
        delay=activity,
        first_ungated_items=first_ungated_items(tile_items),
    )


def _lookahead(policy: ScanTiles, key: ScanKey, num_items: int, device: Device, max_dynamic_smem: int) -> ScanPlan:
    counts = policy.lookahead
    plan = lookahead_plan(
        num_items,
        counts=LookaheadCounts(
            reduce_and_scan_warps=counts.reduce_and_scan_warps,
            items_per_thread=counts.items_per_thread,
            lookahead_stages=counts.lookahead_stages,
            block_idx_stages=counts.block_idx_stages,
        ),
        layout=ElementLayout(
            input_size=key.input_value_size,
            input_alignment=key.input_value_alignment,
            output_alignment=key.output_value_alignment,
            accum_size=key.accum_size,
            accum_alignment=key.accum_alignment,
        ),
        sm_count=device.residency.sm_count,
        max_dynamic_smem=max_dynamic_smem,
        occupancy=device.residency.occupancy,
    )
    return ScanPlan(algorithm=policy.algorithm, lookahead=plan)
