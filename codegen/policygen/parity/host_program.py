"""Writes the C++ program that evaluates CCCL's own selectors on the host.

The program's text depends on the shapes alone. It fills a selector's members, calls it at run time with a compute
capability, and prints the members of the policy; `policygen.parity.protocol` says how keys and policies are spelled.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence

from policygen.parity.protocol import UNDEFINED
from policygen.parity.protocol import VERSION
from policygen.parity.protocol import Instance
from policygen.parity.protocol import instances_of
from policygen.parity.shape import EnumShape
from policygen.parity.shape import Field
from policygen.parity.shape import ListField
from policygen.parity.shape import ScalarField
from policygen.parity.shape import SelectorShape

# Overflow and division by zero are compiled to traps (see toolchain.py), which reach the program as one of three
# signals, depending on the processor; SA_NODEFER spares a system call for each answer.
_PROLOGUE = """\
#include <cub/version.cuh>
#include <cuda/__device/compute_capability.h>
#include <cuda/std/__cccl/ptx_isa.h>
{headers}

#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace
{{
// How many initialisers an aggregate takes says whether it has members that nobody here knows of.
struct Anything
{{
  template <class T>
  constexpr operator T() const noexcept;
}};

template <std::size_t>
using Initialiser = Anything;

template <class T, class Indices, class = void>
struct Takes : std::false_type
{{}};

template <class T, std::size_t... Indices>
struct Takes<T, std::index_sequence<Indices...>, std::void_t<decltype(T{{Initialiser<Indices>{{}}...}})>>
    : std::true_type
{{}};

template <class T, std::size_t Count>
constexpr bool has_more()
{{
  if constexpr (!std::is_aggregate_v<T>)
  {{
    return false;
  }}
  else if constexpr (Count == 0)
  {{
    return !std::is_empty_v<T>;
  }}
  else
  {{
    return Takes<T, std::make_index_sequence<Count + 1>>::value;
  }}
}}

// The elements of an array are initialised one by one.
template <class T>
constexpr std::size_t initialisers = std::is_array_v<T> ? std::extent_v<T> : 1;

template <class T>
using plain = std::remove_cv_t<std::remove_reference_t<T>>;

[[noreturn]] void fail(const char* reason)
{{
  std::fprintf(stderr, "%s\\n", reason);
  std::exit(2);
}}

class Requests
{{
public:
  bool at_end()
  {{
    while (next_ == ' ' || next_ == '\\n' || next_ == '\\r')
    {{
      next_ = getchar_unlocked();
    }}
    return next_ == EOF;
  }}

  long long integer()
  {{
    if (at_end())
    {{
      fail("the request ends too early");
    }}
    const bool negative = next_ == '-';
    if (negative)
    {{
      next_ = getchar_unlocked();
    }}
    if (next_ < '0' || next_ > '9')
    {{
      fail("a request holds something that is not an integer");
    }}
    long long value = 0;
    for (; next_ >= '0' && next_ <= '9'; next_ = getchar_unlocked())
    {{
      value = value * 10 + (next_ - '0');
    }}
    return negative ? -value : value;
  }}

  template <class Enum, int Count>
  Enum enumerator(const Enum (&enumerators)[Count])
  {{
    const long long position = integer();
    if (position < 0 || position >= Count)
    {{
      fail("an enumerator's position is out of range");
    }}
    return enumerators[position];
  }}

private:
  int next_ = ' ';
}};

class Answers
{{
public:
  void integer(long long value)
  {{
    text_ += std::to_string(value);
    text_ += ' ';
  }}

  template <class Enum, int Count>
  void enumerator(const Enum (&enumerators)[Count], Enum value)
  {{
    int position = 0;
    while (position < Count && enumerators[position] != value)
    {{
      ++position;
    }}
    integer(position < Count ? position : -1);
  }}

  void undefined()
  {{
    text_ += "{undefined}";
  }}

  void end_line()
  {{
    text_ += '\\n';
    if (text_.size() > (1u << 20))
    {{
      flush();
    }}
  }}

  void flush()
  {{
    std::fwrite(text_.data(), 1, text_.size(), stdout);
    text_.clear();
  }}

private:
  std::string text_;
}};

sigjmp_buf before_selection;

void leave_selection(int)
{{
  siglongjmp(before_selection, 1);
}}

void catch_traps()
{{
  struct sigaction action = {{}};
  action.sa_handler       = leave_selection;
  action.sa_flags         = SA_NODEFER;
  sigaction(SIGFPE, &action, nullptr);
  sigaction(SIGILL, &action, nullptr);
  sigaction(SIGTRAP, &action, nullptr);
}}

template <class Selector, class Write>
void answer(const Selector& selector, const std::vector<int>& ccs, Answers& answers, Write write)
{{
  for (const int cc : ccs)
  {{
    if (sigsetjmp(before_selection, 0) == 0)
    {{
      const auto policy = selector(::cuda::compute_capability{{cc}});
      write(answers, policy);
    }}
    else
    {{
      answers.undefined();
    }}
    answers.end_line();
  }}
}}
"""

_EPILOGUE = """\
using Answerer                 = void (*)(Requests&, const std::vector<int>&, Answers&);
constexpr Answerer answerers[] = {{
{answerers}
}};
constexpr int instance_count = {count};
}} // namespace

