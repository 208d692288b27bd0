// Merges of two sorted sequences.

#include <cub/device/device_merge.cuh>

#include <harness/order.cuh>
#include <harness/rising.cuh>
#include <harness/runner.cuh>

namespace policygen::prove
{
struct less_and_see
{
  template <class T>
  __host__ __device__ bool operator()(const T& a, const T& b) const
  {
    see_block();
    return a < b;
  }
};

template <class T, class Values, class Selector>
struct merge_policy
{
  using selector = Selector;
  using upstream = cub::detail::merge::policy_selector_from_types<T*, Values, T*, Values, int64>;

  static constexpr auto sizes    = "items of both sequences together";
  static constexpr auto tile_of  = "the policy";
  static constexpr bool observes = true;

  static int64 tile(const cub::MergePolicy& policy)
  {
    return int64{policy.threads_per_block} * policy.items_per_thread;
  }

  static std::vector<kernel> kernels(const cub::MergePolicy& policy)
  {
    return {{"device_merge_kernel", policy.threads_per_block, 1}};
  }
};

// A third of the items are in the second sequence.
template <class T>
struct both
{
  rising<T> first, second;
  int64 in_first;

  explicit both(int64 items)
      : first{items - items / 3, 5, 1000}
      , second{items / 3, 3, 500}
      , in_first(items - items / 3)
  {}

  // The sequences one after the other.
  __host__ __device__ T operator()(int64 i) const
  {
    return i < in_first ? first(i) : second(i - in_first);
  }
};

template <class T>
struct keys : merge_policy<T, cub::NullType*, target::merge::selector_for_keys<T*, T*>>
{
  static constexpr auto call = "DeviceMerge::MergeKeys";

  both<T> key;
  buffer<T> first, second, out;

  explicit keys(int64 items)
      : key(items)
      , first("first keys", key.in_first, key.first)
      , second("second keys", items - key.in_first, key.second)
      , out("merged keys", items)
  {}

  template <class Env>
  cudaError_t operator()(const Env& env) const
  {
    return cub::DeviceMerge::MergeKeys(
      first.data(), first.size(), second.data(), second.size(), out.data(), less_and_see{}, env);
  }

  void check(checks& found) const
  {
    check_sorted_keys(found, out.size(), key, out.data(), ascending{});
  }
};

// Values of the second sequence's positions follow on those of the first: equal keys come from the first one first.
struct later_positions
{
  int64 from;
  __host__ __device__ uint32 operator()(int64 i) const
  {
    return static_cast<uint32>(from + i);
  }
};

template <class T>
struct pairs : merge_policy<T, uint32*, target::merge::selector_for<T*, uint32*, T*, uint32*>>
{
  static constexpr auto call = "DeviceMerge::MergePairs";

  both<T> key;
  buffer<T> first, second, out;
  buffer<uint32> first_values, second_values, values;

  explicit pairs(int64 items)
      : key(items)
      , first("first keys", key.in_first, key.first)
      , second("second keys", items - key.in_first, key.second)
      , out("merged keys", items)
      , first_values("first values", key.in_first, positions<uint32>{})
      , second_values("second values", items - key.in_first, later_positions{key.in_first})
      , values("merged values", items)
  {}

  template <class Env>
  cudaError_t operator()(const Env& env) const
  {
    return cub::DeviceMerge::MergePairs(
      first.data(),
      first_values.data(),
      first.size(),
      second.data(),
      second_values.data(),
      second.size(),
      out.data(),
      values.data(),
      less_and_see{},
      env);
  }

  void check(checks& found) const
  {
    check_sorted_pairs(found, out.size(), key, out.data(), values.data(), ascending{});
  }
};
} // namespace policygen::prove

inline void policygen::prove::cases(runner& run)
{
  run.run<keys, int32, int8, int16, int64, uint8, uint16, uint32, uint64, float32, float64>();
  run.run<pairs, float32, int8, int16, int32, int64, float64>();
}
