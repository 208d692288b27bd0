// Reductions, with each promise about the order of additions.

#include <cub/device/device_reduce.cuh>

#include <cuda/__execution/determinism.h>
#include <cuda/__execution/require.h>
#include <cuda/functional>

#include <harness/runner.cuh>

namespace policygen::prove
{
namespace determinism = ::cuda::execution::determinism;

template <class T, class Operator, class Determinism = determinism::run_to_run_t>
struct reduce_policy
{
  using accumulator = ::cuda::std::__accumulator_t<Operator, T, T>;
  using selector    = target::reduce::selector_for<T*, int, Operator, T, ::cuda::std::identity, Determinism::value>;
  using upstream    = cub::detail::reduce::policy_selector_from_types<accumulator, uint32, Operator, Determinism::value>;

  static constexpr auto sizes   = "items";
  static constexpr auto tile_of = "single_tile";

  static int64 tile(const cub::ReducePolicy& policy)
  {
    return int64{policy.single_tile.threads_per_block} * policy.single_tile.items_per_thread;
  }

  static std::vector<kernel> kernels(const cub::ReducePolicy& policy)
  {
    return {{"DeviceReduceSingleTileKernel", policy.single_tile.threads_per_block, 0},
            {"DeviceReduceKernel", policy.multi_tile.threads_per_block, tile(policy) + 1}};
  }
};

template <class T>
struct sum : reduce_policy<T, ::cuda::std::plus<>>
{
  using selector             = target::reduce::selector_for_sum<T*, T*, int>;
  static constexpr auto call = "DeviceReduce::Sum";

  small_items<T> item{1};
  buffer<T> in;
  buffer<T> out{"the sum", 1};

  explicit sum(int64 items)
      : in("items", items, item)
  {}

  template <class Env>
  cudaError_t operator()(const Env& env) const
  {
    return cub::DeviceReduce::Sum(in.data(), out.data(), static_cast<int>(in.size()), env);
  }

  // Every partial sum is exact, so the order of additions cannot be seen.
  void check(checks& found) const
  {
    const auto exact = static_cast<int64>(found.total(in.size(), [item = item] __device__(int64 i) {
      return static_cast<int64>(item(i));
    }));
    found.same("the sum", static_cast<T>(exact), out.at(0));
  }
};

template <class T>
struct maximum : reduce_policy<T, ::cuda::maximum<>>
{
  static constexpr auto call = "DeviceReduce::Max";

  any_items<T> item{2};
  buffer<T> in;
  buffer<T> out{"the maximum", 1};

  explicit maximum(int64 items)
      : in("items", items, item)
  {}

  template <class Env>
  cudaError_t operator()(const Env& env) const
  {
    return cub::DeviceReduce::Max(in.data(), out.data(), static_cast<int>(in.size()), env);
  }

  // No item is greater, and one is equal. Of nothing it is the lowest value of the type.
  void check(checks& found) const
  {
    const T got = out.at(0);
    if (in.size() == 0)
    {
      found.same("the maximum", ::cuda::std::numeric_limits<T>::lowest(), got);
    }
    found.template each<T>("no item above it", in.size(), [item = item, got] __device__(int64 i) {
      return compared<T>{got < item(i) ? item(i) : got, got};
    });
    const uint64 equal = found.total(in.size(), [item = item, got] __device__(int64 i) {
      return item(i) == got ? 1 : 0;
    });
    found.same("an item equal to it", in.size() > 0, equal > 0);
  }
};

// An operator of the user's own, which sees the blocks that it runs in.
struct bitwise_or
{
  template <class T>
  __host__ __device__ T operator()(T a, T b) const
  {
    see_block();
    return static_cast<T>(a | b);
  }
};

template <class T>
struct own_operator : reduce_policy<T, bitwise_or>
{
  static constexpr auto call     = "DeviceReduce::Reduce, an operator of the user's own";
  static constexpr bool observes = true;

  struct single_bits
  {
    __host__ __device__ T operator()(int64 i) const
    {
      return static_cast<T>(T{1} << (random_bits(3, i) % (8 * sizeof(T) - 1)));
    }
  };

  single_bits item;
  buffer<T> in;
  buffer<T> out{"the result", 1};

  explicit own_operator(int64 items)
      : in("items", items, item)
  {}

  template <class Env>
  cudaError_t operator()(const Env& env) const
  {
    return cub::DeviceReduce::Reduce(in.data(), out.data(), static_cast<int>(in.size()), bitwise_or{}, T{0}, env);
  }

  void check(checks& found) const
  {
    T expected{};
    for (int bit = 0; bit + 1 < static_cast<int>(8 * sizeof(T)); ++bit)
    {
      const uint64 with = found.total(in.size(), [item = item, bit] __device__(int64 i) {
        return item(i) >> bit & 1;
      });
      expected = static_cast<T>(expected | (with > 0 ? T{1} << bit : T{0}));
    }
    found.same("the result", expected, out.at(0));
  }
};

// Numbers between 0 and 1, each exact in T: multiples of 2^-34. Their sum is exact in 64 bits, and rounded in T.
template <class T>
struct fractions
{
  static constexpr double scale = 1.0 / (uint64{1} << 34);

