// A CUB for the host: policies, and algorithms written down as simply as they can be.
//
// It is there to try the cases and their checks without a GPU. What happens to a result beside that is said by the
// environment variable PROVE_FAULT: `one_item` spoils one item of each, `ignored` takes no notice of the tuning.

#pragma once

#include <cuda/__device/compute_capability.h>
#include <cuda/__execution/determinism.h>
#include <cuda/__execution/output_ordering.h>
#include <cuda/__execution/require.h>
#include <cuda/__execution/tie_break.h>
#include <cuda/__execution/tune.h>
#include <cuda/argument>
#include <cuda/functional>
#include <cuda/std/__execution/env.h>
#include <cuda/std/__functional/invoke.h>
#include <cuda/std/array>
#include <cuda/std/tuple>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include <harness/launches.cuh>

namespace cub
{
using policygen::prove::int64;
using policygen::prove::launched;
using policygen::prove::uint32;

inline bool fault(const char* name)
{
  const char* const asked = std::getenv("PROVE_FAULT");
  return asked != nullptr && std::string(asked) == name;
}

// Another value in the place of one of the items.
template <class T>
void spoil(T* out, int64 items)
{
  if (items > 0 && fault("one_item"))
  {
    auto* const bytes = reinterpret_cast<unsigned char*>(out + items / 2);
    bytes[sizeof(T) - 1] ^= 0x21;
  }
}

struct NullType
{};

enum class SelectImpl
{
  Select,
  SelectPotentiallyInPlace,
  Partition
};

// Policies have what cases read of them: blocks that no two passes share, so that a launch tells which one it is.
struct pass
{
  int threads_per_block;
  int items_per_thread;
  int load_algorithm       = 0;
  int load_modifier        = 0;
  int scan_algorithm       = 0;
  int lookback_delay       = 0;
  int min_items_per_thread = 2;
  int pixels_per_thread    = 3;
  int buffers_per_thread   = 4;
  int bits_per_pass        = 8;

  constexpr bool operator==(const pass& other) const
  {
    return threads_per_block == other.threads_per_block && items_per_thread == other.items_per_thread;
  }
  friend std::ostream& operator<<(std::ostream& out, const pass& own)
  {
    return out << own.threads_per_block << " x " << own.items_per_thread;
  }
};

// A policy is made of the threads of its first pass; the members of each are named as CUB names them.
#define FAKE_POLICY(NAME, ...)                                   \
  struct NAME __VA_ARGS__;                                       \
  constexpr bool operator==(const NAME& a, const NAME& b)        \
  {                                                              \
    return a.first() == b.first();                               \
  }                                                              \
  inline std::ostream& operator<<(std::ostream& out, const NAME& own) \
  {                                                              \
    return out << #NAME << " { " << own.first() << " }";         \
  }

#define FAKE_LOOKBACK(NAME)                     \
  FAKE_POLICY(NAME, {                           \
    int algorithm;                              \
    pass lookback;                              \
    static constexpr NAME of(int threads)       \
    {                                           \
      return {0, {threads, 3}};                 \
    }                                           \
    constexpr const pass& first() const         \
    {                                           \
      return lookback;                          \
    }                                           \
  })

#define FAKE_FLAT(NAME)                   \
  FAKE_POLICY(NAME, : pass {              \
    static constexpr NAME of(int threads) \
    {                                     \
      return {{threads, 3}};              \
    }                                     \
    constexpr const pass& first() const   \
    {                                     \
      return *this;                       \
    }                                     \
  })

enum class ScanAlgorithm
{
  lookback,
  lookahead
};
enum class TransformAlgorithm
{
  prefetch,
  vectorized,
  ldgsts,
  ublkcp
};
enum class RadixSortAlgorithm
{
  multi_pass,
  onesweep
};
enum class PartitionAlgorithm
{
  lookback
};

FAKE_LOOKBACK(SelectPolicy)
FAKE_LOOKBACK(ThreeWayPartitionPolicy)
FAKE_LOOKBACK(ReduceByKeyPolicy)
FAKE_LOOKBACK(ScanByKeyPolicy)
FAKE_LOOKBACK(RleEncodePolicy)
FAKE_LOOKBACK(RleNonTrivialRunsPolicy)
FAKE_FLAT(UniqueByKeyPolicy)
FAKE_FLAT(MergeSortPolicy)
FAKE_FLAT(MergePolicy)
FAKE_FLAT(ForPolicy)
FAKE_FLAT(AdjacentDifferencePolicy)
FAKE_FLAT(FindIfPolicy)
FAKE_FLAT(FindBoundSortedValuesPolicy)
FAKE_FLAT(HistogramPolicy)

FAKE_POLICY(PartitionPolicy, {
  PartitionAlgorithm algorithm;
  pass lookback;
  static constexpr PartitionPolicy of(int threads)
  {
    return {PartitionAlgorithm::lookback, {threads, 3}};
  }
  constexpr const pass& first() const
  {
    return lookback;
  }
})

FAKE_POLICY(ReducePolicy, {
  pass multi_tile, single_tile;
  static constexpr ReducePolicy of(int threads)
  {
    return {{threads + 32, 3}, {threads, 3}};
  }
  constexpr const pass& first() const
  {
    return single_tile;
  }
})

FAKE_POLICY(ScanPolicy, {
  struct lookahead_policy
  {
    constexpr int tile_size() const
    {
      return 1;
    }
  };
  ScanAlgorithm algorithm;
  pass lookback;
  lookahead_policy lookahead;
  static constexpr ScanPolicy of(int threads)
  {
    return {ScanAlgorithm::lookback, {threads, 3}, {}};
  }
  constexpr const pass& first() const
  {
    return lookback;
  }
})

FAKE_POLICY(TransformPolicy, {
  TransformAlgorithm algorithm;
  pass prefetch, vectorized, async_copy;
  static constexpr TransformPolicy of(int threads)
  {
    return {TransformAlgorithm::prefetch, {threads, 3}, {}, {}};
  }
  constexpr const pass& first() const
  {
    return prefetch;
  }
})

FAKE_POLICY(RadixSortPolicy, {
  RadixSortAlgorithm algorithm;
  pass single_tile, onesweep, histogram, exclusive_sum, upsweep, alt_upsweep, downsweep, alt_downsweep;
  ScanPolicy scan;
  static constexpr RadixSortPolicy of(int threads)
  {
    return {RadixSortAlgorithm::onesweep, {threads, 3}, {threads + 32, 3}, {threads + 64, 3}, {threads + 96, 3},
            {}, {}, {}, {}, {}};
  }
  constexpr const pass& first() const
  {
    return single_tile;
  }
})

FAKE_POLICY(SegmentedRadixSortPolicy, {
  pass regular_pass, alternate_pass;
  static constexpr SegmentedRadixSortPolicy of(int threads)
  {
    return {{threads, 3}, {threads + 32, 3}};
  }
  constexpr const pass& first() const
  {
    return regular_pass;
  }
})

FAKE_POLICY(SegmentedSortPolicy, {
  pass large_segment, small_segment;
  static constexpr SegmentedSortPolicy of(int threads)
  {
    return {{threads, 3}, {threads + 32, 3}};
  }
  constexpr const pass& first() const
  {
    return large_segment;
  }
})

FAKE_POLICY(SegmentedReducePolicy, {
  pass large_reduce;
  static constexpr SegmentedReducePolicy of(int threads)
  {
    return {{threads, 3}};
  }
  constexpr const pass& first() const
  {
    return large_reduce;
  }
})

FAKE_POLICY(SegmentedScanPolicy, {
  pass block;
  static constexpr SegmentedScanPolicy of(int threads)
  {
    return {{threads, 3}};
  }
  constexpr const pass& first() const
  {
    return block;
  }
})

struct batched_copy_passes
{
  pass small_buffer, large_buffer;
};
FAKE_POLICY(BatchedCopyPolicy, {
  batched_copy_passes lookback;
  static constexpr BatchedCopyPolicy of(int threads)
  {
    return {{{threads, 3}, {threads + 32, 3}}};
  }
  constexpr const pass& first() const
  {
    return lookback.small_buffer;
  }
})

namespace detail
{
namespace topk
{
FAKE_FLAT(topk_policy)
}
namespace batched_topk
{
FAKE_POLICY(batched_topk_policy, {
  ::cuda::std::array<pass, 3> worker_per_segment_policies;
  static constexpr batched_topk_policy of(int threads)
  {
    return {{{{threads, 64}, {threads + 32, 32}, {threads, 1}}}};
  }
  constexpr const pass& first() const
  {
    return worker_per_segment_policies[1];
  }
})
}

template <class Policy, int Threads>
struct always_of
{
  constexpr Policy operator()(::cuda::compute_capability) const
  {
    return Policy::of(Threads);
  }
};

inline cudaError_t ptx_compute_cap(::cuda::compute_capability& cc)
{
  cc = ::cuda::compute_capability{90};
  return cudaSuccess;
}
} // namespace detail

// CUB's own selectors, and those under test: aliases that take whatever types a call has, with other blocks.
constexpr int usual_threads  = 128;
constexpr int target_threads = 192;
} // namespace cub

