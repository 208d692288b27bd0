// Sums of the values that belong to runs of keys.

#include <cub/device/device_reduce.cuh>

#include <harness/runner.cuh>
#include <harness/runs.cuh>

namespace policygen::prove
{
template <class K, class V>
struct sums_of_runs
{
  using accumulator = ::cuda::std::__accumulator_t<::cuda::std::plus<>, V>;
  using selector    = target::reduce_by_key::selector_for<K*, K*, V*, ::cuda::std::plus<>>;
  using upstream = cub::detail::reduce_by_key::policy_selector_from_types<::cuda::std::plus<>, accumulator, K>;

  static constexpr auto sizes   = "items";
  static constexpr auto tile_of = "lookback";

  static int64 tile(const cub::ReduceByKeyPolicy& policy)
  {
    return int64{policy.lookback.threads_per_block} * policy.lookback.items_per_thread;
  }

  static std::vector<kernel> kernels(const cub::ReduceByKeyPolicy& policy)
  {
    return {{"DeviceReduceByKeyKernel", policy.lookback.threads_per_block, 1}};
  }

  run_keys<K> key{1};
  small_items<V> value{2};
  buffer<K> keys, unique;
  buffer<V> values, sums;
  buffer<int> count{"count", 1};

  explicit sums_of_runs(int64 items)
      : keys("keys", items, key)
      , unique("keys of runs", items)
      , values("values", items, value)
      , sums("sums", items)
  {}

  template <class Env>
  cudaError_t operator()(const Env& env) const
  {
    return cub::DeviceReduce::ReduceByKey(
      keys.data(),
      unique.data(),
      values.data(),
      sums.data(),
      count.data(),
      ::cuda::std::plus<>{},
      static_cast<int>(keys.size()),
      env);
  }

  void check(checks& found) const
  {
    const run_begins<K> begins{key};
    const int64 items = keys.size();
    const ranking ranks(items, begins);
    found.same("number of runs", ranks.total(), int64{count.at(0)});
    const K* const got_keys = unique.data();
    const V* const got_sums = sums.data();
    found.template ranked<K>("key of a run", items, begins, ranks, [=, key = key] __device__(int64 i, int64 rank) {
      return compared<K>{key(i), got_keys[rank]};
    });
    found.template ranked<V>(
      "sum of a run", items, begins, ranks, [=, key = key, value = value] __device__(int64 i, int64 rank) {
        V sum           = value(i);
        const int64 end = key.end(i, items);
        for (int64 j = i + 1; j < end; ++j)
        {
          sum = static_cast<V>(sum + value(j));
        }
        return compared<V>{sum, got_sums[rank]};
      });
  }
};

template <class T>
struct same_types : sums_of_runs<T, T>
{
  using sums_of_runs<T, T>::sums_of_runs;
  static constexpr auto call = "DeviceReduce::ReduceByKey, keys and values of one type";
};

template <class T>
struct int_keys : sums_of_runs<int32, T>
{
  using sums_of_runs<int32, T>::sums_of_runs;
  static constexpr auto call = "DeviceReduce::ReduceByKey, keys of int32";
};
} // namespace policygen::prove

inline void policygen::prove::cases(runner& run)
{
  run.run<same_types, int32, int8, int16, int64, uint8, uint16, uint32, uint64, float32, float64>();
  run.run<int_keys, float64, int8, int16, int64, float32>();
}
