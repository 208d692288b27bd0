"""C++ that asks a CUB form and CUB's own selector for the same types, and does not compile where they differ."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence

from policygen.emit.cpp.expressions import identifier
from policygen.spec import Algorithm

_HEAD = """
#include <cuda/execution>
#include <cuda/iterator>

#include <functional>
#include <type_traits>

#if !_CCCL_HAS_NVFP16() || !_CCCL_HAS_NVBF16()
#error "half types are to be compared, too"
#endif

namespace data
{
struct rgb { unsigned char r, g, b; };
struct triple { float x, y, z; };
struct wide { char bytes[40]; };
struct huge { char bytes[70000]; };
struct alignas(32) aligned { float x; };
struct counted { counted(); counted(const counted&); int n; };
struct no_default { explicit no_default(int); int n; };
// cuda::maximum asks for it
template <class T>
__host__ __device__ bool operator<(const T&, const T&);
} // namespace data
using namespace data;
struct own_operator { template <class T> __host__ __device__ T operator()(const T& a, const T&) const { return a; } };

template <class... Ts>
struct list {};
// no reduction of the list: a quirk of CUB is a quirk of one type
using elements = list<bool, char, signed char, unsigned char, short, unsigned short, int, unsigned, long, unsigned long,
  long long, unsigned long long, __int128_t, __uint128_t, float, double, __half, __nv_bfloat16, rgb, triple, wide, huge,
  aligned, counted, no_default>;
using few_elements = list<unsigned char, int, double, triple>;
using operators = list<cuda::std::plus<>, cuda::std::plus<float>, std::plus<>, cuda::minimum<>, cuda::maximum<int>,
  own_operator>;
using few_operators = list<cuda::std::plus<>, cuda::maximum<>, own_operator>;
// one of 2 bytes is outside the declared domains: CUB answers
using offsets = list<unsigned, unsigned long long, short>;
using two_offsets = list<int, long long>;

template <class T>
struct tag { using type = T; };
template <class F, class... Ts>
void each(list<Ts...>, F f) { (f(tag<Ts>{}), ...); }
#define TYPE(t) typename decltype(t)::type

template <class Ours, class Theirs>
constexpr int first_difference(const int* capability)
{
  for (; *capability != 0; ++capability)
  {
    const cuda::compute_capability cc{*capability};
    if (!(Ours{}(cc) == Theirs{}(cc)))
    {
      return *capability;
    }
  }
  return 0;
}

// An error names the capability and, in the trace of instantiations, the types.
template <int Capability>
struct difference_at
{
  static_assert(Capability == 0, "another policy than CUB's");
};

template <class Ours, class Theirs>
void same()
{
  using policy = decltype(Theirs{}(cuda::compute_capability{}));
  static_assert(std::is_empty_v<Ours>);
  static_assert(std::is_same_v<decltype(Ours{}(cuda::compute_capability{})), policy>);
  static_cast<void>(difference_at<first_difference<Ours, Theirs>(capabilities)>{});
}
"""

# `ours` and `theirs` are the namespaces of the algorithm.
COMPARISONS: Mapping[str, str] = {
    "adjacent_difference": """
  each(elements{}, [](auto t) { using T = TYPE(t);
    same<ours::selector<T*, false>, theirs::policy_selector_from_types<T*, false>>();
    same<ours::selector<const T*, true>, theirs::policy_selector_from_types<const T*, true>>();
  });
  using counting = cuda::counting_iterator<long>;
  same<ours::selector<counting, false>, theirs::policy_selector_from_types<counting, false>>();
""",
    "batch_memcpy": """
  same<ours::selector, theirs::policy_selector>();
""",
    "batched_topk": """
  each(elements{}, [](auto t) { using T = TYPE(t);
    same<ours::selector<T, cub::NullType, long, 1>, theirs::policy_selector_from_types<T, cub::NullType, long, 1>>();
    same<ours::selector<int, T, int, 512>, theirs::policy_selector_from_types<int, T, int, 512>>();
  });
