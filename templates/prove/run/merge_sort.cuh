// Comparison sort of keys and of pairs, with an operator of the user's own.

#include <cub/device/device_merge_sort.cuh>

#include <harness/order.cuh>
#include <harness/runner.cuh>

namespace policygen::prove
{
template <class T>
struct merge_sort_policy
{
  using selector = target::merge_sort::selector_for<T*>;
  using upstream = cub::detail::merge_sort::policy_selector_from_types<T*>;

  static constexpr auto sizes    = "items";
  static constexpr auto tile_of  = "block sort and merge";
  static constexpr bool observes = true;

  static int64 tile(const cub::MergeSortPolicy& policy)
  {
    return int64{policy.threads_per_block} * policy.items_per_thread;
  }

  static std::vector<kernel> kernels(const cub::MergeSortPolicy& policy)
  {
    return {{"DeviceMergeSortBlockSortKernel", policy.threads_per_block, 1},
            {"DeviceMergeSortMergeKernel", policy.threads_per_block, tile(policy) + 1}};
  }
};

struct less_and_see
{
  template <class T>
  __host__ __device__ bool operator()(const T& a, const T& b) const
  {
    see_block();
    return a < b;
  }
};

template <class T>
struct keys : merge_sort_policy<T>
{
  static constexpr auto call = "DeviceMergeSort::SortKeysCopy";

  any_items<T> key{1};
  buffer<T> in, out;

  explicit keys(int64 items)
      : in("keys", items, key)
      , out("sorted keys", items)
  {}

  template <class Env>
  cudaError_t operator()(const Env& env) const
  {
    return cub::DeviceMergeSort::SortKeysCopy(
      in.data(), out.data(), static_cast<int>(in.size()), less_and_see{}, env);
  }

  void check(checks& found) const
  {
    check_sorted_keys(found, out.size(), key, out.data(), ascending{});
  }
};

// In place; the value of a key is its position.
template <class T>
struct pairs : merge_sort_policy<T>
{
  static constexpr auto call = "DeviceMergeSort::StableSortPairs";

  any_items<T> key{2};
  buffer<T> in;
  buffer<uint32> values;

  explicit pairs(int64 items)
      : in("keys", items, key)
      , values("values", items, positions<uint32>{})
  {}

  template <class Env>
  cudaError_t operator()(const Env& env) const
  {
    return cub::DeviceMergeSort::StableSortPairs(
      in.data(), values.data(), static_cast<int>(in.size()), less_and_see{}, env);
  }

  void check(checks& found) const
  {
    check_sorted_pairs(found, in.size(), key, in.data(), values.data(), ascending{});
  }
};
} // namespace policygen::prove

inline void policygen::prove::cases(runner& run)
{
  run.run<keys, int32, int8, int16, int64, uint8, uint16, uint32, uint64, float32, float64, float16>();
  run.run<pairs, float32, int8, int16, uint32, int64, float64>();
}
