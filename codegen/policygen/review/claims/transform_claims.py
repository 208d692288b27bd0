"""F: what the notes say of transform."""

from __future__ import annotations

from typing import Any
from typing import Final

from policygen.plan.counts import ceil_div
from policygen.plan.residency import Residency
from policygen.plan.transform_plan import async_items_per_thread
from policygen.plan.transform_plan import prefetch_plan
from policygen.plan.transform_plan import tiles_of_row
from policygen.plan.transform_plan import vectorized_plan
from policygen.review.claims.claim import Answers
from policygen.review.claims.claim import Claim
from policygen.review.upstream import Upstream

_FLOAT: Final = {"value_type_size": 4}
_FLOATS: Final = {"inputs": [_FLOAT], "output": _FLOAT}
_RESIDENCY: Final = Residency(sm_count=16, occupancy=2)
_KIB: Final = 1_024


def _policy(upstream: Upstream, architecture: str, **key: Any) -> Any:
    return upstream.resolve(architecture, "transform", **(key or _FLOATS)).policy


def _bytes_in_flight(upstream: Upstream) -> Answers:
    return {
        f"KiB on {architecture}": _policy(upstream, architecture).min_bytes_in_flight // _KIB
        for architecture in ("7.5", "8.0", "8.6", "9.0", "10.0", "12.0")
    }


def _by_bandwidth(upstream: Upstream) -> Answers:
    used = {name for target in ("9.0", "10.0") for name in upstream.rules(target, "transform").facts_used}
    return {"the reference's rules read a bandwidth": any("bandwidth" in name for name in used)}


def _async_grows(_: Upstream) -> Answers:
    items = {
        in_flight: async_items_per_thread(
            in_flight * _KIB, occupancy_at=lambda _: 8, threads_per_block=256, loaded_bytes=4
        )
        for in_flight in (12, 64)
    }
    return {"an asynchronous copy has the same items at 12 and at 64 KiB": items[12] == items[64]}


def _algorithms(upstream: Upstream) -> Answers:
    odd = {"inputs": [{"value_type_size": 12}], "output": {"value_type_size": 12}}
    apart = {"inputs": [{"value_type_size": 4, "is_contiguous": False}], "output": _FLOAT}
    sparse = {**_FLOATS, "dense_output": False}
    return {
        "contiguous floats on 7.5": _policy(upstream, "7.5").algorithm,
        "12-byte elements on 7.5": _policy(upstream, "7.5", **odd).algorithm,
        "not contiguous on 7.5": _policy(upstream, "7.5", **apart).algorithm,
        "not every output written on 9.0": _policy(upstream, "9.0", **sparse).algorithm,
        "contiguous floats on 8.0": _policy(upstream, "8.0").algorithm,
        "contiguous floats on 9.0": _policy(upstream, "9.0").algorithm,
    }


def _vectorized(upstream: Upstream, architecture: str, **key: Any) -> str:
    counts = _policy(upstream, architecture, **key).vectorized
    return f"{counts.threads_per_block} x {counts.items_per_thread}, vector {counts.vec_size}"


def _fallback(upstream: Upstream) -> Answers:
    return {"on 7.5": _vectorized(upstream, "7.5")}


def _triad(upstream: Upstream) -> Answers:
    triad = {"inputs": [_FLOAT, _FLOAT], "output": _FLOAT}
    return {"two inputs on 8.0": _vectorized(upstream, "8.0", **triad)}


def _spread_items(_: Upstream) -> Answers:
    found: dict[str, bool] = {}
    for items, loaded in ((20_000, 4), (10**9, 4), (10**9, 16)):
        plan = prefetch_plan(
            items,
            threads_per_block=256,
            min_bytes_in_flight=64 * _KIB,
            loaded_bytes=loaded,
            residency=_RESIDENCY,
        )
        spread = min(32, ceil_div(items, _RESIDENCY.resident_blocks * 256))
        found[f"{items:,} items that load {loaded} bytes"] = plan.items_per_thread == spread
    return found


def _arithmetic(_: Upstream) -> Answers:
    plan = vectorized_plan(65_536, threads_per_block=256, items_per_thread=8, residency=_RESIDENCY)
    return {
        "items of a tile": plan.tile_items,
        "items of a wave": plan.items_per_wave,
        "tiles of 3,584": tiles_of_row(3_584, threads_per_block=256, items_per_thread=8),
    }


_POLICIES: Final = "policies for one input of float32"

TRANSFORM_CLAIMS: Final = (
    Claim("F1", "N0", "transform", "bytes in flight are 64, 48, 16 and 12 KiB from 10.0, 9.0, 8.0 and below",
          {
              "KiB on 7.5": 12,
              "KiB on 8.0": 16,
              "KiB on 8.6": 16,
              "KiB on 9.0": 48,
              "KiB on 10.0": 64,
              "KiB on 12.0": 64,
          }, _bytes_in_flight, _POLICIES),
    Claim("F2", "N0", "transform", "CUB has classes by bandwidth a multiprocessor",
          {"the reference's rules read a bandwidth": True}, _by_bandwidth, "the facts that its rules look at"),
    Claim("F3", "N0", "transform", "bytes in flight matter to prefetch alone",
          {"an asynchronous copy has the same items at 12 and at 64 KiB": True},
          _async_grows, "the items of an asynchronous copy, 8 blocks of 256 threads resident"),
    Claim("F4", "N0", "transform",
          "vectorised: contiguous, relocatable, sizes of powers of two; ldgsts from 8.0, ublkcp from 9.0, "
          "else prefetch",
          {
              "contiguous floats on 7.5": "vectorized",
              "12-byte elements on 7.5": "prefetch",
              "not contiguous on 7.5": "prefetch",
              "not every output written on 9.0": "prefetch",
              "contiguous floats on 8.0": "ldgsts",
              "contiguous floats on 9.0": "ublkcp",
          }, _algorithms, "policies of these keys"),
    Claim("F6", "N0", "transform", "the fallback is 256 x 8 with vectors of 4",
          {"on 7.5": "256 x 8, vector 4"}, _fallback, _POLICIES),
    Claim("F7", "N0", "transform", "an A100's triad is 128 x 16 with vectors of 4",
          {"two inputs on 8.0": "128 x 16, vector 4"}, _triad, "the policy for two inputs of float32"),
    Claim("F9", "N3", "transform", "items are min(most, ceil(items / (multiprocessors x threads x occupancy)))",
          {
              "20,000 items that load 4 bytes": True,
              "1,000,000,000 items that load 4 bytes": True,
              "1,000,000,000 items that load 16 bytes": True,
          }, _spread_items, "the plan of a prefetching transform, 64 KiB in flight"),
    Claim("F11", "N0, N2", "transform", "256 x 8 is 2,048; 32 blocks of it are 65,536; a row of 3,584 is 2 tiles",
          {"items of a tile": 2_048, "items of a wave": 65_536, "tiles of 3,584": 2},
          _arithmetic, "the plan of a vectorised transform"),
)  # fmt: skip