#define FAKE_UPSTREAM(NAMESPACE, POLICY, ...)                          \
  namespace cub::detail::NAMESPACE                                     \
  {                                                                    \
  template <__VA_ARGS__>                                               \
  struct policy_selector_from_types : always_of<POLICY, usual_threads> \
  {};                                                                  \
  }

FAKE_UPSTREAM(reduce, ReducePolicy, class, class, class, ::cuda::execution::determinism::__determinism_t)
FAKE_UPSTREAM(scan, ScanPolicy, class, class, class, class, class, bool)
FAKE_UPSTREAM(transform, TransformPolicy, bool, bool, class, class)
FAKE_UPSTREAM(radix_sort, RadixSortPolicy, class, class, class)
FAKE_UPSTREAM(merge_sort, MergeSortPolicy, class)
FAKE_UPSTREAM(select, SelectPolicy, class, class, class, class, SelectImpl)
FAKE_UPSTREAM(three_way_partition, ThreeWayPartitionPolicy, class, class)
FAKE_UPSTREAM(reduce_by_key, ReduceByKeyPolicy, class, class, class)
FAKE_UPSTREAM(scan_by_key, ScanByKeyPolicy, class, class, class, class)
FAKE_UPSTREAM(unique_by_key, UniqueByKeyPolicy, class, class)
FAKE_UPSTREAM(rle::encode, RleEncodePolicy, class, class)
FAKE_UPSTREAM(rle::non_trivial_runs, RleNonTrivialRunsPolicy, class, class)
FAKE_UPSTREAM(adjacent_difference, AdjacentDifferencePolicy, class, bool)
FAKE_UPSTREAM(find, FindIfPolicy, class)
FAKE_UPSTREAM(find_bound_sorted_values, FindBoundSortedValuesPolicy, class, class)
FAKE_UPSTREAM(histogram, HistogramPolicy, class, class, int, int, bool)
FAKE_UPSTREAM(merge, MergePolicy, class, class, class, class, class)
FAKE_UPSTREAM(topk, topk_policy, class)
FAKE_UPSTREAM(batched_topk, batched_topk_policy, class, class, class, std::int64_t)
FAKE_UPSTREAM(segmented_reduce, SegmentedReducePolicy, class, class, class)
FAKE_UPSTREAM(segmented_scan, SegmentedScanPolicy, class)
FAKE_UPSTREAM(segmented_radix_sort, SegmentedRadixSortPolicy, class, class, class)
FAKE_UPSTREAM(segmented_sort, SegmentedSortPolicy, class, class)

#define FAKE_TARGET(ALGORITHM, NAME, POLICY, ...)                        \
  namespace policygen::fake::ALGORITHM                                   \
  {                                                                      \
  template <__VA_ARGS__>                                                 \
  using NAME = ::cub::detail::always_of<::cub::POLICY, ::cub::target_threads>; \
  }

