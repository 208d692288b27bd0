// A function called for every index, and for every item.

#include <cub/device/device_for.cuh>

#include <harness/runner.cuh>

namespace policygen::prove
{
struct for_policy
{
  using selector = target::for_each::selector_for<>;
  using upstream = cub::detail::for_each::policy_selector;

  static constexpr auto sizes    = "items";
  static constexpr auto tile_of  = "the policy";
  static constexpr bool observes = true;

  static int64 tile(const cub::ForPolicy& policy)
  {
    return int64{policy.threads_per_block} * policy.items_per_thread;
  }

  static std::vector<kernel> kernels(const cub::ForPolicy& policy)
  {
    return {{"static_kernel", policy.threads_per_block, 1}};
  }
};

template <class T>
struct bulk : for_policy
{
  static constexpr auto call = "DeviceFor::Bulk";

  struct assign
  {
    T* out;
    small_items<T> item;
    __host__ __device__ void operator()(int i) const
    {
      see_block();
      out[i] = item(i);
    }
  };

  small_items<T> item{1};
  buffer<T> out;

  explicit bulk(int64 items)
      : out("results", items)
  {}

  template <class Env>
  cudaError_t operator()(const Env& env) const
  {
    return cub::DeviceFor::Bulk(static_cast<int>(out.size()), assign{out.data(), item}, env);
  }

  void check(checks& found) const
  {
    const T* const got = out.data();
    found.template each<T>("result", out.size(), [=, item = item] __device__(int64 i) {
      return compared<T>{item(i), got[i]};
    });
  }
};

template <class T>
struct for_each_n : for_policy
{
  static constexpr auto call = "DeviceFor::ForEachN";

  struct twice
  {
    __host__ __device__ void operator()(T& value) const
    {
      see_block();
      value = static_cast<T>(value + value);
    }
  };

  small_items<T> item{2};
  buffer<T> data;

  explicit for_each_n(int64 items)
      : data("items", items, item)
  {}

  template <class Env>
  cudaError_t operator()(const Env& env) const
  {
    return cub::DeviceFor::ForEachN(data.data(), static_cast<int>(data.size()), twice{}, env);
  }

  void check(checks& found) const
  {
    const T* const got = data.data();
    found.template each<T>("result", data.size(), [=, item = item] __device__(int64 i) {
      return compared<T>{static_cast<T>(item(i) + item(i)), got[i]};
    });
  }
};
} // namespace policygen::prove

inline void policygen::prove::cases(runner& run)
{
  run.run<bulk, int32, int8, int16, int64, uint8, uint16, uint32, uint64, float32, float64>();
  run.run<for_each_n, float32, int8, int16, int32, int64, float64>();
}
