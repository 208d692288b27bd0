// A CUDA runtime without a device: it launches nothing and prints what it is asked to launch. With it, CCCL's own
// dispatchers say on the host what they would do on a device of these numbers.

#include <cstdio>
#include <cstring>
#include <cuda_runtime_api.h>

int fake_sm_count   = 0;
int fake_capability = 0;
// Resident blocks a multiprocessor of a kernel without dynamic shared memory.
int fake_occupancy = 0;
// How many launches were asked for; they are printed only from 0 on.
int fake_launches = -1;

namespace
{
constexpr int smem_reserved = 1024, smem_unit = 128, smem_per_block = 49152;

// Of 8.0, and of 9.0 and 10.0 alike.
int smem_per_sm()
{
  return fake_capability < 90 ? 167936 : 233472;
}

struct Configuration
{
  dim3 grid, block;
  size_t smem;
} pushed;

cudaError_t launched(const Configuration& c)
{
  if (fake_launches >= 0)
  {
    std::printf("%s[%u, %u, %zu]", fake_launches == 0 ? "" : ", ", c.grid.x, c.block.x, c.smem);
    ++fake_launches;
  }
  return cudaSuccess;
}

cudaError_t occupancy(int* blocks, size_t dynamic)
{
  const int smem      = static_cast<int>(dynamic);
  const int allocated = (smem + smem_reserved + smem_unit - 1) / smem_unit * smem_unit;
  const int fitting   = smem > smem_per_block ? 0 : smem_per_sm() / allocated;
  *blocks             = fitting < fake_occupancy ? fitting : fake_occupancy;
  return cudaSuccess;
}
} // namespace

extern "C"
{
void** __cudaRegisterFatBinary(void*)
{
  static void* handle;
  return &handle;
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
void __cudaRegisterFunction(void**, const char*, char*, const char*, int, uint3*, uint3*, dim3*, dim3*, int*) {}
void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int) {}
char __cudaInitModule(void**)
{
  return 1;
}
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t smem, void*)
{
  pushed = {grid, block, smem};
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* smem, void* stream)
{
  *grid                        = pushed.grid;
  *block                       = pushed.block;
  *smem                        = pushed.smem;
  *static_cast<void**>(stream) = nullptr;
  return cudaSuccess;
}
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function)
{
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(function));
  return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t, dim3 grid, dim3 block, void**, size_t smem, cudaStream_t)
{
  return launched({grid, block, smem});
}
cudaError_t CUDARTAPI cudaLaunchKernel(const void*, dim3 grid, dim3 block, void**, size_t smem, cudaStream_t)
{
  return launched({grid, block, smem});
}
cudaError_t CUDARTAPI cudaLaunchKernelExC(const cudaLaunchConfig_t* c, const void*, void**)
{
  return launched({c->gridDim, c->blockDim, c->dynamicSmemBytes});
}

cudaError_t CUDARTAPI cudaGetDevice(int* device)
{
  *device = 0;
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaSetDevice(int)
{
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaGetDeviceCount(int* count)
{
  *count = 1;
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int)
{
  switch (attribute)
  {
    case cudaDevAttrMultiProcessorCount:
      *value = fake_sm_count;
      return cudaSuccess;
    case cudaDevAttrComputeCapabilityMajor:
      *value = fake_capability / 10;
      return cudaSuccess;
    case cudaDevAttrComputeCapabilityMinor:
      *value = fake_capability % 10;
      return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      *value = smem_per_block;
      return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = smem_per_sm() - smem_reserved;
      return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      *value = smem_per_sm();
      return cudaSuccess;
    case cudaDevAttrReservedSharedMemoryPerBlock:
      *value = smem_reserved;
      return cudaSuccess;
    case cudaDevAttrMaxGridDimX:
      *value = 2147483647;
      return cudaSuccess;
    case cudaDevAttrUnifiedAddressing:
      *value = 1;
      return cudaSuccess;
    default:
      std::fprintf(stderr, "the fake device does not know attribute %d\n", attribute);
      return cudaErrorInvalidValue;
  }
}
cudaError_t CUDARTAPI cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*)
{
  std::memset(attributes, 0, sizeof *attributes);
  attributes->ptxVersion = attributes->binaryVersion = fake_capability;
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaFuncSetAttribute(const void*, cudaFuncAttribute, int)
{
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int, size_t smem)
{
  return occupancy(blocks, smem);
}
cudaError_t CUDARTAPI
cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void*, int, size_t smem, unsigned)
{
  return occupancy(blocks, smem);
}
cudaError_t CUDARTAPI cudaMemsetAsync(void*, int, size_t, cudaStream_t)
{
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaMemcpyAsync(void*, const void*, size_t, cudaMemcpyKind, cudaStream_t)
{
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaGetLastError()
{
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaPeekAtLastError()
{
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaStreamSynchronize(cudaStream_t)
{
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaDeviceSynchronize()
{
  return cudaSuccess;
}
const char* CUDARTAPI cudaGetErrorString(cudaError_t)
{
  return "an error";
}
const char* CUDARTAPI cudaGetErrorName(cudaError_t)
{
  return "an error";
}
}