FAKE_TARGET(
  reduce, selector_for, ReducePolicy, class, class, class, class, class, ::cuda::execution::determinism::__determinism_t)
FAKE_TARGET(reduce, selector_for_sum, ReducePolicy, class, class, class)
FAKE_TARGET(scan, selector_for, ScanPolicy, class, class, class, class, class)
FAKE_TARGET(scan, selector_for_sum, ScanPolicy, class, class, class, bool = false)
FAKE_TARGET(transform, selector_for, TransformPolicy, class, class)
FAKE_TARGET(radix_sort, selector_for, RadixSortPolicy, class, class, class)
FAKE_TARGET(merge_sort, selector_for, MergeSortPolicy, class)
FAKE_TARGET(select_if, selector_for, SelectPolicy, class, class, class)
FAKE_TARGET(select_if, selector_for_in_place, SelectPolicy, class, class)
FAKE_TARGET(select_if, partition_selector_for, PartitionPolicy, class, class, class, class)
FAKE_TARGET(three_way_partition, selector_for, ThreeWayPartitionPolicy, class)
FAKE_TARGET(reduce_by_key, selector_for, ReduceByKeyPolicy, class, class, class, class)
FAKE_TARGET(scan_by_key, selector_for_sum, ScanByKeyPolicy, class, class)
FAKE_TARGET(unique_by_key, selector_for, UniqueByKeyPolicy, class, class)
FAKE_TARGET(rle_encode, selector_for, RleEncodePolicy, class, class, class, class)
FAKE_TARGET(rle_non_trivial_runs, selector_for, RleNonTrivialRunsPolicy, class, class, class)
FAKE_TARGET(for_each, selector_for, ForPolicy, class...)
FAKE_TARGET(adjacent_difference, selector_for, AdjacentDifferencePolicy, class)
FAKE_TARGET(adjacent_difference, selector_for_in_place, AdjacentDifferencePolicy, class)
FAKE_TARGET(find, selector_for, FindIfPolicy, class)
FAKE_TARGET(find_bound_sorted_values, selector_for, FindBoundSortedValuesPolicy, class, class)
FAKE_TARGET(histogram, selector_for_even, HistogramPolicy, class, class)
FAKE_TARGET(histogram, selector_for_range, HistogramPolicy, class, class)
FAKE_TARGET(merge, selector_for, MergePolicy, class, class, class, class)
FAKE_TARGET(merge, selector_for_keys, MergePolicy, class, class)
FAKE_TARGET(topk, selector_for, detail::topk::topk_policy, class)
FAKE_TARGET(batched_topk, selector_for, detail::batched_topk::batched_topk_policy, class, class, class)
FAKE_TARGET(segmented_reduce, selector_for, SegmentedReducePolicy, class, class, class, class, class)
FAKE_TARGET(segmented_reduce, selector_for_fixed_size, SegmentedReducePolicy, class, class, class)
FAKE_TARGET(segmented_scan, selector_for_sum, SegmentedScanPolicy, class)
FAKE_TARGET(segmented_radix_sort, selector_for, SegmentedRadixSortPolicy, class, class)
FAKE_TARGET(segmented_sort, selector_for, SegmentedSortPolicy, class, class)
FAKE_TARGET(batch_memcpy, selector_for, BatchedCopyPolicy, class...)

namespace cub
{
namespace detail
{
namespace for_each
{
struct policy_selector : always_of<ForPolicy, usual_threads>
{};
}
namespace batch_memcpy
{
struct policy_selector : always_of<BatchedCopyPolicy, usual_threads>
{};
}
namespace rfa
{
template <class T>
struct deterministic_sum_t
{};
}
namespace three_way_partition
{
using per_partition_offset_t = int;
}
namespace scan
{
template <class T>
int num_total_threads(const T&)
{
  return 0;
}
}
} // namespace detail

// The policy that a call runs with: the environment's, unless the tuning gets lost.
template <class Policy, class Env>
Policy policy_in(const Env& env)
{
  const auto tuning = ::cuda::execution::__get_tuning(env);
  using selector    = ::cuda::std::execution::__query_result_or_t<decltype(tuning), Policy, NullType>;
  static_assert(!std::is_same_v<selector, NullType>, "the environment has no selector for this algorithm");
  return fault("ignored") ? Policy::of(usual_threads) : selector{}(::cuda::compute_capability{90});
}

inline int64 tile_of(const pass& own)
{
  return int64{own.threads_per_block} * own.items_per_thread;
}

struct DeviceReduce
{
  template <class Env>
  static void told(const Env& env, int64 items)
  {
    const auto policy = policy_in<ReducePolicy>(env);
    using determinism = ::cuda::std::execution::__query_result_or_t<
      ::cuda::std::execution::__query_result_or_t<Env, ::cuda::execution::__get_requirements_t, ::cuda::std::execution::env<>>,
      ::cuda::execution::determinism::__get_determinism_t,
      ::cuda::execution::determinism::run_to_run_t>;
    if (std::is_same_v<determinism, ::cuda::execution::determinism::not_guaranteed_t>)
    {
      launched("DeviceReduceKernel", policy.multi_tile.threads_per_block);
      return;
    }
    const std::string prefix =
      std::is_same_v<determinism, ::cuda::execution::determinism::gpu_to_gpu_t> ? "Deterministic" : "";
    if (items > tile_of(policy.single_tile))
    {
      launched((prefix + "DeviceReduceKernel").c_str(), policy.multi_tile.threads_per_block);
    }
    launched((prefix + "DeviceReduceSingleTileKernel").c_str(), policy.single_tile.threads_per_block);
  }

  template <class T, class Operator, class Init, class Env>
  static cudaError_t Reduce(const T* in, T* out, int items, Operator op, Init init, const Env& env)
  {
    told(env, items);
    // what comes out of an order that no GPU changes is nearly exact
    using own     = std::decay_t<decltype(op(init, T{}))>;
    using careful = std::conditional_t<std::is_floating_point_v<own>, double, own>;
    auto sum      = static_cast<careful>(init);
    for (int i = 0; i < items; ++i)
    {
      sum = static_cast<careful>(op(sum, static_cast<careful>(in[i])));
    }
    *out = static_cast<T>(sum);
    spoil(out, 1);
    return cudaSuccess;
  }

