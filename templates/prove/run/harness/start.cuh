// The kernels of the harness itself: inputs are made and results are checked with them, never with CUB.

#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>

#include <cuda_runtime.h>
#include <harness/values.cuh>

namespace policygen::prove
{
// A call of the CUDA runtime failed; after a fault in a kernel every later one does.
struct cuda_error : std::runtime_error
{
  cuda_error(const char* doing, cudaError_t error)
      : std::runtime_error(std::string(doing) + ": " + cudaGetErrorName(error) + ": " + cudaGetErrorString(error))
  {}
};

inline void require(cudaError_t error, const char* doing)
{
  if (error != cudaSuccess)
  {
    throw cuda_error(doing, error);
  }
}

inline cudaStream_t made_stream()
{
  cudaStream_t made{};
  require(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking), "making a stream");
  return made;
}

// The stream of the call under test. Neither it nor the other waits for the default stream.
inline cudaStream_t tested_stream()
{
  static const cudaStream_t made = made_stream();
  return made;
}

// The stream of everything around the call.
inline cudaStream_t side_stream()
{
  static const cudaStream_t made = made_stream();
  return made;
}

inline void wait(const char* doing)
{
  require(cudaStreamSynchronize(side_stream()), doing);
}

// Starts a kernel whose threads share out work of some extent in strides, and waits for it.
template <class... Parameters, class... Arguments>
void start(const char* doing, void (*kernel)(Parameters...), int64 extent, Arguments... arguments)
{
  constexpr int64 threads = 256;
  const int64 blocks      = std::max<int64>(1, std::min<int64>((extent + threads - 1) / threads, 4096));
  kernel<<<static_cast<unsigned>(blocks), static_cast<unsigned>(std::min(extent, threads)), 0, side_stream()>>>(
    arguments...);
  require(cudaGetLastError(), doing);
  wait(doing);
}

__device__ inline int64 first_index()
{
  return blockIdx.x * int64{blockDim.x} + threadIdx.x;
}

__device__ inline int64 index_stride()
{
  return int64{blockDim.x} * gridDim.x;
}
} // namespace policygen::prove
