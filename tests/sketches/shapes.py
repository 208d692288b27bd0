"""Selectors of CCCL described by hand, independently of the sketched specs."""

from __future__ import annotations

from typing import Final

from parity.shapes import BLOCK_SCAN
from parity.shapes import DELAY
from parity.shapes import LOAD_ALGORITHM
from parity.shapes import LOAD_MODIFIER
from parity.shapes import OPERATION
from parity.shapes import REDUCE
from parity.shapes import SCAN
from parity.shapes import TYPE
from policygen.parity.shape import EnumShape
from policygen.parity.shape import RecordField
from policygen.parity.shape import ScalarField
from policygen.parity.shape import SelectorShape


def _enum(cpp_type: str, scope: str, names: str) -> EnumShape:
    return EnumShape(cpp_type, tuple((name, f"{scope}::{name}") for name in names.split()))


def _ints(names: str) -> tuple[ScalarField, ...]:
    return tuple(ScalarField(name, "int") for name in names.split())


RADIX_RANK: Final = _enum(
    "::cub::RadixRankAlgorithm",
    "::cub",
    "RADIX_RANK_BASIC RADIX_RANK_MEMOIZE RADIX_RANK_MATCH RADIX_RANK_MATCH_EARLY_COUNTS_ANY "
    "RADIX_RANK_MATCH_EARLY_COUNTS_ATOMIC_OR",
)
RADIX_STORE: Final = _enum(
    "::cub::RadixSortStoreAlgorithm", "::cub", "RADIX_SORT_STORE_DIRECT RADIX_SORT_STORE_ALIGNED"
)

_DOWNSWEEP: Final = (
    *_ints("threads_per_block items_per_thread"),
    ScalarField("load_algorithm", LOAD_ALGORITHM),
    ScalarField("load_modifier", LOAD_MODIFIER),
    ScalarField("rank_algorithm", RADIX_RANK),
    ScalarField("scan_algorithm", BLOCK_SCAN),
    *_ints("radix_bits"),
)
_UPSWEEP: Final = (
    *_ints("threads_per_block items_per_thread"),
    ScalarField("load_modifier", LOAD_MODIFIER),
    *_ints("radix_bits"),
)

RADIX_SORT: Final = SelectorShape(
    algorithm="radix_sort",
    header="cub/device/dispatch/tuning/tuning_radix_sort.cuh",
    namespace="radix_sort",
    selector="policy_selector",
    key=(*_ints("key_size value_size offset_size"), ScalarField("key_type", TYPE)),
    policy=(
        ScalarField(
            "algorithm", _enum("::cub::RadixSortAlgorithm", "::cub::RadixSortAlgorithm", "multi_pass onesweep")
        ),
        RecordField("histogram", _ints("threads_per_block items_per_thread private_partitions radix_bits")),
        RecordField("exclusive_sum", _ints("threads_per_block radix_bits")),
        RecordField(
            "onesweep",
            (
                *_ints("threads_per_block items_per_thread"),
                ScalarField("store_algorithm", RADIX_STORE),
                ScalarField("rank_algorithm", RADIX_RANK),
                ScalarField("scan_algorithm", BLOCK_SCAN),
                *_ints("rank_private_partitions radix_bits"),
            ),
        ),
        RecordField("scan", SCAN.policy),
        RecordField("downsweep", _DOWNSWEEP),
        RecordField("alt_downsweep", _DOWNSWEEP),
        RecordField("upsweep", _UPSWEEP),
        RecordField("alt_upsweep", _UPSWEEP),
        RecordField("single_tile", _DOWNSWEEP),
    ),
)

SELECT_IF: Final = SelectorShape(
    algorithm="select_if",
    header="cub/device/dispatch/tuning/tuning_select_if.cuh",
    namespace="select",
    selector="policy_selector",
    key=(
        ScalarField("input_type", TYPE),
        *_ints("input_size_bytes"),
        ScalarField("input_is_primitive", "bool"),
        *_ints("flag_size_bytes offset_size_bytes"),
        ScalarField("distinct_partitions", "bool"),
        ScalarField(
            "selection_impl",
            _enum("::cub::SelectImpl", "::cub::SelectImpl", "Select SelectPotentiallyInPlace Partition"),
        ),
    ),
    policy=(
        ScalarField("algorithm", _enum("::cub::SelectAlgorithm", "::cub::SelectAlgorithm", "lookback")),
        RecordField(
            "lookback",
            (
                *_ints("threads_per_block items_per_thread"),
                ScalarField("load_algorithm", LOAD_ALGORITHM),
                ScalarField("load_modifier", LOAD_MODIFIER),
                ScalarField("scan_algorithm", BLOCK_SCAN),
                RecordField(
                    "lookback_delay",
                    (
                        ScalarField("kind", DELAY),
                        ScalarField("delay", "unsigned"),
                        ScalarField("l2_write_latency", "unsigned"),
                    ),
                ),
                ScalarField(
                    "_load_prefetch",
                    _enum("::cub::detail::LoadPrefetch", "::cub::detail::LoadPrefetch", "none l2 l1"),
                ),
            ),
        ),
    ),
)

_WARP: Final = (
    *_ints("threads_per_block threads_per_warp items_per_thread vec_size"),
    ScalarField("load_modifier", LOAD_MODIFIER),
)
_REDUCE_PASS: Final = REDUCE.policy[0]
assert isinstance(_REDUCE_PASS, RecordField)

SEGMENTED_REDUCE: Final = SelectorShape(
    algorithm="segmented_reduce",
    header="cub/device/dispatch/tuning/tuning_segmented_reduce.cuh",
    namespace="segmented_reduce",
    selector="policy_selector",
    key=(ScalarField("accum_t", TYPE), ScalarField("operation_t", OPERATION), *_ints("offset_size accum_size")),
    policy=(
        RecordField("large_reduce", _REDUCE_PASS.fields),
        RecordField("medium_reduce", _WARP),
        RecordField("small_reduce", _WARP),
    ),
)

SHAPES: Final = (RADIX_SORT, SELECT_IF, SEGMENTED_REDUCE)