  template <class T, class Env>
  static cudaError_t Sum(const T* in, T* out, int items, const Env& env)
  {
    return Reduce(in, out, items, ::cuda::std::plus<>{}, T{}, env);
  }

  template <class T, class Env>
  static cudaError_t Max(const T* in, T* out, int items, const Env& env)
  {
    return Reduce(in, out, items, ::cuda::maximum<>{}, ::cuda::std::numeric_limits<T>::lowest(), env);
  }

  template <class K, class V, class Operator, class Env>
  static cudaError_t
  ReduceByKey(const K* keys, K* unique, const V* values, V* sums, int* count, Operator op, int items, const Env& env)
  {
    launched("DeviceReduceByKeyKernel", policy_in<ReduceByKeyPolicy>(env).lookback.threads_per_block);
    *count = 0;
    for (int i = 0; i < items; ++i)
    {
      if (i > 0 && keys[i] == keys[i - 1])
      {
        sums[*count - 1] = static_cast<V>(op(sums[*count - 1], values[i]));
      }
      else
      {
        unique[*count] = keys[i];
        sums[*count]   = values[i];
        ++*count;
      }
    }
    spoil(sums, *count);
    return cudaSuccess;
  }
};

struct DeviceScan
{
  template <class Env>
  static void told(const Env& env)
  {
    launched("DeviceScanKernel", policy_in<ScanPolicy>(env).lookback.threads_per_block);
  }

  template <class T, class Operator, class Env>
  static cudaError_t InclusiveScan(const T* in, T* out, Operator op, int items, const Env& env)
  {
    told(env);
    for (int i = 0; i < items; ++i)
    {
      out[i] = i == 0 ? in[0] : static_cast<T>(op(out[i - 1], in[i]));
    }
    spoil(out, items);
    return cudaSuccess;
  }

  template <class T, class Env>
  static cudaError_t InclusiveSum(const T* in, T* out, int items, const Env& env)
  {
    return InclusiveScan(in, out, ::cuda::std::plus<>{}, items, env);
  }

  template <class T, class Operator, class Env>
  static cudaError_t ExclusiveScan(const T* in, T* out, Operator op, T init, int items, const Env& env)
  {
    told(env);
    for (int i = 0; i < items; ++i)
    {
      out[i] = i == 0 ? init : static_cast<T>(op(out[i - 1], in[i - 1]));
    }
    spoil(out, items);
    return cudaSuccess;
  }

  template <class K, class V, class Equal, class Env>
  static cudaError_t InclusiveSumByKey(const K* keys, const V* in, V* out, uint32 items, Equal equal, const Env& env)
  {
    launched("DeviceScanByKeyKernel", policy_in<ScanByKeyPolicy>(env).lookback.threads_per_block);
    for (uint32 i = 0; i < items; ++i)
    {
      out[i] = i > 0 && equal(keys[i], keys[i - 1]) ? static_cast<V>(out[i - 1] + in[i]) : in[i];
    }
    spoil(out, items);
    return cudaSuccess;
  }
};

struct DeviceTransform
{
  template <class... Inputs, class T, class Operator, class Env>
  static cudaError_t Transform(::cuda::std::tuple<Inputs...> in, T* out, int items, Operator op, const Env& env)
  {
    launched("transform_kernel", policy_in<TransformPolicy>(env).prefetch.threads_per_block);
    for (int i = 0; i < items; ++i)
    {
      out[i] = ::cuda::std::apply(
        [&](auto*... pointers) {
          return op(pointers[i]...);
        },
        in);
    }
    spoil(out, items);
    return cudaSuccess;
  }
};

// The order of items sorted by keys, equal ones as they were.
template <class T, class Less>
std::vector<int64> sorted_positions(const T* keys, int64 begin, int64 end, Less less)
{
  std::vector<int64> order(static_cast<std::size_t>(end - begin));
  std::iota(order.begin(), order.end(), begin);
  std::stable_sort(order.begin(), order.end(), [&](int64 a, int64 b) {
    return less(keys[a], keys[b]);
  });
  return order;
}

struct less_than
{
  template <class T>
  bool operator()(T a, T b) const
  {
    return a < b;
  }
};

struct more_than
{
  template <class T>
  bool operator()(T a, T b) const
  {
    return b < a;
  }
};

template <class T, class Less>
void sort_into(const T* in, T* out, int64 begin, int64 end, Less less)
{
  int64 to = begin;
  for (const int64 from : sorted_positions(in, begin, end, less))
  {
    out[to++] = in[from];
  }
}

template <class T, class V, class Less>
void sort_into(const T* in, T* out, const V* values_in, V* values_out, int64 begin, int64 end, Less less)
{
  int64 to = begin;
  for (const int64 from : sorted_positions(in, begin, end, less))
  {
    out[to]          = in[from];
    values_out[to++] = values_in[from];
  }
}

struct DeviceRadixSort
{
  template <class Env>
  static void told(const Env& env, int64 items)
  {
    const auto policy = policy_in<RadixSortPolicy>(env);
    if (items == 0)
    {
      return;
    }
    if (items <= tile_of(policy.single_tile))
    {
      launched("DeviceRadixSortSingleTileKernel", policy.single_tile.threads_per_block);
      return;
    }
    launched("DeviceRadixSortHistogramKernel", policy.histogram.threads_per_block);
    launched("DeviceRadixSortExclusiveSumKernel", policy.exclusive_sum.threads_per_block);
    launched("DeviceRadixSortOnesweepKernel", policy.onesweep.threads_per_block);
  }

  template <class T, class Env>
  static cudaError_t SortKeys(const T* in, T* out, int items, int, int, const Env& env)
  {
    told(env, items);
    sort_into(in, out, 0, items, less_than{});
    spoil(out, items);
    return cudaSuccess;
  }

