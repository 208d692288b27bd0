// Sort of segments, with an algorithm for each size of segment.

#include <cub/device/device_segmented_sort.cuh>

#include <cuda/iterator>

#include <harness/runner.cuh>
#include <harness/segment_order.cuh>

namespace policygen::prove
{
// Offsets that see the blocks that they are read in: more segments than the policy's threshold make CUB wait for the
// device in the middle of the call, which then cannot be recorded.
struct seen_offset
{
  __host__ __device__ int operator()(int offset) const
  {
    see_block();
    return offset;
  }
};

template <class T, class V>
struct segmented_sort_policy
{
  using selector = target::segmented_sort::selector_for<T, V>;
  using upstream = cub::detail::segmented_sort::policy_selector_from_types<T, V>;

  static constexpr auto sizes    = "items, one segment up to 20000";
  static constexpr auto tile_of  = "large_segment";
  static constexpr bool observes = true;

  static int64 tile(const cub::SegmentedSortPolicy& policy)
  {
    return int64{policy.large_segment.threads_per_block} * policy.large_segment.items_per_thread;
  }

  static std::vector<kernel> kernels(const cub::SegmentedSortPolicy& policy)
  {
    const int large_threads = policy.large_segment.threads_per_block;
    const int small_threads = policy.small_segment.threads_per_block;
    return {{"DeviceSegmentedSortFallbackKernel", large_threads, 1, segments::one_segment},
            {"DeviceSegmentedSortKernelLarge", large_threads, million},
            {"DeviceSegmentedSortKernelSmall", small_threads, million}};
  }

  segments all;
  any_items<T> key{1};
  buffer<T> in, out;
  buffer<int> offsets;

  explicit segmented_sort_policy(int64 items)
      : all{items}
      , in("keys", items, key)
      , out("sorted keys", items)
      , offsets("offsets", all.count() + 1, segment_offsets{all})
  {}

  auto begins() const
  {
    return ::cuda::transform_iterator{static_cast<const int*>(offsets.data()), seen_offset{}};
  }

  auto ends() const
  {
    return ::cuda::transform_iterator{static_cast<const int*>(offsets.data() + 1), seen_offset{}};
  }
};

template <class T>
struct keys : segmented_sort_policy<T, cub::NullType>
{
  using segmented_sort_policy<T, cub::NullType>::segmented_sort_policy;
  static constexpr auto call = "DeviceSegmentedSort::SortKeys";

  template <class Env>
  cudaError_t operator()(const Env& env) const
  {
    return cub::DeviceSegmentedSort::SortKeys(
      this->in.data(), this->out.data(), this->in.size(), this->all.count(), this->begins(), this->ends(), env);
  }

  void check(checks& found) const
  {
    check_sorted_segment_keys(found, this->all, this->key, this->out.data());
  }
};

// The value of a key is its position.
template <class T>
struct pairs : segmented_sort_policy<T, uint32>
{
  static constexpr auto call = "DeviceSegmentedSort::StableSortPairs";

  buffer<uint32> values_in, values_out;

  explicit pairs(int64 items)
      : segmented_sort_policy<T, uint32>(items)
      , values_in("values", items, positions<uint32>{})
      , values_out("sorted values", items)
  {}

  template <class Env>
  cudaError_t operator()(const Env& env) const
  {
    return cub::DeviceSegmentedSort::StableSortPairs(
      this->in.data(),
      this->out.data(),
      values_in.data(),
      values_out.data(),
      this->in.size(),
      this->all.count(),
      this->begins(),
      this->ends(),
      env);
  }

  void check(checks& found) const
  {
    check_sorted_segments(found, this->all, this->key, this->out.data(), values_out.data());
  }
};
} // namespace policygen::prove

inline void policygen::prove::cases(runner& run)
{
  run.run<keys, int32, int8, int16, int64, uint8, uint16, uint32, uint64, float32, float64>();
  run.run<pairs, float32, int8, int32, int64>();
}