""",
    "find": """
  each(elements{}, [](auto t) { using T = TYPE(t);
    same<ours::selector<T>, theirs::policy_selector_from_types<T>>();
  });
""",
    "find_bound_sorted_values": """
  each(elements{}, [](auto t) { using T = TYPE(t);
    same<ours::selector<T, int>, theirs::policy_selector_from_types<T, int>>();
    same<ours::selector<short, T>, theirs::policy_selector_from_types<short, T>>();
    same<ours::selector<T, T>, theirs::policy_selector_from_types<T, T>>();
  });
  each(few_elements{}, [](auto t) { using T = TYPE(t);
    each(few_elements{}, [](auto u) { using U = TYPE(u);
      same<ours::selector<T, U>, theirs::policy_selector_from_types<T, U>>();
    });
  });
""",
    "for": """
  same<ours::selector, theirs::policy_selector>();
""",
    "histogram": """
  each(elements{}, [](auto t) { using T = TYPE(t);
    same<ours::selector<T, int, 1, 1, true>, theirs::policy_selector_from_types<T, int, 1, 1, true>>();
    same<ours::selector<T, int, 1, 1, false>, theirs::policy_selector_from_types<T, int, 1, 1, false>>();
    same<ours::selector<T, long, 1, 1, true>, theirs::policy_selector_from_types<T, long, 1, 1, true>>();
    same<ours::selector<T, int, 4, 3, true>, theirs::policy_selector_from_types<T, int, 4, 3, true>>();
    same<ours::selector<T, int, 300, 1, true>, theirs::policy_selector_from_types<T, int, 300, 1, true>>();
  });
""",
    "merge": """
  each(elements{}, [](auto t) { using T = TYPE(t);
    using N = cub::NullType*;
    same<ours::selector<T*, N, T*, N, long>, theirs::policy_selector_from_types<T*, N, T*, N, long>>();
    same<ours::selector<int*, T*, int*, T*, long>, theirs::policy_selector_from_types<int*, T*, int*, T*, long>>();
    same<ours::selector<T*, int*, int*, T*, int>, theirs::policy_selector_from_types<T*, int*, int*, T*, int>>();
    same<ours::selector<T*, T*, T*, T*, int>, theirs::policy_selector_from_types<T*, T*, T*, T*, int>>();
  });
  using counting = cuda::counting_iterator<int>;
  same<ours::selector<counting, int*, int*, int*, long>,
       theirs::policy_selector_from_types<counting, int*, int*, int*, long>>();
  same<ours::selector<int*, int*, int*, counting, long>,
       theirs::policy_selector_from_types<int*, int*, int*, counting, long>>();
""",
    "merge_sort": """
  each(elements{}, [](auto t) { using T = TYPE(t);
    same<ours::selector<T*>, theirs::policy_selector_from_types<T*>>();
  });
""",
    "radix_sort": """
  each(elements{}, [](auto t) { using T = TYPE(t);
    using N = cub::NullType;
    same<ours::selector<T, N, unsigned>, theirs::policy_selector_from_types<T, N, unsigned>>();
    same<ours::selector<T, double, unsigned long long>,
         theirs::policy_selector_from_types<T, double, unsigned long long>>();
    same<ours::selector<unsigned char, T, unsigned>, theirs::policy_selector_from_types<unsigned char, T, unsigned>>();
    same<ours::selector<short, T, unsigned>, theirs::policy_selector_from_types<short, T, unsigned>>();
    same<ours::selector<float, T, unsigned long>, theirs::policy_selector_from_types<float, T, unsigned long>>();
  });
