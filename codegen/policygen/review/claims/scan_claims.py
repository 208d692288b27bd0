"""D: what the notes say of scan."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence
from typing import Any
from typing import Final

from policygen.lang.tree import Const
from policygen.plan.lookahead_plan import ElementLayout
from policygen.plan.lookahead_plan import LookaheadCounts
from policygen.plan.lookahead_plan import lookahead_plan
from policygen.plan.lookahead_plan import lookahead_smem_bytes
from policygen.plan.residency import Residency
from policygen.plan.scan_plan import lookback_plan
from policygen.plan.scan_plan import tile_state_bytes
from policygen.prove.resources import KernelUse
from policygen.resolve.resolver import Resolution
from policygen.review.benchmarks import parameters
from policygen.review.benchmarks import scores
from policygen.review.claims.claim import Answers
from policygen.review.claims.claim import Claim
from policygen.review.delays_section import DELAYS
from policygen.review.needs import Needs
from policygen.review.upstream import NOT_CONTIGUOUS
from policygen.review.upstream import Counts
from policygen.review.upstream import Upstream
from policygen.scaling import TILE_BYTES
from policygen.scaling import scale
from policygen.spec import SubPolicy

_MEMORY: Final = "shared-memory"
_OFFSETS: Final = ((4, ("int8", "int16", "int32", "int64")), (8, ("int8", "int32", "int64")))
_BYTES: Final = {"int8": 1, "int16": 2, "int32": 4, "int64": 8}
_OVERFLOWS: Final = ((4, "int8"), (4, "int16"), (4, "int32"), (4, "int64"), (8, "int32"), (8, "int64"))
"""Offsets and inputs of the six points that the notes judge at 8 bytes."""

_TILE: Final = 384 * 22


def _key(element: str, offset_size: int = 4) -> dict[str, Any]:
    # what plus gives for the input itself: the situation that upstream tuned
    return {
        "input_type": element,
        "accum_type": element,
        "operation_t": "plus",
        "offset_size": offset_size,
        "benchmark_match": True,
    }


def _counts(upstream: Upstream, element: str, offset_size: int = 4) -> Counts:
    return upstream.counts("10.0", "scan", "lookback", **_key(element, offset_size), **NOT_CONTIGUOUS)


def _resolved(upstream: Upstream, architecture: str, element: str, **more: Any) -> Resolution:
    return upstream.resolve(architecture, "scan", **{**_key(element), **more})


def _name(offset_size: int, element: str) -> str:
    return f"{_BYTES[element]} bytes, offsets of {offset_size}"


def _rows(upstream: Upstream) -> Iterator[tuple[str, Counts]]:
    for offset_size, elements in _OFFSETS:
        for element in elements:
            yield _name(offset_size, element), _counts(upstream, element, offset_size)


def _nominal_rows(upstream: Upstream) -> Answers:
    return {name: counts.noted for name, counts in _rows(upstream)}


def _overflows(upstream: Upstream) -> Answers:
    needs = Needs(upstream.rules("10.0", "scan"))
    found: dict[str, str] = {}
    for offset_size, element in _OVERFLOWS:
        counts = _counts(upstream, element, offset_size)
        threads, items = counts.nominal.threads_per_block, counts.nominal.items_per_thread
        scaled = scale(counts.nominal, counts.rule, 8)
        policy = _lookback(scaled.threads_per_block, scaled.items_per_thread)
        need = needs.of(_MEMORY, _key("int64", offset_size), policy)
        found[f"{threads} x {items} at 8 bytes"] = "fits" if need.fits else "overflows"
    return found


def _lookback(threads: int, items: int, load: str = "BLOCK_LOAD_WARP_TRANSPOSE") -> dict[str, Any]:
    counts = {"threads_per_block": threads, "items_per_thread": items}
    return {
        "algorithm": "lookback",
        "lookback": {
            **counts,
            "load_algorithm": load,
            "store_algorithm": "BLOCK_STORE_WARP_TRANSPOSE",
            "scan_algorithm": "BLOCK_SCAN_WARP_SCANS",
        },
    }


def _float64(upstream: Upstream) -> Answers:
    counts = upstream.counts("10.0", "scan", "lookback", **_key("float64"), **NOT_CONTIGUOUS)
    return {"float64": counts.scaled}


def _dynamic_memory(upstream: Upstream) -> Answers:
    rules = upstream.rules("10.0", "scan")
    kernels = KernelUse(rules, None).of(_resolved(upstream, "10.0", "int64", **NOT_CONTIGUOUS))
    return {"a lookback scan asks for dynamic shared memory": any(kernel.dynamic_smem for kernel in kernels)}


def _most_items(upstream: Upstream) -> Answers:
    found = []
    for offset_size, element in _OVERFLOWS:
        found.append(TILE_BYTES // (8 * _counts(upstream, element, offset_size).nominal.threads_per_block))
    return {"48 KiB / (8 x threads)": ", ".join(map(str, found))}


def _eight_bytes(upstream: Upstream) -> Answers:
    return {"8 bytes": _counts(upstream, "int64").scaled}


def _sixteen_bytes(upstream: Upstream) -> Answers:
    counts = upstream.counts("10.0", "scan", "lookback", **_key("int128"), **NOT_CONTIGUOUS)
    return {"16 bytes": counts.scaled}


def _load_algorithms(upstream: Upstream) -> Answers:
    found = [
        f"{size}: {_resolved(upstream, '10.0', element, **NOT_CONTIGUOUS).policy.lookback.load_algorithm}"
        for element, size in _BYTES.items()
    ]
    return {"loads by bytes": ", ".join(found)}


def _storage_is_a_union(upstream: Upstream) -> Answers:
    constraint = Needs(upstream.rules("10.0", "scan")).constraint(_MEMORY)
    return {"storage": f"{constraint.model} of {', '.join(name for name, _ in constraint.terms)}"}


def _storage_terms(upstream: Upstream) -> Answers:
    terms = Needs(upstream.rules("10.0", "scan")).terms(_MEMORY, _key("float32"), _lookback(384, 22))
    return {name: terms[name] for name in ("load", "store")}


def _block_scan_bytes(upstream: Upstream) -> Answers:
    terms = Needs(upstream.rules("10.0", "scan")).terms(_MEMORY, _key("float32"), _lookback(384, 22))
    return {"scan and prefix of 384 threads take at least 1,536 bytes": terms["scan"] >= 384 * 4}


def _exact_limit(upstream: Upstream) -> Answers:
    needs = Needs(upstream.rules("10.0", "scan"))
    found: dict[str, int] = {}
    for threads, items, element in ((256, 12, "int128"), (512, 24, "float32"), (768, 8, "int64")):
        need = needs.of(_MEMORY, _key(element), _lookback(threads, items))
        found[f"{threads} x {items} of {element}"] = need.need
    return found


def _lookahead_from(upstream: Upstream) -> Answers:
    asked = {
        "8.0": {},
        "9.0": {},
        "9.0, stable order": {"require_stable_reduction_order": True},
        "10.0": {},
        "10.0, not contiguous": NOT_CONTIGUOUS,
        "12.0, nvcc 13.0": {},
        "12.1": {},
    }
    return {
        name: str(_resolved(upstream, name.partition(",")[0], "float32", **key).policy.algorithm)
        for name, key in asked.items()
    }


def _b200(upstream: Upstream) -> Answers:
    return {"a scan of float32 on 10.0": str(_resolved(upstream, "10.0", "float32").policy.algorithm)}


def _stages(upstream: Upstream) -> Answers:
    policy = _resolved(upstream, "10.0", "float32").policy.lookahead
    counts = LookaheadCounts(
        reduce_and_scan_warps=policy.reduce_and_scan_warps,
        items_per_thread=policy.items_per_thread,
        lookahead_stages=policy.lookahead_stages,
        block_idx_stages=policy.block_idx_stages,
    )
    layout = ElementLayout(input_size=4, input_alignment=4, output_alignment=4, accum_size=4, accum_alignment=4)
    sm_count, most = 148, 232_448
    wrong = 0
    for items in (1, 100_000, 10_000_000, 2**31):
        bound = -(-items // (sm_count * counts.tile_items)) + 1
        stages = 1
        while stages <= bound and lookahead_smem_bytes(counts, stages + 1, layout) <= most:
            stages += 1
        plan = lookahead_plan(items, counts=counts, layout=layout, sm_count=sm_count, max_dynamic_smem=most)
        wrong += plan.num_stages != stages
    return {
        "plans that differ": wrong,
        "bytes at 1, 2, 3 stages": ", ".join(str(lookahead_smem_bytes(counts, stages, layout)) for stages in (1, 2, 3)),
    }


def _residency() -> Residency:
    return Residency(sm_count=16, occupancy=2)


def _tiles(_: Upstream) -> Answers:
    plan = lookback_plan(100_000, tile_items=_TILE, accum_size=4, single_word=True, residency=_residency())
    return {"tiles of 100,000 floats": plan.num_tiles}


def _states(_: Upstream) -> Answers:
    return {
        "states of 12 tiles take a hundredth of 100,000 floats": tile_state_bytes(12, 4, single_word=True) * 100
        > 400_000
    }


def _tiles_of_a_block(upstream: Upstream) -> Answers:
    policy = _resolved(upstream, "10.0", "float32").policy.lookahead
    counts = LookaheadCounts(
        reduce_and_scan_warps=policy.reduce_and_scan_warps, items_per_thread=policy.items_per_thread
    )
    layout = ElementLayout(input_size=4, input_alignment=4, output_alignment=4, accum_size=4, accum_alignment=4)
    back = lookback_plan(10_000_000, tile_items=_TILE, accum_size=4, single_word=True, residency=_residency())
    ahead = lookahead_plan(
        10_000_000, counts=counts, layout=layout, sm_count=148, max_dynamic_smem=232_448, atomic_scheduling=True
    )
    return {
        "lookback: a block has one tile": back.grid == back.num_tiles,
        "lookahead that draws tiles: a block has one tile": ahead.grid == ahead.num_tiles,
    }


def _four_numbers(upstream: Upstream) -> Answers:
    strings = [
        four
        for rules in upstream.spec.references.values()
        for rule_set in rules.values()
        for ladder in rule_set.ladders
        for point in ladder.points
        if len(four := scores(point.benchmark)) == 4
    ]
    ordered = bool(strings) and all(f[1] <= f[2] <= f[3] and f[1] <= f[0] <= f[3] for f in strings)
    return {"the second is always the least, the fourth the greatest": ordered}


def _delay_ids(upstream: Upstream) -> Answers:
    names = upstream.spec.vocabulary.enumerations[DELAYS].names
    return {str(number): name for number, name in enumerate(names[:8])}


def _tokens(upstream: Upstream) -> Answers:
    return {
        "trp_0": _beside(upstream, "trp", 0, "load_algorithm", ("select_if", "reduce_by_key")),
        "trp_1": _beside(upstream, "trp", 1, "load_algorithm", ("select_if", "reduce_by_key", "scan")),
        "ld_1 of scan": _beside(upstream, "ld", 1, "load_modifier", ("scan",)),
        "ld_1 of histogram": _beside(upstream, "ld", 1, "load_modifier", ("histogram",)),
    }


def _beside(upstream: Upstream, token: str, number: int, field: str, algorithms: Sequence[str]) -> str:
    """What points have whose benchmark names a token with a number."""
    seen: dict[str, None] = {}
    for rules in upstream.spec.references.values():
        for rule_set in (rules[name] for name in algorithms if name in rules):
            for ladder in rule_set.ladders:
                for point in ladder.points:
                    if point.benchmark and (token, number) in parameters(point.benchmark):
                        seen.update(dict.fromkeys(_constants(point.policy, field)))
    return " or ".join(sorted(seen)) or "none"


def _constants(policy: SubPolicy, field: str) -> Iterator[str]:
    for name, value in policy.fields:
        if isinstance(value, SubPolicy):
            yield from _constants(value, field)
        elif name == field and isinstance(value, Const):
            yield str(value.value)


_POINTS: Final = "the points of scan on 10.0"
_CONSTRAINT: Final = "the constraint on shared memory"

SCAN_CLAIMS: Final = (
    Claim("D1", "N0, N2", "scan", "the points of 10.0 have these counts",
          {
              "1 bytes, offsets of 4": "512 x 18",
              "2 bytes, offsets of 4": "512 x 13",
              "4 bytes, offsets of 4": "384 x 22",
              "8 bytes, offsets of 4": "416 x 23",
              "1 bytes, offsets of 8": "384 x 14",
              "4 bytes, offsets of 8": "416 x 19",
              "8 bytes, offsets of 8": "320 x 22",
          }, _nominal_rows, f"{_POINTS}, nominal counts"),
    Claim("D2", "N4", "scan", "six of these tiles overflow shared memory at 8 bytes",
          {
              f"{counts} at 8 bytes": "overflows"
              for counts in ("512 x 18", "512 x 13", "384 x 22", "416 x 23", "416 x 19", "320 x 22")
          }, _overflows, f"{_CONSTRAINT}, for the scaled counts"),
    Claim("D3", "N2", "scan", "float64 has 416 x 23, not scaled", {"float64": "416 x 23"}, _float64, _POINTS),
    Claim("D4", "N2, N4", "scan", "the tiles fit because 10.0 can configure 228 KiB of shared memory",
          {"a lookback scan asks for dynamic shared memory": True}, _dynamic_memory, "the launch of DeviceScanKernel"),
    Claim("D5", "N4", "scan", "48 KiB hold 12, 12, 16, 14, 14, 19 items of 8 bytes with the threads of these points",
          {"48 KiB / (8 x threads)": "12, 12, 16, 14, 14, 19"}, _most_items, "arithmetic"),
    Claim("D6", "N2", "scan", "8 bytes have 384 x 14, reduced from 23", {"8 bytes": "384 x 14"}, _eight_bytes, _POINTS),
    Claim("D7", "N2", "scan", "16 bytes have 256 x 12", {"16 bytes": "256 x 12"}, _sixteen_bytes, _POINTS),
    Claim("D8", "N2", "scan", "loads are transposed by warps from 4 bytes on, direct below",
          {
              "loads by bytes": "1: BLOCK_LOAD_DIRECT, 2: BLOCK_LOAD_DIRECT, "
              "4: BLOCK_LOAD_WARP_TRANSPOSE, 8: BLOCK_LOAD_WARP_TRANSPOSE"
          }, _load_algorithms, _POINTS),
    Claim("D9", "N0", "scan", "a block's storage is a union of load, store and scan",
          {"storage": "union of load, store, scan"}, _storage_is_a_union, _CONSTRAINT),
    Claim("D10", "N0", "scan", "its dominant term is the tile: 33,792 bytes at 384 x 22 of float32",
          {"load": 33_792, "store": 33_792}, _storage_terms, _CONSTRAINT),
    Claim("D11", "N0", "scan", "the block scan takes its threads times the accumulator",
          {"scan and prefix of 384 threads take at least 1,536 bytes": True}, _block_scan_bytes, _CONSTRAINT),
    Claim("D12", "N2, N4", "scan", "a tile of 48 KiB needs 49,152 bytes: the limit is exact",
          {"256 x 12 of int128": 49_152, "512 x 24 of float32": 49_152, "768 x 8 of int64": 49_152},
          _exact_limit, _CONSTRAINT),
    Claim("D14", "N0", "scan", "lookahead is for 10.0 and up alone",
          {
              "8.0": "lookback",
              "9.0": "lookback",
              "9.0, stable order": "lookback",
              "10.0": "lookahead",
              "10.0, not contiguous": "lookahead",
              "12.0, nvcc 13.0": "lookahead",
              "12.1": "lookahead",
          }, _lookahead_from, "policies of these keys for float32"),
    Claim("D15", "N0", "scan", "the lookback points of 10.0 are what runs there",
          {"a scan of float32 on 10.0": "lookback"}, _b200, "the policy of that key"),
    Claim("D17", "N0", "scan",
          "lookahead adds stages while the next fits, to ceil(items / (multiprocessors x tile)) + 1",
          {"plans that differ": 0, "bytes at 1, 2, 3 stages": "45192, 90312, 135464"},
          _stages, "the plan of a lookahead scan of float32"),
    Claim("D18", "N0", "scan", "100,000 floats at 384 x 22 are 12 tiles",
          {"tiles of 100,000 floats": 12}, _tiles, "the plan of a lookback scan"),
    Claim("D19", "N0", "scan", "tile states are negligible",
          {"states of 12 tiles take a hundredth of 100,000 floats": False}, _states, "the plan of a lookback scan"),
    Claim("D20", "N0", "scan", "a block scans exactly one tile",
          {
              "lookback: a block has one tile": True,
              "lookahead that draws tiles: a block has one tile": True,
          }, _tiles_of_a_block, "the plans of both"),
    Claim("D21", "N0, N4", "scan", "the four numbers of a benchmark string are speed-ups at four sizes, in no order",
          {"the second is always the least, the fourth the greatest": False},
          _four_numbers, "every benchmark string of the reference"),
    Claim("D22", "N0", "scan", "delay ids of benchmark strings",
          {
              "0": "no_delay",
              "1": "fixed_delay",
              "2": "exponential_backoff",
              "3": "exponential_backoff_jitter",
              "4": "exponential_backoff_jitter_window",
              "5": "exponential_backon_jitter_window",
              "6": "exponential_backon_jitter",
              "7": "exponential_backon",
          }, _delay_ids, "the enumeration of delays"),
    Claim("D23", "N0", "scan", "trp 0/1 is a direct or a transposed load; ld 1 is a load through all caches",
          {
              "trp_0": "BLOCK_LOAD_DIRECT",
              "trp_1": "BLOCK_LOAD_WARP_TRANSPOSE",
              "ld_1 of scan": "LOAD_CA",
              "ld_1 of histogram": "LOAD_CA",
          }, _tokens, "what points have beside these strings"),
)  # fmt: skip
