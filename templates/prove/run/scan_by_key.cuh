// Prefix sums that begin anew with every run of keys.

#include <cub/device/device_scan.cuh>

#include <harness/runner.cuh>
#include <harness/runs.cuh>

namespace policygen::prove
{
template <class K, class V>
struct sums_in_runs
{
  using accumulator = ::cuda::std::__accumulator_t<::cuda::std::plus<>, V, V>;
  using selector    = target::scan_by_key::selector_for_sum<K*, V*>;
  using upstream    = cub::detail::scan_by_key::policy_selector_from_types<K, accumulator, V, ::cuda::std::plus<>>;

  static constexpr auto sizes   = "items";
  static constexpr auto tile_of = "lookback";

  static int64 tile(const cub::ScanByKeyPolicy& policy)
  {
    return int64{policy.lookback.threads_per_block} * policy.lookback.items_per_thread;
  }

  static std::vector<kernel> kernels(const cub::ScanByKeyPolicy& policy)
  {
    return {{"DeviceScanByKeyKernel", policy.lookback.threads_per_block, 1}};
  }

  run_keys<K> key{1};
  small_items<V> value{2};
  buffer<K> keys;
  buffer<V> values, sums;

  explicit sums_in_runs(int64 items)
      : keys("keys", items, key)
      , values("values", items, value)
      , sums("prefix sums", items)
  {}

  template <class Env>
  cudaError_t operator()(const Env& env) const
  {
    return cub::DeviceScan::InclusiveSumByKey(
      keys.data(),
      values.data(),
      sums.data(),
      static_cast<uint32>(keys.size()),
      ::cuda::std::equal_to<>{},
      env);
  }

  void check(checks& found) const
  {
    const V* const got = sums.data();
    found.template each<V>("prefix sum", keys.size(), [=, key = key, value = value] __device__(int64 i) {
      return compared<V>{key.begins(i) ? value(i) : static_cast<V>(got[i - 1] + value(i)), got[i]};
    });
  }
};

template <class T>
struct same_types : sums_in_runs<T, T>
{
  using sums_in_runs<T, T>::sums_in_runs;
  static constexpr auto call = "DeviceScan::InclusiveSumByKey, keys and values of one type";
};

template <class T>
struct int_keys : sums_in_runs<int32, T>
{
  using sums_in_runs<int32, T>::sums_in_runs;
  static constexpr auto call = "DeviceScan::InclusiveSumByKey, keys of int32";
};
} // namespace policygen::prove

inline void policygen::prove::cases(runner& run)
{
  run.run<same_types, int32, int8, int16, int64, uint8, uint16, uint32, uint64, float32, float64>();
  run.run<int_keys, float64, int8, int16, int64, float32>();
}