int main()
{{
  catch_traps();
  Requests requests;
  Answers answers;
  std::printf("%d %d.%d %d.%d.%d %lld\\n",
              {version},
              __CUDACC_VER_MAJOR__,
              __CUDACC_VER_MINOR__,
              CCCL_MAJOR_VERSION,
              CCCL_MINOR_VERSION,
              CCCL_PATCH_VERSION,
              static_cast<long long>(__cccl_ptx_isa));
  while (!requests.at_end())
  {{
    const long long instance = requests.integer();
    if (instance < 0 || instance >= instance_count)
    {{
      fail("no selector has this number");
    }}
    std::vector<int> ccs(static_cast<std::size_t>(requests.integer()));
    for (int& cc : ccs)
    {{
      cc = static_cast<int>(requests.integer());
    }}
    answerers[instance](requests, ccs, answers);
  }}
  answers.flush();
  return 0;
}}
"""


def foundation_program() -> str:
    """Writes a program that needs of CCCL what every host program needs, and no selector."""
    return _PROLOGUE.format(headers="", undefined=UNDEFINED) + "} // namespace\n\nint main() {}\n"


def host_program(shapes: Sequence[SelectorShape]) -> str:
    """Writes the program for these selectors.

    What is written for one algorithm has that algorithm as its file name (`#line`), so that a compiler's errors say
    whose selector is another than its shape. Such an error is also a member of the selector or of its policy that the
    shape lacks.

    Args:
        shapes: at least one selector; the numbers of the requests follow their order.

    Returns:
        C++17 for nvcc, the same text for the same shapes.

    Raises:
        ValueError: there is no shape, or two have the same algorithm.
    """
    if not shapes:
        raise ValueError("a host program needs at least one selector")
    instances = instances_of(shapes)
    enums = {shape: f"enumerators_{number}" for number, shape in enumerate(_enums(shapes))}
    parts = [
        _PROLOGUE.format(
            headers="\n".join(f"#include <{header}>" for header in sorted({shape.header for shape in shapes})),
            undefined=UNDEFINED,
        )
    ]
    numbers = {shape.algorithm: number for number, shape in enumerate(shapes)}
    written: set[EnumShape] = set()
    for shape in shapes:
        parts.append(f'#line 1 "{shape.algorithm}"')
        parts += [_enumerators(enum, enums[enum]) for enum in shape.enums if enum not in written]
        written.update(shape.enums)
        parts.append(_writer(shape, numbers[shape.algorithm], enums))
        parts += [
            _answerer(instance, n, numbers[shape.algorithm], enums)
            for n, instance in enumerate(instances)
            if instance.shape is shape
        ]
    parts.append(
        '#line 1 "host program"\n'
        + _EPILOGUE.format(
            answerers="\n".join(f"  answer_{number}," for number in range(len(instances))),
            count=len(instances),
            version=VERSION,
        )
    )
    return "\n".join(parts)


def _enums(shapes: Sequence[SelectorShape]) -> tuple[EnumShape, ...]:
    return tuple(dict.fromkeys(enum for shape in shapes for enum in shape.enums))


def _enumerators(shape: EnumShape, name: str) -> str:
    listed = "\n".join(f"  {expression}," for _, expression in shape.enumerators)
    return f"constexpr {shape.cpp_type} {name}[] = {{\n{listed}\n}};\n"


def _writer(shape: SelectorShape, number: int, enums: dict[EnumShape, str]) -> str:
    lines = [f"// {shape.algorithm}", "template <class Policy>"]
    lines += [f"void write_{number}(Answers& answers, const Policy& policy)", "{"]
    lines += _member_counts(shape.policy, "policy", "Policy")
    for path, cpp_type in _scalars(shape.policy, "policy", None):
        if isinstance(cpp_type, EnumShape):
            lines.append(f"  answers.enumerator({enums[cpp_type]}, {path});")
        else:
            lines.append(f"  answers.integer({path});")
    return "\n".join([*lines, "}", ""])


def _answerer(instance: Instance, number: int, writer: int, enums: dict[EnumShape, str]) -> str:
    lines = [f"void answer_{number}(Requests& requests, const std::vector<int>& ccs, Answers& answers)", "{"]
    lines.append(f"  {instance.cpp_type} key{{}};")
    lines += _member_counts(instance.shape.key, "key", instance.cpp_type, instance.length)
    for path, cpp_type in _scalars(instance.shape.key, "key", instance.length):
        match cpp_type:
            case EnumShape():
                lines.append(f"  {path} = requests.enumerator({enums[cpp_type]});")
            case "bool":
                lines.append(f"  {path} = requests.integer() != 0;")
            case _:
                lines.append(f"  {path} = static_cast<{cpp_type}>(requests.integer());")
    if not instance.shape.key:
        lines.append("  static_cast<void>(requests);")
    lines.append("  answer(key, ccs, answers, [](Answers& into, const auto& policy) {")
    lines += [f"    write_{writer}(into, policy);", "  });", "}", ""]
    return "\n".join(lines)


def _member_counts(fields: Sequence[Field], owner: str, cpp_type: str, length: int | None = None) -> Iterator[str]:
    """Yields assertions that a record, and the records in it, have no member but these."""
    if fields and fields[0].member.startswith("["):
        yield f'  static_assert(sizeof({owner}) / sizeof({owner}[0]) == {len(fields)}, "another length: {owner}");'
    else:
        count = " + ".join(f"initialisers<decltype({owner}.{member.member})>" for member in fields) or "0"
        yield f'  static_assert(!has_more<{cpp_type}, {count}>(), "unknown member: {owner}");'
    for member in fields:
        path = f"{owner}{member.member}" if member.member.startswith("[") else f"{owner}.{member.member}"
        if isinstance(member, ListField):
            path += "[0]"
            if length == 0:
                continue
        if not isinstance(member, ScalarField):
            yield from _member_counts(member.fields, path, f"plain<decltype({path})>")


def _scalars(fields: Sequence[Field], owner: str, length: int | None) -> Iterator[tuple[str, str | EnumShape]]:
    """Yields the C++ expression and the type of each scalar; `length` is that of a key's list."""
    for member in fields:
        path = f"{owner}{member.member}" if member.member.startswith("[") else f"{owner}.{member.member}"
        if isinstance(member, ScalarField):
            yield path, member.cpp_type
        elif isinstance(member, ListField):
            for index in range(member.max_length if length is None else length):
                yield from _scalars(member.fields, f"{path}[{index}]", None)
        else:
            yield from _scalars(member.fields, path, None)
