"""A public call of CUB for each form of each algorithm, and the selector that a user names for it."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from policygen.emit.cpp.expressions import identifier


@frozen
class DeviceCall:
    """A call with an environment `env`.

    Attributes:
        algorithm: whose header has the selector.
        selector: as a user names it, in the algorithm's namespace.
        call: an expression; the pointers and numbers of `_HEAD` are at hand.
    """

    algorithm: str
    selector: str
    call: str


# What is deduced differs from what is given: small integers are promoted, outputs have another type than inputs.
DEVICE_CALLS = (
    DeviceCall(
        "adjacent_difference",
        "selector_for<const short*>",
        "cub::DeviceAdjacentDifference::SubtractLeftCopy(storage, bytes, shorts, ints, n, cuda::std::minus<>{}, env)",
    ),
    DeviceCall(
        "adjacent_difference",
        "selector_for_in_place<int*>",
        "cub::DeviceAdjacentDifference::SubtractLeft(storage, bytes, ints, n, cuda::std::minus<>{}, env)",
    ),
    DeviceCall("batch_memcpy", "selector_for<>", "cub::DeviceMemcpy::Batched(froms, tos, unsigneds, 7, env)"),
    DeviceCall(
        "batched_topk",
        "selector_for<const short**, cub::NullType**, cuda::args::constant<8>>",
        "cub::DeviceBatchedTopK::MaxKeys(storage, bytes, shorts_of, tos_of, cuda::args::immediate{n, "
        "cuda::args::bounds<1, 64>()}, cuda::args::constant<8>{}, cuda::args::immediate{7}, with_requirements(env))",
    ),
    DeviceCall("find", "selector_for<const short*>", "cub::DeviceFind::FindIf(shorts, ints, is_odd{}, n, env)"),
    DeviceCall(
        "find_bound_sorted_values",
        "selector_for<const short*, const double*>",
        "cub::DeviceFind::LowerBoundSortedValues(shorts, n, doubles, n, ints, cuda::std::less<>{}, env)",
    ),
    DeviceCall("for", "selector_for<>", "cub::DeviceFor::Bulk(n, touch{ints}, env)"),
    DeviceCall(
        "histogram",
        "selector_for_even<const unsigned char*, int>",
        "cub::DeviceHistogram::HistogramEven(bytes_in, ints, 257, 0, 256, n, env)",
    ),
    DeviceCall(
        "histogram",
        "selector_for_range<const short*, int>",
        "cub::DeviceHistogram::HistogramRange(shorts, ints, 257, shorts, n, env)",
    ),
    DeviceCall(
        "merge",
        "selector_for<const int*, const short*, const int*, const short*>",
        "cub::DeviceMerge::MergePairs(keys, shorts, 7, keys, shorts, 7, ints, to_shorts, cuda::std::less<>{}, env)",
    ),
    DeviceCall(
        "merge",
        "selector_for_keys<const int*, const int*>",
        "cub::DeviceMerge::MergeKeys(keys, 7, keys, 7, ints, cuda::std::less<>{}, env)",
    ),
    DeviceCall(
        "merge_sort",
        "selector_for<short*>",
        "cub::DeviceMergeSort::SortPairs(to_shorts, ints, n, cuda::std::less<>{}, env)",
    ),
    DeviceCall(
        "radix_sort",
        "selector_for<unsigned char, cub::NullType, int>",
        "cub::DeviceRadixSort::SortKeys(bytes_in, bytes_out, n, 0, 8, env)",
    ),
    DeviceCall(
        "reduce",
        "selector_for<const short*, int, cuda::std::plus<>, short>",
        "cub::DeviceReduce::Reduce(shorts, ints, n, cuda::std::plus<>{}, short{}, env)",
    ),
    DeviceCall(
        "reduce",
        "selector_for<const short*, long, cuda::minimum<>, double>",
        "cub::DeviceReduce::Min(shorts, to_doubles, long{n}, env)",
    ),
    DeviceCall(
        "reduce",
        "selector_for<const int*, int, cuda::std::plus<>, double, not_guaranteed, to_double>",
        "cub::DeviceReduce::TransformReduce(keys, to_doubles, n, cuda::std::plus<>{}, to_double{}, 0.0, "
        "in_any_order(env))",
    ),
    DeviceCall(
        "reduce",
        "selector_for_sum<const short*, double*, long>",
        "cub::DeviceReduce::Sum(shorts, to_doubles, long{n}, env)",
    ),
    DeviceCall(
        "reduce_by_key",
        "selector_for<const short*, int*, const short*, cuda::std::plus<>>",
        "cub::DeviceReduce::ReduceByKey(shorts, ints, shorts, ints, ints, cuda::std::plus<>{}, n, env)",
    ),
    DeviceCall(
        "rle_encode",
        "selector_for<const short*, int*, short*, int>",
        "cub::DeviceRunLengthEncode::Encode(shorts, ints, to_shorts, ints, n, env)",
    ),
    DeviceCall(
        "rle_non_trivial_runs",
        "selector_for<const short*, long*, int>",
        "cub::DeviceRunLengthEncode::NonTrivialRuns(shorts, ints, to_longs, ints, n, env)",
    ),
    DeviceCall(
        "scan",
        "selector_for<const short*, double*, cuda::maximum<>, float, long>",
        "cub::DeviceScan::ExclusiveScan(shorts, to_doubles, cuda::maximum<>{}, 0.0f, long{n}, env)",
    ),
    DeviceCall(
        "scan",
        "selector_for_sum<const short*, int*, int>",
        "cub::DeviceScan::InclusiveSum(shorts, ints, n, env)",
    ),
    DeviceCall(
        "scan",
        "selector_for_sum<const double*, double*, int, true>",
        "cub::DeviceScan::InclusiveSum(doubles, to_doubles, n, in_one_order(env))",
    ),
    DeviceCall(
        "scan_by_key",
        "selector_for<const int*, const short*, cuda::std::plus<>, double>",
        "cub::DeviceScan::ExclusiveScanByKey(keys, shorts, to_doubles, cuda::std::plus<>{}, 0.0, n, "
        "cuda::std::equal_to<>{}, env)",
    ),
    DeviceCall(
        "scan_by_key",
        "selector_for_sum<const int*, const short*>",
        "cub::DeviceScan::InclusiveSumByKey(keys, shorts, ints, n, cuda::std::equal_to<>{}, env)",
    ),
    DeviceCall(
        "segmented_radix_sort",
        "selector_for<int, short>",
        "cub::DeviceSegmentedRadixSort::SortPairs(keys, ints, shorts, to_shorts, 7, 7, keys, keys, 0, 32, env)",
    ),
    DeviceCall(
        "segmented_reduce",
        "selector_for<const short*, const int*, const long*, cuda::std::plus<>, short>",
        "cub::DeviceSegmentedReduce::Reduce(shorts, ints, 7, keys, longs, cuda::std::plus<>{}, short{}, env)",
    ),
    DeviceCall(
        "segmented_reduce",
        "selector_for_fixed_size<const short*, cuda::minimum<>, double>",
        "cub::DeviceSegmentedReduce::Reduce(shorts, ints, 7, n, cuda::minimum<>{}, 0.0, env)",
    ),
    DeviceCall(
        "segmented_scan",
        "selector_for<const short*, cuda::std::plus<>, double>",
        "cub::DeviceSegmentedScan::ExclusiveSegmentedScan(shorts, to_doubles, keys, keys, 7, cuda::std::plus<>{}, 0.0, "
        "env)",
    ),
    DeviceCall(
        "segmented_scan",
        "selector_for_sum<const short*>",
        "cub::DeviceSegmentedScan::InclusiveSegmentedSum(shorts, ints, keys, keys, 7, env)",
    ),
    DeviceCall(
        "segmented_sort",
        "selector_for<int, cub::NullType>",
        "cub::DeviceSegmentedSort::SortKeys(keys, ints, 7, 7, keys, keys, env)",
    ),
    DeviceCall(
        "select_if",
        "selector_for<const short*, const int*, int*>",
        "cub::DeviceSelect::Flagged(shorts, keys, ints, ints, n, env)",
    ),
    DeviceCall(
        "select_if",
        "selector_for_in_place<int*, cub::NullType*>",
        "cub::DeviceSelect::If(ints, ints, n, is_odd{}, env)",
    ),
    DeviceCall(
        "select_if",
        "partition_selector_for<const short*, cub::NullType*, int*, unsigned>",
        "cub::DevicePartition::If(shorts, ints, ints, unsigned{7}, is_odd{}, env)",
    ),
    DeviceCall(
        "three_way_partition",
        "selector_for<const short*>",
        "cub::DevicePartition::If(shorts, ints, ints, ints, ints, n, is_odd{}, is_odd{}, env)",
    ),
    DeviceCall(
        "topk",
        "selector_for<const short*>",
        "cub::DeviceTopK::MaxKeys(storage, bytes, shorts, to_shorts, n, 8, with_requirements(env))",
    ),
    DeviceCall(
        "transform",
        "selector_for<cuda::std::tuple<const short*, const int*>, double*>",
        "cub::DeviceTransform::Transform(cuda::std::make_tuple(shorts, keys), to_doubles, n, cuda::std::plus<>{}, env)",
    ),
    DeviceCall(
        "unique_by_key",
        "selector_for<const short*, const int*>",
        "cub::DeviceSelect::UniqueByKey(shorts, keys, to_shorts, ints, ints, n, cuda::std::equal_to<>{}, env)",
    ),
)

_HEAD = """
#include <cub/cub.cuh>
#include <cub/device/device_batched_topk.cuh>
#include <cub/device/device_segmented_scan.cuh>
#include <cuda/argument>
#include <cuda/execution>

