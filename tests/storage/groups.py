"""The storages that are compared, by group: seeded random policies and types, and the corners that models get wrong."""

from __future__ import annotations

import random
from collections.abc import Callable
from collections.abc import Sequence
from typing import Any

from attrs import frozen

from storage.probe import F32
from storage.probe import F64
from storage.probe import I8
from storage.probe import I16
from storage.probe import I32
from storage.probe import I64
from storage.probe import I128
from storage.probe import NONE
from storage.probe import PLAIN
from storage.probe import Storage
from storage.probe import box

WAYS = ("DIRECT", "STRIPED", "VECTORIZE", "TRANSPOSE", "WARP_TRANSPOSE", "WARP_TRANSPOSE_TIMESLICED")
LOADS = tuple(f"BLOCK_LOAD_{way}" for way in WAYS)
STORES = tuple(f"BLOCK_STORE_{way}" for way in WAYS)
SCANS = ("BLOCK_SCAN_WARP_SCANS", "BLOCK_SCAN_RAKING", "BLOCK_SCAN_RAKING_MEMOIZE")
WARP_SCANS = SCANS[0]
REDUCTIONS = (
    "BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY",
    "BLOCK_REDUCE_RAKING",
    "BLOCK_REDUCE_WARP_REDUCTIONS",
    "BLOCK_REDUCE_WARP_REDUCTIONS_NONDETERMINISTIC",
)
THREADS = (32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 384, 416, 512, 640, 768, 992, 1024)
ITEMS = (1, 2, 3, 4, 5, 7, 8, 9, 11, 13, 15, 16, 20, 23)
BOXES = (box(3), box(12, 4), box(24, 8), box(40, 8), box(5), box(6, 2), box(130, 2), box(48, 16))
ALIGNED = (*BOXES, box(64, 4), box(32, 32), box(96, 32), box(64, 64), box(256, 256))
"""Types that may have any alignment, for the algorithms whose keys give it; elsewhere a spec takes the greatest."""


@frozen
class Group:
    """Storages of one program.

    Attributes:
        headers: where the agents are.
        declarations: C++ beside those that all programs have.
        storages: gives them for a source of random numbers.
    """

    name: str
    headers: tuple[str, ...]
    declarations: str
    storages: Callable[[random.Random], Sequence[Storage]]