  uint64 seed;
  __host__ __device__ uint64 bits(int64 i) const
  {
    return sizeof(T) == 4 ? random_bits(seed, i) >> 40 << 10 : random_bits(seed, i) >> 30;
  }
  __host__ __device__ T operator()(int64 i) const
  {
    return static_cast<T>(static_cast<double>(bits(i)) * scale);
  }
};

template <class T, class Determinism>
struct fraction_sum : reduce_policy<T, ::cuda::std::plus<>, Determinism>
{
  fractions<T> item{4};
  buffer<T> in;
  buffer<T> out{"the sum", 1};

  explicit fraction_sum(int64 items)
      : in("items", items, item)
  {}

  template <class Env>
  cudaError_t operator()(const Env& env) const
  {
    const auto asked = ::cuda::std::execution::env{::cuda::execution::require(Determinism{}), env};
    return cub::DeviceReduce::Sum(in.data(), out.data(), static_cast<int>(in.size()), asked);
  }

  double exact(checks& found) const
  {
    const uint64 bits = found.total(in.size(), [item = item] __device__(int64 i) {
      return item.bits(i);
    });
    return static_cast<double>(bits) * fractions<T>::scale;
  }

  // Each addition rounds by half a unit in the last place at most, of a partial sum that is not above the whole: the
  // bound is the longest way of a term through the additions times that. A thread of the widest launch takes
  // items / threads of them in turn, each block's threads some 64, and the last block the blocks' results.
  void check(checks& found) const
  {
    int64 threads = 1, blocks = 1;
    for (const launch& each : found.calls().launches)
    {
      threads = std::max(threads, int64{each.threads()} * each.grid.x);
      blocks  = std::max(blocks, int64{each.grid.x});
    }
    const double sum     = exact(found);
    const double longest = static_cast<double>(in.size() / threads + blocks + 128);
    const double unit    = std::numeric_limits<T>::epsilon();
    found.close("the sum", sum, static_cast<double>(out.at(0)), longest * unit * sum);
  }
};

template <class T>
struct fraction_sum_run_to_run : fraction_sum<T, determinism::run_to_run_t>
{
  using fraction_sum<T, determinism::run_to_run_t>::fraction_sum;
  static constexpr auto call = "DeviceReduce::Sum, run_to_run";
};

template <class T>
struct fraction_sum_not_guaranteed : fraction_sum<T, determinism::not_guaranteed_t>
{
  using fraction_sum<T, determinism::not_guaranteed_t>::fraction_sum;
  static constexpr auto call = "DeviceReduce::Sum, not_guaranteed";

  static std::vector<kernel> kernels(const cub::ReducePolicy& policy)
  {
    return {{"DeviceReduceKernel", policy.multi_tile.threads_per_block, 0}};
  }
};

template <class T>
struct fraction_sum_gpu_to_gpu : fraction_sum<T, determinism::gpu_to_gpu_t>
{
  using base = fraction_sum<T, determinism::gpu_to_gpu_t>;
  using base::base;
  static constexpr auto call = "DeviceReduce::Sum, gpu_to_gpu";
  using upstream             = cub::detail::reduce::policy_selector_from_types<T,
                                                                   uint32,
                                                                   cub::detail::rfa::deterministic_sum_t<T>,
                                                                   determinism::gpu_to_gpu_t::value>;

  static std::vector<kernel> kernels(const cub::ReducePolicy& policy)
  {
    return {{"DeterministicDeviceReduceSingleTileKernel", policy.single_tile.threads_per_block, 0},
            {"DeterministicDeviceReduceKernel", policy.multi_tile.threads_per_block, base::tile(policy) + 1}};
  }

  // Terms are split in bins: what falls below the last of three is lost, for each of them; all else is a few
  // roundings (Ahrens, Demmel and Nguyen, Algorithms for Efficient Reproducible Floating Point Summation, 2020).
  void check(checks& found) const
  {
    constexpr int bin_width = sizeof(T) == 4 ? 13 : 40;
    const double sum        = base::exact(found);
    const double lost       = static_cast<double>(base::in.size()) * std::ldexp(1.0, -2 * bin_width);
    const double unit       = std::numeric_limits<T>::epsilon();
    found.close("the sum", sum, static_cast<double>(base::out.at(0)), lost + 7 * unit * sum);
  }

  std::string promised() const
  {
    return to_text(base::out.at(0));
  }
};
} // namespace policygen::prove

inline void policygen::prove::cases(runner& run)
{
  run.run<sum, int32, int8, int16, int64, uint8, uint16, uint32, uint64, float32, float64, float16, bfloat16>();
  run.run<maximum, float32, int8, uint16, int32, uint64, float64, float16>();
  run.run<own_operator, int32, int8, int64>();
  run.run<fraction_sum_run_to_run, float32, float64>();
  run.run<fraction_sum_not_guaranteed, float32, float64>();
  run.run<fraction_sum_gpu_to_gpu, float32, float64>();
}
