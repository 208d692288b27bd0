// Element-wise transformations of one to three inputs.

#include <cub/device/device_transform.cuh>

#include <cuda/std/tuple>

#include <harness/runner.cuh>

namespace policygen::prove
{
template <class T, class... Inputs>
struct transform_policy
{
  using selector = target::transform::selector_for<::cuda::std::tuple<Inputs...>, T*>;
  using upstream =
    cub::detail::transform::policy_selector_from_types<false, true, ::cuda::std::tuple<Inputs...>, T*>;

  static constexpr auto sizes    = "items";
  static constexpr auto tile_of  = "the smallest that the policy allows; CUB takes more items a thread where it can";
  static constexpr bool observes = true;

  static int threads(const cub::TransformPolicy& policy)
  {
    return policy.algorithm == cub::TransformAlgorithm::prefetch     ? policy.prefetch.threads_per_block
           : policy.algorithm == cub::TransformAlgorithm::vectorized ? policy.vectorized.threads_per_block
                                                                     : policy.async_copy.threads_per_block;
  }

  static int64 tile(const cub::TransformPolicy& policy)
  {
    const int items = policy.algorithm == cub::TransformAlgorithm::prefetch     ? policy.prefetch.min_items_per_thread
                      : policy.algorithm == cub::TransformAlgorithm::vectorized ? policy.vectorized.items_per_thread
                                                                                : policy.async_copy.min_items_per_thread;
    return int64{threads(policy)} * items;
  }

  static std::vector<kernel> kernels(const cub::TransformPolicy& policy)
  {
    return {{"transform_kernel", threads(policy), 1}};
  }
};

// Exact in every type: sums of small integers.
struct added
{
  template <class T>
  __host__ __device__ T operator()(T a) const
  {
    see_block();
    return static_cast<T>(a + a);
  }
  template <class T>
  __host__ __device__ T operator()(T a, T b) const
  {
    see_block();
    return static_cast<T>(a + a + b);
  }
  template <class T>
  __host__ __device__ T operator()(T a, T b, T c) const
  {
    see_block();
    return static_cast<T>(a + a + b - c);
  }
};

template <class T>
struct unary : transform_policy<T, T*>
{
  static constexpr auto call = "DeviceTransform::Transform, one input";

  small_items<T> a{1};
  buffer<T> in;
  buffer<T> out;

  explicit unary(int64 items)
      : in("items", items, a)
      , out("results", items)
  {}

  template <class Env>
  cudaError_t operator()(const Env& env) const
  {
    return cub::DeviceTransform::Transform(
      ::cuda::std::tuple<T*>{in.data()}, out.data(), static_cast<int>(in.size()), added{}, env);
  }

  void check(checks& found) const
  {
    const T* const got = out.data();
    found.template each<T>("result", out.size(), [=, a = a] __device__(int64 i) {
      return compared<T>{static_cast<T>(a(i) + a(i)), got[i]};
    });
  }
};

template <class T>
struct binary : transform_policy<T, T*, T*>
{
  static constexpr auto call = "DeviceTransform::Transform, two inputs";

  small_items<T> a{2}, b{3};
  buffer<T> first, second;
  buffer<T> out;

  explicit binary(int64 items)
      : first("first items", items, a)
      , second("second items", items, b)
      , out("results", items)
  {}

  template <class Env>
  cudaError_t operator()(const Env& env) const
  {
    return cub::DeviceTransform::Transform(
      ::cuda::std::tuple<T*, T*>{first.data(), second.data()}, out.data(), static_cast<int>(out.size()), added{}, env);
  }

  void check(checks& found) const
  {
    const T* const got = out.data();
    found.template each<T>("result", out.size(), [=, a = a, b = b] __device__(int64 i) {
      return compared<T>{static_cast<T>(a(i) + a(i) + b(i)), got[i]};
    });
  }
};

template <class T>
struct ternary : transform_policy<T, T*, T*, T*>
{
  static constexpr auto call = "DeviceTransform::Transform, three inputs";

  small_items<T> a{4}, b{5}, c{6};
  buffer<T> first, second, third;
  buffer<T> out;

  explicit ternary(int64 items)
      : first("first items", items, a)
      , second("second items", items, b)
      , third("third items", items, c)
      , out("results", items)
  {}

  template <class Env>
  cudaError_t operator()(const Env& env) const
  {
    return cub::DeviceTransform::Transform(
      ::cuda::std::tuple<T*, T*, T*>{first.data(), second.data(), third.data()},
      out.data(),
      static_cast<int>(out.size()),
      added{},
      env);
  }

  void check(checks& found) const
  {
    const T* const got = out.data();
    found.template each<T>("result", out.size(), [=, a = a, b = b, c = c] __device__(int64 i) {
      return compared<T>{static_cast<T>(a(i) + a(i) + b(i) - c(i)), got[i]};
    });
  }
};
} // namespace policygen::prove

inline void policygen::prove::cases(runner& run)
{
  run.run<unary, int32, int8, int16, int64, uint8, uint16, uint32, uint64, float32, float64, float16, bfloat16>();
  run.run<binary, float32, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float64, float16>();
  run.run<ternary, float64, int8, int16, int32, int64, float32>();
}
