// Which kernels a call launches, with what blocks.
//
// The call is recorded into a graph: its nodes tell each kernel's grid, block and shared memory, and running the graph
// runs exactly these. Where a call waits for the device in between, it cannot be recorded: then only what functors and
// iterators saw inside the kernels is known.

#pragma once

#include <cctype>
#include <set>
#include <string>
#include <vector>

#include <cuda.h>
#include <cudaTypedefs.h>
#include <harness/device.cuh>
#include <harness/start.cuh>

namespace policygen::prove
{
// Bit b is set once a block of 32 b threads was seen from inside a kernel.
static __device__ unsigned long long seen_blocks;

// To be called by functors and iterators that run in the kernels under test.
__host__ __device__ inline void see_block()
{
#ifdef __CUDA_ARCH__
  if (threadIdx.x == 0)
  {
    const unsigned long long bit = 1ull << ((blockDim.x + 31) / 32);
    if ((*const_cast<const volatile unsigned long long*>(&seen_blocks) & bit) == 0)
    {
      atomicOr(&seen_blocks, bit);
    }
  }
#endif
}

inline void forget_blocks()
{
  const unsigned long long none = 0;
  require(cudaMemcpyToSymbolAsync(seen_blocks, &none, sizeof none, 0, cudaMemcpyHostToDevice, side_stream()), "resetting");
  wait("resetting");
}

// Threads of the blocks that were seen, rounded up to whole warps.
inline std::set<int> blocks_seen()
{
  unsigned long long bits = 0;
  require(cudaMemcpyFromSymbolAsync(&bits, seen_blocks, sizeof bits, 0, cudaMemcpyDeviceToHost, side_stream()), "reading");
  wait("reading");
  std::set<int> found;
  for (int warps = 1; warps <= 32; ++warps)
  {
    if (bits >> warps & 1)
    {
      found.insert(32 * warps);
    }
  }
  return found;
}

struct launch
{
  std::string kernel; // name of the function template
  dim3 grid;
  dim3 block;
  unsigned dynamic_smem;
  int registers;
  int static_smem;
  int local_bytes;
  int blocks_per_sm;

  int threads() const
  {
    return static_cast<int>(block.x * block.y * block.z);
  }
};

// The name of a function template from that of one of its kernels as the linker knows it: the last of the names with
// their lengths before them, as in _ZN3cub6detail6reduce18DeviceReduceKernelI...
inline std::string template_name(const std::string& linker_name)
{
  std::size_t at = linker_name.find_first_of("0123456789");
  std::string name;
  while (at < linker_name.size() && std::isdigit(static_cast<unsigned char>(linker_name[at])))
  {
    std::size_t length = 0;
    for (; at < linker_name.size() && std::isdigit(static_cast<unsigned char>(linker_name[at])); ++at)
    {
      length = 10 * length + static_cast<std::size_t>(linker_name[at] - '0');
    }
    name = linker_name.substr(std::min(at, linker_name.size()), length);
    at += length;
  }
  return name.empty() ? linker_name : name;
}

template <class Function>
Function driver_function(const char* name, unsigned version)
{
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
  require(cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableDefault, &result), name);
  if (result != cudaDriverEntryPointSuccess || found == nullptr)
  {
    throw std::runtime_error(std::string("the driver has no ") + name);
  }
  return reinterpret_cast<Function>(found);
}

inline void require(CUresult result, const char* doing)
{
  if (result != CUDA_SUCCESS)
  {
    throw std::runtime_error(std::string(doing) + ": driver error " + std::to_string(static_cast<int>(result)));
  }
}

