// Kernels of the harness as loops on the host. Stands in for the file of this name that needs a GPU.

#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#include <cuda_runtime_api.h>
#include <harness/values.cuh>

namespace policygen::prove
{
struct cuda_error : std::runtime_error
{
  using std::runtime_error::runtime_error;
};

inline void require(cudaError_t error, const char* doing)
{
  if (error != cudaSuccess)
  {
    throw cuda_error(doing);
  }
}

inline cudaStream_t tested_stream()
{
  return nullptr;
}

inline cudaStream_t side_stream()
{
  return nullptr;
}

inline void wait(const char*) {}

template <class... Parameters, class... Arguments>
void start(const char*, void (*kernel)(Parameters...), int64, Arguments... arguments)
{
  kernel(arguments...);
}

inline int64 first_index()
{
  return 0;
}

inline int64 index_stride()
{
  return 1;
}

template <class T>
T atomicAdd(T* cell, T value)
{
  const T before = *cell;
  *cell          = static_cast<T>(before + value);
  return before;
}

template <class T>
T atomicMin(T* cell, T value)
{
  const T before = *cell;
  *cell          = std::min(before, value);
  return before;
}

template <class T>
T atomicExch(T* cell, T value)
{
  const T before = *cell;
  *cell          = value;
  return before;
}
} // namespace policygen::prove

// The few calls of the CUDA runtime that the harness makes, on the host's memory.
extern "C" {
inline cudaError_t fake_malloc(void** data, std::size_t bytes)
{
  // the largest sizes are left out
  if (bytes > (std::size_t{1} << 26))
  {
    return cudaErrorMemoryAllocation;
  }
  *data = std::malloc(bytes);
  return cudaSuccess;
}
inline cudaError_t fake_free(void* data)
{
  std::free(data);
  return cudaSuccess;
}
inline cudaError_t fake_memset(void* data, int value, std::size_t bytes, cudaStream_t)
{
  std::memset(data, value, bytes);
  return cudaSuccess;
}
inline cudaError_t fake_memcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind, cudaStream_t)
{
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
inline cudaError_t fake_last_error()
{
  return cudaSuccess;
}
inline cudaError_t fake_version(int* version)
{
  *version = 13000;
  return cudaSuccess;
}
inline cudaError_t fake_device(int* device)
{
  *device = 0;
  return cudaSuccess;
}
inline cudaError_t fake_properties(cudaDeviceProp* properties, int)
{
  *properties = {};
  std::strcpy(properties->name, "no GPU at all");
  properties->major = 9;
  return cudaSuccess;
}
inline const char* fake_error_name(cudaError_t error)
{
  return error == cudaErrorInvalidConfiguration ? "cudaErrorInvalidConfiguration" : "cudaError";
}
}
#define cudaMalloc            fake_malloc
#define cudaFree              fake_free
#define cudaMemsetAsync       fake_memset
#define cudaMemcpyAsync       fake_memcpy
#define cudaGetLastError      fake_last_error
#define cudaDriverGetVersion  fake_version
#define cudaRuntimeGetVersion fake_version
#define cudaGetDevice         fake_device
#define cudaGetDeviceProperties fake_properties
#define cudaGetErrorName      fake_error_name
#define cudaGetErrorString    fake_error_name
#define __CUDACC_VER_MAJOR__  0
#define __CUDACC_VER_MINOR__  0
#define __CUDACC_VER_BUILD__  0