""",
    "reduce": """
  using Plus = cuda::std::plus<>;
  each(elements{}, [](auto t) { using T = TYPE(t);
    same<ours::selector<T, unsigned, Plus>, theirs::policy_selector_from_types<T, unsigned, Plus>>();
    using D = cuda::execution::determinism::__determinism_t;
    same<ours::selector<T, unsigned, Plus, D::__gpu_to_gpu>,
         theirs::policy_selector_from_types<T, unsigned, Plus, D::__gpu_to_gpu>>();
    same<ours::selector<T, unsigned, Plus, D::__not_guaranteed>,
         theirs::policy_selector_from_types<T, unsigned, Plus, D::__not_guaranteed>>();
  });
  each(few_elements{}, [](auto t) { using T = TYPE(t);
    each(operators{}, [](auto o) { using Op = TYPE(o);
      each(offsets{}, [](auto n) { using Offset = TYPE(n);
        same<ours::selector<T, Offset, Op>, theirs::policy_selector_from_types<T, Offset, Op>>();
      });
    });
  });
""",
    "reduce_by_key": """
  using Plus = cuda::std::plus<>;
  each(elements{}, [](auto t) { using T = TYPE(t);
    same<ours::selector<Plus, T, int>, theirs::policy_selector_from_types<Plus, T, int>>();
    same<ours::selector<Plus, short, T>, theirs::policy_selector_from_types<Plus, short, T>>();
    same<ours::selector<Plus, T, T>, theirs::policy_selector_from_types<Plus, T, T>>();
  });
  each(few_elements{}, [](auto t) { using T = TYPE(t);
    each(few_elements{}, [](auto u) { using U = TYPE(u);
      each(few_operators{}, [](auto o) { using Op = TYPE(o);
        same<ours::selector<Op, T, U>, theirs::policy_selector_from_types<Op, T, U>>();
      });
    });
  });
""",
    "rle_encode": """
  each(elements{}, [](auto t) { using T = TYPE(t);
    same<ours::selector<int, T>, theirs::policy_selector_from_types<int, T>>();
    same<ours::selector<long, T>, theirs::policy_selector_from_types<long, T>>();
    same<ours::selector<T, int>, theirs::policy_selector_from_types<T, int>>();
  });
""",
    "rle_non_trivial_runs": """
  each(elements{}, [](auto t) { using T = TYPE(t);
    same<ours::selector<int, T>, theirs::policy_selector_from_types<int, T>>();
    same<ours::selector<long, T>, theirs::policy_selector_from_types<long, T>>();
    same<ours::selector<T, int>, theirs::policy_selector_from_types<T, int>>();
  });
""",
    "scan": """
  each(elements{}, [](auto t) { using T = TYPE(t);
    each(few_operators{}, [](auto o) { using Op = TYPE(o);
      same<ours::selector<T*, T*, T, unsigned, Op>, theirs::policy_selector_from_types<T*, T*, T, unsigned, Op>>();
      using O = unsigned long long;
      same<ours::selector<T*, T*, T, O, Op>, theirs::policy_selector_from_types<T*, T*, T, O, Op>>();
    });
    using Plus = cuda::std::plus<>;
    same<ours::selector<T*, double*, int, unsigned, Plus>,
         theirs::policy_selector_from_types<T*, double*, int, unsigned, Plus>>();
    same<ours::selector<int*, T*, T, unsigned, Plus>,
         theirs::policy_selector_from_types<int*, T*, T, unsigned, Plus>>();
    same<ours::selector<T*, T*, T, unsigned, Plus, true>,
         theirs::policy_selector_from_types<T*, T*, T, unsigned, Plus, true>>();
  });
  using counting = cuda::counting_iterator<int>;
  same<ours::selector<counting, int*, int, unsigned, cuda::std::plus<>>,
       theirs::policy_selector_from_types<counting, int*, int, unsigned, cuda::std::plus<>>>();
