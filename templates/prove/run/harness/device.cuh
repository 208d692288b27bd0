// Device memory that notices writes beyond its ends, and the temporary storage that CUB asks for.

#pragma once

#include <cuda/std/cstddef>
#include <cuda/stream_ref>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <cuda_runtime.h>
#include <harness/start.cuh>
#include <harness/values.cuh>

namespace policygen::prove
{
// The device has not enough memory for a size: a reason to leave it out, not a failure.
struct out_of_memory : std::runtime_error
{
  using std::runtime_error::runtime_error;
};

// Memory on the device: what is in it at first is poison, and on both sides lie guards.
class memory
{
public:
  static constexpr std::size_t guard = 512;
  static constexpr int poison        = 0xa5;
  static constexpr int guarded       = 0x5a;

  memory(std::string name, std::size_t bytes)
      : name_(std::move(name))
      , bytes_(bytes)
  {
    const cudaError_t error = cudaMalloc(&base_, bytes + 2 * guard);
    if (error == cudaErrorMemoryAllocation)
    {
      static_cast<void>(cudaGetLastError());
      throw out_of_memory("the device has no room for " + std::to_string(bytes) + " bytes of " + name_);
    }
    require(error, "allocating");
    fill();
    living().push_back(this);
  }
  memory(const memory&)            = delete;
  memory& operator=(const memory&) = delete;
  ~memory()
  {
    living().erase(std::find(living().begin(), living().end(), this));
    static_cast<void>(cudaFree(base_));
  }

  void* data() const
  {
    return static_cast<char*>(base_) + guard;
  }

  // Poison everywhere, guards as new.
  void fill()
  {
    char* const begin = static_cast<char*>(base_);
    require(cudaMemsetAsync(begin, guarded, guard, side_stream()), "guarding");
    require(cudaMemsetAsync(begin + guard, poison, bytes_, side_stream()), "poisoning");
    require(cudaMemsetAsync(begin + guard + bytes_, guarded, guard, side_stream()), "guarding");
    wait("poisoning");
  }

  // Which memory was written beyond its ends, and where; empty if none was.
  static std::string damaged()
  {
    for (const memory* one : living())
    {
      if (const std::string found = one->damage(); !found.empty())
      {
        return found;
      }
    }
    return {};
  }

private:
  static std::vector<memory*>& living()
  {
    static std::vector<memory*> all;
    return all;
  }

  std::string damage() const
  {
    std::array<unsigned char, guard> bytes{};
    for (const bool behind : {false, true})
    {
      const char* const begin = static_cast<char*>(base_) + (behind ? guard + bytes_ : 0);
      require(cudaMemcpyAsync(bytes.data(), begin, guard, cudaMemcpyDeviceToHost, side_stream()), "reading a guard");
      wait("reading a guard");
      const auto wrong = std::find_if(bytes.begin(), bytes.end(), [](unsigned char byte) {
        return byte != guarded;
      });
      if (wrong != bytes.end())
      {
        const auto at = static_cast<std::size_t>(wrong - bytes.begin());
        return name_ + ": written " + std::to_string(behind ? at : guard - at)
             + (behind ? " bytes behind its end" : " bytes before its begin");
      }
    }
    return {};
  }

  std::string name_;
  std::size_t bytes_;
  void* base_ = nullptr;
};

template <class T, class Function>
__global__ void fill_kernel(int64 items, Function function, T* data)
{
  for (int64 i = first_index(); i < items; i += index_stride())
  {
    data[i] = function(i);
  }
}

template <class T>
class buffer
{
public:
  buffer(const char* name, int64 items)
      : memory_(name, static_cast<std::size_t>(items) * sizeof(T))
      , items_(items)
  {}

  // Filled: item i is function(i).
  template <class Function>
  buffer(const char* name, int64 items, Function function)
      : buffer(name, items)
  {
    if (items > 0)
    {
      start("filling an input", fill_kernel<T, Function>, items, items, function, data());
    }
  }

  T* data() const
  {
    return static_cast<T*>(memory_.data());
  }

  int64 size() const
  {
    return items_;
  }

  // One item, copied to the host.
  T at(int64 i) const
  {
    T value{};
    require(cudaMemcpyAsync(&value, data() + i, sizeof(T), cudaMemcpyDeviceToHost, side_stream()), "reading an item");
    wait("reading an item");
    return value;
  }

private:
  memory memory_;
  int64 items_;
};

// Temporary storage for one call, with guards: CUB asks for it through the environment.
class workspace
{
public:
  explicit workspace(std::vector<std::unique_ptr<memory>>& kept)
      : kept_(&kept)
  {}

  void* allocate_sync(std::size_t bytes, std::size_t)
  {
    kept_->push_back(std::make_unique<memory>("temporary storage", bytes));
    return kept_->back()->data();
  }
  // What a recorded call asked for has to last until it has run.
  void deallocate_sync(void*, std::size_t, std::size_t) noexcept {}

  void* allocate(::cuda::stream_ref, std::size_t bytes, std::size_t alignment)
  {
    return allocate_sync(bytes, alignment);
  }
  void deallocate(::cuda::stream_ref, void*, std::size_t, std::size_t) noexcept {}

  friend bool operator==(const workspace& a, const workspace& b)
  {
    return a.kept_ == b.kept_;
  }
  friend bool operator!=(const workspace& a, const workspace& b)
  {
    return !(a == b);
  }

private:
  std::vector<std::unique_ptr<memory>>* kept_;
};
} // namespace policygen::prove
