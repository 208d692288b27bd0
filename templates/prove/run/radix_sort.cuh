// Radix sort of keys and of pairs, both ways.

#include <cub/device/device_radix_sort.cuh>

#include <harness/order.cuh>
#include <harness/runner.cuh>

namespace policygen::prove
{
template <class T, class V>
struct radix_sort_policy
{
  using selector = target::radix_sort::selector_for<T, V, int>;
  using upstream = cub::detail::radix_sort::policy_selector_from_types<T, V, uint32>;

  static constexpr auto sizes   = "items";
  static constexpr auto tile_of = "single_tile; more items are sorted by other kernels";

  static int64 tile(const cub::RadixSortPolicy& policy)
  {
    return int64{policy.single_tile.threads_per_block} * policy.single_tile.items_per_thread;
  }

  static std::vector<kernel> kernels(const cub::RadixSortPolicy& policy)
  {
    const int64 one = tile(policy);
    std::vector<kernel> found{{"DeviceRadixSortSingleTileKernel", policy.single_tile.threads_per_block, 1, one}};
    if (policy.algorithm == cub::RadixSortAlgorithm::onesweep)
    {
      found.push_back({"DeviceRadixSortOnesweepKernel", policy.onesweep.threads_per_block, one + 1});
      found.push_back({"DeviceRadixSortHistogramKernel", policy.histogram.threads_per_block, one + 1});
      found.push_back({"DeviceRadixSortExclusiveSumKernel", policy.exclusive_sum.threads_per_block, one + 1});
    }
    else
    {
      found.push_back({"DeviceRadixSortUpsweepKernel", policy.upsweep.threads_per_block, one + 1});
      found.push_back({"DeviceRadixSortUpsweepKernel", policy.alt_upsweep.threads_per_block, no_limit, no_limit});
      found.push_back({"DeviceRadixSortDownsweepKernel", policy.downsweep.threads_per_block, one + 1});
      found.push_back({"DeviceRadixSortDownsweepKernel", policy.alt_downsweep.threads_per_block, no_limit, no_limit});
      found.push_back({"RadixSortScanBinsKernel", policy.scan.lookback.threads_per_block, one + 1});
    }
    return found;
  }
};

template <class T>
struct keys_up : radix_sort_policy<T, cub::NullType>
{
  static constexpr auto call = "DeviceRadixSort::SortKeys";

  any_items<T> key{1};
  buffer<T> in, out;

  explicit keys_up(int64 items)
      : in("keys", items, key)
      , out("sorted keys", items)
  {}

  template <class Env>
  cudaError_t operator()(const Env& env) const
  {
    return cub::DeviceRadixSort::SortKeys(
      in.data(), out.data(), static_cast<int>(in.size()), 0, static_cast<int>(8 * sizeof(T)), env);
  }

  void check(checks& found) const
  {
    check_sorted_keys(found, out.size(), key, out.data(), ascending{});
  }
};

template <class T>
struct keys_down : radix_sort_policy<T, cub::NullType>
{
  static constexpr auto call = "DeviceRadixSort::SortKeysDescending";

  any_items<T> key{2};
  buffer<T> in, out;

  explicit keys_down(int64 items)
      : in("keys", items, key)
      , out("sorted keys", items)
  {}

  template <class Env>
  cudaError_t operator()(const Env& env) const
  {
    return cub::DeviceRadixSort::SortKeysDescending(
      in.data(), out.data(), static_cast<int>(in.size()), 0, static_cast<int>(8 * sizeof(T)), env);
  }

  void check(checks& found) const
  {
    check_sorted_keys(found, out.size(), key, out.data(), descending{});
  }
};

// The value of a key is its position.
template <class T, class V>
struct pairs_of : radix_sort_policy<T, V>
{
  any_items<T> key{3};
  buffer<T> in, out;
  buffer<V> values_in, values_out;

  explicit pairs_of(int64 items)
      : in("keys", items, key)
      , out("sorted keys", items)
      , values_in("values", items, positions<V>{})
      , values_out("sorted values", items)
  {}

  template <class Env>
  cudaError_t operator()(const Env& env) const
  {
    return cub::DeviceRadixSort::SortPairs(
      in.data(),
      out.data(),
      values_in.data(),
      values_out.data(),
      static_cast<int>(in.size()),
      0,
      static_cast<int>(8 * sizeof(T)),
      env);
  }

  void check(checks& found) const
  {
    check_sorted_pairs(found, out.size(), key, out.data(), values_out.data(), ascending{});
  }
};

template <class T>
struct pairs : pairs_of<T, uint32>
{
  using pairs_of<T, uint32>::pairs_of;
  static constexpr auto call = "DeviceRadixSort::SortPairs, values of 4 bytes";
};

template <class T>
struct wide_pairs : pairs_of<T, uint64>
{
  using pairs_of<T, uint64>::pairs_of;
  static constexpr auto call = "DeviceRadixSort::SortPairs, values of 8 bytes";
};
} // namespace policygen::prove

inline void policygen::prove::cases(runner& run)
{
  run.run<keys_up, int32, int8, int16, int64, uint8, uint16, uint32, uint64, float32, float64, float16, bfloat16>();
  run.run<keys_down, float32, uint64>();
  run.run<pairs, uint32, int8, int16, int64, float32, float64>();
  run.run<wide_pairs, int32, uint8, float64>();
}