inline launch launch_of(cudaGraphNode_t node)
{
  static const auto node_params = driver_function<PFN_cuGraphKernelNodeGetParams_v12000>("cuGraphKernelNodeGetParams", 12000);
  static const auto function_of = driver_function<PFN_cuKernelGetFunction_v12000>("cuKernelGetFunction", 12000);
  static const auto name_of     = driver_function<PFN_cuFuncGetName_v12030>("cuFuncGetName", 12030);
  static const auto attribute   = driver_function<PFN_cuFuncGetAttribute_v2020>("cuFuncGetAttribute", 2020);
  static const auto occupancy   = driver_function<PFN_cuOccupancyMaxActiveBlocksPerMultiprocessor_v6050>(
    "cuOccupancyMaxActiveBlocksPerMultiprocessor", 6050);

  CUDA_KERNEL_NODE_PARAMS params{};
  require(node_params(node, &params), "reading a kernel node");
  CUfunction function = params.func;
  if (function == nullptr)
  {
    require(function_of(&function, params.kern), "finding a kernel's function");
  }
  const char* name = nullptr;
  require(name_of(&name, function), "reading a kernel's name");
  launch found{};
  found.kernel       = template_name(name);
  found.grid         = dim3(params.gridDimX, params.gridDimY, params.gridDimZ);
  found.block        = dim3(params.blockDimX, params.blockDimY, params.blockDimZ);
  found.dynamic_smem = params.sharedMemBytes;
  require(attribute(&found.registers, CU_FUNC_ATTRIBUTE_NUM_REGS, function), "reading registers");
  require(attribute(&found.static_smem, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function), "reading shared memory");
  require(attribute(&found.local_bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, function), "reading local memory");
  require(occupancy(&found.blocks_per_sm, function, found.threads(), found.dynamic_smem), "asking for the occupancy");
  return found;
}

// What a call did.
struct trace
{
  bool recorded = false;         // whether the launches are known
  std::string not_recorded;      // why not
  std::vector<launch> launches;  // in no particular order
  int other_nodes = 0;           // copies and fills
  std::set<int> seen;            // threads of blocks, from inside the kernels
  cudaError_t error = cudaSuccess;
};

inline std::vector<cudaGraphNode_t> nodes_of(cudaGraph_t graph)
{
  std::size_t count = 0;
  require(cudaGraphGetNodes(graph, nullptr, &count), "counting nodes");
  std::vector<cudaGraphNode_t> nodes(count);
  if (count > 0)
  {
    require(cudaGraphGetNodes(graph, nodes.data(), &count), "listing nodes");
  }
  return nodes;
}

inline void run_graph(cudaGraph_t graph)
{
  cudaGraphExec_t made{};
  require(cudaGraphInstantiate(&made, graph, 0), "making the graph");
  require(cudaGraphLaunch(made, tested_stream()), "launching the graph");
  require(cudaStreamSynchronize(tested_stream()), "running the call");
  require(cudaGraphExecDestroy(made), "ending the graph");
}

// Records a call and runs what was recorded; runs it as it is where it cannot be recorded.
//
// `call` returns a cudaError_t and may be called twice. An error that the call returns is in the trace; one of
// recording or running is thrown.
template <class Call>
trace traced(Call call)
{
  trace found;
  forget_blocks();
  cudaGraph_t graph{};
  require(cudaStreamBeginCapture(tested_stream(), cudaStreamCaptureModeRelaxed), "beginning to record");
  found.error               = call();
  const cudaError_t recorded = cudaStreamEndCapture(tested_stream(), &graph);
  if (recorded == cudaSuccess && found.error == cudaSuccess)
  {
    for (cudaGraphNode_t node : nodes_of(graph))
    {
      cudaGraphNodeType type{};
      require(cudaGraphNodeGetType(node, &type), "reading a node");
      if (type == cudaGraphNodeTypeKernel)
      {
        found.launches.push_back(launch_of(node));
      }
      else
      {
        ++found.other_nodes;
      }
    }
    found.recorded = true;
    run_graph(graph);
  }
  else
  {
    static_cast<void>(cudaGetLastError());
    found.not_recorded = cudaGetErrorName(found.error != cudaSuccess ? found.error : recorded);
    found.error        = call();
    require(cudaStreamSynchronize(tested_stream()), "running the call");
    static_cast<void>(cudaGetLastError());
  }
  if (graph != nullptr)
  {
    require(cudaGraphDestroy(graph), "ending a graph");
  }
  found.seen = blocks_seen();
  return found;
}
} // namespace policygen::prove
