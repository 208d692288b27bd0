// The largest and the smallest of many small segments, in any order.

#include <cub/device/device_batched_topk.cuh>

#include <cuda/__execution/determinism.h>
#include <cuda/__execution/output_ordering.h>
#include <cuda/__execution/require.h>
#include <cuda/__execution/tie_break.h>
#include <cuda/argument>
#include <cuda/iterator>

#include <harness/largest.cuh>
#include <harness/runner.cuh>

namespace policygen::prove
{
constexpr int segment_items = 1024;
constexpr int asked_items   = 32;

// Where the items of a segment begin.
template <class T>
struct strided
{
  T* begin;
  int stride;
  __host__ __device__ T* operator()(int64 segment) const
  {
    return begin + segment * stride;
  }
};

template <class T>
auto segments_of(T* begin, int stride)
{
  return ::cuda::transform_iterator{::cuda::counting_iterator<int64>{0}, strided<T>{begin, stride}};
}

// All segments have 1024 items, but for the last one.
struct segment_size
{
  int64 items;
  __host__ __device__ int operator()(int64 segment) const
  {
    const int64 left = items - segment * segment_items;
    return static_cast<int>(left < segment_items ? left : segment_items);
  }
};

template <class T, class V>
struct batched_topk_policy
{
  using selector = target::batched_topk::selector_for<T**, V**, ::cuda::args::constant<int64{asked_items}>>;
  using upstream = cub::detail::batched_topk::policy_selector_from_types<T, V, int64, asked_items>;

  static constexpr auto sizes           = "items in segments of 1024, of which 32 each are asked for";
  static constexpr auto tile_of         = "the smallest worker that takes a segment";
  static constexpr auto refuses_nothing = "CUB launches a grid of no blocks for no segments";

  // CUB takes the smallest worker whose tile holds the largest segment.
  static auto worker(const cub::detail::batched_topk::batched_topk_policy& policy)
  {
    auto found = policy.worker_per_segment_policies[0];
    for (const auto& one : policy.worker_per_segment_policies)
    {
      if (one.threads_per_block * one.items_per_thread >= segment_items)
      {
        found = one;
      }
    }
    return found;
  }

  static int64 tile(const cub::detail::batched_topk::batched_topk_policy& policy)
  {
    return int64{worker(policy).threads_per_block} * worker(policy).items_per_thread;
  }

  static std::vector<kernel> kernels(const cub::detail::batched_topk::batched_topk_policy& policy)
  {
    return {{"device_segmented_topk_kernel", worker(policy).threads_per_block, 1}};
  }

  segment_size size;
  any_items<T> key{1};
  int64 count;
  buffer<T> in, out;
  buffer<int> lengths;

  explicit batched_topk_policy(int64 items)
      : size{items}
      , count((items + segment_items - 1) / segment_items)
      , in("keys", items, key)
      , out("found keys", count * asked_items)
      , lengths("lengths", count, size)
  {}

  // The environment with what CUB wants to be told: the order is not asked for, and which of equal ones neither.
  template <class Env>
  static auto asked(const Env& env)
  {
    return ::cuda::std::execution::env{::cuda::execution::require(::cuda::execution::determinism::not_guaranteed,
                                                                  ::cuda::execution::tie_break::unspecified,
                                                                  ::cuda::execution::output_ordering::unsorted),
                                       env};
  }

  auto sizes_of_segments() const
  {
    return ::cuda::args::deferred_sequence{
      static_cast<const int*>(lengths.data()), ::cuda::args::bounds<1, segment_items>()};
  }

  // The least of the keys that were found in a segment.
  template <class Ordered>
  struct last_found
  {
    const T* keys;
    segment_size size;
    Ordered ordered;

    __host__ __device__ int found(int64 k) const
    {
      return size(k) < asked_items ? size(k) : asked_items;
    }
    __host__ __device__ uint64 operator()(int64 k) const
    {
      uint64 last = ~uint64{0};
      for (int j = 0; j < found(k); ++j)
      {
        const uint64 own = ordered(keys[k * asked_items + j]);
        last             = own < last ? own : last;
      }
      return last;
    }
  };

