// Where sorted values would go in a sorted range.

#include <cub/device/device_find.cuh>

#include <harness/rising.cuh>
#include <harness/runner.cuh>

namespace policygen::prove
{
struct less_and_see
{
  template <class T>
  __host__ __device__ bool operator()(const T& a, const T& b) const
  {
    see_block();
    return a < b;
  }
};

// A third of the items are values that are looked up, the others are the range.
template <class T>
struct bound_policy
{
  using selector = target::find_bound_sorted_values::selector_for<T*, T*>;
  using upstream = cub::detail::find_bound_sorted_values::policy_selector_from_types<T, T>;

  static constexpr auto sizes    = "items of the range and values together";
  static constexpr auto tile_of  = "the policy";
  static constexpr bool observes = true;

  static int64 tile(const cub::FindBoundSortedValuesPolicy& policy)
  {
    return int64{policy.threads_per_block} * policy.items_per_thread;
  }

  static std::vector<kernel> kernels(const cub::FindBoundSortedValuesPolicy& policy)
  {
    return {{"device_find_bound_sorted_values_kernel", policy.threads_per_block, 1}};
  }

  rising<T> item, value;
  buffer<T> range, values;
  buffer<int32> out;

  explicit bound_policy(int64 items)
      : item{items - items / 3, 5, 1000}
      , value{items / 3, 3, 500}
      , range("range", items - items / 3, item)
      , values("values", items / 3, value)
      , out("positions", items / 3)
  {}

  // How many items of the range come before the value, found by halving.
  template <class Before>
  void check_positions(checks& found, Before before) const
  {
    const int32* const got = out.data();
    const int64 items      = range.size();
    found.template each<int64>("position", values.size(), [=, item = item, value = value] __device__(int64 i) {
      int64 low = 0, high = items;
      while (low < high)
      {
        const int64 middle = low + (high - low) / 2;
        if (before(item(middle), value(i)))
        {
          low = middle + 1;
        }
        else
        {
          high = middle;
        }
      }
      return compared<int64>{low, got[i]};
    });
  }
};

struct is_below
{
  template <class T>
  __host__ __device__ bool operator()(T item, T value) const
  {
    return item < value;
  }
};

struct is_not_above
{
  template <class T>
  __host__ __device__ bool operator()(T item, T value) const
  {
    return !(value < item);
  }
};

template <class T>
struct lower : bound_policy<T>
{
  using bound_policy<T>::bound_policy;
  static constexpr auto call = "DeviceFind::LowerBoundSortedValues";

  template <class Env>
  cudaError_t operator()(const Env& env) const
  {
    return cub::DeviceFind::LowerBoundSortedValues(
      this->range.data(),
      static_cast<int>(this->range.size()),
      this->values.data(),
      static_cast<int>(this->values.size()),
      this->out.data(),
      less_and_see{},
      env);
  }

  void check(checks& found) const
  {
    this->check_positions(found, is_below{});
  }
};

template <class T>
struct upper : bound_policy<T>
{
  using bound_policy<T>::bound_policy;
  static constexpr auto call = "DeviceFind::UpperBoundSortedValues";

  template <class Env>
  cudaError_t operator()(const Env& env) const
  {
    return cub::DeviceFind::UpperBoundSortedValues(
      this->range.data(),
      static_cast<int>(this->range.size()),
      this->values.data(),
      static_cast<int>(this->values.size()),
      this->out.data(),
      less_and_see{},
      env);
  }

  void check(checks& found) const
  {
    this->check_positions(found, is_not_above{});
  }
};
} // namespace policygen::prove

inline void policygen::prove::cases(runner& run)
{
  run.run<lower, int32, int8, int16, int64, uint8, uint16, uint32, uint64, float32, float64>();
  run.run<upper, float32, int8, int32, int64>();
  run.leave_out("DeviceFind::LowerBound and UpperBound", "CUB runs them with DeviceTransform and passes no tuning on");
}
