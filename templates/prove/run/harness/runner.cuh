// Runs the cases of one algorithm on all sizes, and prints what came out.
//
// A case is a class template over the type of the items. It has
//   call                  the function of CUB's interface that it calls
//   selector, upstream    the generated selector under test, and CUB's own for the same types
//   sizes                 what is counted: "items", mostly
//   tile(policy)          how many of them the tile is whose neighbours are tried; tile_of says which tile that is
//   kernels(policy)       the kernels whose blocks the policy decides
//   a constructor from the number of items, which makes the input
//   operator()(env)       the call, with an environment that carries stream, memory and tuning
//   check(checks&)        the comparison with what has to come out
// and may have
//   observes = true       something of it calls see_block() inside the kernels
//   largest               the most that it counts, where 2^28 makes no sense
//   promised()            what has to be the same with whatever blocks, as text
//   refuses_nothing       why CUB answers an empty problem with an error of the launch, where it does

#pragma once

#include <cub/util_device.cuh>
#include <cub/version.cuh>

#include <cuda/__execution/tune.h>
#include <cuda/memory_resource>
#include <cuda/std/__execution/env.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <harness/check.cuh>
#include <harness/device.cuh>
#include <harness/launches.cuh>
#include <harness/lines.cuh>
#include <harness/values.cuh>

namespace policygen::prove
{
// With fewer items a functor need not be called at all, or not in the first thread of a block.
constexpr int64 observed_from = 1000;
constexpr int64 no_limit      = int64{1} << 62;

// A kernel whose block the policy decides. One name may stand for several kernels with blocks of their own.
struct kernel
{
  std::string name;   // of the function template
  int threads;        // of a block, by the policy
  int64 from;         // problems from this size
  int64 to = no_limit; // to this one have to launch it; from `no_limit`: one such kernel at least, of all that there are
};

struct size
{
  const char* name;
  int64 items;
};

constexpr int64 million = 1'000'000;
constexpr int64 large   = int64{1} << 28;

struct program
{
  const char* target;
  const char* algorithm;
  bool brief; // one type a case, and nothing larger than a million
};

template <class Case, class = void>
constexpr int64 largest_of = large;
template <class Case>
constexpr int64 largest_of<Case, std::void_t<decltype(Case::largest)>> = Case::largest;

template <class Case, class = void>
constexpr bool observes = false;
template <class Case>
constexpr bool observes<Case, std::void_t<decltype(Case::observes)>> = Case::observes;

template <class Case, class = void>
constexpr const char* refuses_nothing = nullptr;
template <class Case>
constexpr const char* refuses_nothing<Case, std::void_t<decltype(Case::refuses_nothing)>> = Case::refuses_nothing;

template <class Case, class = void>
constexpr bool promises = false;
template <class Case>
constexpr bool promises<Case, std::void_t<decltype(std::declval<const Case&>().promised())>> = true;

template <class Policy, class = void>
struct policy_text
{
  static std::string of(const Policy&)
  {
    return {};
  }
};
template <class Policy>
struct policy_text<Policy, std::void_t<decltype(std::declval<std::ostream&>() << std::declval<const Policy&>())>>
{
  static std::string of(const Policy& policy)
  {
    std::ostringstream text;
    text << policy;
    return text.str();
  }
};

// CUB does not take a problem, whatever the tuning: the answer that it has to give.
struct refused : std::runtime_error
{
  using std::runtime_error::runtime_error;
};

inline ::cuda::compute_capability compiled_capability()
{
  ::cuda::compute_capability cc{};
  require(cub::detail::ptx_compute_cap(cc), "asking for the architecture");
  return cc;
}

class runner
{
public:
  explicit runner(program what)
      : program_(what)
  {}