  // Of each segment: the keys above the last one that was found are all its keys above that one, and of keys equal to
  // the last one the segment has as many as were found at least.
  template <class Ordered>
  void check_keys(checks& found, Ordered ordered) const
  {
    const T* const got = out.data();
    const last_found<Ordered> last{got, size, ordered};
    found.template each<uint64>(
      "keys above the last one, as a multiset", count, [=, key = key, size = size] __device__(int64 k) {
        const uint64 least = last(k);
        compared<uint64> sums{0, 0};
        for (int j = 0; j < size(k); ++j)
        {
          const uint64 own = ordered(key(k * segment_items + j));
          sums.expected += own > least ? scattered(own) : 0;
        }
        for (int j = 0; j < last.found(k); ++j)
        {
          const uint64 own = ordered(got[k * asked_items + j]);
          sums.got += own > least ? scattered(own) : 0;
        }
        return sums;
      });
    found.template each<int64>("keys equal to the last one", count, [=, key = key, size = size] __device__(int64 k) {
      const uint64 least = last(k);
      int64 in_segment = 0, in_result = 0;
      for (int j = 0; j < size(k); ++j)
      {
        in_segment += ordered(key(k * segment_items + j)) == least ? 1 : 0;
      }
      for (int j = 0; j < last.found(k); ++j)
      {
        in_result += ordered(got[k * asked_items + j]) == least ? 1 : 0;
      }
      return compared<int64>{in_result < in_segment ? in_result : in_segment, in_result};
    });
  }
};

struct greatest_first
{
  template <class T>
  __host__ __device__ uint64 operator()(T key) const
  {
    return ordered_bits(key);
  }
};

struct least_first
{
  template <class T>
  __host__ __device__ uint64 operator()(T key) const
  {
    return static_cast<bits_of_size<sizeof(T)>>(~ordered_bits(key));
  }
};

template <class T>
struct max_keys : batched_topk_policy<T, cub::NullType>
{
  using batched_topk_policy<T, cub::NullType>::batched_topk_policy;
  static constexpr auto call = "DeviceBatchedTopK::MaxKeys";

  template <class Env>
  cudaError_t operator()(const Env& env) const
  {
    return cub::DeviceBatchedTopK::MaxKeys(
      segments_of(this->in.data(), segment_items),
      segments_of(this->out.data(), asked_items),
      this->sizes_of_segments(),
      ::cuda::args::constant<int64{asked_items}>{},
      static_cast<int>(this->count),
      this->asked(env));
  }

  void check(checks& found) const
  {
    this->check_keys(found, greatest_first{});
  }
};

// The value of a key is its position.
template <class T>
struct min_pairs : batched_topk_policy<T, uint32>
{
  static constexpr auto call = "DeviceBatchedTopK::MinPairs";

  buffer<uint32> values_in, values_out, marks;

  explicit min_pairs(int64 items)
      : batched_topk_policy<T, uint32>(items)
      , values_in("values", items, positions<uint32>{})
      , values_out("found values", this->out.size())
      , marks("marks", items)
  {}

  template <class Env>
  cudaError_t operator()(const Env& env) const
  {
    return cub::DeviceBatchedTopK::MinPairs(
      segments_of(this->in.data(), segment_items),
      segments_of(this->out.data(), asked_items),
      segments_of(values_in.data(), segment_items),
      segments_of(values_out.data(), asked_items),
      this->sizes_of_segments(),
      ::cuda::args::constant<int64{asked_items}>{},
      static_cast<int>(this->count),
      this->asked(env));
  }

  void check(checks& found) const
  {
    this->check_keys(found, least_first{});
    const uint32* const values = values_out.data();
    const T* const keys        = this->out.data();
    uint32* const mark         = marks.data();
    const auto size            = this->size;
    const int64 items          = this->in.size();
    // the last segment may have less to find than there is room for
    found.template each<int64>("segments of the positions", values_out.size(), [=] __device__(int64 i) {
      const int64 segment = i / asked_items;
      const bool there    = i % asked_items < size(segment);
      return compared<int64>{segment, !there ? segment : values[i] < items ? int64{values[i]} / segment_items : -1};
    });
    found.template each<T>("keys at their positions", values_out.size(), [=, key = this->key] __device__(int64 i) {
      const bool there = i % asked_items < size(i / asked_items);
      return compared<T>{there ? key(values[i]) : T{}, there ? keys[i] : T{}};
    });
    // marks are poison at first, which no position is marked with
    found.template each<uint32>("each position once", values_out.size(), [=] __device__(int64 i) {
      const bool there = i % asked_items < size(i / asked_items);
      return compared<uint32>{0xa5a5a5a5u, there ? atomicExch(&mark[values[i]], 1u) : 0xa5a5a5a5u};
    });
  }
};
} // namespace policygen::prove

inline void policygen::prove::cases(runner& run)
{
  run.run<max_keys, int32, int8, int16, int64, uint8, uint16, uint32, uint64, float32, float64>();
  run.run<min_pairs, float32, int8, int32, int64>();
}
