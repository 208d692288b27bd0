// Launches as the stand-ins for CUB tell them. Stands in for the file of this name that needs a GPU.

#pragma once

#include <set>
#include <string>
#include <vector>

#include <harness/device.cuh>
#include <harness/start.cuh>

namespace policygen::prove
{
struct size_of_block
{
  unsigned x = 1, y = 1, z = 1;
};

struct launch
{
  std::string kernel;
  size_of_block grid;
  size_of_block block;
  unsigned dynamic_smem = 0;
  int registers         = 0;
  int static_smem       = 0;
  int local_bytes       = 0;
  int blocks_per_sm     = 0;

  int threads() const
  {
    return static_cast<int>(block.x);
  }
};

struct trace
{
  bool recorded = true;
  std::string not_recorded;
  std::vector<launch> launches;
  int other_nodes = 0;
  std::set<int> seen;
  cudaError_t error = cudaSuccess;
};

inline trace& current_trace()
{
  static trace one;
  return one;
}

// What runs now: functors see blocks of as many threads as the last kernel that was told.
inline void launched(const char* kernel, int threads)
{
  current_trace().launches.push_back({kernel, {}, {static_cast<unsigned>(threads)}});
}

inline void see_block()
{
  if (!current_trace().launches.empty())
  {
    current_trace().seen.insert((current_trace().launches.back().threads() + 31) / 32 * 32);
  }
}

template <class Call>
trace traced(Call call)
{
  current_trace()       = {};
  current_trace().error = call();
  return current_trace();
}
} // namespace policygen::prove
