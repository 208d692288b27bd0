// Where the runs of more than one key begin, and how long they are.

#include <cub/device/device_run_length_encode.cuh>

#include <harness/runner.cuh>
#include <harness/runs.cuh>

namespace policygen::prove
{
template <class T>
struct longer_run_begins
{
  run_keys<T> keys;
  int64 items;
  __host__ __device__ bool operator()(int64 i) const
  {
    return i + 1 < items && keys.begins(i) && !keys.begins(i + 1);
  }
};

template <class T>
struct non_trivial_runs
{
  using selector = target::rle_non_trivial_runs::selector_for<T*, int32*, int>;
  using upstream = cub::detail::rle::non_trivial_runs::policy_selector_from_types<int32, T>;

  static constexpr auto call    = "DeviceRunLengthEncode::NonTrivialRuns";
  static constexpr auto sizes   = "items";
  static constexpr auto tile_of = "lookback";

  static int64 tile(const cub::RleNonTrivialRunsPolicy& policy)
  {
    return int64{policy.lookback.threads_per_block} * policy.lookback.items_per_thread;
  }

  static std::vector<kernel> kernels(const cub::RleNonTrivialRunsPolicy& policy)
  {
    return {{"DeviceRleSweepKernel", policy.lookback.threads_per_block, 2}};
  }

  run_keys<T> key{1};
  buffer<T> keys;
  buffer<int32> offsets, lengths;
  buffer<int> count{"count", 1};

  explicit non_trivial_runs(int64 items)
      : keys("keys", items, key)
      , offsets("offsets", items)
      , lengths("lengths", items)
  {}

  template <class Env>
  cudaError_t operator()(const Env& env) const
  {
    return cub::DeviceRunLengthEncode::NonTrivialRuns(
      keys.data(), offsets.data(), lengths.data(), count.data(), static_cast<int>(keys.size()), env);
  }

  void check(checks& found) const
  {
    const int64 items = keys.size();
    const longer_run_begins<T> begins{key, items};
    const ranking ranks(items, begins);
    found.same("number of runs", ranks.total(), int64{count.at(0)});
    const int32* const got_offsets = offsets.data();
    const int32* const got_lengths = lengths.data();
    found.template ranked<int64>("offset of a run", items, begins, ranks, [=] __device__(int64 i, int64 rank) {
      return compared<int64>{i, got_offsets[rank]};
    });
    found.template ranked<int64>("length of a run", items, begins, ranks, [=, key = key] __device__(int64 i, int64 rank) {
      return compared<int64>{key.end(i, items) - i, got_lengths[rank]};
    });
  }
};
} // namespace policygen::prove

inline void policygen::prove::cases(runner& run)
{
  run.run<non_trivial_runs, int32, int8, int16, int64, uint8, uint16, uint32, uint64, float32, float64>();
}
