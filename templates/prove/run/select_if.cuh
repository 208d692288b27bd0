// Selection and two-way partition: CUB has one set of policies for both.

#include <cub/device/device_partition.cuh>
#include <cub/device/device_select.cuh>

#include <harness/runner.cuh>
#include <harness/runs.cuh>

namespace policygen::prove
{
template <class Policy>
struct select_kernels
{
  static constexpr auto sizes   = "items";
  static constexpr auto tile_of = "lookback";

  static int64 tile(const Policy& policy)
  {
    return int64{policy.lookback.threads_per_block} * policy.lookback.items_per_thread;
  }

  static std::vector<kernel> kernels(const Policy& policy)
  {
    return {{"DeviceSelectSweepKernel", policy.lookback.threads_per_block, 1}};
  }
};

template <class T, class Flags>
struct select_policy : select_kernels<cub::SelectPolicy>
{
  using selector = target::select_if::selector_for<T*, Flags, T*>;
  using upstream = cub::detail::select::policy_selector_from_types<T*, Flags, T*, int64, cub::SelectImpl::Select>;
};

template <class T>
struct select_in_place_policy : select_kernels<cub::SelectPolicy>
{
  using selector = target::select_if::selector_for_in_place<T*, cub::NullType*>;
  using upstream = cub::detail::select::
    policy_selector_from_types<T*, cub::NullType*, T*, int64, cub::SelectImpl::SelectPotentiallyInPlace>;
};

// CUB's own policy for partitions, which it keeps as one for selections.
template <class T, class Flags>
struct usual_partition
{
  constexpr cub::PartitionPolicy operator()(::cuda::compute_capability cc) const
  {
    const auto own =
      cub::detail::select::policy_selector_from_types<T*, Flags, T*, int32, cub::SelectImpl::Partition>{}(cc).lookback;
    return {cub::PartitionAlgorithm::lookback,
            {own.threads_per_block,
             own.items_per_thread,
             own.load_algorithm,
             own.load_modifier,
             own.scan_algorithm,
             own.lookback_delay}};
  }
};

template <class T, class Flags>
struct partition_policy : select_kernels<cub::PartitionPolicy>
{
  using selector = target::select_if::partition_selector_for<T*, Flags, T*, int>;
  using upstream = usual_partition<T, Flags>;
};

// A third of all values, chosen by their bits.
template <class T>
struct chosen
{
  __host__ __device__ bool operator()(T value) const
  {
    return scattered(bits_of(value)) % 3 == 0;
  }
};

template <class T>
struct chosen_and_see
{
  __host__ __device__ bool operator()(T value) const
  {
    see_block();
    return chosen<T>{}(value);
  }
};

template <class T>
struct item_chosen
{
  any_items<T> item;
  __host__ __device__ bool operator()(int64 i) const
  {
    return chosen<T>{}(item(i));
  }
};

// Flags by position: three of four.
struct flag_items
{
  uint64 seed;
  __host__ __device__ uint8 operator()(int64 i) const
  {
    return random_bits(seed, i) % 4 != 0;
  }
};

// The selected items are there in their order, and are counted.
template <class T, class Item, class Flag>
void check_selected(checks& found, int64 items, Item item, Flag flag, const T* out, int64 count)
{
  const ranking ranks(items, flag);
  found.same("number of selected items", ranks.total(), count);
  found.ranked<T>("selected item", items, flag, ranks, [=] __device__(int64 i, int64 rank) {
    return compared<T>{item(i), out[rank]};
  });
}

// And the rejected ones behind them, from the end.
template <class T, class Item, class Flag>
void check_rejected(checks& found, int64 items, Item item, Flag flag, const T* out)
{
  const auto rejected = [=] __device__(int64 i) {
    return !flag(i);
  };
  const ranking ranks(items, rejected);
  found.ranked<T>("rejected item", items, rejected, ranks, [=] __device__(int64 i, int64 rank) {
    return compared<T>{item(i), out[items - 1 - rank]};
  });
}

template <class T>
struct if_ : select_policy<T, cub::NullType*>
{
  static constexpr auto call     = "DeviceSelect::If";
  static constexpr bool observes = true;

  any_items<T> item{1};
  buffer<T> in, out;
  buffer<int> count{"count", 1};

  explicit if_(int64 items)
      : in("items", items, item)
      , out("selected items", items)
  {}

  template <class Env>
  cudaError_t operator()(const Env& env) const
  {
    return cub::DeviceSelect::If(in.data(), out.data(), count.data(), in.size(), chosen_and_see<T>{}, env);
  }