  template <class T, class Env>
  static cudaError_t SortKeysDescending(const T* in, T* out, int items, int, int, const Env& env)
  {
    told(env, items);
    sort_into(in, out, 0, items, more_than{});
    spoil(out, items);
    return cudaSuccess;
  }

  template <class T, class V, class Env>
  static cudaError_t
  SortPairs(const T* in, T* out, const V* values_in, V* values_out, int items, int, int, const Env& env)
  {
    told(env, items);
    sort_into(in, out, values_in, values_out, 0, items, less_than{});
    spoil(values_out, items);
    return cudaSuccess;
  }
};

struct DeviceMergeSort
{
  template <class Env>
  static void told(const Env& env, int64 items)
  {
    const auto policy = policy_in<MergeSortPolicy>(env);
    if (items > 0)
    {
      launched("DeviceMergeSortBlockSortKernel", policy.threads_per_block);
    }
    if (items > tile_of(policy))
    {
      launched("DeviceMergeSortMergeKernel", policy.threads_per_block);
    }
  }

  template <class T, class Less, class Env>
  static cudaError_t SortKeysCopy(const T* in, T* out, int items, Less less, const Env& env)
  {
    told(env, items);
    see_of(less, in, items);
    sort_into(in, out, 0, items, less);
    spoil(out, items);
    return cudaSuccess;
  }

  template <class T, class V, class Less, class Env>
  static cudaError_t StableSortPairs(T* keys, V* values, int items, Less less, const Env& env)
  {
    told(env, items);
    see_of(less, keys, items);
    const std::vector<T> keys_in(keys, keys + items);
    const std::vector<V> values_in(values, values + items);
    sort_into(keys_in.data(), keys, values_in.data(), values, 0, items, less);
    spoil(values, items);
    return cudaSuccess;
  }

  // One item is compared with what fills up the tile.
  template <class T, class Less>
  static void see_of(Less less, const T* in, int items)
  {
    if (items > 0)
    {
      static_cast<void>(less(in[0], in[0]));
    }
  }
};

struct DeviceSelect
{
  template <class Env>
  static void told(const Env& env, int64 items)
  {
    if (items > 0)
    {
      launched("DeviceSelectSweepKernel", policy_in<SelectPolicy>(env).lookback.threads_per_block);
    }
  }

  template <class T, class Predicate, class Env>
  static cudaError_t If(const T* in, T* out, int* count, int64 items, Predicate predicate, const Env& env)
  {
    told(env, items);
    *count = 0;
    for (int64 i = 0; i < items; ++i)
    {
      if (predicate(in[i]))
      {
        out[(*count)++] = in[i];
      }
    }
    spoil(out, *count);
    return cudaSuccess;
  }

  template <class T, class Predicate, class Env>
  static cudaError_t If(T* data, int* count, int64 items, Predicate predicate, const Env& env)
  {
    return If(data, data, count, items, predicate, env);
  }

  template <class T, class F, class Env>
  static cudaError_t Flagged(const T* in, const F* flags, T* out, int* count, int64 items, const Env& env)
  {
    told(env, items);
    *count = 0;
    for (int64 i = 0; i < items; ++i)
    {
      if (flags[i])
      {
        out[(*count)++] = in[i];
      }
    }
    spoil(out, *count);
    return cudaSuccess;
  }

  template <class T, class Env>
  static cudaError_t Unique(const T* in, T* out, int* count, int64 items, const Env& env)
  {
    told(env, items);
    *count = 0;
    for (int64 i = 0; i < items; ++i)
    {
      if (i == 0 || !(in[i] == in[i - 1]))
      {
        out[(*count)++] = in[i];
      }
    }
    spoil(out, *count);
    return cudaSuccess;
  }

  template <class K, class V, class Env>
  static cudaError_t
  UniqueByKey(const K* keys, const V* values, K* keys_out, V* values_out, int* count, int items, const Env& env)
  {
    launched("DeviceUniqueByKeySweepKernel", policy_in<UniqueByKeyPolicy>(env).threads_per_block);
    *count = 0;
    for (int i = 0; i < items; ++i)
    {
      if (i == 0 || !(keys[i] == keys[i - 1]))
      {
        keys_out[*count]       = keys[i];
        values_out[(*count)++] = values[i];
      }
    }
    spoil(values_out, *count);
    return cudaSuccess;
  }
};

struct DevicePartition
{
  template <class T, class Flag, class Env>
  static cudaError_t by(const T* in, T* out, int* count, int items, Flag flag, const Env& env)
  {
    if (items > 0)
    {
      launched("DeviceSelectSweepKernel", policy_in<PartitionPolicy>(env).lookback.threads_per_block);
    }
    *count      = 0;
    int rejects = 0;
    for (int i = 0; i < items; ++i)
    {
      (flag(i) ? out[(*count)++] : out[items - 1 - rejects++]) = in[i];
    }
    spoil(out, items);
    return cudaSuccess;
  }

  template <class T, class Predicate, class Env>
  static cudaError_t If(const T* in, T* out, int* count, int items, Predicate predicate, const Env& env)
  {
    return by(
      in,
      out,
      count,
      items,
      [&](int i) {
        return predicate(in[i]);
      },
      env);
  }

  template <class T, class F, class Env>
  static cudaError_t Flagged(const T* in, const F* flags, T* out, int* count, int items, const Env& env)
  {
    return by(
      in,
      out,
      count,
      items,
      [&](int i) {
        return flags[i] != 0;
      },
      env);
  }

