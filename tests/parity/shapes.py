"""Selectors of CCCL described by hand: a flat key, a nested policy with many enumerations, a key with a list."""

from __future__ import annotations

from typing import Final

from policygen.parity.shape import EnumShape
from policygen.parity.shape import ListField
from policygen.parity.shape import RecordField
from policygen.parity.shape import ScalarField
from policygen.parity.shape import SelectorShape
from policygen.parity.shape import Value


def _scoped(cpp_type: str, names: str) -> EnumShape:
    return EnumShape(cpp_type, tuple((name, f"{cpp_type}::{name}") for name in names.split()))


def _unscoped(cpp_type: str, names: str) -> EnumShape:
    return EnumShape(cpp_type, tuple((name, f"::cub::{name}") for name in names.split()))


TYPE: Final = _scoped(
    "::cub::detail::type_t",
    "boolean int8 int16 int32 int64 int128 uint8 uint16 uint32 uint64 uint128 float32 float64 other",
)
OPERATION: Final = _scoped("::cub::detail::op_kind_t", "plus min max other")
DETERMINISM: Final = EnumShape(
    "::cuda::execution::determinism::__determinism_t",
    tuple(
        (name, f"::cuda::execution::determinism::__determinism_t::__{name}")
        for name in ("not_guaranteed", "run_to_run", "gpu_to_gpu")
    ),
)
LOAD_MODIFIER: Final = _unscoped(
    "::cub::CacheLoadModifier", "LOAD_DEFAULT LOAD_CA LOAD_CG LOAD_CS LOAD_CV LOAD_LDG LOAD_VOLATILE"
)
REDUCE_ALGORITHM: Final = _unscoped(
    "::cub::BlockReduceAlgorithm",
    "BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY BLOCK_REDUCE_RAKING BLOCK_REDUCE_WARP_REDUCTIONS "
    "BLOCK_REDUCE_WARP_REDUCTIONS_NONDETERMINISTIC",
)
_WAYS: Final = "DIRECT STRIPED VECTORIZE TRANSPOSE WARP_TRANSPOSE WARP_TRANSPOSE_TIMESLICED"
LOAD_ALGORITHM: Final = _unscoped("::cub::BlockLoadAlgorithm", " ".join(f"BLOCK_LOAD_{way}" for way in _WAYS.split()))
STORE_ALGORITHM: Final = _unscoped(
    "::cub::BlockStoreAlgorithm", " ".join(f"BLOCK_STORE_{way}" for way in _WAYS.split())
)
BLOCK_SCAN: Final = _unscoped(
    "::cub::BlockScanAlgorithm", "BLOCK_SCAN_RAKING BLOCK_SCAN_RAKING_MEMOIZE BLOCK_SCAN_WARP_SCANS"
)
DELAY: Final = EnumShape(
    "::cub::LookbackDelayAlgorithm",
    (
        *_scoped(
            "::cub::LookbackDelayAlgorithm",
            "no_delay fixed_delay exponential_backoff exponential_backoff_jitter exponential_backoff_jitter_window "
            "exponential_backon_jitter_window exponential_backon_jitter exponential_backon",
        ).enumerators,
        ("reduce_by_key", "::cub::LookbackDelayAlgorithm::__reduce_by_key"),
    ),
)


def _ints(names: str) -> tuple[ScalarField, ...]:
    return tuple(ScalarField(name, "int") for name in names.split())


def _bools(names: str) -> tuple[ScalarField, ...]:
    return tuple(ScalarField(name, "bool") for name in names.split())


_REDUCE_PASS: Final = (
    *_ints("threads_per_block items_per_thread vec_size"),
    ScalarField("reduce_algorithm", REDUCE_ALGORITHM),
    ScalarField("load_modifier", LOAD_MODIFIER),
)

REDUCE: Final = SelectorShape(
    algorithm="reduce",
    header="cub/device/dispatch/tuning/tuning_reduce.cuh",
    namespace="reduce",
    selector="policy_selector",
    key=(
        ScalarField("accum_t", TYPE),
        ScalarField("operation_t", OPERATION),
        *_ints("offset_size accum_size"),
        ScalarField("determinism", DETERMINISM),
    ),
    policy=(RecordField("multi_tile", _REDUCE_PASS), RecordField("single_tile", _REDUCE_PASS)),
)

