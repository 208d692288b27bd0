"""B: what the notes say of reduce."""

from __future__ import annotations

from collections import Counter
from typing import Any
from typing import Final

from policygen.fold.table import policy_table
from policygen.plan.even_share import even_share
from policygen.plan.reduce_plan import DETERMINISMS
from policygen.plan.reduce_plan import ReducePlan
from policygen.plan.reduce_plan import fits_single_tile
from policygen.plan.reduce_plan import reduce_plan
from policygen.plan.residency import SUBSCRIPTION_FACTOR
from policygen.plan.residency import Residency
from policygen.resolve.resolver import Resolution
from policygen.resolve.resolver import Resolver
from policygen.resolve.trace import Held
from policygen.review.claims.claim import Answers
from policygen.review.claims.claim import Claim
from policygen.review.claims.scaling_claims import tile_is_in_shared_memory
from policygen.review.register_budget import REFERENCE_ITEMS
from policygen.review.upstream import Upstream
from policygen.scaling import scale_mem_bound

_ELEMENT_OF: Final = {1: "int8", 2: "int16", 4: "float32", 8: "float64", 16: "int128"}
_SM_COUNT: Final = 16
_MILLION: Final = 1_000_000
_TILE: Final = 512 * 24


def _key(accum: str, offset_size: int = 4, **more: Any) -> dict[str, Any]:
    return {"accum_t": accum, "operation_t": "plus", "offset_size": offset_size, **more}


def _resolve(upstream: Upstream, architecture: str, accum: str, offset_size: int = 4, **more: Any) -> Resolution:
    return upstream.resolve(architecture, "reduce", **_key(accum, offset_size, **more))


def _float32_point(upstream: Upstream) -> Answers:
    nominal = upstream.counts("10.0", "reduce", "multi_tile", **_key("float32")).nominal
    vector = _resolve(upstream, "10.0", "float32").policy.multi_tile.vec_size
    return {"items": nominal.items_per_thread, "threads": nominal.threads_per_block, "vector": vector}


def _float64_policy(upstream: Upstream) -> Answers:
    counts = _resolve(upstream, "10.0", "float64").policy.multi_tile
    return {"threads": counts.threads_per_block, "items": counts.items_per_thread}


def _float64_is_capped(upstream: Upstream) -> Answers:
    counts = upstream.counts("10.0", "reduce", "multi_tile", **_key("float64"))
    lowered = counts.resolved.threads_per_block < counts.nominal.threads_per_block
    return {"tile bytes": counts.tile_bytes, "scaling lowers the threads": lowered}


def _float64_scaled(_: Upstream) -> Answers:
    scaled = scale_mem_bound(384, 16, 8)
    return {"384 x 16 at 8 bytes": f"{scaled.threads_per_block} x {scaled.items_per_thread}"}


