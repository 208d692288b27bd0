// Histograms with bins of one width, and with bins that are given.

#include <cub/device/device_histogram.cuh>

#include <harness/runner.cuh>

namespace policygen::prove
{
// CUB counts bytes by their values, and has no bins for negative ones: signed bytes are samples from 0 to 112.
template <class T>
constexpr bool is_byte = sizeof(T) == 1;
template <class T>
constexpr int bin_width = is_byte<T> && std::is_signed_v<T> ? 4 : 8;

// Samples below the first bin, in the bins and above the last: `bins` bins of one width from `lowest`.
template <class T>
struct samples
{
  static constexpr int width = bin_width<T>;
  int bins;

  __host__ __device__ int lowest() const
  {
    return std::is_unsigned_v<T> || is_byte<T> ? 8 : -width * bins / 2;
  }
  __host__ __device__ int highest() const
  {
    return lowest() + width * bins;
  }
  __host__ __device__ int value(int64 i) const
  {
    return lowest() - 8 + static_cast<int>(random_bits(1, i) % static_cast<uint64>(width * bins + 16));
  }
  __host__ __device__ T operator()(int64 i) const
  {
    return static_cast<T>(value(i));
  }
  // -1 for a sample that is in none.
  __host__ __device__ int bin(int64 i) const
  {
    const int own = value(i);
    return own < lowest() || own >= highest() ? -1 : (own - lowest()) / width;
  }
};

template <class T>
struct level
{
  int lowest;
  int width;
  __host__ __device__ T operator()(int64 i) const
  {
    return static_cast<T>(lowest + width * static_cast<int>(i));
  }
};

template <class T, bool Even>
struct histogram_policy
{
  using selector = std::conditional_t<Even,
                                      target::histogram::selector_for_even<T*, int>,
                                      target::histogram::selector_for_range<T*, int>>;
  using upstream = cub::detail::histogram::policy_selector_from_types<T, int, 1, 1, Even>;

  // Levels of a type that holds all of them.
  using level_type = std::conditional_t<is_float<T>, T, int>;

  static constexpr auto sizes   = "samples";
  static constexpr auto tile_of = "the policy";

  static int64 tile(const cub::HistogramPolicy& policy)
  {
    return int64{policy.threads_per_block} * policy.pixels_per_thread;
  }

  static std::vector<kernel> kernels(const cub::HistogramPolicy& policy)
  {
    return {{"DeviceHistogramSweepKernel", policy.threads_per_block, 1}};
  }

  samples<T> sample;
  buffer<T> in;
  buffer<int> counts;
  buffer<int> expected;

  histogram_policy(int64 items, int bins)
      : sample{bins}
      , in("samples", items, sample)
      , counts("counts", bins)
      , expected("expected counts", bins, nothing{})
  {}

  struct nothing
  {
    __host__ __device__ int operator()(int64) const
    {
      return 0;
    }
  };

  void check(checks& found) const
  {
    int* const bins = expected.data();
    found.total(in.size(), [=, sample = sample] __device__(int64 i) {
      const int bin = sample.bin(i);
      if (bin >= 0)
      {
        atomicAdd(&bins[bin], 1);
      }
      return 0;
    });
    const int* const got = counts.data();
    found.template each<int>("count of a bin", counts.size(), [=] __device__(int64 i) {
      return compared<int>{bins[i], got[i]};
    });
  }
};

template <class T>
struct even : histogram_policy<T, true>
{
  static constexpr auto call = "DeviceHistogram::HistogramEven, 24 bins";
  using level_type           = typename histogram_policy<T, true>::level_type;

  explicit even(int64 items)
      : histogram_policy<T, true>(items, 24)
  {}

  template <class Env>
  cudaError_t operator()(const Env& env) const
  {
    return cub::DeviceHistogram::HistogramEven(
      this->in.data(),
      this->counts.data(),
      static_cast<int>(this->counts.size()) + 1,
      static_cast<level_type>(this->sample.lowest()),
      static_cast<level_type>(this->sample.highest()),
      static_cast<int>(this->in.size()),
      env);
  }
};

// So many bins that a block cannot have a copy of its own.
template <class T>
struct many : histogram_policy<T, true>
{
  static constexpr auto call = "DeviceHistogram::HistogramEven, 4096 bins";
  using level_type           = typename histogram_policy<T, true>::level_type;

  explicit many(int64 items)
      : histogram_policy<T, true>(items, 4096)
  {}

  template <class Env>
  cudaError_t operator()(const Env& env) const
  {
    return cub::DeviceHistogram::HistogramEven(
      this->in.data(),
      this->counts.data(),
      static_cast<int>(this->counts.size()) + 1,
      static_cast<level_type>(this->sample.lowest()),
      static_cast<level_type>(this->sample.highest()),
      static_cast<int>(this->in.size()),
      env);
  }
};

template <class T>
struct range : histogram_policy<T, false>
{
  static constexpr auto call = "DeviceHistogram::HistogramRange, 24 bins";
  using level_type           = typename histogram_policy<T, false>::level_type;

  buffer<level_type> levels;

  explicit range(int64 items)
      : histogram_policy<T, false>(items, 24)
      , levels("levels", this->counts.size() + 1, level<level_type>{this->sample.lowest(), this->sample.width})
  {}

  template <class Env>
  cudaError_t operator()(const Env& env) const
  {
    return cub::DeviceHistogram::HistogramRange(
      this->in.data(),
      this->counts.data(),
      static_cast<int>(levels.size()),
      static_cast<const level_type*>(levels.data()),
      static_cast<int>(this->in.size()),
      env);
  }
};
} // namespace policygen::prove

inline void policygen::prove::cases(runner& run)
{
  run.run<even, int32, int8, int16, int64, uint8, uint16, uint32, uint64, float32, float64>();
  run.leave_out("DeviceHistogram::HistogramEven and HistogramRange, int8 with negative samples",
                "CUB takes a byte for the number of a bin that the block keeps: negative ones are not counted, with its own "
                "policy either");
  run.run<many, int32, uint16, float32>();
  run.run<range, float32, int8, int16, int32, uint8, uint16, float64>();
}
