// Partition in three.

#include <cub/device/device_partition.cuh>

#include <harness/runner.cuh>

namespace policygen::prove
{
// Which of the three parts a value belongs to, by its bits.
struct in_part
{
  uint64 part;
  template <class T>
  __host__ __device__ bool operator()(T value) const
  {
    see_block();
    return scattered(bits_of(value)) % 3 == part;
  }
};

template <class T>
struct three_parts
{
  using selector = target::three_way_partition::selector_for<T*>;
  using upstream =
    cub::detail::three_way_partition::policy_selector_from_types<T,
                                                                 cub::detail::three_way_partition::per_partition_offset_t>;

  static constexpr auto call     = "DevicePartition::If, three parts";
  static constexpr auto sizes    = "items";
  static constexpr auto tile_of  = "lookback";
  static constexpr bool observes = true;

  static int64 tile(const cub::ThreeWayPartitionPolicy& policy)
  {
    return int64{policy.lookback.threads_per_block} * policy.lookback.items_per_thread;
  }

  static std::vector<kernel> kernels(const cub::ThreeWayPartitionPolicy& policy)
  {
    return {{"DeviceThreeWayPartitionKernel", policy.lookback.threads_per_block, 1}};
  }

  any_items<T> item{1};
  buffer<T> in, first, second, rest;
  buffer<int> counts{"counts", 2};

  explicit three_parts(int64 items)
      : in("items", items, item)
      , first("first part", items)
      , second("second part", items)
      , rest("rest", items)
  {}

  template <class Env>
  cudaError_t operator()(const Env& env) const
  {
    return cub::DevicePartition::If(
      in.data(),
      first.data(),
      second.data(),
      rest.data(),
      counts.data(),
      static_cast<int>(in.size()),
      in_part{0},
      in_part{1},
      env);
  }

  void check(checks& found) const
  {
    const buffer<T>* const parts[] = {&first, &second, &rest};
    int64 left                     = in.size();
    for (uint64 part = 0; part < 3; ++part)
    {
      const auto flag = [item = item, part] __device__(int64 i) {
        return scattered(bits_of(item(i))) % 3 == part;
      };
      const ranking ranks(in.size(), flag);
      const int64 count = part < 2 ? counts.at(static_cast<int64>(part)) : left;
      found.same("number of items of a part", ranks.total(), count);
      left -= count;
      const T* const out = parts[part]->data();
      found.template ranked<T>("item of a part", in.size(), flag, ranks, [=, item = item] __device__(int64 i, int64 rank) {
        return compared<T>{item(i), out[rank]};
      });
    }
  }
};
} // namespace policygen::prove

inline void policygen::prove::cases(runner& run)
{
  run.run<three_parts, int32, int8, int16, int64, uint8, uint16, uint32, uint64, float32, float64>();
}
