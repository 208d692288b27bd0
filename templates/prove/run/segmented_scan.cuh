// Prefix sums of segments.

#include <cub/device/device_segmented_scan.cuh>

#include <harness/runner.cuh>
#include <harness/segments.cuh>

namespace policygen::prove
{
template <class T>
struct segmented_sums
{
  using accumulator = ::cuda::std::__accumulator_t<::cuda::std::plus<>, T, T>;
  using selector    = target::segmented_scan::selector_for_sum<T*>;
  using upstream    = cub::detail::segmented_scan::policy_selector_from_types<accumulator>;

  static constexpr auto call    = "DeviceSegmentedScan::InclusiveSegmentedSum";
  static constexpr auto sizes   = "items, one segment up to 20000";
  static constexpr auto tile_of = "block";

  static int64 tile(const cub::SegmentedScanPolicy& policy)
  {
    return int64{policy.block.threads_per_block} * policy.block.items_per_thread;
  }

  static std::vector<kernel> kernels(const cub::SegmentedScanPolicy& policy)
  {
    return {{"device_segmented_scan_kernel", policy.block.threads_per_block, 1}};
  }

  segments all;
  small_items<T> item{1};
  buffer<T> in, sums;
  buffer<int> offsets;

  explicit segmented_sums(int64 items)
      : all{items}
      , in("items", items, item)
      , sums("prefix sums", items)
      , offsets("offsets", all.count() + 1, segment_offsets{all})
  {}

  template <class Env>
  cudaError_t operator()(const Env& env) const
  {
    return cub::DeviceSegmentedScan::InclusiveSegmentedSum(
      in.data(), sums.data(), offsets.data(), offsets.data() + 1, all.count(), env);
  }

  void check(checks& found) const
  {
    const T* const got = sums.data();
    found.template each<T>("prefix sum", sums.size(), [=, all = all, item = item] __device__(int64 i) {
      const bool begins = all.begin(all.of(i)) == i;
      return compared<T>{begins ? item(i) : static_cast<T>(got[i - 1] + item(i)), got[i]};
    });
  }
};
} // namespace policygen::prove

inline void policygen::prove::cases(runner& run)
{
  run.run<segmented_sums, int32, int8, int16, int64, uint8, uint16, uint32, uint64, float32, float64>();
}
