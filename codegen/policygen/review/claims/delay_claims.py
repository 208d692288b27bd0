"""E: what the notes say of lookback delays."""

from __future__ import annotations

from typing import Final

from policygen.plan.lookback_delay import FENCE
from policygen.plan.lookback_delay import SLEEP
from policygen.plan.lookback_delay import delay_activity
from policygen.plan.residency import Residency
from policygen.plan.scan_plan import lookback_plan
from policygen.review.claims.claim import Answers
from policygen.review.claims.claim import Claim
from policygen.review.delays_section import DELAYS
from policygen.review.upstream import Upstream

_TILE: Final = 384 * 22
_CAPABILITY: Final = 100
_ITEMS: Final = 4_215_553


def _first(kind: str, grid: int) -> str:
    return delay_activity(kind, delay_ns=350, l2_write_latency_ns=450, grid=grid, compute_capability=_CAPABILITY).before


def _gate(_: Upstream) -> Answers:
    return {f"fixed_delay at {grid} blocks": _first("fixed_delay", grid) for grid in (499, 500)}


def _ungated(upstream: Upstream) -> Answers:
    names = upstream.spec.vocabulary.enumerations[DELAYS].names[:8]
    sleeping = [name for name in names if _first(name, 499) == SLEEP]
    return {"kinds that sleep below 500 blocks": ", ".join(sleeping) or "none"}


def _grid_of_a_scan(_: Upstream) -> Answers:
    plan = lookback_plan(
        _ITEMS,
        tile_items=_TILE,
        accum_size=4,
        single_word=True,
        residency=Residency(sm_count=16, occupancy=2),
    )
    return {
        f"blocks of a scan of {_ITEMS:,} floats": plan.grid,
        "fixed_delay still fences there": _first("fixed_delay", plan.grid) == FENCE,
    }


_ACTIVITY: Final = "`policygen.plan.lookback_delay`"

DELAY_CLAIMS: Final = (
    Claim("E1", "N0, N2", "scan", "a delay is a fence below 500 blocks, and sleeps from there on",
          {"fixed_delay at 499 blocks": "fence", "fixed_delay at 500 blocks": "sleep"}, _gate, _ACTIVITY),
    Claim("E2", "N0, N2", "scan", "all kinds of delay are a fence below 500 blocks",
          {"kinds that sleep below 500 blocks": "none"}, _ungated, _ACTIVITY),
    Claim("E4", "N2", "scan", "a scan on 16 multiprocessors has some 160 blocks at most, far below 500",
          {f"blocks of a scan of {_ITEMS:,} floats": 160, "fixed_delay still fences there": True},
          _grid_of_a_scan, "the plan of a lookback scan, tiles of 8,448"),
)  # fmt: skip