  template <class T, class First, class Second, class Env>
  static cudaError_t If(
    const T* in, T* first_out, T* second_out, T* rest, int* counts, int items, First first, Second second, const Env& env)
  {
    if (items > 0)
    {
      launched("DeviceThreeWayPartitionKernel", policy_in<ThreeWayPartitionPolicy>(env).lookback.threads_per_block);
    }
    counts[0] = counts[1] = 0;
    int left              = 0;
    for (int i = 0; i < items; ++i)
    {
      (first(in[i])    ? first_out[counts[0]++]
       : second(in[i]) ? second_out[counts[1]++]
                       : rest[left++]) = in[i];
    }
    spoil(rest, left);
    return cudaSuccess;
  }
};

struct DeviceRunLengthEncode
{
  template <class T, class Env>
  static cudaError_t Encode(const T* in, T* unique, int* lengths, int* count, int items, const Env& env)
  {
    launched("DeviceReduceByKeyKernel", policy_in<RleEncodePolicy>(env).lookback.threads_per_block);
    *count = 0;
    for (int i = 0; i < items; ++i)
    {
      if (i == 0 || !(in[i] == in[i - 1]))
      {
        unique[*count]      = in[i];
        lengths[(*count)++] = 0;
      }
      ++lengths[*count - 1];
    }
    spoil(lengths, *count);
    return cudaSuccess;
  }

  template <class T, class Env>
  static cudaError_t NonTrivialRuns(const T* in, int* offsets, int* lengths, int* count, int items, const Env& env)
  {
    launched("DeviceRleSweepKernel", policy_in<RleNonTrivialRunsPolicy>(env).lookback.threads_per_block);
    *count = 0;
    for (int i = 0, end = 0; i < items; i = end)
    {
      for (end = i; end < items && in[end] == in[i]; ++end)
      {
      }
      if (end - i > 1)
      {
        offsets[*count]     = i;
        lengths[(*count)++] = end - i;
      }
    }
    spoil(offsets, *count);
    return cudaSuccess;
  }
};

struct DeviceFor
{
  template <class Operator, class Env>
  static cudaError_t Bulk(int items, Operator op, const Env& env)
  {
    launched("static_kernel", policy_in<ForPolicy>(env).threads_per_block);
    for (int i = 0; i < items; ++i)
    {
      if (i != items / 2 || !fault("one_item"))
      {
        op(i);
      }
    }
    return cudaSuccess;
  }

  template <class T, class Operator, class Env>
  static cudaError_t ForEachN(T* data, int items, Operator op, const Env& env)
  {
    launched("static_kernel", policy_in<ForPolicy>(env).threads_per_block);
    for (int i = 0; i < items; ++i)
    {
      op(data[i]);
    }
    spoil(data, items);
    return cudaSuccess;
  }
};

struct DeviceAdjacentDifference
{
  template <class Env>
  static void told(const Env& env)
  {
    const auto threads = policy_in<AdjacentDifferencePolicy>(env).threads_per_block;
    launched("DeviceAdjacentDifferenceDifferenceKernel", threads);
  }

  template <class T, class Operator, class Env>
  static cudaError_t SubtractLeftCopy(const T* in, T* out, int items, Operator op, const Env& env)
  {
    told(env);
    policygen::prove::see_block();
    for (int i = 0; i < items; ++i)
    {
      out[i] = i == 0 ? in[0] : op(in[i], in[i - 1]);
    }
    spoil(out, items);
    return cudaSuccess;
  }

  template <class T, class Operator, class Env>
  static cudaError_t SubtractRight(T* data, int items, Operator op, const Env& env)
  {
    told(env);
    policygen::prove::see_block();
    for (int i = 0; i + 1 < items; ++i)
    {
      data[i] = op(data[i], data[i + 1]);
    }
    spoil(data, items);
    return cudaSuccess;
  }
};

struct DeviceFind
{
  template <class T, class Predicate, class Env>
  static cudaError_t FindIf(const T* in, int* out, Predicate predicate, int items, const Env& env)
  {
    if (items == 0)
    {
      return cudaErrorInvalidConfiguration;
    }
    launched("find_kernel", policy_in<FindIfPolicy>(env).threads_per_block);
    *out = static_cast<int>(std::find_if(in, in + items, predicate) - in);
    spoil(out, 1);
    return cudaSuccess;
  }

  template <class Env>
  static void told(const Env& env, int64 items)
  {
    if (items > 0)
    {
      const auto threads = policy_in<FindBoundSortedValuesPolicy>(env).threads_per_block;
      launched("device_find_bound_sorted_values_kernel", threads);
      policygen::prove::see_block();
    }
  }

  template <class T, class Less, class Env>
  static cudaError_t
  LowerBoundSortedValues(const T* range, int items, const T* values, int count, int* out, Less less, const Env& env)
  {
    told(env, items + count);
    for (int i = 0; i < count; ++i)
    {
      out[i] = static_cast<int>(std::lower_bound(range, range + items, values[i], less) - range);
    }
    spoil(out, count);
    return cudaSuccess;
  }

  template <class T, class Less, class Env>
  static cudaError_t
  UpperBoundSortedValues(const T* range, int items, const T* values, int count, int* out, Less less, const Env& env)
  {
    told(env, items + count);
    for (int i = 0; i < count; ++i)
    {
      out[i] = static_cast<int>(std::upper_bound(range, range + items, values[i], less) - range);
    }
    spoil(out, count);
    return cudaSuccess;
  }
};

struct DeviceMerge
{
  template <class Env>
  static void told(const Env& env, int64 items)
  {
    if (items > 0)
    {
      launched("device_merge_kernel", policy_in<MergePolicy>(env).threads_per_block);
      policygen::prove::see_block();
    }
  }

  template <class T, class Less, class Env>
  static cudaError_t
  MergeKeys(const T* first, int64 n, const T* second, int64 m, T* out, Less less, const Env& env)
  {
    told(env, n + m);
    std::merge(first, first + n, second, second + m, out, less);
    spoil(out, n + m);
    return cudaSuccess;
  }

  template <class T, class V, class Less, class Env>
  static cudaError_t MergePairs(
    const T* first, const V* v, int64 n, const T* second, const V* w, int64 m, T* out, V* values, Less less, const Env& env)
  {
    told(env, n + m);
    int64 i = 0, j = 0;
    for (int64 to = 0; to < n + m; ++to)
    {
      const bool take_second = i == n || (j < m && less(second[j], first[i]));
      out[to]                = take_second ? second[j] : first[i];
      values[to]             = take_second ? w[j++] : v[i++];
    }
    spoil(values, n + m);
    return cudaSuccess;
  }
};

struct DeviceHistogram
{
  template <class Env>
  static void told(const Env& env, int64 items)
  {
    if (items > 0)
    {
      launched("DeviceHistogramSweepKernel", policy_in<HistogramPolicy>(env).threads_per_block);
    }
  }

