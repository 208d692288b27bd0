// Copies of many buffers at once, of bytes and of items.

#include <cub/device/device_copy.cuh>
#include <cub/device/device_memcpy.cuh>

#include <harness/runner.cuh>
#include <harness/segments.cuh>

namespace policygen::prove
{
// Buffers of 0 to 5000 items lie one behind the other in the source, and in the destination the other way round.
template <class T>
struct copies
{
  using selector = target::batch_memcpy::selector_for<>;
  using upstream = cub::detail::batch_memcpy::policy_selector;

  static constexpr auto sizes    = "buffers of 549 items on average";
  static constexpr auto tile_of  = "small_buffer, in buffers";
  static constexpr int64 largest = 2 * million;

  static int64 tile(const cub::BatchedCopyPolicy& policy)
  {
    return int64{policy.lookback.small_buffer.threads_per_block} * policy.lookback.small_buffer.buffers_per_thread;
  }

  static std::vector<kernel> kernels(const cub::BatchedCopyPolicy& policy)
  {
    return {{"BatchMemcpyKernel", policy.lookback.small_buffer.threads_per_block, 1},
            {"MultiBlockBatchMemcpyKernel", policy.lookback.large_buffer.threads_per_block, 1}};
  }

  struct source
  {
    T* begin;
    __host__ __device__ T* operator()(int64 k) const
    {
      return begin + cycles::begin(k);
    }
  };

  struct destination
  {
    T* begin;
    int64 items;
    __host__ __device__ T* operator()(int64 k) const
    {
      return begin + (items - cycles::begin(k + 1));
    }
  };

  struct length
  {
    uint32 bytes;
    __host__ __device__ uint32 operator()(int64 k) const
    {
      return static_cast<uint32>(cycles::begin(k + 1) - cycles::begin(k)) * bytes;
    }
  };

  any_items<T> item{1};
  buffer<T> in, out;
  buffer<T*> sources, destinations;
  buffer<uint32> lengths;

  copies(int64 count, uint32 bytes_of_unit)
      : in("source", cycles::begin(count), item)
      , out("destination", in.size())
      , sources("sources", count, source{in.data()})
      , destinations("destinations", count, destination{out.data(), in.size()})
      , lengths("lengths", count, length{bytes_of_unit})
  {}

  void check(checks& found) const
  {
    const T* const got = out.data();
    const int64 items  = in.size();
    found.template each<T>("copied item", items, [=, item = item] __device__(int64 i) {
      const int64 k  = cycles::of(i);
      const int64 to = items - cycles::begin(k + 1) + (i - cycles::begin(k));
      return compared<T>{item(i), got[to]};
    });
  }
};

template <class T>
struct memcpy_batch : copies<T>
{
  static constexpr auto call = "DeviceMemcpy::Batched";

  explicit memcpy_batch(int64 count)
      : copies<T>(count, sizeof(T))
  {}

  template <class Env>
  cudaError_t operator()(const Env& env) const
  {
    return cub::DeviceMemcpy::Batched(
      this->sources.data(), this->destinations.data(), this->lengths.data(), this->sources.size(), env);
  }
};

template <class T>
struct copy_batch : copies<T>
{
  static constexpr auto call = "DeviceCopy::Batched";

  explicit copy_batch(int64 count)
      : copies<T>(count, 1)
  {}

  template <class Env>
  cudaError_t operator()(const Env& env) const
  {
    return cub::DeviceCopy::Batched(
      this->sources.data(), this->destinations.data(), this->lengths.data(), this->sources.size(), env);
  }
};
} // namespace policygen::prove

inline void policygen::prove::cases(runner& run)
{
  run.run<memcpy_batch, uint8, int16, int32, int64>();
  run.run<copy_batch, int32, int8, int16, int64, float32, float64>();
}
