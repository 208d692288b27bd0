// Radix sort of segments.

#include <cub/device/device_segmented_radix_sort.cuh>

#include <harness/runner.cuh>
#include <harness/segment_order.cuh>

namespace policygen::prove
{
template <class T, class V>
struct segmented_radix_policy
{
  using selector = target::segmented_radix_sort::selector_for<T, V>;
  using upstream = cub::detail::segmented_radix_sort::policy_selector_from_types<T, V, int32>;

  static constexpr auto sizes   = "items, one segment up to 20000";
  static constexpr auto tile_of = "regular_pass";

  static int64 tile(const cub::SegmentedRadixSortPolicy& policy)
  {
    return int64{policy.regular_pass.threads_per_block} * policy.regular_pass.items_per_thread;
  }

  // Which of the passes there are depends on the bits of a key.
  static std::vector<kernel> kernels(const cub::SegmentedRadixSortPolicy& policy)
  {
    return {{"DeviceSegmentedRadixSortKernel", policy.regular_pass.threads_per_block, no_limit},
            {"DeviceSegmentedRadixSortKernel", policy.alternate_pass.threads_per_block, no_limit}};
  }

  segments all;
  any_items<T> key{1};
  buffer<T> in, out;
  buffer<int> offsets;

  explicit segmented_radix_policy(int64 items)
      : all{items}
      , in("keys", items, key)
      , out("sorted keys", items)
      , offsets("offsets", all.count() + 1, segment_offsets{all})
  {}
};

template <class T>
struct keys : segmented_radix_policy<T, cub::NullType>
{
  using segmented_radix_policy<T, cub::NullType>::segmented_radix_policy;
  static constexpr auto call = "DeviceSegmentedRadixSort::SortKeys";

  template <class Env>
  cudaError_t operator()(const Env& env) const
  {
    return cub::DeviceSegmentedRadixSort::SortKeys(
      this->in.data(),
      this->out.data(),
      this->in.size(),
      this->all.count(),
      this->offsets.data(),
      this->offsets.data() + 1,
      0,
      static_cast<int>(8 * sizeof(T)),
      env);
  }

  void check(checks& found) const
  {
    check_sorted_segment_keys(found, this->all, this->key, this->out.data());
  }
};

// The value of a key is its position.
template <class T>
struct pairs : segmented_radix_policy<T, uint32>
{
  static constexpr auto call = "DeviceSegmentedRadixSort::SortPairs";

  buffer<uint32> values_in, values_out;

  explicit pairs(int64 items)
      : segmented_radix_policy<T, uint32>(items)
      , values_in("values", items, positions<uint32>{})
      , values_out("sorted values", items)
  {}

  template <class Env>
  cudaError_t operator()(const Env& env) const
  {
    return cub::DeviceSegmentedRadixSort::SortPairs(
      this->in.data(),
      this->out.data(),
      values_in.data(),
      values_out.data(),
      this->in.size(),
      this->all.count(),
      this->offsets.data(),
      this->offsets.data() + 1,
      0,
      static_cast<int>(8 * sizeof(T)),
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