  template <class T, class Level, class Env>
  static cudaError_t
  HistogramEven(const T* in, int* counts, int levels, Level lowest, Level highest, int items, const Env& env)
  {
    told(env, items);
    std::fill(counts, counts + levels - 1, 0);
    for (int i = 0; i < items; ++i)
    {
      const auto sample = static_cast<double>(in[i]);
      if (sample >= static_cast<double>(lowest) && sample < static_cast<double>(highest))
      {
        const double width = (static_cast<double>(highest) - static_cast<double>(lowest)) / (levels - 1);
        ++counts[static_cast<int>((sample - static_cast<double>(lowest)) / width)];
      }
    }
    spoil(counts, levels - 1);
    return cudaSuccess;
  }

  template <class T, class Level, class Env>
  static cudaError_t HistogramRange(const T* in, int* counts, int count, const Level* levels, int items, const Env& env)
  {
    told(env, items);
    std::fill(counts, counts + count - 1, 0);
    for (int i = 0; i < items; ++i)
    {
      const auto bin = std::upper_bound(levels, levels + count, static_cast<Level>(in[i])) - levels - 1;
      if (bin >= 0 && bin < count - 1)
      {
        ++counts[bin];
      }
    }
    spoil(counts, count - 1);
    return cudaSuccess;
  }
};

struct DeviceTopK
{
  template <class T, class Env>
  static cudaError_t told(const Env& env, int64 items)
  {
    if (items == 0)
    {
      return cudaErrorInvalidConfiguration;
    }
    const auto threads = policy_in<detail::topk::topk_policy>(env).threads_per_block;
    launched("DeviceTopKHistogramKernel", threads);
    if (sizeof(T) > 1)
    {
      launched("DeviceTopKKernel", threads);
    }
    launched("DeviceTopKLastFilterKernel", threads);
    return cudaSuccess;
  }

  template <class T, class Env>
  static cudaError_t MaxKeys(const T* in, T* out, int items, int count, const Env& env)
  {
    if (const cudaError_t error = told<T>(env, items))
    {
      return error;
    }
    const auto order = sorted_positions(in, 0, items, more_than{});
    for (int i = 0; i < count; ++i)
    {
      out[count - 1 - i] = in[order[static_cast<std::size_t>(i)]];
    }
    spoil(out, count);
    return cudaSuccess;
  }

  template <class T, class V, class Env>
  static cudaError_t
  MinPairs(const T* in, T* out, const V* values_in, V* values_out, int items, int count, const Env& env)
  {
    if (const cudaError_t error = told<T>(env, items))
    {
      return error;
    }
    const auto order = sorted_positions(in, 0, items, less_than{});
    for (int i = 0; i < count; ++i)
    {
      out[count - 1 - i]        = in[order[static_cast<std::size_t>(i)]];
      values_out[count - 1 - i] = values_in[order[static_cast<std::size_t>(i)]];
    }
    spoil(values_out, count);
    return cudaSuccess;
  }
};

struct DeviceBatchedTopK
{
  template <class Env>
  static cudaError_t told(const Env& env, int64 segments)
  {
    if (segments == 0)
    {
      return cudaErrorInvalidConfiguration;
    }
    const auto policy = policy_in<detail::batched_topk::batched_topk_policy>(env);
    launched("device_segmented_topk_kernel", policy.worker_per_segment_policies[1].threads_per_block);
    return cudaSuccess;
  }

  template <class In, class Out, class Sizes, class K, class Env>
  static cudaError_t MaxKeys(In in, Out out, Sizes sizes, K, int segments, const Env& env)
  {
    if (const cudaError_t error = told(env, segments))
    {
      return error;
    }
    for (int k = 0; k < segments; ++k)
    {
      const int size   = ::cuda::args::__unwrap(sizes)[k];
      const auto order = sorted_positions(in[k], 0, size, more_than{});
      for (int j = 0; j < std::min<int>(::cuda::args::__unwrap(K{}), size); ++j)
      {
        out[k][j] = in[k][order[static_cast<std::size_t>(j)]];
      }
    }
    spoil(out[0], std::min<int>(::cuda::args::__unwrap(K{}), ::cuda::args::__unwrap(sizes)[0]));
    return cudaSuccess;
  }

  template <class In, class Out, class VIn, class VOut, class Sizes, class K, class Env>
  static cudaError_t MinPairs(In in, Out out, VIn values_in, VOut values_out, Sizes sizes, K, int segments, const Env& env)
  {
    if (const cudaError_t error = told(env, segments))
    {
      return error;
    }
    for (int k = 0; k < segments; ++k)
    {
      const int size   = ::cuda::args::__unwrap(sizes)[k];
      const auto order = sorted_positions(in[k], 0, size, less_than{});
      for (int j = 0; j < std::min<int>(::cuda::args::__unwrap(K{}), size); ++j)
      {
        out[k][j]        = in[k][order[static_cast<std::size_t>(j)]];
        values_out[k][j] = values_in[k][order[static_cast<std::size_t>(j)]];
      }
    }
    spoil(values_out[0], std::min<int>(::cuda::args::__unwrap(K{}), ::cuda::args::__unwrap(sizes)[0]));
    return cudaSuccess;
  }
};

struct DeviceSegmentedReduce
{
  template <class T, class Env>
  static cudaError_t
  Sum(const T* in, T* out, int64 segments, const int* begins, const int* ends, const Env& env)
  {
    if (segments > 0)
    {
      launched("DeviceSegmentedReduceKernel", policy_in<SegmentedReducePolicy>(env).large_reduce.threads_per_block);
    }
    for (int64 k = 0; k < segments; ++k)
    {
      out[k] = std::accumulate(in + begins[k], in + ends[k], T{});
    }
    spoil(out, segments);
    return cudaSuccess;
  }

