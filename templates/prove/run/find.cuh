// The first item that a predicate holds for: at the very end, nowhere, and well before another one.

#include <cub/device/device_find.cuh>

#include <harness/runner.cuh>

namespace policygen::prove
{
template <class T>
struct find_policy
{
  using selector = target::find::selector_for<T*>;
  using upstream = cub::detail::find::policy_selector_from_types<T>;

  static constexpr auto sizes           = "items";
  static constexpr auto tile_of         = "the policy";
  static constexpr bool observes        = true;
  static constexpr auto refuses_nothing = "CUB launches a grid of no blocks for no items";

  static int64 tile(const cub::FindIfPolicy& policy)
  {
    return int64{policy.threads_per_block} * policy.items_per_thread;
  }

  static std::vector<kernel> kernels(const cub::FindIfPolicy& policy)
  {
    return {{"find_kernel", policy.threads_per_block, 1}};
  }
};

struct is_one
{
  template <class T>
  __host__ __device__ bool operator()(T value) const
  {
    see_block();
    return value == T(1);
  }
};

// One where it is looked for, and everywhere behind `again`; zero elsewhere.
template <class T>
struct needle
{
  int64 at;
  int64 again;
  __host__ __device__ T operator()(int64 i) const
  {
    return T(i == at || i > again ? 1 : 0);
  }
};

template <class T>
struct find_in : find_policy<T>
{
  needle<T> item;
  int64 first;
  buffer<T> in;
  buffer<int32> out{"position", 1};

  find_in(int64 items, int64 at, int64 again)
      : item{at, again}
      , first(at < items ? at : items)
      , in("items", items, item)
  {}

  template <class Env>
  cudaError_t operator()(const Env& env) const
  {
    return cub::DeviceFind::FindIf(in.data(), out.data(), is_one{}, static_cast<int>(in.size()), env);
  }

  void check(checks& found) const
  {
    found.same("position", first, int64{out.at(0)});
  }
};

template <class T>
struct last : find_in<T>
{
  static constexpr auto call = "DeviceFind::FindIf, the last item";
  explicit last(int64 items)
      : find_in<T>(items, items - 1, items)
  {}
};

template <class T>
struct none : find_in<T>
{
  static constexpr auto call = "DeviceFind::FindIf, no item";
  explicit none(int64 items)
      : find_in<T>(items, items, items)
  {}
};

template <class T>
struct first_of_many : find_in<T>
{
  static constexpr auto call = "DeviceFind::FindIf, the first of many";
  explicit first_of_many(int64 items)
      : find_in<T>(items, items / 3, items / 2)
  {}
};
} // namespace policygen::prove

inline void policygen::prove::cases(runner& run)
{
  run.run<last, int32, int8, int16, int64, uint8, uint16, uint32, uint64, float32, float64>();
  run.run<none, int32, int8, int16, int64, uint8, uint16, uint32, uint64, float32, float64>();
  run.run<first_of_many, int32, int8, int16, int64, uint8, uint16, uint32, uint64, float32, float64>();
}
