// Segments of all lengths, empty ones included.

#pragma once

#include <harness/values.cuh>

namespace policygen::prove
{
// Twelve lengths from nothing to 5000, over and over.
struct cycles
{
  static constexpr int64 lengths = 12;
  static constexpr int64 items   = 6587;

  __host__ __device__ static int64 within(int64 k)
  {
    constexpr int64 begins[] = {0, 1, 1, 4, 44, 344, 361, 5361, 5361, 5363, 5492, 6516};
    return begins[k];
  }

  // Where segment k begins.
  __host__ __device__ static int64 begin(int64 k)
  {
    return k / lengths * items + within(k % lengths);
  }

  // The segment that item i is in.
  __host__ __device__ static int64 of(int64 i)
  {
    int64 k = lengths - 1;
    while (within(k) > i % items)
    {
      --k;
    }
    return i / items * lengths + k;
  }
};

// A number of items in segments. Up to 20000 are one segment, so that its tiles are as many as its items say.
struct segments
{
  static constexpr int64 one_segment = 20000;

  int64 items;

  __host__ __device__ int64 count() const
  {
    return items == 0             ? 0
           : items <= one_segment ? 1
                                  : (items + cycles::items - 1) / cycles::items * cycles::lengths;
  }

  // Where segment k begins; for k = count() the end of all.
  __host__ __device__ int64 begin(int64 k) const
  {
    const int64 found = items <= one_segment ? k * items : cycles::begin(k);
    return found < items ? found : items;
  }

  __host__ __device__ int64 of(int64 i) const
  {
    return items <= one_segment ? 0 : cycles::of(i);
  }
};

// count() + 1 offsets.
struct segment_offsets
{
  segments all;
  __host__ __device__ int operator()(int64 k) const
  {
    return static_cast<int>(all.begin(k));
  }
};
} // namespace policygen::prove
