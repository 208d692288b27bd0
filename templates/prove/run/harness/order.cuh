// What it takes that a sequence is another one, sorted.

#pragma once

#include <harness/check.cuh>

namespace policygen::prove
{
// What both orders have in common with the operators: which of two keys may not come after the other.
struct ascending
{
  template <class T>
  __host__ __device__ bool operator()(T a, T b) const
  {
    return a < b;
  }
};

struct descending
{
  template <class T>
  __host__ __device__ bool operator()(T a, T b) const
  {
    return b < a;
  }
};

// Sorted, and the same multiset of keys: the sums of scattered bits agree.
template <class T, class Input, class Order>
void check_sorted_keys(checks& found, int64 items, Input input, const T* out, Order before)
{
  found.each<T>("order of neighbours", items - 1, [=] __device__(int64 i) {
    return compared<T>{before(out[i + 1], out[i]) ? out[i] : out[i + 1], out[i + 1]};
  });
  const uint64 expected = found.total(items, [=] __device__(int64 i) {
    return scattered(bits_of(input(i)));
  });
  const uint64 got = found.total(items, [=] __device__(int64 i) {
    return scattered(bits_of(out[i]));
  });
  found.same("keys as a multiset", expected, got);
}

// Each value is the position that its key came from: the pairs are a permutation of the input, and in a stable order,
// exactly if keys belong to their positions and neighbours rise by key and, for equal keys, by position.
template <class T, class V, class Input, class Order>
void check_sorted_pairs(checks& found, int64 items, Input input, const T* keys, const V* values, Order before)
{
  found.each<uint64>("positions within the input", items, [=] __device__(int64 i) {
    const uint64 position = static_cast<uint64>(values[i]);
    return compared<uint64>{position < static_cast<uint64>(items) ? position : static_cast<uint64>(items) - 1, position};
  });
  found.each<T>("keys at their positions", items, [=] __device__(int64 i) {
    return compared<T>{input(static_cast<int64>(values[i])), keys[i]};
  });
  found.each<T>("order of neighbours", items - 1, [=] __device__(int64 i) {
    return compared<T>{before(keys[i + 1], keys[i]) ? keys[i] : keys[i + 1], keys[i + 1]};
  });
  found.each<uint64>("stability", items - 1, [=] __device__(int64 i) {
    const uint64 position = static_cast<uint64>(values[i + 1]);
    const bool stable     = before(keys[i], keys[i + 1]) || values[i] < values[i + 1];
    return compared<uint64>{stable ? position : static_cast<uint64>(values[i]) + 1, position};
  });
}
} // namespace policygen::prove
