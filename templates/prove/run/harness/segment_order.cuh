// What it takes that every segment of a sequence is sorted, with the positions of the keys beside them.

#pragma once

#include <harness/check.cuh>
#include <harness/segments.cuh>

namespace policygen::prove
{
// As for a whole sequence (order.cuh), but neighbours of two segments have no order, and positions stay in theirs.
template <class T, class Input>
void check_sorted_segments(checks& found, segments all, Input input, const T* keys, const uint32* values)
{
  const int64 items = all.items;
  found.each<int64>("segments of the positions", items, [=] __device__(int64 i) {
    const int64 position = static_cast<int64>(values[i]);
    return compared<int64>{all.of(i), position < items ? all.of(position) : -1};
  });
  found.each<T>("keys at their positions", items, [=] __device__(int64 i) {
    return compared<T>{input(static_cast<int64>(values[i])), keys[i]};
  });
  found.each<T>("order of neighbours", items - 1, [=] __device__(int64 i) {
    const bool wrong = all.of(i) == all.of(i + 1) && keys[i + 1] < keys[i];
    return compared<T>{wrong ? keys[i] : keys[i + 1], keys[i + 1]};
  });
  found.each<uint32>("stability", items - 1, [=] __device__(int64 i) {
    const bool right = all.of(i) != all.of(i + 1) || keys[i] < keys[i + 1] || values[i] < values[i + 1];
    return compared<uint32>{right ? values[i + 1] : values[i] + 1, values[i + 1]};
  });
}

// Without positions: sorted, and in each segment the same multiset.
template <class T, class Input>
void check_sorted_segment_keys(checks& found, segments all, Input input, const T* keys)
{
  found.each<T>("order of neighbours", all.items - 1, [=] __device__(int64 i) {
    const bool wrong = all.of(i) == all.of(i + 1) && keys[i + 1] < keys[i];
    return compared<T>{wrong ? keys[i] : keys[i + 1], keys[i + 1]};
  });
  found.each<uint64>("keys of a segment as a multiset", all.count(), [=] __device__(int64 k) {
    compared<uint64> sums{0, 0};
    for (int64 i = all.begin(k); i < all.begin(k + 1); ++i)
    {
      sums.expected += scattered(bits_of(input(i)));
      sums.got += scattered(bits_of(keys[i]));
    }
    return sums;
  });
}
} // namespace policygen::prove