using cuda::execution::tune;

struct is_odd { __host__ __device__ bool operator()(int x) const { return x % 2 != 0; } };
struct to_double { __host__ __device__ double operator()(int x) const { return x; } };
struct touch { int* out; __host__ __device__ void operator()(int i) const { out[i] = i; } };

namespace execution = cuda::execution;
[[maybe_unused]] constexpr auto not_guaranteed = execution::determinism::__determinism_t::__not_guaranteed;

template <class Env>
auto with_requirements(const Env& env)
{
  return cuda::std::execution::env{env, execution::require(execution::determinism::not_guaranteed,
    execution::tie_break::unspecified, execution::output_ordering::unsorted)};
}
template <class Env>
auto in_any_order(const Env& env)
{
  return cuda::std::execution::env{env, execution::require(execution::determinism::not_guaranteed)};
}
template <class Env>
auto in_one_order(const Env& env)
{
  return cuda::std::execution::env{env, execution::require(execution::determinism::run_to_run)};
}

extern void* storage;
extern size_t bytes;
extern int n;
extern const unsigned char* bytes_in;
extern unsigned char* bytes_out;
extern const short* shorts;
extern short* to_shorts;
extern const int* keys;
extern int* ints;
extern unsigned* unsigneds;
extern const long* longs;
extern long* to_longs;
extern const double* doubles;
extern double* to_doubles;
extern const void** froms;
extern void** tos;
extern const short** shorts_of;
extern short** tos_of;
"""


def device_program(target: str, calls: Sequence[DeviceCall], tuned: bool) -> str:
    """The calls, each with CUB's own selector or with the target's."""
    names = sorted({identifier(call.algorithm) for call in calls})
    lines = [f"#include <policygen/{target}/cub_tuning_{name}.cuh>" for name in names] + [_HEAD]
    for number, call in enumerate(calls):
        selector = f"policygen::{target}::{identifier(call.algorithm)}::{call.selector}"
        env = f"tune({selector}{{}})" if tuned else "cuda::std::execution::env<>{}"
        lines += [f"cudaError_t call_{number}()", "{", f"  const auto env = {env};", f"  return {call.call};", "}"]
    return "\n".join([*lines, ""])
