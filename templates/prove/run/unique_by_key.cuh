// The first pair of every run of keys.

#include <cub/device/device_select.cuh>

#include <harness/runner.cuh>
#include <harness/runs.cuh>

namespace policygen::prove
{
template <class K, class V>
struct first_pairs
{
  using selector = target::unique_by_key::selector_for<K*, V*>;
  using upstream = cub::detail::unique_by_key::policy_selector_from_types<K, V>;

  static constexpr auto sizes   = "items";
  static constexpr auto tile_of = "the policy";

  static int64 tile(const cub::UniqueByKeyPolicy& policy)
  {
    return int64{policy.threads_per_block} * policy.items_per_thread;
  }

  static std::vector<kernel> kernels(const cub::UniqueByKeyPolicy& policy)
  {
    return {{"DeviceUniqueByKeySweepKernel", policy.threads_per_block, 1}};
  }

  run_keys<K> key{1};
  any_items<V> value{2};
  buffer<K> keys, keys_out;
  buffer<V> values, values_out;
  buffer<int> count{"count", 1};

  explicit first_pairs(int64 items)
      : keys("keys", items, key)
      , keys_out("keys of runs", items)
      , values("values", items, value)
      , values_out("values of runs", items)
  {}

  template <class Env>
  cudaError_t operator()(const Env& env) const
  {
    return cub::DeviceSelect::UniqueByKey(
      keys.data(),
      values.data(),
      keys_out.data(),
      values_out.data(),
      count.data(),
      static_cast<int>(keys.size()),
      env);
  }

  void check(checks& found) const
  {
    const run_begins<K> begins{key};
    const ranking ranks(keys.size(), begins);
    found.same("number of runs", ranks.total(), int64{count.at(0)});
    const K* const got_keys   = keys_out.data();
    const V* const got_values = values_out.data();
    found.template ranked<K>("key of a run", keys.size(), begins, ranks, [=, key = key] __device__(int64 i, int64 rank) {
      return compared<K>{key(i), got_keys[rank]};
    });
    found.template ranked<V>(
      "value of a run", keys.size(), begins, ranks, [=, value = value] __device__(int64 i, int64 rank) {
        return compared<V>{value(i), got_values[rank]};
      });
  }
};

template <class T>
struct same_types : first_pairs<T, T>
{
  using first_pairs<T, T>::first_pairs;
  static constexpr auto call = "DeviceSelect::UniqueByKey, keys and values of one type";
};

template <class T>
struct int_keys : first_pairs<int32, T>
{
  using first_pairs<int32, T>::first_pairs;
  static constexpr auto call = "DeviceSelect::UniqueByKey, keys of int32";
};
} // namespace policygen::prove

inline void policygen::prove::cases(runner& run)
{
  run.run<same_types, int32, int8, int16, int64, uint8, uint16, uint32, uint64, float32, float64>();
  run.run<int_keys, float64, int8, int16, int64>();
}