  void check(checks& found) const
  {
    check_selected(found, in.size(), item, item_chosen<T>{item}, out.data(), count.at(0));
  }
};

template <class T>
struct in_place : select_in_place_policy<T>
{
  static constexpr auto call     = "DeviceSelect::If, in place";
  static constexpr bool observes = true;

  any_items<T> item{2};
  buffer<T> data;
  buffer<int> count{"count", 1};

  explicit in_place(int64 items)
      : data("items", items, item)
  {}

  template <class Env>
  cudaError_t operator()(const Env& env) const
  {
    return cub::DeviceSelect::If(data.data(), count.data(), data.size(), chosen_and_see<T>{}, env);
  }

  void check(checks& found) const
  {
    check_selected(found, data.size(), item, item_chosen<T>{item}, data.data(), count.at(0));
  }
};

template <class T>
struct flagged : select_policy<T, uint8*>
{
  static constexpr auto call = "DeviceSelect::Flagged";

  any_items<T> item{3};
  flag_items flag{4};
  buffer<T> in, out;
  buffer<uint8> flags;
  buffer<int> count{"count", 1};

  explicit flagged(int64 items)
      : in("items", items, item)
      , out("selected items", items)
      , flags("flags", items, flag)
  {}

  template <class Env>
  cudaError_t operator()(const Env& env) const
  {
    return cub::DeviceSelect::Flagged(in.data(), flags.data(), out.data(), count.data(), in.size(), env);
  }

  void check(checks& found) const
  {
    check_selected(found, in.size(), item, flag, out.data(), count.at(0));
  }
};

template <class T>
struct unique : select_policy<T, cub::NullType*>
{
  static constexpr auto call = "DeviceSelect::Unique";

  run_keys<T> item{5};
  buffer<T> in, out;
  buffer<int> count{"count", 1};

  explicit unique(int64 items)
      : in("items", items, item)
      , out("first items of runs", items)
  {}

  template <class Env>
  cudaError_t operator()(const Env& env) const
  {
    return cub::DeviceSelect::Unique(in.data(), out.data(), count.data(), in.size(), env);
  }

  void check(checks& found) const
  {
    check_selected(found, in.size(), item, run_begins<T>{item}, out.data(), count.at(0));
  }
};

template <class T>
struct partition_if : partition_policy<T, cub::NullType*>
{
  static constexpr auto call     = "DevicePartition::If";
  static constexpr bool observes = true;

  any_items<T> item{6};
  buffer<T> in, out;
  buffer<int> count{"count", 1};

  explicit partition_if(int64 items)
      : in("items", items, item)
      , out("parts", items)
  {}

  template <class Env>
  cudaError_t operator()(const Env& env) const
  {
    return cub::DevicePartition::If(
      in.data(), out.data(), count.data(), static_cast<int>(in.size()), chosen_and_see<T>{}, env);
  }

  void check(checks& found) const
  {
    check_selected(found, in.size(), item, item_chosen<T>{item}, out.data(), count.at(0));
    check_rejected(found, in.size(), item, item_chosen<T>{item}, out.data());
  }
};

template <class T>
struct partition_flagged : partition_policy<T, uint8*>
{
  static constexpr auto call = "DevicePartition::Flagged";

  any_items<T> item{7};
  flag_items flag{8};
  buffer<T> in, out;
  buffer<uint8> flags;
  buffer<int> count{"count", 1};

  explicit partition_flagged(int64 items)
      : in("items", items, item)
      , out("parts", items)
      , flags("flags", items, flag)
  {}

  template <class Env>
  cudaError_t operator()(const Env& env) const
  {
    return cub::DevicePartition::Flagged(
      in.data(), flags.data(), out.data(), count.data(), static_cast<int>(in.size()), env);
  }

  void check(checks& found) const
  {
    check_selected(found, in.size(), item, flag, out.data(), count.at(0));
    check_rejected(found, in.size(), item, flag, out.data());
  }
};
} // namespace policygen::prove

inline void policygen::prove::cases(runner& run)
{
  run.run<if_, int32, int8, int16, int64, uint8, uint16, uint32, uint64, float32, float64>();
  run.run<in_place, int64, int8, float32>();
  run.run<flagged, float32, int8, int16, int32, uint64, float64>();
  run.run<unique, uint16, uint8, int32, int64, float32, float64>();
  run.run<partition_if, float64, int8, int16, int32, uint32, int64>();
  run.run<partition_flagged, uint32, uint8, int16, float32, int64>();
}
