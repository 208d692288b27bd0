// Differences of neighbours.

#include <cub/device/device_adjacent_difference.cuh>

#include <harness/runner.cuh>

namespace policygen::prove
{
template <class T, bool MayAlias, class Selector>
struct difference_policy
{
  using selector = Selector;
  using upstream = cub::detail::adjacent_difference::policy_selector_from_types<T*, MayAlias>;

  static constexpr auto sizes    = "items";
  static constexpr auto tile_of  = "the policy";
  static constexpr bool observes = true;

  static int64 tile(const cub::AdjacentDifferencePolicy& policy)
  {
    return int64{policy.threads_per_block} * policy.items_per_thread;
  }

  static std::vector<kernel> kernels(const cub::AdjacentDifferencePolicy& policy)
  {
    return {{"DeviceAdjacentDifferenceDifferenceKernel", policy.threads_per_block, 1}};
  }
};

struct minus_and_see
{
  template <class T>
  __host__ __device__ T operator()(T a, T b) const
  {
    see_block();
    return static_cast<T>(a - b);
  }
};

template <class T>
struct left_copy : difference_policy<T, false, target::adjacent_difference::selector_for<T*>>
{
  static constexpr auto call = "DeviceAdjacentDifference::SubtractLeftCopy";

  small_items<T> item{1};
  buffer<T> in, out;

  explicit left_copy(int64 items)
      : in("items", items, item)
      , out("differences", items)
  {}

  template <class Env>
  cudaError_t operator()(const Env& env) const
  {
    return cub::DeviceAdjacentDifference::SubtractLeftCopy(
      in.data(), out.data(), static_cast<int>(in.size()), minus_and_see{}, env);
  }

  void check(checks& found) const
  {
    const T* const got = out.data();
    found.template each<T>("difference", out.size(), [=, item = item] __device__(int64 i) {
      return compared<T>{i == 0 ? item(i) : static_cast<T>(item(i) - item(i - 1)), got[i]};
    });
  }
};

template <class T>
struct right_in_place : difference_policy<T, true, target::adjacent_difference::selector_for_in_place<T*>>
{
  static constexpr auto call = "DeviceAdjacentDifference::SubtractRight, in place";

  small_items<T> item{2};
  buffer<T> data;

  explicit right_in_place(int64 items)
      : data("items", items, item)
  {}

  template <class Env>
  cudaError_t operator()(const Env& env) const
  {
    return cub::DeviceAdjacentDifference::SubtractRight(
      data.data(), static_cast<int>(data.size()), minus_and_see{}, env);
  }

  void check(checks& found) const
  {
    const T* const got = data.data();
    const int64 last   = data.size() - 1;
    found.template each<T>("difference", data.size(), [=, item = item] __device__(int64 i) {
      return compared<T>{i == last ? item(i) : static_cast<T>(item(i) - item(i + 1)), got[i]};
    });
  }
};
} // namespace policygen::prove

inline void policygen::prove::cases(runner& run)
{
  run.run<left_copy, int32, int8, int16, int64, uint8, uint16, uint32, uint64, float32, float64>();
  run.run<right_in_place, float32, int8, int32, int64>();
}
