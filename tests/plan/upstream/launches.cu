// What CCCL's dispatchers launch, on the fake runtime beside this file.
//
// Arguments: multiprocessors, compute capability x 10, resident blocks a multiprocessor. A request in: the name of a
// call, its number of items and its other numbers. An answer out, as JSON: [the bytes that the size query says, the
// launches, each a grid, a block and its dynamic shared memory]. -1 for a size query that says nothing.

#include <cub/device/device_memcpy.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_segmented_reduce.cuh>
#include <cub/device/device_topk.cuh>
#include <cub/device/device_transform.cuh>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern int fake_sm_count, fake_capability, fake_occupancy, fake_launches;

// Memory that nothing touches, aligned to anything.
template <class T>
T* memory()
{
  return reinterpret_cast<T*>(std::uintptr_t{1} << 40);
}

template <class Call>
void answer(Call call)
{
  std::size_t bytes    = static_cast<std::size_t>(-1);
  const auto asked     = call(nullptr, bytes);
  const long long said = static_cast<long long>(bytes);
  std::printf("[%lld, [", said);
  fake_launches       = 0;
  const auto launched = call(memory<char>(), bytes);
  fake_launches       = -1;
  std::printf("]]\n");
  if (asked != cudaSuccess || launched != cudaSuccess)
  {
    std::fprintf(stderr, "a dispatcher failed: %d, %d\n", asked, launched);
    std::exit(2);
  }
}

template <class Key, class Value, class NumItems>
void sort(NumItems n, int begin, int end, bool overwrite)
{
  answer([&](void* storage, std::size_t& bytes) {
    cub::DoubleBuffer<Key> keys(memory<Key>(), memory<Key>() + 1);
    if constexpr (cuda::std::is_same_v<Value, cub::NullType>)
    {
      return overwrite
             ? cub::DeviceRadixSort::SortKeys(storage, bytes, keys, n, begin, end)
             : cub::DeviceRadixSort::SortKeys(storage, bytes, memory<const Key>(), memory<Key>(), n, begin, end);
    }
    else
    {
      cub::DoubleBuffer<Value> values(memory<Value>(), memory<Value>() + 1);
      return overwrite
             ? cub::DeviceRadixSort::SortPairs(storage, bytes, keys, values, n, begin, end)
             : cub::DeviceRadixSort::SortPairs(
                 storage, bytes, memory<const Key>(), memory<Key>(), memory<const Value>(), memory<Value>(), n, begin, end);
    }
  });
}

// No architecture sorts uint32 in several passes any more, but its policy has what such a sort needs.
struct SeveralPasses
{
  __host__ __device__ constexpr auto operator()(cuda::compute_capability cc) const -> cub::RadixSortPolicy
  {
    auto policy = cub::detail::radix_sort::policy_selector_from_types<std::uint32_t, cub::NullType, std::uint32_t>{}(cc);
    policy.algorithm = cub::RadixSortAlgorithm::multi_pass;
    return policy;
  }
};

void sort_in_passes(std::uint32_t n, int begin, int end, bool overwrite)
{
  answer([&](void* storage, std::size_t& bytes) {
    cub::DoubleBuffer<std::uint32_t> keys(memory<std::uint32_t>(), memory<std::uint32_t>() + 1);
    cub::DoubleBuffer<cub::NullType> values;
    return cub::detail::radix_sort::dispatch<cub::SortOrder::Ascending>(
      storage, bytes, keys, values, n, begin, end, overwrite, cudaStream_t{}, cub::detail::identity_decomposer_t{}, SeveralPasses{});
  });
}

template <class Key, class Value, class NumItems>
void topk(NumItems n, NumItems k)
{
  const auto env =
    cuda::execution::require(cuda::execution::determinism::not_guaranteed, cuda::execution::output_ordering::unsorted);
  answer([&](void* storage, std::size_t& bytes) {
    if constexpr (cuda::std::is_same_v<Value, cub::NullType>)
    {
      return cub::DeviceTopK::MaxKeys(storage, bytes, memory<const Key>(), memory<Key>(), n, k, env);
    }
    else
    {
      return cub::DeviceTopK::MaxPairs(
        storage, bytes, memory<const Key>(), memory<Key>(), memory<const Value>(), memory<Value>(), n, k, env);
    }
  });
}

template <class T, class NumItems>
void reduce(NumItems n)
{
  answer([&](void* storage, std::size_t& bytes) {
    return cub::DeviceReduce::Sum(storage, bytes, memory<const T>(), memory<T>(), n);
  });
}

