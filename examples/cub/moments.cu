// Mean and variance of floats on the device: one reduction, with a type and operators of its own, and a policy of
// policygen's. See README.md for the command that compiles it.

#include <policygen/sm_90/cub_tuning_reduce.cuh>

#include <cub/device/device_reduce.cuh>
#include <cuda/execution>

#include <cstdio>
#include <vector>

struct moments
{
  double sum;
  double squares;
};

struct add_moments
{
  __host__ __device__ moments operator()(const moments& a, const moments& b) const
  {
    return {a.sum + b.sum, a.squares + b.squares};
  }
};

struct moments_of
{
  __host__ __device__ moments operator()(float x) const
  {
    return {double{x}, double{x} * double{x}};
  }
};

// The types of the call below: input, number of items, operator, initial value, and what is done to each input.
using selector = policygen::sm_90::reduce::selector_for<const float*, int, add_moments, moments, moments_of>;

// It selects when the program is compiled, so its choice can be looked at, and held to.
constexpr cub::ReducePolicy policy = selector{}(cuda::compute_capability{90});
static_assert(policy.multi_tile.threads_per_block % 32 == 0);

static bool failed(cudaError_t error, const char* what)
{
  if (error != cudaSuccess)
  {
    std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  }
  return error != cudaSuccess;
}

int main()
{
  const int count = 1 << 20;
  std::vector<float> values(count);
  for (int i = 0; i < count; ++i)
  {
    values[static_cast<std::size_t>(i)] = static_cast<float>(i % 5);
  }
  float* in    = nullptr;
  moments* out = nullptr;
  moments result{};
  const std::size_t bytes = values.size() * sizeof(float);
  if (failed(cudaMalloc(&in, bytes), "cudaMalloc") || failed(cudaMalloc(&out, sizeof(moments)), "cudaMalloc")
      || failed(cudaMemcpy(in, values.data(), bytes, cudaMemcpyHostToDevice), "cudaMemcpy"))
  {
    return 1;
  }

  const float* const first = in;
  const auto environment   = cuda::execution::tune(selector{});
  if (failed(cub::DeviceReduce::TransformReduce(
               first, out, count, add_moments{}, moments_of{}, moments{0, 0}, environment),
             "DeviceReduce::TransformReduce")
      || failed(cudaMemcpy(&result, out, sizeof(moments), cudaMemcpyDeviceToHost), "cudaMemcpy"))
  {
    return 1;
  }
  cudaFree(in);
  cudaFree(out);

  const double mean     = result.sum / count;
  const double variance = result.squares / count - mean * mean;
  std::printf("%d threads a block, %d items a thread\n",
              policy.multi_tile.threads_per_block,
              policy.multi_tile.items_per_thread);
  std::printf("mean %.4f, variance %.4f\n", mean, variance);
  return 0;
}