  // 0: everything passed. 1: something did not. 3: nothing could be run.
  int main(int argc, char** argv, void (*cases)(runner&))
  {
    for (int i = 1; i < argc; ++i)
    {
      if (std::strcmp(argv[i], "--quick") == 0)
      {
        quick_ = true;
      }
      else
      {
        std::fprintf(stderr, "unknown argument %s; the only one is --quick: nothing above a million items\n", argv[i]);
        return 2;
      }
    }
    // kernels are loaded before anything is recorded
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);
    if (!describe())
    {
      return 3;
    }
    try
    {
      cases(*this);
    }
    catch (const std::exception& error)
    {
      broken_ = error.what();
    }
    object end;
    end.text("line", "end").number("passed", passed_).number("failed", failed_).number("skipped", skipped_);
    if (!broken_.empty())
    {
      end.text("broken", broken_);
    }
    end.print();
    return failed_ > 0 || !broken_.empty() ? 1 : 0;
  }

  // The case for every type; for the first alone in a brief program.
  template <template <class> class Case, class First, class... Types>
  void run()
  {
    one<Case<First>, First>();
#ifndef POLICYGEN_PROVE_BRIEF
    (one<Case<Types>, Types>(), ...);
#endif
  }

  // What is not run, and why: it stands in the report.
  void leave_out(const char* call, const char* reason)
  {
    object().text("line", "left_out").text("call", call).text("reason", reason).print();
  }

private:
  bool describe()
  {
    int device = 0;
    cudaDeviceProp properties{};
    cudaError_t error = cudaGetDevice(&device);
    error             = error != cudaSuccess ? error : cudaGetDeviceProperties(&properties, device);
    if (error != cudaSuccess)
    {
      std::fprintf(stderr, "no GPU to run on: %s\n", cudaGetErrorString(error));
      return false;
    }
    int driver = 0, runtime = 0;
    require(cudaDriverGetVersion(&driver), "asking for the driver's version");
    require(cudaRuntimeGetVersion(&runtime), "asking for the runtime's version");
    try
    {
      static_cast<void>(compiled_capability());
    }
    catch (const std::exception& wrong)
    {
      std::fprintf(stderr,
                   "%s is of compute capability %d.%d, and the program is not compiled for it: %s\n",
                   properties.name,
                   properties.major,
                   properties.minor,
                   wrong.what());
      return false;
    }
    object()
      .text("line", "program")
      .text("target", program_.target)
      .text("algorithm", program_.algorithm)
      .flag("brief", program_.brief)
      .flag("quick", quick_)
      .text("date", today())
      .text("device", properties.name)
      .text("compute_capability", std::to_string(properties.major) + "." + std::to_string(properties.minor))
      .number("multiprocessors", properties.multiProcessorCount)
      .number("memory", static_cast<long long>(properties.totalGlobalMem))
      .text("driver", kernel_driver())
      .text("cuda_driver", version(driver))
      .text("cuda_runtime", version(runtime))
      .text("nvcc",
            std::to_string(__CUDACC_VER_MAJOR__) + "." + std::to_string(__CUDACC_VER_MINOR__) + "."
              + std::to_string(__CUDACC_VER_BUILD__))
      .text("cccl",
            std::to_string(CCCL_MAJOR_VERSION) + "." + std::to_string(CCCL_MINOR_VERSION) + "."
              + std::to_string(CCCL_PATCH_VERSION))
      .print();
    return true;
  }

