// The largest of some items, found digit by digit.

#pragma once

#include <harness/check.cuh>

namespace policygen::prove
{
// Bits whose order as an unsigned number is the order of the values.
template <class T>
__host__ __device__ bits_of_size<sizeof(T)> ordered_bits(T value)
{
  using bits          = bits_of_size<sizeof(T)>;
  const bits own      = bits_of(value);
  constexpr bits sign = static_cast<bits>(bits{1} << (8 * sizeof(T) - 1));
  if constexpr (is_float<T>)
  {
    return static_cast<bits>(own & sign ? ~own : own | sign);
  }
  else
  {
    return static_cast<bits>(std::is_signed_v<T> ? own ^ sign : own);
  }
}

// The ordered bits that just `count` items reach, counting equal ones; 1 <= count <= items.
template <class Ordered>
uint64 reached_by(checks& found, int64 items, int64 count, int bytes, Ordered ordered)
{
  uint64 prefix = 0;
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
  {
    // the greatest next byte that still enough items reach; those above the prefix always do
    int low = 0, high = 255;
    while (low < high)
    {
      const int middle     = (low + high + 1) / 2;
      const uint64 at_least = prefix | static_cast<uint64>(middle) << shift;
      const auto reach      = static_cast<int64>(found.total(items, [=] __device__(int64 i) {
        return ordered(i) >= at_least ? 1 : 0;
      }));
      if (reach >= count)
      {
        low = middle;
      }
      else
      {
        high = middle - 1;
      }
    }
    prefix |= static_cast<uint64>(low) << shift;
  }
  return prefix;
}
} // namespace policygen::prove
