// Keys that come in runs, and what belongs to each run.

#pragma once

#include <harness/values.cuh>

namespace policygen::prove
{
// Runs of 1, 3, 37 and 256 equal keys, and now and then one of 65536 that no tile holds.
template <class T>
struct run_keys
{
  uint64 seed;
  __host__ __device__ T operator()(int64 i) const
  {
    const int64 area = i / 65536;
    const int64 part = i / 256;
    if (area > 0 && random_bits(seed, area) % 8 == 0)
    {
      return any_value<T>(seed + 1, area * 65536);
    }
    const uint64 kind = random_bits(seed + 2, part) % 4;
    const int length  = kind == 0 ? 1 : kind == 1 ? 3 : kind == 2 ? 37 : 256;
    return any_value<T>(seed + 1, part * 256 + i % 256 / length);
  }

  __host__ __device__ bool begins(int64 i) const
  {
    return i == 0 || !((*this)(i) == (*this)(i - 1));
  }

  // Where the run that begins at i ends.
  __host__ __device__ int64 end(int64 i, int64 items) const
  {
    const T key = (*this)(i);
    int64 end   = i + 1;
    while (end < items && (*this)(end) == key)
    {
      ++end;
    }
    return end;
  }
};

// As a flag for rankings: whether a run begins.
template <class T>
struct run_begins
{
  run_keys<T> keys;
  __host__ __device__ bool operator()(int64 i) const
  {
    return keys.begins(i);
  }
};
} // namespace policygen::prove
