// The largest and the smallest of many, in any order.

#include <cub/device/device_topk.cuh>

#include <cuda/__execution/determinism.h>
#include <cuda/__execution/output_ordering.h>
#include <cuda/__execution/require.h>

#include <harness/largest.cuh>
#include <harness/runner.cuh>

namespace policygen::prove
{
template <class T>
struct topk_policy
{
  using selector = target::topk::selector_for<T*>;
  using upstream = cub::detail::topk::policy_selector_from_types<T>;

  static constexpr auto sizes           = "items, of which a quarter is asked for, and one at least";
  static constexpr auto tile_of         = "the policy";
  static constexpr auto refuses_nothing = "CUB launches a grid of no blocks for no items";

  static int64 tile(const cub::detail::topk::topk_policy& policy)
  {
    return int64{policy.threads_per_block} * policy.items_per_thread;
  }

  static std::vector<kernel> kernels(const cub::detail::topk::topk_policy& policy)
  {
    const int64 passes = (8 * static_cast<int>(sizeof(T)) + policy.bits_per_pass - 1) / policy.bits_per_pass;
    return {{"DeviceTopKHistogramKernel", policy.threads_per_block, 1},
            {"DeviceTopKKernel", policy.threads_per_block, passes > 1 ? 1 : no_limit},
            {"DeviceTopKLastFilterKernel", policy.threads_per_block, 1}};
  }

  any_items<T> key{1};
  buffer<T> in, out;

  explicit topk_policy(int64 items)
      : in("keys", items, key)
      , out("found keys", items == 0 ? 0 : std::max<int64>(1, items / 4))
  {}

  // The environment with what CUB wants to be told: the order is not asked for, and which of equal ones neither.
  template <class Env>
  static auto asked(const Env& env)
  {
    return ::cuda::std::execution::env{::cuda::execution::require(::cuda::execution::determinism::not_guaranteed,
                                                                  ::cuda::execution::output_ordering::unsorted),
                                       env};
  }

  // `ordered` makes of a key bits whose greatest are looked for; the least of the found ones are those that `out.size()`
  // items of the input reach. Above them the found keys are the input's as a multiset, and the others are equal to them.
  template <class Ordered>
  void check_keys(checks& found, Ordered ordered) const
  {
    if (out.size() == 0)
    {
      return;
    }
    const T* const got   = out.data();
    const uint64 reached = reached_by(
      found, in.size(), out.size(), static_cast<int>(sizeof(T)), [=, key = key] __device__(int64 i) -> uint64 {
        return ordered(key(i));
      });
    found.template each<uint64>("no key below the last one (ordered bits)", out.size(), [=] __device__(int64 i) {
      const uint64 own = ordered(got[i]);
      return compared<uint64>{own < reached ? reached : own, own};
    });
    const uint64 expected = found.total(in.size(), [=, key = key] __device__(int64 i) -> uint64 {
      const uint64 own = ordered(key(i));
      return own > reached ? scattered(own) : 0;
    });
    const uint64 there = found.total(out.size(), [=] __device__(int64 i) -> uint64 {
      const uint64 own = ordered(got[i]);
      return own > reached ? scattered(own) : 0;
    });
    found.same("keys as a multiset", expected, there);
  }
};

struct greatest_first
{
  template <class T>
  __host__ __device__ uint64 operator()(T key) const
  {
    return ordered_bits(key);
  }
};

struct least_first
{
  template <class T>
  __host__ __device__ uint64 operator()(T key) const
  {
    return static_cast<bits_of_size<sizeof(T)>>(~ordered_bits(key));
  }
};

template <class T>
struct max_keys : topk_policy<T>
{
  using topk_policy<T>::topk_policy;
  static constexpr auto call = "DeviceTopK::MaxKeys";

  template <class Env>
  cudaError_t operator()(const Env& env) const
  {
    return cub::DeviceTopK::MaxKeys(
      this->in.data(),
      this->out.data(),
      static_cast<int>(this->in.size()),
      static_cast<int>(this->out.size()),
      this->asked(env));
  }

  void check(checks& found) const
  {
    this->check_keys(found, greatest_first{});
  }
};

// The value of a key is its position.
template <class T>
struct min_pairs : topk_policy<T>
{
  static constexpr auto call = "DeviceTopK::MinPairs";

  buffer<uint32> values_in, values_out, marks;

  explicit min_pairs(int64 items)
      : topk_policy<T>(items)
      , values_in("values", items, positions<uint32>{})
      , values_out("found values", this->out.size())
      , marks("marks", items)
  {}

  template <class Env>
  cudaError_t operator()(const Env& env) const
  {
    return cub::DeviceTopK::MinPairs(
      this->in.data(),
      this->out.data(),
      values_in.data(),
      values_out.data(),
      static_cast<int>(this->in.size()),
      static_cast<int>(this->out.size()),
      this->asked(env));
  }

  void check(checks& found) const
  {
    this->check_keys(found, least_first{});
    const uint32* const values = values_out.data();
    const T* const keys        = this->out.data();
    const int64 items          = this->in.size();
    uint32* const mark         = marks.data();
    found.template each<uint32>("positions within the input", values_out.size(), [=] __device__(int64 i) {
      return compared<uint32>{values[i] < items ? values[i] : static_cast<uint32>(items) - 1, values[i]};
    });
    found.template each<T>("keys at their positions", values_out.size(), [=, key = this->key] __device__(int64 i) {
      return compared<T>{key(values[i]), keys[i]};
    });
    // marks are poison at first, which no position is marked with
    found.template each<uint32>("each position once", values_out.size(), [=] __device__(int64 i) {
      const uint32 before = atomicExch(&mark[values[i]], 1u);
      return compared<uint32>{0xa5a5a5a5u, before};
    });
  }
};
} // namespace policygen::prove

inline void policygen::prove::cases(runner& run)
{
  run.run<max_keys, int32, int8, int16, int64, uint8, uint16, uint32, uint64, float32, float64>();
  run.run<min_pairs, float32, int8, uint16, int32, int64, float64>();
}