def block(rng: random.Random, most: int = 8192) -> dict[str, Any]:
    threads, items = rng.choice(THREADS), rng.choice(ITEMS)
    return {
        "threads_per_block": threads,
        "items_per_thread": max(1, min(items, most // threads)),
        "load_algorithm": rng.choice(LOADS),
        "store_algorithm": rng.choice(STORES),
        "scan_algorithm": rng.choice(SCANS),
    }


def counts(policy: dict[str, Any]) -> str:
    return f"{policy['threads_per_block']}, {policy['items_per_thread']}"


def scans(rng: random.Random) -> list[Storage]:
    found: list[Storage] = []
    for kind in (*PLAIN, *ALIGNED) * 4:
        p = block(rng)
        policy = (
            f"d::agent_scan_policy<{counts(p)}, {kind.cpp}, {p['load_algorithm']}, LOAD_DEFAULT, "
            f"{p['store_algorithm']}, {p['scan_algorithm']}, unscaled<{counts(p)}>, delay>"
        )
        cpp = f"d::scan::AgentScan<{policy}, {kind.cpp}*, {kind.cpp}*, plus, NullType, int, {kind.cpp}>::TempStorage"
        given = {"lookback": p, "algorithm": "lookback", "accum_size": kind.size, "accum_alignment": kind.alignment}
        found.append(Storage("scan", cpp, given))
    for _ in range(40):
        p, key, kind = block(rng), rng.choice((*PLAIN, *ALIGNED)), rng.choice((*PLAIN, *ALIGNED))
        policy = (
            f"d::agent_scan_by_key_policy<{counts(p)}, {p['load_algorithm']}, LOAD_DEFAULT, {p['scan_algorithm']}, "
            f"{p['store_algorithm']}, delay>"
        )
        cpp = (
            f"d::scan_by_key::AgentScanByKey<{policy}, {key.cpp}*, {kind.cpp}*, {kind.cpp}*, eq, plus, "
            f"{kind.cpp}, unsigned, {kind.cpp}>::TempStorage"
        )
        given = {"lookback": p, "key_size": key.size, "key_alignment": key.alignment}
        given |= {"value_size": kind.size, "accum_size": kind.size, "accum_alignment": kind.alignment}
        found.append(Storage("scan_by_key", cpp, given))
    for kind in (*PLAIN, *BOXES, box(64, 64)) * 2:
        p = block(rng) | {"max_segments": rng.choice((1, 3, 16, 64, 512))}
        offset = rng.choice((I16, I32, I64))
        cpp = (
            f"d::segmented_scan::agent_segmented_scan<segmented_scan_policy<{counts(p)}, {p['load_algorithm']}, "
            f"{p['store_algorithm']}, {p['scan_algorithm']}, {p['max_segments']}>, {kind.cpp}*, {kind.cpp}*, "
            f"{offset.cpp}, plus, NullType, {kind.cpp}>::TempStorage"
        )
        given = {"block": p, "accum_size": kind.size, "accum_align": kind.alignment, "offset_size": offset.size}
        found.append(Storage("segmented_scan", cpp, given, constraints="shared-memory"))
    return found


def reductions(rng: random.Random) -> list[Storage]:
    found: list[Storage] = []
    for kind in (*PLAIN, *BOXES):
        for algorithm in REDUCTIONS:
            p = block(rng) | {"reduce_algorithm": algorithm, "vec_size": 1}
            if "NONDETERMINISTIC" in algorithm and kind not in (I32, I64, F32, F64):
                continue  # it adds atomically
            policy = (
                f"d::agent_reduce_policy<{counts(p)}, {kind.cpp}, 1, {algorithm}, LOAD_DEFAULT, unscaled<{counts(p)}>>"
            )
            cpp = f"d::reduce::AgentReduce<{policy}, {kind.cpp}*, int, plus, {kind.cpp}>::TempStorage"
            given = {"multi_tile": p, "accum_size": kind.size}
            found.append(Storage("reduce", cpp, given, constraints="shared-memory of multi_tile"))
    for _ in range(40):
        p, key, kind = block(rng), rng.choice((*PLAIN, *ALIGNED)), rng.choice((*PLAIN, *ALIGNED))
        offset = rng.choice((I32, I64))
        policy = (
            f"d::agent_reduce_by_key_policy<{counts(p)}, {p['load_algorithm']}, LOAD_DEFAULT, "
            f"{p['scan_algorithm']}, delay>"
        )
        cpp = (
            f"d::reduce_by_key::AgentReduceByKey<{policy}, {key.cpp}*, {key.cpp}*, {kind.cpp}*, {kind.cpp}*, "
            f"int*, eq, plus, {offset.cpp}, {kind.cpp}, NullType>::TempStorage"
        )
        given = {"lookback": p, "key_size": key.size, "key_alignment": key.alignment}
        given |= {"accum_size": kind.size, "accum_alignment": kind.alignment}
        found.append(Storage("reduce_by_key", cpp, given, constraints=f"shared-memory-{offset.size}-byte-offsets"))
    for _ in range(24):
        p, key, length = block(rng) | {"scan_algorithm": WARP_SCANS}, rng.choice((*PLAIN, *BOXES)), rng.choice(PLAIN)
        policy = f"d::agent_reduce_by_key_policy<{counts(p)}, {p['load_algorithm']}, LOAD_DEFAULT, {WARP_SCANS}, delay>"
        cpp = (
            f"d::reduce_by_key::AgentReduceByKey<{policy}, {key.cpp}*, {key.cpp}*, {length.cpp}*, {length.cpp}*, "
            f"int*, eq, plus, int, {length.cpp}, NullType>::TempStorage"
        )
        given = {"lookback": p, "key_size": key.size, "length_size": length.size}
        found.append(Storage("rle_encode", cpp, given))
    for _ in range(24):
        p, key, length = block(rng) | {"scan_algorithm": WARP_SCANS}, rng.choice((*PLAIN, *BOXES)), rng.choice(PLAIN)
        p |= {"store_with_time_slicing": rng.random() < 0.5}
        sliced = str(p["store_with_time_slicing"]).lower()
        policy = f"d::agent_rle_policy<{counts(p)}, {p['load_algorithm']}, LOAD_DEFAULT, {sliced}, {WARP_SCANS}, delay>"
        cpp = f"d::rle::AgentRle<{policy}, {key.cpp}*, int*, {length.cpp}*, eq, int, int, NullType>::TempStorage"
        found.append(
            Storage("rle_non_trivial_runs", cpp, {"lookback": p, "key_size": key.size, "length_size": length.size})
        )
    return found


def selections(rng: random.Random) -> list[Storage]:
    found: list[Storage] = []
    for _ in range(30):
        p, kind, offset = (
            block(rng) | {"scan_algorithm": WARP_SCANS},
            rng.choice((*PLAIN, *BOXES)),
            rng.choice((I32, I64)),
        )
        flag = rng.choice((NONE, I8))
        policy = f"d::agent_select_if_policy<{counts(p)}, {p['load_algorithm']}, LOAD_DEFAULT, {WARP_SCANS}, delay>"
        flags = "NullType*" if flag is NONE else "char*"
        op = "Op" if flag is NONE else "NullType"
        cpp = (
            f"d::select::AgentSelectIf<{policy}, {kind.cpp}*, {flags}, {kind.cpp}*, {op}, NullType, "
            "d::select::per_partition_offset_t, context, SelectImpl::Select>::TempStorage"
        )
        given = {"lookback": p, "input_size_bytes": kind.size, "input_alignment": kind.alignment}
        given |= {"flag_size_bytes": flag.size, "offset_size_bytes": offset.size}
        found.append(Storage("select_if", cpp, given))
    for _ in range(30):
        p, kind, offset = block(rng), rng.choice((*PLAIN, *BOXES)), rng.choice((I32, I64))
        policy = (
            f"d::agent_three_way_partition_policy<{counts(p)}, {p['load_algorithm']}, LOAD_DEFAULT, "
            f"{p['scan_algorithm']}, delay>"
        )
        cpp = (
            f"d::three_way_partition::AgentThreeWayPartition<{policy}, {', '.join([f'{kind.cpp}*'] * 4)}, eq, eq, "
            f"{offset.cpp}, NullType>::TempStorage"
        )
        given = {"lookback": p, "input_size": kind.size, "input_alignment": kind.alignment, "offset_size": offset.size}
        found.append(Storage("three_way_partition", cpp, given))
    for _ in range(40):
        p, offset = block(rng), rng.choice((I32, I64))
        key, value = rng.choice((*PLAIN, *ALIGNED)), rng.choice((*PLAIN, *BOXES))
        policy = (
            f"d::agent_unique_by_key_policy<{counts(p)}, {p['load_algorithm']}, LOAD_DEFAULT, "
            f"{p['scan_algorithm']}, delay>"
        )
        cpp = (
            f"d::unique_by_key::AgentUniqueByKey<{policy}, {key.cpp}*, {value.cpp}*, {key.cpp}*, {value.cpp}*, "
            f"eq, {offset.cpp}>::TempStorage"
        )
        given = p | {"key_size": key.size, "key_alignment": key.alignment}
        given |= {"value_size": value.size, "value_alignment": value.alignment, "offset_size": offset.size}
        found.append(Storage("unique_by_key", cpp, given))
    return found


RANKS = ("RADIX_RANK_BASIC", "RADIX_RANK_MEMOIZE", "RADIX_RANK_MATCH")
EARLY = ("RADIX_RANK_MATCH_EARLY_COUNTS_ANY", "RADIX_RANK_MATCH_EARLY_COUNTS_ATOMIC_OR")


def sorts(rng: random.Random) -> list[Storage]:
    found: list[Storage] = []
    for _ in range(16):
        threads, bits, offset = rng.choice((128, 256, 512)), rng.choice((4, 5, 6, 7)), rng.choice((I32, I64))
        sweep: dict[str, Any] = {"threads_per_block": threads, "radix_bits": bits}
        policy = f"d::agent_radix_sort_upsweep_policy<{threads}, 4, void, LOAD_DEFAULT, {bits}, unscaled<{threads}, 4>>"
        cpp = f"d::radix_sort::AgentRadixSortUpsweep<{policy}, int, {offset.cpp}>::TempStorage"
        given = {"algorithm": "multi_pass", "upsweep": sweep, "alt_upsweep": sweep, "offset_size": offset.size}
        found.append(Storage("radix_sort", cpp, given, constraints="shared-memory-upsweep"))
    for rank in RANKS * 6:
        p = sorting_sweep(rng, rank)
        key, value, offset = (
            rng.choice((I8, I16, I32, I64, I128)),
            rng.choice((NONE, I8, I32, F64)),
            rng.choice((I32, I64)),
        )
        cpp = (
            f"d::radix_sort::AgentRadixSortDownsweep<{downsweep_policy(p)}, false, {key.cpp}, {value.cpp}, "
            f"{offset.cpp}>::TempStorage"
        )
        given = {"algorithm": "multi_pass", "downsweep": p, "alt_downsweep": p, "offset_size": offset.size}
        given |= {"key_size": key.size, "value_size": value.size}
        found.append(Storage("radix_sort", cpp, given, constraints="shared-memory-downsweep"))
    for rank in (*EARLY, RANKS[2]) * 6:
        p = sorting_sweep(rng, rank) | {"rank_private_partitions": rng.choice((1, 2, 4))}
        key, offset = rng.choice((I8, I16, I32, I64, I128)), rng.choice((I32, I64))
        policy = (
            f"d::agent_radix_sort_onesweep_policy<{counts(p)}, {key.cpp}, {p['rank_private_partitions']}, {rank}, "
            f"{p['scan_algorithm']}, RADIX_SORT_STORE_DIRECT, {p['radix_bits']}, unscaled<{counts(p)}>>"
        )
        cpp = (
            f"d::radix_sort::AgentRadixSortOnesweep<{policy}, false, {key.cpp}, NullType, {offset.cpp}, "
            "int>::TempStorage"
        )
        given = {
            "algorithm": "onesweep",
            "onesweep": p,
            "key_size": key.size,
            "value_size": 0,
            "offset_size": offset.size,
        }
        found.append(Storage("radix_sort", cpp, given, constraints="shared-memory-onesweep"))
    for rank in RANKS[:2] * 7 + RANKS[2:] * 3:
        p = sorting_sweep(rng, rank)
        key, value, offset = (
            rng.choice((I8, I16, I32, I64, I128)),
            rng.choice((NONE, I8, I32, F64)),
            rng.choice((I32, I64)),
        )
        given = {"key_size": key.size, "value_size": value.size}
        kernel = f"segmented_sweeps<{counts(p)}, {downsweep_policy(p)}, {p['radix_bits']}, {key.cpp}, {value.cpp}, int>"
        passes = {"regular_pass": p, "alternate_pass": p}
        found.append(Storage("segmented_radix_sort", kernel, given | passes))
        cpp = (
            f"d::radix_sort::AgentSegmentedRadixSort<false, {downsweep_policy(p)}, {key.cpp}, {value.cpp}, "
            f"{offset.cpp}>::TempStorage"
        )
        given |= {"large_segment": p, "offset_size": offset.size}
        found.append(Storage("segmented_sort", cpp, given, constraints="shared-memory-large"))
    for _ in range(20):
        lanes, items = rng.choice((2, 4, 8, 16, 32)), rng.choice((1, 2, 3, 4, 7, 8, 9, 16))
        load, store = rng.choice(("TRANSPOSE", "DIRECT", "STRIPED")), rng.choice(("DIRECT", "TRANSPOSE", "STRIPED"))
        key, value = rng.choice((I8, I16, I32, F64, I128)), rng.choice((NONE, I16, I32, F64, I128, box(40)))
        policy = (
            f"d::agent_sub_warp_merge_sort_policy<256, {lanes}, {items}, WARP_LOAD_{load}, LOAD_DEFAULT, "
            f"WARP_STORE_{store}>"
        )
        cpp = (
            f"d::sub_warp_merge_sort::AgentSubWarpSort<false, {policy}, {key.cpp}, {value.cpp}, "
            f"int>::TempStorage[{256 // lanes}]"
        )
        part: dict[str, Any] = {"threads_per_block": 256, "threads_per_warp": lanes, "items_per_thread": items}
        part |= {"load_algorithm": f"WARP_LOAD_{load}", "store_algorithm": f"WARP_STORE_{store}"}
        given = {"medium_segment": part, "small_segment": part, "key_size": key.size, "value_size": value.size}
        found.append(Storage("segmented_sort", cpp, given, constraints="shared-memory-small"))
    for _ in range(20):
        p = block(rng, 4096) | {"threads_per_block": rng.choice((64, 128, 256))}
        key, value = rng.choice((*PLAIN, box(3), box(32, 4))), rng.choice((NONE, I8, I32, F64, box(12, 4)))
        cpp = (
            f"merge_sort_storage<merge_sort_policy<{counts(p)}, {p['load_algorithm']}, {p['store_algorithm']}>, "
            f"{key.cpp}, {value.cpp}>"
        )
        found.append(
            Storage(
                "merge_sort", cpp, p | {"key_size": key.size, "value_size": value.size}, constraints="shared-memory"
            )
        )
    return found


def sorting_sweep(rng: random.Random, rank: str) -> dict[str, Any]:
    threads = rng.choice((128, 160, 192, 256, 384, 512))
    return {
        "threads_per_block": threads,
        "items_per_thread": min(rng.choice((1, 2, 3, 5, 8, 9, 11, 16, 19, 23, 31)), 8192 // threads),
        "load_algorithm": rng.choice((LOADS[0], LOADS[3], LOADS[4])),
        "rank_algorithm": rank,
        "scan_algorithm": rng.choice((WARP_SCANS, SCANS[2])),
        "radix_bits": rng.choice((2, 4, 5, 6) if rank in RANKS[:2] else (4, 5, 6, 7, 8)),
    }


def downsweep_policy(p: dict[str, Any]) -> str:
    return (
        f"d::agent_radix_sort_downsweep_policy<0, 0, void, {p['load_algorithm']}, LOAD_DEFAULT, {p['rank_algorithm']}, "
        f"{p['scan_algorithm']}, {p['radix_bits']}, unscaled<{counts(p)}>>"
    )


def others(rng: random.Random) -> list[Storage]:
    found: list[Storage] = []
    for _ in range(24):
        p = block(rng, 4096) | {
            "use_bulk_copy_for_keys": rng.random() < 0.4,
            "use_bulk_copy_for_values": rng.random() < 0.4,
        }
        key, value = rng.choice((*PLAIN, box(3), box(32, 32), box(32, 4))), rng.choice((NONE, F64, I128, box(12, 4)))
        p["use_bulk_copy_for_values"] &= value is not NONE
        bulk = ", ".join(str(p[f"use_bulk_copy_for_{part}"]).lower() for part in ("keys", "values"))
        pointers = ", ".join([f"{key.cpp}*, {value.cpp}*"] * 3)
        cpp = (
            f"d::merge::agent_t<{counts(p)}, LOAD_DEFAULT, {p['store_algorithm']}, {bulk}, true, {pointers}, int, "
            "Op>::TempStorage"
        )
        given = {
            "key_size": key.size,
            "key_align": key.alignment,
            "value_size": value.size,
            "value_align": value.alignment,
        }
        found.append(Storage("merge", cpp, p | given))
    for _ in range(16):
        p, value, output = block(rng), rng.choice((*PLAIN, box(3), box(40, 8))), rng.choice((*PLAIN, box(40, 8)))
        policy = (
            f"d::agent_adjacent_difference_policy<{counts(p)}, {p['load_algorithm']}, LOAD_DEFAULT, "
            f"{p['store_algorithm']}>"
        )
        cpp = (
            f"d::adjacent_difference::AgentDifference<{policy}, {value.cpp}*, {output.cpp}*, Op, int, "
            f"{value.cpp}, {output.cpp}, false, true>::TempStorage"
        )
        found.append(
            Storage("adjacent_difference", cpp, p | {"value_type_size": value.size, "output_size": output.size})
        )
    for _ in range(8):
        p, a, b = block(rng), rng.choice((*PLAIN, box(3), box(40, 8))), rng.choice((*PLAIN, box(32, 4)))
        cpp = (
            f"d::find_bound_sorted_values::agent_t<{counts(p)}, LOAD_DEFAULT, "
            f"d::find_bound_sorted_values::lower_bound_mode, {a.cpp}*, {b.cpp}*, int*, int, Op>::TempStorage"
        )
        found.append(
            Storage("find_bound_sorted_values", cpp, p | {"range_type_size": a.size, "values_type_size": b.size})
        )
    for offset in (I32, I64):
        cpp = f"d::find::agent_t<128, 16, 4, LOAD_DEFAULT, int*, {offset.cpp}, Op>::TempStorage"
        found.append(Storage("find", cpp, {"offset_size": offset.size}))
    for channels, active in ((1, 1), (4, 3), (4, 4), (2, 2)) * 3:
        p, sample, counter = block(rng), rng.choice((I8, I16, F32, F64)), rng.choice((I32, I64))
        p |= {"pixels_per_thread": p["items_per_thread"], "vec_size": 4}
        policy = f"d::agent_histogram_policy<{counts(p)}, {p['load_algorithm']}, LOAD_DEFAULT, true, SMEM, false, 4>"
        cpp = (
            f"d::histogram::AgentHistogram<{policy}, 256, {channels}, {active}, {sample.cpp}*, {counter.cpp}, Op, "
            "Op, int>::TempStorage"
        )
        given = {"sample_size": sample.size, "counter_size": counter.size}
        given |= {"num_channels": channels, "num_active_channels": active}
        found.append(Storage("histogram", cpp, p | given))
    for threads, buffers, size in (
        (128, 4, 8),
        (256, 4, 8),
        (128, 2, 16),
        (64, 4, 8),
        (512, 1, 2),
        (448, 3, 5),
        (64, 1, 8),
    ):
        small = {"threads_per_block": threads, "buffers_per_thread": buffers, "bytes_per_thread": size}
        cpp = f"memcpy_storage<{threads}, {buffers}, {size}>"
        found.append(Storage("batch_memcpy", cpp, {"lookback": {"small_buffer": small}}))
    for _ in range(16):
        p, key, offset = (
            block(rng) | {"bits_per_pass": rng.choice((4, 8, 11))},
            rng.choice((I8, I16, F32, F64)),
            rng.choice((I32, I64)),
        )
        policy = (
            f"d::topk::agent_topk_policy<{counts(p)}, {p['bits_per_pass']}, {p['load_algorithm']}, "
            f"{p['scan_algorithm']}>"
        )
        unsigned = f"unsigned {offset.cpp}"
        cpp = f"topk_storage<{policy}, {key.cpp}, {unsigned}>"
        found.append(Storage("topk", cpp, p | {"key_size": key.size, "offset_size": offset.size}))
    for _ in range(16):
        p = block(rng) | {
            "threads_per_block": rng.choice((64, 128, 256, 512)),
            "items_per_thread": rng.choice((1, 2, 3, 4, 8, 16, 32)),
        }
        p["epilogue"] = {**block(rng), "items_per_thread": rng.choice((1, 2, 16)), "scan_algorithm": WARP_SCANS}
        e, segment = p["epilogue"], rng.choice((I8, I16, I32, I64))
        key, value = rng.choice((I8, I16, F32, F64, I128)), rng.choice((NONE, I32, F64, box(3)))
        cpp = (
            f"batched_storage<{counts(p)}, {p['load_algorithm']}, {p['store_algorithm']}, {e['items_per_thread']}, "
            f"{e['load_algorithm']}, {e['store_algorithm']}, {key.cpp}, {value.cpp}, {segment.cpp}>"
        )
        workers: dict[str, Any] = {"key_size": key.size, "value_size": value.size, "segment_size_bytes": segment.size}
        workers |= {"worker_per_segment_policies": {f"worker_{i}": p for i in range(6)}}
        found.append(Storage("batched_topk", cpp, workers))
    return found


def agents(*names: str) -> tuple[str, ...]:
    return tuple(f"cub/agent/agent_{name}.cuh" for name in names)


GROUPS = (
    Group(
        "scans",
        (
            *agents("scan", "scan_by_key"),
            "cub/device/device_segmented_scan.cuh",
            "cub/device/dispatch/kernels/kernel_segmented_scan.cuh",
        ),
        """
template <int T, int I, BlockLoadAlgorithm L, BlockStoreAlgorithm S, BlockScanAlgorithm C, int M>
struct segmented_scan_policy
{
  __host__ __device__ constexpr auto operator()() const
  {
    return SegmentedScanPolicy{SegmentedScanBlockPolicy{T, I, L, LOAD_DEFAULT, S, C, M}};
  }
};
""",
        scans,
    ),
    Group("reductions", agents("reduce", "reduce_by_key", "rle"), "", reductions),
    Group(
        "selections",
        (*agents("select_if", "three_way_partition", "unique_by_key"), "cub/device/dispatch/dispatch_select_if.cuh"),
        "using context = d::select::streaming_context_t<long long, false>;\n",
        selections,
    ),
    Group(
        "sorts",
        (
            *agents("radix_sort_upsweep", "radix_sort_downsweep", "radix_sort_onesweep", "segmented_radix_sort"),
            *agents("sub_warp_merge_sort", "merge_sort"),
            "cub/device/device_segmented_sort.cuh",
            "cub/device/dispatch/tuning/tuning_merge_sort.cuh",
        ),
        """
template <int T, int I, class Policy, int Bits, class K, class V, class O>
union segmented_sweeps
{
  typename d::radix_sort::AgentRadixSortUpsweep<
    d::agent_radix_sort_upsweep_policy<T, I, void, LOAD_DEFAULT, Bits, unscaled<T, I>>, K, O>::TempStorage upsweep;
  typename d::radix_sort::AgentRadixSortDownsweep<Policy, false, K, V, O>::TempStorage downsweep;
  struct
  {
    volatile O in[1 << Bits];
    volatile O out[1 << Bits];
    typename BlockScan<O, T>::TempStorage scan;
  } offsets;
};
template <int T, int I, BlockLoadAlgorithm L, BlockStoreAlgorithm S>
struct merge_sort_policy
{
  __host__ __device__ constexpr MergeSortPolicy operator()() const { return {T, I, L, LOAD_DEFAULT, S, true}; }
};
template <class Policy, class K, class V>
union merge_sort_storage
{
  typename d::merge_sort::AgentBlockSort<Policy, K*, V*, K*, V*, int, Op, K, V>::TempStorage sorting;
  typename d::merge_sort::AgentMerge<Policy, K*, V*, int, Op, K, V>::TempStorage merging;
};
""",
        sorts,
    ),
    Group(
        "others",
        (
            *agents(
                "merge", "adjacent_difference", "find", "find_bound_sorted_values", "histogram", "batch_memcpy", "topk"
            ),
            *agents("batched_topk"),
            "cub/device/dispatch/dispatch_batch_memcpy.cuh",
            "cub/device/dispatch/dispatch_topk.cuh",
        ),
        """
template <int T, int B, int Y>
using memcpy_storage = typename d::batch_memcpy::AgentBatchMemcpy<
  d::agent_batch_memcpy_policy<T, B, Y, false, 8192, 128, 8192, delay, delay>, void**, void**, unsigned*, unsigned,
  void**, void**, unsigned*, unsigned*, unsigned, ScanTileState<unsigned>, ScanTileState<unsigned>, true>::TempStorage;
template <class K>
struct digit
{
  template <class X>
  __host__ __device__ int operator()(X) const { return 0; }
};
template <class Policy, class K, class O>
using topk_storage = typename d::topk::AgentTopK<
  Policy, const K*, K*, NullType*, NullType*, digit<K>, digit<K>, O, O>::TempStorage;
struct batched_policies
{
  d::batched_topk::worker_policy worker_per_segment_policy;
  d::batched_topk::multi_worker_policy multi_worker_per_segment_policy;
};
template <int T, int I, BlockLoadAlgorithm L, BlockStoreAlgorithm S, int E, BlockLoadAlgorithm EL,
          BlockStoreAlgorithm ES>
struct batched_policy
{
  constexpr batched_policies operator()() const
  {
    return {{T, I, L, S, {E, EL, ES, BLOCK_SCAN_WARP_SCANS}}, {256, 64}};
  }
};
template <int T, int I, BlockLoadAlgorithm L, BlockStoreAlgorithm S, int E, BlockLoadAlgorithm EL,
          BlockStoreAlgorithm ES, class K, class V, class N>
using batched_storage = typename d::batched_topk::agent_batched_topk_worker_per_segment<
  batched_policy<T, I, L, S, E, EL, ES>, K**, K**, V**, V**, N, int, int, int, int>::TempStorage;
""",
        others,
    ),
)