template <class T, class NumItems>
void scan(NumItems n)
{
  answer([&](void* storage, std::size_t& bytes) {
    return cub::DeviceScan::InclusiveSum(storage, bytes, memory<const T>(), memory<T>(), n);
  });
}

template <class... In>
struct SumOf
{
  __host__ __device__ float operator()(In... in) const
  {
    return (0.0f + ... + static_cast<float>(in));
  }
};

template <class NumItems, class... In>
void transform(NumItems n, bool aligned)
{
  const int shift = aligned ? 0 : 1;
  answer([&](void* storage, std::size_t&) {
    return storage == nullptr
           ? cudaSuccess // it needs no temporary storage, and has no size query
           : cub::DeviceTransform::Transform(
               cuda::std::tuple{(memory<const In>() + shift)...}, memory<float>() + shift, n, SumOf<In...>{});
  });
}

struct Zero
{
  __host__ __device__ float operator()() const
  {
    return 0.0f;
  }
};

void generate(int n, bool aligned)
{
  answer([&](void* storage, std::size_t&) {
    return storage == nullptr ? cudaSuccess : cub::DeviceTransform::Generate(memory<float>() + (aligned ? 0 : 1), n, Zero{});
  });
}

void copy(std::int64_t n)
{
  answer([&](void* storage, std::size_t& bytes) {
    return cub::DeviceMemcpy::Batched(
      storage, bytes, memory<const void*>(), memory<void*>(), memory<std::uint64_t>(), n);
  });
}

void segments(std::int64_t n)
{
  answer([&](void* storage, std::size_t& bytes) {
    return cub::DeviceSegmentedReduce::Sum(
      storage, bytes, memory<const float>(), memory<float>(), n, memory<int>(), memory<int>() + 1);
  });
}

int main(int, char** arguments)
{
  fake_sm_count   = std::atoi(arguments[1]);
  fake_capability = std::atoi(arguments[2]);
  fake_occupancy  = std::atoi(arguments[3]);
  char name[32];
  long long n, a, b, c;
  while (std::scanf("%31s %lld %lld %lld %lld", name, &n, &a, &b, &c) == 5)
  {
    const auto n32 = static_cast<std::uint32_t>(n);
    const auto is  = [&](const char* other) {
      return std::strcmp(name, other) == 0;
    };
    const auto from = static_cast<int>(a), to = static_cast<int>(b);
    is("sort-u32")           ? sort<std::uint32_t, cub::NullType>(n32, from, to, c != 0)
    : is("sort-u64-v4")      ? sort<std::uint64_t, std::uint32_t>(std::int64_t{n}, from, to, c != 0)
    : is("sort-u32-passes")  ? sort_in_passes(n32, from, to, c != 0)
    : is("topk-1")           ? topk<std::uint8_t, cub::NullType>(n32, static_cast<std::uint32_t>(a))
    : is("topk-4")           ? topk<std::uint32_t, cub::NullType>(n32, static_cast<std::uint32_t>(a))
    : is("topk-8-v2")        ? topk<std::uint64_t, std::uint16_t>(n32, static_cast<std::uint32_t>(a))
    : is("topk-4-v8-wide")   ? topk<std::uint32_t, std::uint64_t>(std::int64_t{n}, std::int64_t{a})
    : is("reduce-f32")       ? reduce<float>(static_cast<int>(n))
    : is("reduce-f64")       ? reduce<double>(static_cast<int>(n))
    : is("reduce-f32-wide")  ? reduce<float>(std::int64_t{n})
    : is("scan-f32")         ? scan<float>(static_cast<int>(n))
    : is("scan-f64")         ? scan<double>(static_cast<int>(n))
    : is("scan-f32-wide")    ? scan<float>(std::int64_t{n})
    : is("transform-4")      ? transform<int, float>(static_cast<int>(n), a != 0)
    : is("transform-4-4")    ? transform<int, float, float>(static_cast<int>(n), a != 0)
    : is("transform-8-1-2")  ? transform<int, double, std::uint8_t, std::int16_t>(static_cast<int>(n), a != 0)
    : is("transform-1-wide") ? transform<std::int64_t, std::uint8_t>(std::int64_t{n}, a != 0)
    : is("generate-4")       ? generate(static_cast<int>(n), a != 0)
    : is("copy")             ? copy(n)
    : is("segments")         ? segments(n)
                             : std::exit(3);
  }
}