def _registers_of_items(_: Upstream) -> Answers:
    return {"registers of 16 items of 8 bytes": 16 * 8 // 4}


def _eight_byte_points(upstream: Upstream) -> Answers:
    found: dict[str, str] = {}
    for offset_size in (4, 8):
        counts = upstream.counts("10.0", "reduce", "multi_tile", **_key("int64", offset_size))
        vector = _resolve(upstream, "10.0", "int64", offset_size).policy.multi_tile.vec_size
        found[f"offsets of {offset_size} bytes"] = f"{counts.noted}, vector {vector}"
    return found


def _deterministic_points(upstream: Upstream) -> Answers:
    found: dict[str, str] = {}
    for architecture, accum in (("9.0", "float32"), ("8.6", "float32"), ("8.6", "float64")):
        key = _key(accum, determinism="gpu_to_gpu")
        counts = upstream.counts(architecture, "reduce", "multi_tile", **key)
        policy = upstream.resolve(architecture, "reduce", **key).policy.multi_tile
        found[f"{accum} on {architecture}"] = f"{counts.noted}, {policy.reduce_algorithm}, {policy.load_modifier}"
    return found


def _default(upstream: Upstream) -> Answers:
    return {
        f"on {architecture}": upstream.counts(architecture, "reduce", "multi_tile", **_key("int32")).noted
        for architecture in ("5.0", "6.0", "9.0")
    }


def _items_by_size(upstream: Upstream) -> Answers:
    found = {
        size: _resolve(upstream, "10.0", element).policy.multi_tile.items_per_thread
        for size, element in _ELEMENT_OF.items()
    }
    return {"items by bytes": _table(found)}


def _table(values: dict[int, int]) -> str:
    return ", ".join(f"{size}: {items}" for size, items in values.items())


def _usual_threads(upstream: Upstream) -> Answers:
    table = policy_table(Resolver(upstream.rules("10.0", "reduce")))
    counted = Counter(row.policy.multi_tile.threads_per_block for row in table.rows)
    return {"threads of most common keys": counted.most_common(1)[0][0]}


def _vectors(upstream: Upstream) -> Answers:
    return {
        "float32, plus, offsets of 4 bytes, 10.0": _resolve(upstream, "10.0", "float32").policy.multi_tile.vec_size,
        "float32, plus, offsets of 8 bytes, 10.0": _resolve(upstream, "10.0", "float32", 8).policy.multi_tile.vec_size,
        "float32 on 9.0": _resolve(upstream, "9.0", "float32").policy.multi_tile.vec_size,
        "float16": _resolve(upstream, "10.0", "float16").policy.multi_tile.vec_size,
    }


def _tile_in_registers(upstream: Upstream) -> Answers:
    return {"shared memory grows with the items": tile_is_in_shared_memory(upstream, "reduce")}


def _shared_memory(upstream: Upstream, accum: str) -> int:
    for step in _resolve(upstream, "10.0", accum).trace:
        if isinstance(step, Held) and step.constraint.id == "shared-memory of multi_tile" and step.need is not None:
            return step.need
    raise ValueError(f"the shared memory of a reduction of {accum} is not judged")


def _storage_bytes(upstream: Upstream) -> Answers:
    return {"bytes at 640 threads of float64": _shared_memory(upstream, "float64")}


def _items_fill_shared_memory(upstream: Upstream) -> Answers:
    return {
        "shared memory grows with the items": tile_is_in_shared_memory(upstream, "reduce"),
        "bytes at 512 threads of float32": _shared_memory(upstream, "float32"),
    }


def _single_tile_rule(_: Upstream) -> Answers:
    return {
        f"one tile is one block: {kind}": fits_single_tile(_TILE, determinism=kind, single_tile_items=_TILE)
        for kind in DETERMINISMS
    }


def _planned(determinism: str) -> ReducePlan:
    return reduce_plan(
        _MILLION,
        determinism=determinism,
        single_tile_items=_TILE,
        multi_tile_items=_TILE,
        accum_size=4,
        residency=Residency(sm_count=_SM_COUNT, occupancy=2),
    )


def _passes(_: Upstream) -> Answers:
    return {
        f"{kind}: kernels, partial results": f"{plan.passes}, {plan.partials}"
        for kind in ("not_guaranteed", "run_to_run")
        for plan in [_planned(kind)]
    }


def _subscription(_: Upstream) -> Answers:
    return {"factor": SUBSCRIPTION_FACTOR}


def _max_blocks(_: Upstream) -> Answers:
    return {f"at occupancy {n}": Residency(sm_count=_SM_COUNT, occupancy=n).max_blocks for n in (1, 2)}


def _items_of_a_block(_: Upstream) -> Answers:
    share = even_share(_MILLION, Residency(sm_count=_SM_COUNT, occupancy=2).max_blocks, _TILE)
    return {"items of the first block of 1,000,000 on 160": share.rake(0).num_items}


def _compound(_: Upstream) -> Answers:
    scaled = scale_mem_bound(512, 16, 12)
    return {"512 x 16 at 12 bytes": f"{scaled.threads_per_block} x {scaled.items_per_thread}"}


def _power(_: Upstream) -> Answers:
    return {"(148 / 16)^0.3, to a tenth": f"{(148 / 16) ** 0.3:.1f}"}


_POINTS: Final = "the points of reduce"
_SCALING: Final = "the memory-bound rule"
_PLANS: Final = "the plan of a reduction"

REDUCE_CLAIMS: Final = (
    Claim("B1", "N0", "reduce", "float32 with plus and 4-byte offsets has 512 x 16 and vectors of 2",
          {"items": 16, "threads": 512, "vector": 2}, _float32_point, _POINTS),
    Claim("B2", "N0", "reduce", "float64 with plus and 4-byte offsets has 640 threads and 16 items",
          {"threads": 640, "items": 16}, _float64_policy, "the policy of that key on 10.0"),
    Claim("B3", "N0", "reduce", "the float64 tile is 81,920 bytes, and scaling caps its threads",
          {"tile bytes": 81_920, "scaling lowers the threads": True}, _float64_is_capped, _POINTS),
    Claim("B4", "N0", "reduce", "384 x 16 for float64 is what scaling leaves",
          {"384 x 16 at 8 bytes": "384 x 16"}, _float64_scaled, _SCALING),
    Claim("B5", "N0", "reduce", "16 items of float64 are 32 registers",
          {"registers of 16 items of 8 bytes": 32}, _registers_of_items, "arithmetic"),
    Claim("B6", "N0", "reduce",
          "8-byte accumulators with plus have 512 x 15, vectors of 2 for 4-byte offsets and of 1 for 8",
          {"offsets of 4 bytes": "512 x 15, vector 2", "offsets of 8 bytes": "512 x 15, vector 1"},
          _eight_byte_points, _POINTS),
    Claim("B7", "N0", "reduce", "gpu_to_gpu: float32 has 224 x 13 on 9.0 and 224 x 6 on 8.6, float64 128 x 11; raking",
          {
              "float32 on 9.0": "224 x 13, BLOCK_REDUCE_RAKING, LOAD_DEFAULT",
              "float32 on 8.6": "224 x 6, BLOCK_REDUCE_RAKING, LOAD_DEFAULT",
              "float64 on 8.6": "128 x 11, BLOCK_REDUCE_RAKING, LOAD_DEFAULT",
          }, _deterministic_points, _POINTS),
    Claim("B8", "N0", "reduce", "what is not tuned has 256 x 16",
          {"on 5.0": "256 x 16", "on 6.0": "256 x 16", "on 9.0": "256 x 16"}, _default, _POINTS),
    Claim("B9", "N2", "reduce", "CUB's items on 10.0 by bytes of the accumulator",
          {"items by bytes": _table(dict(REFERENCE_ITEMS))}, _items_by_size, "policies with plus on 10.0"),
    Claim("B10", "N2", "reduce", "most types have 512 threads on 10.0",
          {"threads of most common keys": 512}, _usual_threads, "policies of common keys on 10.0"),
    Claim("B11", "N0", "reduce", "float32 has vectors of 2, float16 of 4",
          {
              "float32, plus, offsets of 4 bytes, 10.0": 2,
              "float32, plus, offsets of 8 bytes, 10.0": 2,
              "float32 on 9.0": 2,
              "float16": 4,
          }, _vectors, "policies of these keys"),
    Claim("B13", "N0", "reduce", "the tile lives in registers",
          {"shared memory grows with the items": False}, _tile_in_registers, "the constraint on shared memory"),
    Claim("B14", "N0", "reduce",
          "a block's storage is its threads times the accumulator: 5,120 bytes for 640 of float64",
          {"bytes at 640 threads of float64": 5_120}, _storage_bytes, "the constraint on shared memory, 32-lane warps"),
    Claim("B15", "N2, N4", "reduce", "24 items fill shared memory and may overflow it",
          {"shared memory grows with the items": True, "bytes at 512 threads of float32": _TILE * 4},
          _items_fill_shared_memory, "the constraint on shared memory, 32-lane warps"),
    Claim("B16", "N0, N2", "reduce", "what one tile of the single-tile policy holds is done by one block",
          {f"one tile is one block: {kind}": True for kind in DETERMINISMS}, _single_tile_rule, _PLANS),
    Claim("B17", "N0, N2", "reduce",
          "without a stable order blocks add atomically, else a second kernel adds their results",
          {
              "not_guaranteed: kernels, partial results": "1, 0",
              "run_to_run: kernels, partial results": "2, 82",
          }, _passes, _PLANS),
    Claim("B18", "N2", "reduce", "the subscription factor is 5", {"factor": 5}, _subscription,
          "`policygen.plan.residency`"),
    Claim("B19", "N0, N2", "reduce", "the most blocks are occupancy x multiprocessors x 5",
          {"at occupancy 1": 80, "at occupancy 2": 160}, _max_blocks, "`policygen.plan.residency`, 16 multiprocessors"),
    Claim("B20", "N0", "reduce", "each block takes ceil(items / 160) items",
          {"items of the first block of 1,000,000 on 160": 6_250}, _items_of_a_block, "even share, tiles of 12,288"),
    Claim("B21", "N0, N4", "reduce", "a compound accumulator of 12 bytes has 5 items",
          {"512 x 16 at 12 bytes": "512 x 5"}, _compound, _SCALING),
    Claim("B22", "N2", "reduce", "the factor by multiprocessors, (148 / 16)^0.3, is about 2.2",
          {"(148 / 16)^0.3, to a tenth": "2.2"}, _power, "arithmetic"),
)  # fmt: skip