  static std::string today()
  {
    const std::time_t now = std::time(nullptr);
    char text[16];
    std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&now));
    return text;
  }

  // The version of the kernel's driver, where the system tells it: the first word that is digits and dots.
  static std::string kernel_driver()
  {
    std::ifstream file("/proc/driver/nvidia/version");
    for (std::string word; file >> word;)
    {
      if (word.find('.') != std::string::npos && word.find_first_not_of("0123456789.") == std::string::npos)
      {
        return word;
      }
    }
    return {};
  }

  static std::string version(int packed)
  {
    return std::to_string(packed / 1000) + "." + std::to_string(packed % 1000 / 10);
  }

  template <class Case, class T>
  void one()
  {
    if (!broken_.empty())
    {
      return;
    }
    const auto cc     = compiled_capability();
    const auto policy = typename Case::selector{}(cc);
    const auto usual  = typename Case::upstream{}(cc);
    const int64 tile  = Case::tile(policy);
    std::vector<std::string> kernels;
    for (const kernel& known : Case::kernels(policy))
    {
      kernels.push_back(object().text("name", known.name).number("threads", known.threads).str());
    }
    const std::string told = policy_text<std::decay_t<decltype(policy)>>::of(policy);
    object()
      .text("line", "case")
      .text("call", Case::call)
      .text("type", type_name<T>())
      .text("policy", told)
      .flag("same_as_cub", policy == usual)
      .text("counts", Case::sizes)
      .number("tile", tile)
      .text("tile_of", Case::tile_of)
      .list("kernels", kernels)
      .print();
    for (const size& next : sizes<Case>(tile))
    {
      attempt<Case, T>(policy, next);
    }
  }

  template <class Case>
  std::vector<size> sizes(int64 tile) const
  {
    std::vector<size> found{{"none", 0}, {"one", 1}, {"a tile - 1", tile - 1}, {"a tile", tile}, {"a tile + 1", tile + 1}};
    found.push_back({"10^6", million});
    if (!quick_ && !program_.brief)
    {
      found.push_back({"2^28", large});
    }
    for (size& next : found)
    {
      if (next.items > largest_of<Case>)
      {
        next = {"the most", largest_of<Case>};
      }
    }
    return found;
  }

  template <class Case, class T, class Policy>
  void attempt(const Policy& policy, const size& next)
  {
    const auto begin = std::chrono::steady_clock::now();
    object line;
    line.text("line", "run").text("call", Case::call).text("type", type_name<T>());
    line.text("size", next.name).number("items", next.items);
    trace calls;
    std::string promised;
    try
    {
      const auto found = result<Case>(policy, next.items, calls, promised);
      describe(line, calls);
      if (!promised.empty())
      {
        line.text("promised", promised);
      }
      if (found)
      {
        ++failed_;
        line.text("status", "failed").text("what", found->what).number("index", found->index);
        line.text("expected", found->expected).text("got", found->got);
      }
      else
      {
        ++passed_;
        line.text("status", "passed");
      }
    }
    catch (const out_of_memory& reason)
    {
      ++skipped_;
      line.text("status", "skipped").text("reason", reason.what());
    }
    catch (const refused& reason)
    {
      ++skipped_;
      line.text("status", "refused").text("reason", reason.what());
    }
    catch (const std::exception& error)
    {
      // after a fault in a kernel the device answers nothing any more
      ++failed_;
      broken_ = error.what();
      line.text("status", "failed").text("what", "the run").number("index", -1);
      line.text("expected", "no error").text("got", broken_);
    }
    const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - begin;
    line.number("milliseconds", std::lround(taken.count()));
    line.print();
  }

  template <class Case, class Policy>
  std::optional<failure> result(const Policy& policy, int64 items, trace& calls, std::string& promised)
  {
    std::vector<std::unique_ptr<memory>> temporary;
    Case tested(items);
    const auto env = ::cuda::std::execution::env{
      ::cuda::std::execution::prop{::cuda::get_stream_t{}, ::cuda::stream_ref{tested_stream()}},
      ::cuda::std::execution::prop{::cuda::mr::get_memory_resource_t{}, workspace{temporary}},
      ::cuda::execution::tune(typename Case::selector{})};
    // else CUB takes the default stream and memory of its own, and says nothing
    static_assert(::cuda::mr::resource<workspace>);
    static_assert(std::is_same_v<std::decay_t<decltype(::cuda::mr::get_memory_resource(env))>, workspace>);
    static_assert(std::is_same_v<std::decay_t<decltype(::cuda::get_stream(env))>, ::cuda::stream_ref>);
    calls = traced([&] {
      return tested(env);
    });
    if (calls.error == cudaErrorMemoryAllocation)
    {
      throw out_of_memory("the device has no room for the temporary storage");
    }
    // a graph does not take a grid of no blocks as a value, a stream not as a configuration
    if (refuses_nothing<Case> != nullptr && items == 0
        && (calls.error == cudaErrorInvalidConfiguration || calls.error == cudaErrorInvalidValue))
    {
      throw refused(refuses_nothing<Case>);
    }
    if (calls.error != cudaSuccess)
    {
      return failure{"the call's answer", -1, "cudaSuccess", cudaGetErrorName(calls.error)};
    }
    if (const std::string damage = memory::damaged(); !damage.empty())
    {
      return failure{"memory", -1, "nothing written beyond a buffer", damage};
    }
    if (auto wrong = blocks_differ<Case>(Case::kernels(policy), items, calls))
    {
      return wrong;
    }
    checks results(calls);
    tested.check(results);
    if constexpr (promises<Case>)
    {
      promised = tested.promised();
    }
    return results.found();
  }

  // Whether a kernel that the policy decides about ran with other blocks, or did not run.
  template <class Case>
  static std::optional<failure> blocks_differ(const std::vector<kernel>& known, int64 items, const trace& calls)
  {
    std::set<int> launched;
    for (const launch& each : calls.launches)
    {
      launched.insert(whole_warps(each.threads()));
      std::string expected;
      bool right = false;
      for (const kernel& one : known)
      {
        if (each.kernel == one.name)
        {
          expected += (expected.empty() ? "" : " or ") + std::to_string(one.threads);
          right = right || each.threads() == one.threads;
        }
      }
      if (!expected.empty() && !right)
      {
        return failure{"threads of a block of " + each.kernel, -1, expected, std::to_string(each.threads())};
      }
    }
    bool any = false;
    for (const kernel& one : known)
    {
      const auto is_it = [&](const launch& each) {
        return each.kernel == one.name && each.threads() == one.threads;
      };
      const bool ran = calls.recorded
                       ? std::any_of(calls.launches.begin(), calls.launches.end(), is_it)
                       : calls.seen.count(whole_warps(one.threads)) > 0;
      if (one.from <= items && items <= one.to && !ran)
      {
        return failure{"launches", -1, one.name + " with " + std::to_string(one.threads) + " threads", told(calls)};
      }
      any = any || ran || one.from != no_limit;
    }
    if (items > 0 && !any)
    {
      return failure{"launches", -1, known.front().name, told(calls)};
    }
    for (const int threads : calls.seen)
    {
      if (calls.recorded && launched.count(threads) == 0)
      {
        return failure{"threads of a block, seen from inside", -1, told(calls), std::to_string(threads)};
      }
    }
    if (observes<Case> && items >= observed_from && calls.seen.empty())
    {
      return failure{"threads of a block, seen from inside", -1, told(calls), "none"};
    }
    return std::nullopt;
  }

  static int whole_warps(int threads)
  {
    return (threads + 31) / 32 * 32;
  }

  static std::string told(const trace& calls)
  {
    std::string all;
    for (const launch& each : calls.launches)
    {
      all += (all.empty() ? "" : ", ") + each.kernel + " with " + std::to_string(each.threads());
    }
    for (const int threads : calls.seen)
    {
      all += (all.empty() ? "" : ", ") + ("blocks of " + std::to_string(threads));
    }
    return all.empty() ? "nothing" : all;
  }

  static void describe(object& line, const trace& calls)
  {
    std::vector<std::string> launches;
    for (const launch& each : calls.launches)
    {
      launches.push_back(
        object()
          .text("kernel", each.kernel)
          .list("grid", {std::to_string(each.grid.x), std::to_string(each.grid.y), std::to_string(each.grid.z)})
          .list("block", {std::to_string(each.block.x), std::to_string(each.block.y), std::to_string(each.block.z)})
          .number("dynamic_smem", each.dynamic_smem)
          .number("static_smem", each.static_smem)
          .number("registers", each.registers)
          .number("local_bytes", each.local_bytes)
          .number("blocks_per_sm", each.blocks_per_sm)
          .str());
    }
    std::vector<std::string> seen;
    for (const int threads : calls.seen)
    {
      seen.push_back(std::to_string(threads));
    }
    line.flag("recorded", calls.recorded).list("launches", launches).list("seen", seen);
    if (!calls.not_recorded.empty())
    {
      line.text("not_recorded", calls.not_recorded);
    }
  }

  program program_;
  bool quick_ = false;
  int passed_ = 0, failed_ = 0, skipped_ = 0;
  std::string broken_;
};
} // namespace policygen::prove