""",
    "scan_by_key": """
  using Plus = cuda::std::plus<>;
  each(elements{}, [](auto t) { using T = TYPE(t);
    same<ours::selector<int, T, T, Plus>, theirs::policy_selector_from_types<int, T, T, Plus>>();
    same<ours::selector<T, int, short, Plus>, theirs::policy_selector_from_types<T, int, short, Plus>>();
    same<ours::selector<short, double, T, Plus>, theirs::policy_selector_from_types<short, double, T, Plus>>();
  });
  each(few_elements{}, [](auto t) { using T = TYPE(t);
    each(few_elements{}, [](auto k) { using K = TYPE(k);
      each(few_operators{}, [](auto o) { using Op = TYPE(o);
        same<ours::selector<K, T, T, Op>, theirs::policy_selector_from_types<K, T, T, Op>>();
      });
    });
  });
""",
    "segmented_radix_sort": """
  each(elements{}, [](auto t) { using T = TYPE(t);
    using N = cub::NullType;
    same<ours::selector<T, N, int>, theirs::policy_selector_from_types<T, N, int>>();
    same<ours::selector<T, wide, int>, theirs::policy_selector_from_types<T, wide, int>>();
    same<ours::selector<char, T, int>, theirs::policy_selector_from_types<char, T, int>>();
  });
""",
    "segmented_reduce": """
  using Plus = cuda::std::plus<>;
  each(elements{}, [](auto t) { using T = TYPE(t);
    same<ours::selector<T, unsigned, Plus>, theirs::policy_selector_from_types<T, unsigned, Plus>>();
  });
  each(few_elements{}, [](auto t) { using T = TYPE(t);
    each(operators{}, [](auto o) { using Op = TYPE(o);
      each(offsets{}, [](auto n) { using Offset = TYPE(n);
        same<ours::selector<T, Offset, Op>, theirs::policy_selector_from_types<T, Offset, Op>>();
      });
    });
  });
""",
    "segmented_scan": """
  each(elements{}, [](auto t) { using T = TYPE(t);
    same<ours::selector<T>, theirs::policy_selector_from_types<T>>();
  });
""",
    "segmented_sort": """
  each(elements{}, [](auto t) { using T = TYPE(t);
    using N = cub::NullType;
    same<ours::selector<T, N>, theirs::policy_selector_from_types<T, N>>();
    same<ours::selector<T, char>, theirs::policy_selector_from_types<T, char>>();
    same<ours::selector<short, T>, theirs::policy_selector_from_types<short, T>>();
  });
""",
    "select_if": """
  each(elements{}, [](auto t) { using T = TYPE(t);
    using N = cub::NullType*;
    using I = cub::SelectImpl;
    using Distinct = cub::detail::select::partition_distinct_output_t<T*, T*>;
    same<ours::selector<T*, N, T*, long, I::Select>,
         theirs::policy_selector_from_types<T*, N, T*, long, I::Select>>();
    same<ours::selector<T*, bool*, T*, long, I::Select>,
         theirs::policy_selector_from_types<T*, bool*, T*, long, I::Select>>();
    same<ours::selector<T*, N, T*, long, I::SelectPotentiallyInPlace>,
         theirs::policy_selector_from_types<T*, N, T*, long, I::SelectPotentiallyInPlace>>();
    each(two_offsets{}, [](auto n) { using O = TYPE(n);
      same<ours::selector<T*, int*, T*, O, I::Partition>,
           theirs::policy_selector_from_types<T*, int*, T*, O, I::Partition>>();
      same<ours::selector<T*, N, Distinct, O, I::Partition>,
           theirs::policy_selector_from_types<T*, N, Distinct, O, I::Partition>>();
      same<ours::partition_selector<T*, N, T*, O, I::Partition>,
           as_partition<theirs::policy_selector_from_types<T*, N, T*, O, I::Partition>>>();
    });
  });
""",
    "three_way_partition": """
  each(elements{}, [](auto t) { using T = TYPE(t);
    each(two_offsets{}, [](auto n) { using O = TYPE(n);
      same<ours::selector<T, O>, theirs::policy_selector_from_types<T, O>>();
    });
  });
""",
    "topk": """
  each(elements{}, [](auto t) { using T = TYPE(t);
    same<ours::selector<T>, theirs::policy_selector_from_types<T>>();
  });
