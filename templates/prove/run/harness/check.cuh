// Comparison of results with what they have to be, in plain kernels.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include <harness/device.cuh>
#include <harness/launches.cuh>
#include <harness/start.cuh>

namespace policygen::prove
{
template <class T>
struct compared
{
  T expected;
  T got;
};

constexpr unsigned long long no_item = ~0ull;

template <class T, class Function>
__global__ void first_difference(int64 items, Function function, unsigned long long* first)
{
  for (int64 i = first_index(); i < items; i += index_stride())
  {
    const compared<T> found = function(i);
    if (!(found.expected == found.got))
    {
      atomicMin(first, static_cast<unsigned long long>(i));
    }
  }
}

template <class T, class Function>
__global__ void difference_at(int64 i, Function function, compared<T>* found)
{
  *found = function(i);
}

template <class Function>
__global__ void total_kernel(int64 items, Function function, unsigned long long* total)
{
  unsigned long long sum = 0;
  for (int64 i = first_index(); i < items; i += index_stride())
  {
    sum += static_cast<unsigned long long>(function(i));
  }
  atomicAdd(total, sum);
}

// Items that a thread walks in their order, to count those before each.
constexpr int64 chunk_items = 1024;

template <class Flag, class Visit>
__host__ __device__ unsigned long long
walked(int64 chunk, int64 items, Flag flag, unsigned long long rank, Visit visit)
{
  const int64 begin = chunk * chunk_items;
  const int64 end   = begin + chunk_items < items ? begin + chunk_items : items;
  for (int64 i = begin; i < end; ++i)
  {
    if (flag(i))
    {
      visit(i, static_cast<int64>(rank));
      ++rank;
    }
  }
  return rank;
}

template <class Flag>
__global__ void count_kernel(int64 chunks, int64 items, Flag flag, unsigned long long* counts)
{
  for (int64 chunk = first_index(); chunk < chunks; chunk += index_stride())
  {
    counts[chunk] = walked(chunk, items, flag, 0, [](int64, int64) {});
  }
}

template <class T, class Flag, class Function>
__global__ void ranked_difference(
  int64 chunks,
  int64 items,
  Flag flag,
  const unsigned long long* begins,
  Function function,
  unsigned long long* first)
{
  for (int64 chunk = first_index(); chunk < chunks; chunk += index_stride())
  {
    walked(chunk, items, flag, begins[chunk], [&](int64 i, int64 rank) {
      const compared<T> found = function(i, rank);
      if (!(found.expected == found.got))
      {
        atomicMin(first, static_cast<unsigned long long>(i));
      }
    });
  }
}

template <class T, class Flag, class Function>
__global__ void ranked_difference_at(
  int64 at, int64 items, Flag flag, const unsigned long long* begins, Function function, compared<T>* found)
{
  walked(at / chunk_items, items, flag, begins[at / chunk_items], [&](int64 i, int64 rank) {
    if (i == at)
    {
      *found = function(i, rank);
    }
  });
}

// Where flagged items go in a dense output that keeps their order.
class ranking
{
public:
  template <class Flag>
  ranking(int64 items, Flag flag)
      : begins_("ranks", (items + chunk_items - 1) / chunk_items)
  {
    if (chunks() == 0)
    {
      return;
    }
    start("counting", count_kernel<Flag>, chunks(), chunks(), items, flag, begins_.data());
    std::vector<unsigned long long> counts(static_cast<std::size_t>(chunks()));
    const std::size_t bytes = counts.size() * sizeof(counts[0]);
    require(cudaMemcpyAsync(counts.data(), begins_.data(), bytes, cudaMemcpyDeviceToHost, side_stream()), "counting");
    wait("counting");
    for (unsigned long long& count : counts)
    {
      const auto own = count;
      count          = total_;
      total_ += own;
    }
    require(cudaMemcpyAsync(begins_.data(), counts.data(), bytes, cudaMemcpyHostToDevice, side_stream()), "counting");
    wait("counting");
  }

  int64 total() const
  {
    return static_cast<int64>(total_);
  }

  int64 chunks() const
  {
    return begins_.size();
  }

  const unsigned long long* begins() const
  {
    return begins_.data();
  }

private:
  buffer<unsigned long long> begins_;
  unsigned long long total_ = 0;
};

// What was wrong: `what` at item `index` (-1: the result as a whole), and the two values.
struct failure
{
  std::string what;
  int64 index;
  std::string expected;
  std::string got;
};

// The checks of one result. The first difference is kept; later checks are then left out.
class checks
{
public:
  explicit checks(const trace& calls)
      : calls_(calls)
      , cell_("first difference", 1)
  {}

  // What the call launched: an error bound may depend on how a sum was split.
  const trace& calls() const
  {
    return calls_;
  }

  const std::optional<failure>& found() const
  {
    return failure_;
  }

  // function(i) gives a compared<T>, for every i below items; both values have to be equal.
  template <class T, class Function>
  void each(const char* what, int64 items, Function function)
  {
    if (failure_ || items <= 0)
    {
      return;
    }
    upload(no_item);
    start("checking", first_difference<T, Function>, items, items, function, cell_.data());
    if (const int64 at = first(); at >= 0)
    {
      buffer<compared<T>> found("difference", 1);
      start("checking", difference_at<T, Function>, 1, at, function, found.data());
      fail(what, at, found.at(0));
    }
  }

  // function(i, rank) the same for each flagged i; `ranks` was made with the same flag.
  template <class T, class Flag, class Function>
  void ranked(const char* what, int64 items, Flag flag, const ranking& ranks, Function function)
  {
    if (failure_ || items <= 0)
    {
      return;
    }
    const unsigned long long* const begins = ranks.begins();
    const int64 chunks                     = ranks.chunks();
    upload(no_item);
    start(
      "checking", ranked_difference<T, Flag, Function>, chunks, chunks, items, flag, begins, function, cell_.data());
    if (const int64 at = first(); at >= 0)
    {
      buffer<compared<T>> found("difference", 1);
      start("checking", ranked_difference_at<T, Flag, Function>, 1, at, items, flag, begins, function, found.data());
      fail(what, at, found.at(0));
    }
  }

  template <class T>
  void same(const char* what, T expected, T got)
  {
    if (!failure_ && !(expected == got))
    {
      failure_ = failure{what, -1, to_text(expected), to_text(got)};
    }
  }

  // |got - exact| may be at most `bound`.
  void close(const char* what, double exact, double got, double bound)
  {
    if (!failure_ && !(got >= exact - bound && got <= exact + bound))
    {
      failure_ = failure{what, -1, to_text(exact) + " +- " + to_text(bound), to_text(got)};
    }
  }

  // The sum of function(i) over all i below items, modulo 2^64.
  template <class Function>
  uint64 total(int64 items, Function function)
  {
    if (items <= 0)
    {
      return 0;
    }
    upload(0);
    start("summing", total_kernel<Function>, items, items, function, cell_.data());
    return cell_.at(0);
  }

private:
  void upload(unsigned long long value)
  {
    require(cudaMemcpyAsync(cell_.data(), &value, sizeof value, cudaMemcpyHostToDevice, side_stream()), "checking");
    wait("checking");
  }

  int64 first() const
  {
    return static_cast<int64>(cell_.at(0));
  }

  template <class T>
  void fail(const char* what, int64 at, const compared<T>& pair)
  {
    failure_ = failure{what, at, to_text(pair.expected), to_text(pair.got)};
  }

  const trace& calls_;
  buffer<unsigned long long> cell_;
  std::optional<failure> failure_;
};
} // namespace policygen::prove
