// Sorted sequences, as functions of the position.

#pragma once

#include <harness/values.cuh>

namespace policygen::prove
{
// Rises from the lowest value of a narrow type to the highest over `items` positions; wider types rise by seven in
// `every` positions, from `from`. Values repeat, and some are left out.
template <class T>
struct rising
{
  int64 items;
  int64 every;
  int64 from;

  __host__ __device__ T operator()(int64 i) const
  {
    if constexpr (sizeof(T) < 4)
    {
      constexpr int64 lowest = std::is_signed_v<T> ? -(int64{1} << (8 * sizeof(T) - 1)) : 0;
      return static_cast<T>(lowest + i * (int64{1} << (8 * sizeof(T))) / (items > 0 ? items : 1));
    }
    else
    {
      return static_cast<T>(from + i * 7 / every);
    }
  }
};
} // namespace policygen::prove
