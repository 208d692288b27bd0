// Run-length encoding: the key and the length of every run.

#include <cub/device/device_run_length_encode.cuh>

#include <harness/runner.cuh>
#include <harness/runs.cuh>

namespace policygen::prove
{
template <class T>
struct encode
{
  using length   = ::cuda::std::__accumulator_t<::cuda::std::plus<>, int32>;
  using selector = target::rle_encode::selector_for<T*, T*, int32*, int>;
  using upstream = cub::detail::rle::encode::policy_selector_from_types<length, T>;

  static constexpr auto call    = "DeviceRunLengthEncode::Encode";
  static constexpr auto sizes   = "items";
  static constexpr auto tile_of = "lookback";

  static int64 tile(const cub::RleEncodePolicy& policy)
  {
    return int64{policy.lookback.threads_per_block} * policy.lookback.items_per_thread;
  }

  static std::vector<kernel> kernels(const cub::RleEncodePolicy& policy)
  {
    return {{"DeviceReduceByKeyKernel", policy.lookback.threads_per_block, 1}};
  }

  run_keys<T> key{1};
  buffer<T> keys, unique;
  buffer<int32> lengths;
  buffer<int> count{"count", 1};

  explicit encode(int64 items)
      : keys("keys", items, key)
      , unique("keys of runs", items)
      , lengths("lengths", items)
  {}

  template <class Env>
  cudaError_t operator()(const Env& env) const
  {
    return cub::DeviceRunLengthEncode::Encode(
      keys.data(), unique.data(), lengths.data(), count.data(), static_cast<int>(keys.size()), env);
  }

  void check(checks& found) const
  {
    const run_begins<T> begins{key};
    const int64 items = keys.size();
    const ranking ranks(items, begins);
    found.same("number of runs", ranks.total(), int64{count.at(0)});
    const T* const got_keys        = unique.data();
    const int32* const got_lengths = lengths.data();
    found.template ranked<T>("key of a run", items, begins, ranks, [=, key = key] __device__(int64 i, int64 rank) {
      return compared<T>{key(i), got_keys[rank]};
    });
    found.template ranked<int64>("length of a run", items, begins, ranks, [=, key = key] __device__(int64 i, int64 rank) {
      return compared<int64>{key.end(i, items) - i, got_lengths[rank]};
    });
  }
};
} // namespace policygen::prove

inline void policygen::prove::cases(runner& run)
{
  run.run<encode, int32, int8, int16, int64, uint8, uint16, uint32, uint64, float32, float64>();
}