""",
    "transform": """
  using cuda::std::tuple;
  each(elements{}, [](auto t) { using T = TYPE(t);
    same<ours::selector<false, true, tuple<>, T*>, theirs::policy_selector_from_types<false, true, tuple<>, T*>>();
    same<ours::selector<false, true, tuple<T*>, T*>, theirs::policy_selector_from_types<false, true, tuple<T*>, T*>>();
    same<ours::selector<true, true, tuple<T*>, T*>, theirs::policy_selector_from_types<true, true, tuple<T*>, T*>>();
    same<ours::selector<false, false, tuple<T*>, T*>,
         theirs::policy_selector_from_types<false, false, tuple<T*>, T*>>();
    same<ours::selector<false, true, tuple<T*, int*, short*>, T*>,
         theirs::policy_selector_from_types<false, true, tuple<T*, int*, short*>, T*>>();
    same<ours::selector<false, true, tuple<cuda::counting_iterator<int>, T*>, float*>,
         theirs::policy_selector_from_types<false, true, tuple<cuda::counting_iterator<int>, T*>, float*>>();
  });
  using four = tuple<char*, char*, char*, char*>;
  using nine = tuple<char*, char*, char*, char*, char*, char*, char*, char*, char*>;
  same<ours::selector<false, true, four, char*>, theirs::policy_selector_from_types<false, true, four, char*>>();
  same<ours::selector<false, true, nine, char*>, theirs::policy_selector_from_types<false, true, nine, char*>>();
  using discard = cuda::discard_iterator;
  same<ours::selector<false, true, tuple<int*>, discard>,
       theirs::policy_selector_from_types<false, true, tuple<int*>, discard>>();
""",
    "unique_by_key": """
  each(elements{}, [](auto t) { using T = TYPE(t);
    same<ours::selector<T, int>, theirs::policy_selector_from_types<T, int>>();
    same<ours::selector<short, T>, theirs::policy_selector_from_types<short, T>>();
    same<ours::selector<T, T>, theirs::policy_selector_from_types<T, T>>();
  });
  each(few_elements{}, [](auto t) { using T = TYPE(t);
    each(few_elements{}, [](auto u) { using U = TYPE(u);
      same<ours::selector<T, U>, theirs::policy_selector_from_types<T, U>>();
    });
  });
""",
}

_AS_PARTITION = """
// What DevicePartition would take of CUB's own policy.
template <class Selector>
struct as_partition
{
  constexpr cub::PartitionPolicy operator()(cuda::compute_capability cc) const
  {
    const cub::SelectPolicy p = Selector{}(cc);
    return {cub::PartitionAlgorithm::lookback,
            {p.lookback.threads_per_block, p.lookback.items_per_thread, p.lookback.load_algorithm,
             p.lookback.load_modifier, p.lookback.scan_algorithm, p.lookback.lookback_delay}};
  }
};
"""


def selector_program(algorithms: Sequence[Algorithm], target: str, capabilities: Sequence[int], more: str = "") -> str:
    """The program.

    Args:
        algorithms: those that are compared.
        target: folder of the generated headers.
        capabilities: what both are asked for.
        more: further C++.
    """
    lines = [f"#include <policygen/{target}/cub_tuning_{identifier(a.name)}.cuh>" for a in algorithms]
    lines.append(f"constexpr int capabilities[] = {{{', '.join(map(str, capabilities))}, 0}};")
    lines += [_HEAD, _AS_PARTITION]
    for algorithm in algorithms:
        assert algorithm.cub is not None
        lines += [f"void {identifier(algorithm.name)}()", "{"]
        lines.append(f"  namespace ours = policygen::{target}::{identifier(algorithm.name)};")
        lines += [f"  namespace theirs = {algorithm.cub.namespace};", COMPARISONS[algorithm.name], "}"]
    return "\n".join([*lines, more, ""])