SCAN: Final = SelectorShape(
    algorithm="scan",
    header="cub/device/dispatch/tuning/tuning_scan.cuh",
    namespace="scan",
    selector="policy_selector",
    key=(
        *_ints(
            "input_value_size input_value_alignment output_value_size output_value_alignment accum_size "
            "accum_alignment offset_size"
        ),
        ScalarField("input_type", TYPE),
        ScalarField("accum_type", TYPE),
        ScalarField("operation_t", OPERATION),
        *_bools(
            "input_contiguous output_contiguous input_trivially_copyable output_trivially_copyable "
            "output_default_constructible accum_is_primitive_or_trivially_copy_constructible benchmark_match "
            "require_stable_reduction_order"
        ),
    ),
    policy=(
        ScalarField("algorithm", _scoped("::cub::ScanAlgorithm", "lookback lookahead")),
        RecordField(
            "lookback",
            (
                *_ints("threads_per_block items_per_thread"),
                ScalarField("load_algorithm", LOAD_ALGORITHM),
                ScalarField("load_modifier", LOAD_MODIFIER),
                ScalarField("store_algorithm", STORE_ALGORITHM),
                ScalarField("scan_algorithm", BLOCK_SCAN),
                RecordField(
                    "lookback_delay",
                    (
                        ScalarField("kind", DELAY),
                        ScalarField("delay", "unsigned"),
                        ScalarField("l2_write_latency", "unsigned"),
                    ),
                ),
            ),
        ),
        RecordField(
            "lookahead",
            _ints(
                "reduce_and_scan_warps items_per_thread lookahead_items_per_thread lookahead_stages block_idx_stages"
            ),
        ),
    ),
)

_ITERATOR: Final = (
    *_ints("value_type_size value_type_alignment"),
    *_bools("value_type_is_trivially_relocatable is_contiguous"),
)

TRANSFORM: Final = SelectorShape(
    algorithm="transform",
    header="cub/device/dispatch/tuning/tuning_transform.cuh",
    namespace="transform",
    selector="policy_selector",
    key=(
        *_bools("requires_stable_address dense_output"),
        ListField("inputs", _ITERATOR, 8),
        RecordField("output", _ITERATOR),
    ),
    policy=(
        ScalarField("min_bytes_in_flight", "int"),
        ScalarField("algorithm", _scoped("::cub::TransformAlgorithm", "prefetch vectorized ldgsts ublkcp")),
        RecordField(
            "prefetch",
            _ints(
                "threads_per_block items_per_thread_no_input min_items_per_thread max_items_per_thread "
                "prefetch_byte_stride unroll_factor"
            ),
        ),
        RecordField("vectorized", _ints("threads_per_block items_per_thread vec_size")),
        RecordField(
            "async_copy",
            _ints("threads_per_block min_items_per_thread max_items_per_thread unroll_factor store_vec_size"),
        ),
    ),
)

# Its policy holds an array, and its key nothing.
_TOPK_EPILOGUE: Final = (
    ScalarField("items_per_thread", "int"),
    ScalarField("load_algorithm", LOAD_ALGORITHM),
    ScalarField("store_algorithm", STORE_ALGORITHM),
    ScalarField("scan_algorithm", BLOCK_SCAN),
)
BATCHED_TOPK: Final = SelectorShape(
    algorithm="batched_topk",
    header="cub/device/dispatch/tuning/tuning_batched_topk.cuh",
    namespace="batched_topk",
    selector="policy_selector",
    key=(),
    policy=(
        ListField(
            "workers",
            (
                *_ints("threads_per_block items_per_thread"),
                ScalarField("load_algorithm", LOAD_ALGORITHM),
                ScalarField("store_algorithm", STORE_ALGORITHM),
                RecordField("epilogue", _TOPK_EPILOGUE),
            ),
            6,
            member="worker_per_segment_policies",
        ),
        RecordField(
            "multi_worker", _ints("threads_per_block items_per_thread"), member="multi_worker_per_segment_policy"
        ),
    ),
)

SHAPES: Final = (REDUCE, SCAN, TRANSFORM, BATCHED_TOPK)


def reduce_key(accum_t: str, accum_size: int, **changes: Value) -> dict[str, Value]:
    key: dict[str, Value] = {
        "accum_t": accum_t,
        "operation_t": "plus",
        "offset_size": 4,
        "accum_size": accum_size,
        "determinism": "run_to_run",
    }
    return key | changes


def scan_key(kind: str, size: int, **changes: Value) -> dict[str, Value]:
    key: dict[str, Value] = {member.name: True for member in SCAN.key}
    for name in ("input_value", "output_value", "accum"):
        key[f"{name}_size"] = key[f"{name}_alignment"] = size
    key |= {"offset_size": 4, "input_type": kind, "accum_type": kind, "operation_t": "plus"}
    return key | {"require_stable_reduction_order": False} | changes


def iterator(size: int, alignment: int | None = None, **changes: Value) -> dict[str, Value]:
    described: dict[str, Value] = {
        "value_type_size": size,
        "value_type_alignment": size if alignment is None else alignment,
        "value_type_is_trivially_relocatable": True,
        "is_contiguous": True,
    }
    return described | changes


def transform_key(inputs: list[dict[str, Value]], output: dict[str, Value], **changes: Value) -> dict[str, Value]:
    key: dict[str, Value] = {"requires_stable_address": False, "dense_output": True}
    return key | {"inputs": inputs, "output": output} | changes
