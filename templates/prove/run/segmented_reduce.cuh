// Sums of segments, given by offsets and all of one size.

#include <cub/device/device_segmented_reduce.cuh>

#include <harness/runner.cuh>
#include <harness/segments.cuh>

namespace policygen::prove
{
template <class T, class Selector>
struct segmented_reduce_policy
{
  using accumulator = ::cuda::std::__accumulator_t<::cuda::std::plus<>, T, T>;
  using selector    = Selector;
  using upstream = cub::detail::segmented_reduce::policy_selector_from_types<accumulator, int, ::cuda::std::plus<>>;

  static constexpr auto tile_of = "large_reduce";

  static int64 tile(const cub::SegmentedReducePolicy& policy)
  {
    return int64{policy.large_reduce.threads_per_block} * policy.large_reduce.items_per_thread;
  }
};

template <class T>
struct by_offsets
    : segmented_reduce_policy<T, target::segmented_reduce::selector_for<T*, int*, int*, ::cuda::std::plus<>, T>>
{
  static constexpr auto call  = "DeviceSegmentedReduce::Sum, segments by offsets";
  static constexpr auto sizes = "items, one segment up to 20000";

  static std::vector<kernel> kernels(const cub::SegmentedReducePolicy& policy)
  {
    return {{"DeviceSegmentedReduceKernel", policy.large_reduce.threads_per_block, 1}};
  }

  segments all;
  small_items<T> item{1};
  buffer<T> in, sums;
  buffer<int> offsets;

  explicit by_offsets(int64 items)
      : all{items}
      , in("items", items, item)
      , sums("sums", all.count())
      , offsets("offsets", all.count() + 1, segment_offsets{all})
  {}

  template <class Env>
  cudaError_t operator()(const Env& env) const
  {
    return cub::DeviceSegmentedReduce::Sum(
      in.data(), sums.data(), sums.size(), offsets.data(), offsets.data() + 1, env);
  }

  void check(checks& found) const
  {
    const T* const got = sums.data();
    found.template each<T>("sum of a segment", sums.size(), [=, all = all, item = item] __device__(int64 k) {
      T sum{};
      for (int64 i = all.begin(k); i < all.begin(k + 1); ++i)
      {
        sum = static_cast<T>(sum + item(i));
      }
      return compared<T>{sum, got[k]};
    });
  }
};

template <class T>
struct of_one_size
    : segmented_reduce_policy<T, target::segmented_reduce::selector_for_fixed_size<T*, ::cuda::std::plus<>, T>>
{
  static constexpr auto call  = "DeviceSegmentedReduce::Sum, segments of one size";
  static constexpr auto sizes = "items, one segment up to 20000, segments of 500 above";

  static std::vector<kernel> kernels(const cub::SegmentedReducePolicy& policy)
  {
    return {{"DeviceFixedSizeSegmentedReduceKernel", policy.large_reduce.threads_per_block, 1}};
  }

  int size;
  int64 count;
  small_items<T> item{2};
  buffer<T> in, sums;

  explicit of_one_size(int64 items)
      : size(items <= segments::one_segment ? static_cast<int>(std::max<int64>(items, 1)) : 500)
      , count(items / size)
      , in("items", count * size, item)
      , sums("sums", count)
  {}

  template <class Env>
  cudaError_t operator()(const Env& env) const
  {
    return cub::DeviceSegmentedReduce::Sum(in.data(), sums.data(), count, size, env);
  }

  void check(checks& found) const
  {
    const T* const got = sums.data();
    found.template each<T>("sum of a segment", count, [=, size = size, item = item] __device__(int64 k) {
      T sum{};
      for (int64 i = k * size; i < (k + 1) * size; ++i)
      {
        sum = static_cast<T>(sum + item(i));
      }
      return compared<T>{sum, got[k]};
    });
  }
};
} // namespace policygen::prove

inline void policygen::prove::cases(runner& run)
{
  run.run<by_offsets, int32, int8, int16, int64, uint8, uint16, uint32, uint64, float32, float64>();
  run.run<of_one_size, float32, int8, int16, int32, int64, float64>();
}
