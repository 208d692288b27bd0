// Prefix sums and other scans.

#include <cub/device/device_scan.cuh>

#include <cuda/__execution/determinism.h>
#include <cuda/__execution/require.h>
#include <cuda/functional>

#include <harness/runner.cuh>

namespace policygen::prove
{
template <class T, class Operator, class Accumulator, class Selector, bool Stable = false>
struct scan_policy
{
  using selector = Selector;
  using upstream = cub::detail::scan::policy_selector_from_types<T*, T*, Accumulator, uint32, Operator, Stable>;

  static constexpr auto sizes   = "items";
  static constexpr auto tile_of = "the algorithm that the policy names";

  static int64 tile(const cub::ScanPolicy& policy)
  {
    return policy.algorithm == cub::ScanAlgorithm::lookahead
           ? int64{policy.lookahead.tile_size()}
           : int64{policy.lookback.threads_per_block} * policy.lookback.items_per_thread;
  }

  static std::vector<kernel> kernels(const cub::ScanPolicy& policy)
  {
    const int threads = policy.algorithm == cub::ScanAlgorithm::lookahead
                        ? cub::detail::scan::num_total_threads(policy.lookahead)
                        : policy.lookback.threads_per_block;
    return {{"DeviceScanKernel", threads, 1}};
  }
};

template <class T>
using sum_of = ::cuda::std::__accumulator_t<::cuda::std::plus<>, T, T>;

// Each result is the one before it and one item more: if all are, all are right.
template <class T, class Item>
void check_inclusive_sum(checks& found, const buffer<T>& out, Item item)
{
  const T* const got = out.data();
  found.template each<T>("prefix sum", out.size(), [=] __device__(int64 i) {
    return compared<T>{i == 0 ? item(i) : static_cast<T>(got[i - 1] + item(i)), got[i]};
  });
}

template <class T>
struct inclusive_sum : scan_policy<T, ::cuda::std::plus<>, sum_of<T>, target::scan::selector_for_sum<T*, T*, int>>
{
  static constexpr auto call = "DeviceScan::InclusiveSum";

  small_items<T> item{1};
  buffer<T> in;
  buffer<T> out;

  explicit inclusive_sum(int64 items)
      : in("items", items, item)
      , out("prefix sums", items)
  {}

  template <class Env>
  cudaError_t operator()(const Env& env) const
  {
    return cub::DeviceScan::InclusiveSum(in.data(), out.data(), static_cast<int>(in.size()), env);
  }

  void check(checks& found) const
  {
    check_inclusive_sum(found, out, item);
  }
};

// With a promise about the order of additions, which CUB keeps with another algorithm where it can.
template <class T>
struct stable_sum : scan_policy<T, ::cuda::std::plus<>, T, target::scan::selector_for_sum<T*, T*, int, true>, true>
{
  static constexpr auto call = "DeviceScan::InclusiveSum, run_to_run";

  small_items<T> item{2};
  buffer<T> in;
  buffer<T> out;

  explicit stable_sum(int64 items)
      : in("items", items, item)
      , out("prefix sums", items)
  {}

  template <class Env>
  cudaError_t operator()(const Env& env) const
  {
    const auto asked =
      ::cuda::std::execution::env{::cuda::execution::require(::cuda::execution::determinism::run_to_run), env};
    return cub::DeviceScan::InclusiveSum(in.data(), out.data(), static_cast<int>(in.size()), asked);
  }

  void check(checks& found) const
  {
    check_inclusive_sum(found, out, item);
  }
};

template <class T>
using maximum_of = ::cuda::std::__accumulator_t<::cuda::maximum<>, T, T>;

template <class T>
struct exclusive_maximum
    : scan_policy<T, ::cuda::maximum<>, maximum_of<T>, target::scan::selector_for<T*, T*, ::cuda::maximum<>, T, int>>
{
  static constexpr auto call = "DeviceScan::ExclusiveScan, maximum";

  // Rises slowly, so that the running maximum changes all along.
  struct rising
  {
    __host__ __device__ T operator()(int64 i) const
    {
      const auto highest = static_cast<double>(::cuda::std::numeric_limits<T>::max() / 2);
      const auto rank    = static_cast<double>(i + static_cast<int64>(random_bits(3, i) % 64)) / (large + 64);
      return static_cast<T>(highest * rank);
    }
  };

  rising item;
  buffer<T> in;
  buffer<T> out;

  explicit exclusive_maximum(int64 items)
      : in("items", items, item)
      , out("running maxima", items)
  {}

  template <class Env>
  cudaError_t operator()(const Env& env) const
  {
    const auto n = static_cast<int>(in.size());
    return cub::DeviceScan::ExclusiveScan(in.data(), out.data(), ::cuda::maximum<>{}, T{0}, n, env);
  }

  void check(checks& found) const
  {
    const T* const got = out.data();
    found.template each<T>("running maximum", out.size(), [=, item = item] __device__(int64 i) {
      if (i == 0)
      {
        return compared<T>{T{0}, got[0]};
      }
      return compared<T>{got[i - 1] < item(i - 1) ? item(i - 1) : got[i - 1], got[i]};
    });
  }
};

// x -> factor x + summand, modulo 2^32; composing them depends on the order.
struct affine
{
  uint32 factor;
  uint32 summand;

  __host__ __device__ friend bool operator==(affine a, affine b)
  {
    return a.factor == b.factor && a.summand == b.summand;
  }
  friend std::string to_text(affine value)
  {
    return std::to_string(value.factor) + " x + " + std::to_string(value.summand);
  }
};

struct composed
{
  __host__ __device__ affine operator()(affine first, affine second) const
  {
    see_block();
    return {first.factor * second.factor, first.summand * second.factor + second.summand};
  }
};

template <>
inline std::string type_name<affine>()
{
  return "two uint32";
}

template <class T>
struct not_commutative : scan_policy<T, composed, T, target::scan::selector_for<T*, T*, composed, cub::NullType, int>>
{
  static constexpr auto call     = "DeviceScan::InclusiveScan, an operator that does not commute";
  static constexpr bool observes = true;

  struct affine_items
  {
    __host__ __device__ affine operator()(int64 i) const
    {
      const uint64 bits = random_bits(4, i);
      return {static_cast<uint32>(bits) | 1, static_cast<uint32>(bits >> 32)};
    }
  };

  affine_items item;
  buffer<T> in;
  buffer<T> out;

  explicit not_commutative(int64 items)
      : in("items", items, item)
      , out("compositions", items)
  {}

  template <class Env>
  cudaError_t operator()(const Env& env) const
  {
    return cub::DeviceScan::InclusiveScan(in.data(), out.data(), composed{}, static_cast<int>(in.size()), env);
  }

  void check(checks& found) const
  {
    const T* const got = out.data();
    found.template each<T>("composition", out.size(), [=, item = item] __device__(int64 i) {
      return compared<T>{i == 0 ? item(i) : composed{}(got[i - 1], item(i)), got[i]};
    });
  }
};
} // namespace policygen::prove

inline void policygen::prove::cases(runner& run)
{
  run.run<inclusive_sum, int32, int8, int16, int64, uint8, uint16, uint32, uint64, float32, float64, float16>();
  run.run<stable_sum, float32, float64>();
  run.run<exclusive_maximum, float32, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float64>();
  run.run<not_commutative, affine>();
}