  template <class T, class Env>
  static cudaError_t Sum(const T* in, T* out, int64 segments, int size, const Env& env)
  {
    const auto threads = policy_in<SegmentedReducePolicy>(env).large_reduce.threads_per_block;
    if (segments > 0)
    {
      launched("DeviceFixedSizeSegmentedReduceKernel", threads);
    }
    for (int64 k = 0; k < segments; ++k)
    {
      out[k] = std::accumulate(in + k * size, in + (k + 1) * size, T{});
    }
    spoil(out, segments);
    return cudaSuccess;
  }
};

struct DeviceSegmentedScan
{
  template <class T, class Env>
  static cudaError_t
  InclusiveSegmentedSum(const T* in, T* out, const int* begins, const int* ends, int64 segments, const Env& env)
  {
    launched("device_segmented_scan_kernel", policy_in<SegmentedScanPolicy>(env).block.threads_per_block);
    for (int64 k = 0; k < segments; ++k)
    {
      for (int i = begins[k]; i < ends[k]; ++i)
      {
        out[i] = i == begins[k] ? in[i] : static_cast<T>(out[i - 1] + in[i]);
      }
    }
    spoil(out, segments == 0 ? 0 : ends[segments - 1]);
    return cudaSuccess;
  }
};

struct DeviceSegmentedRadixSort
{
  template <class Env>
  static void told(const Env& env)
  {
    const auto policy = policy_in<SegmentedRadixSortPolicy>(env);
    launched("DeviceSegmentedRadixSortKernel", policy.alternate_pass.threads_per_block);
  }

  template <class T, class Env>
  static cudaError_t SortKeys(
    const T* in, T* out, int64 items, int64 segments, const int* begins, const int* ends, int, int, const Env& env)
  {
    told(env);
    for (int64 k = 0; k < segments; ++k)
    {
      sort_into(in, out, begins[k], ends[k], less_than{});
    }
    spoil(out, items);
    return cudaSuccess;
  }

  template <class T, class V, class Env>
  static cudaError_t SortPairs(
    const T* in,
    T* out,
    const V* values_in,
    V* values_out,
    int64 items,
    int64 segments,
    const int* begins,
    const int* ends,
    int,
    int,
    const Env& env)
  {
    told(env);
    for (int64 k = 0; k < segments; ++k)
    {
      sort_into(in, out, values_in, values_out, begins[k], ends[k], less_than{});
    }
    spoil(values_out, items);
    return cudaSuccess;
  }
};

struct DeviceSegmentedSort
{
  template <class Begins, class Env>
  static void told(const Env& env, int64 items, int64 segments, Begins begins)
  {
    const auto policy = policy_in<SegmentedSortPolicy>(env);
    if (items == 0)
    {
      return;
    }
    if (segments <= 500)
    {
      launched("DeviceSegmentedSortFallbackKernel", policy.large_segment.threads_per_block);
      static_cast<void>(begins[0]);
      return;
    }
    launched("DeviceSegmentedSortKernelLarge", policy.large_segment.threads_per_block);
    static_cast<void>(begins[0]);
    launched("DeviceSegmentedSortKernelSmall", policy.small_segment.threads_per_block);
    static_cast<void>(begins[0]);
    // as on a device, where the call cannot be recorded
    policygen::prove::current_trace().recorded     = false;
    policygen::prove::current_trace().not_recorded = "cudaErrorStreamCaptureUnsupported";
    policygen::prove::current_trace().launches.clear();
  }

  template <class T, class Begins, class Ends, class Env>
  static cudaError_t
  SortKeys(const T* in, T* out, int64 items, int64 segments, Begins begins, Ends ends, const Env& env)
  {
    told(env, items, segments, begins);
    for (int64 k = 0; k < segments; ++k)
    {
      sort_into(in, out, begins[k], ends[k], less_than{});
    }
    spoil(out, items);
    return cudaSuccess;
  }

  template <class T, class V, class Begins, class Ends, class Env>
  static cudaError_t StableSortPairs(
    const T* in,
    T* out,
    const V* values_in,
    V* values_out,
    int64 items,
    int64 segments,
    Begins begins,
    Ends ends,
    const Env& env)
  {
    told(env, items, segments, begins);
    for (int64 k = 0; k < segments; ++k)
    {
      sort_into(in, out, values_in, values_out, begins[k], ends[k], less_than{});
    }
    spoil(values_out, items);
    return cudaSuccess;
  }
};

template <class Sources, class Destinations, class Lengths>
cudaError_t copied(Sources sources, Destinations destinations, Lengths lengths, int64 count, const pass& small, const pass& large_)
{
  if (count > 0)
  {
    launched("BatchMemcpyKernel", small.threads_per_block);
    launched("MultiBlockBatchMemcpyKernel", large_.threads_per_block);
  }
  int64 whole = 0;
  for (int64 k = 0; k < count; ++k)
  {
    std::copy(sources[k], sources[k] + lengths[k], destinations[k]);
    whole += lengths[k];
  }
  if (count > 0)
  {
    spoil(destinations[count - 1], whole);
  }
  return cudaSuccess;
}

struct DeviceMemcpy
{
  template <class T, class Env>
  static cudaError_t Batched(T* const* sources, T* const* destinations, const uint32* bytes, int64 count, const Env& env)
  {
    std::vector<uint32> lengths(bytes, bytes + count);
    for (uint32& length : lengths)
    {
      length /= sizeof(T);
    }
    const auto policy = policy_in<BatchedCopyPolicy>(env).lookback;
    return copied(sources, destinations, lengths.data(), count, policy.small_buffer, policy.large_buffer);
  }
};

struct DeviceCopy
{
  template <class T, class Env>
  static cudaError_t Batched(T* const* sources, T* const* destinations, const uint32* lengths, int64 count, const Env& env)
  {
    const auto policy = policy_in<BatchedCopyPolicy>(env).lookback;
    return copied(sources, destinations, lengths, count, policy.small_buffer, policy.large_buffer);
  }
};
} // namespace cub
