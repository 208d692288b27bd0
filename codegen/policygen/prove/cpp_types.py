"""The C++ that a key stands for: representative types, operators and constants."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from typing import Final

from attrs import frozen

from policygen.kernels import CppKind
from policygen.kernels import CppParameter
from policygen.lang.evaluate import Evaluator
from policygen.lang.evaluate import compiled
from policygen.lang.tree import Expr
from policygen.model.types import EnumType
from policygen.model.types import Type

_NAMED: Final = {
    "boolean": "bool",
    "int8": "signed char",
    "int16": "short",
    "int32": "int",
    "int64": "long long",
    "int128": "__int128_t",
    "uint8": "unsigned char",
    "uint16": "unsigned short",
    "uint32": "unsigned",
    "uint64": "unsigned long long",
    "uint128": "__uint128_t",
    "float16": "__half",
    "bfloat16": "__nv_bfloat16",
    "float32": "float",
    "float64": "double",
}
_SIGNED: Final = {1: "signed char", 2: "short", 4: "int", 8: "long long", 16: "__int128_t"}
_UNSIGNED: Final = {1: "unsigned char", 2: "unsigned short", 4: "unsigned", 8: "unsigned long long"}
_OPERATORS: Final = {
    "plus": "::cuda::std::plus<>",
    "min": "::cuda::minimum<>",
    "max": "::cuda::maximum<>",
    "other": "::policygen_proof::first_of_two",
}

PROLOGUE: Final = """\
#include <cuda/functional>
#include <cuda/std/functional>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace policygen_proof
{
// An element that is no arithmetic type.
template <int Size, int Alignment>
struct alignas(Alignment) record
{
  char bytes[Size];

  __host__ __device__ friend bool operator==(const record& a, const record& b) { return a.bytes[0] == b.bytes[0]; }
  __host__ __device__ friend bool operator!=(const record& a, const record& b) { return !(a == b); }
  __host__ __device__ friend bool operator<(const record& a, const record& b) { return a.bytes[0] < b.bytes[0]; }
  __host__ __device__ friend bool operator>(const record& a, const record& b) { return b < a; }
  __host__ __device__ friend record operator+(const record& a, const record& b) { return a < b ? a : b; }
  __host__ __device__ friend record operator-(const record& a, const record& b) { return a < b ? b : a; }
};

// An operator that CUB does not know.
struct first_of_two
{
  template <class T>
  __host__ __device__ T operator()(const T& a, const T&) const { return a; }
};

struct equal_to
{
  template <class A, class B>
  __host__ __device__ bool operator()(const A& a, const B& b) const { return a == b; }
};

struct less
{
  template <class A, class B>
  __host__ __device__ bool operator()(const A& a, const B& b) const { return a < b; }
};

// A predicate that reads the item.
struct is_initial
{
  template <class T>
  __host__ __device__ bool operator()(const T& item) const { return item == T{}; }
};

struct is_not_initial
{
  template <class T>
  __host__ __device__ bool operator()(const T& item) const { return !(item == T{}); }
};

// A function of an index.
struct clear
{
  char* bytes;

  template <class Index>
  __host__ __device__ void operator()(Index index) const { bytes[index] = 0; }
};

// Something that reads all inputs and has another result type.
template <class Result>
struct combined
{
  template <class... Inputs>
  __host__ __device__ Result operator()(const Inputs&... inputs) const
  {
    Result result{};
    char* const bytes = reinterpret_cast<char*>(&result);
    ((bytes[0] = static_cast<char>(bytes[0] ^ *reinterpret_cast<const char*>(&inputs))), ...);
    return result;
  }
};
} // namespace policygen_proof
"""
"""What the C++ text of kernels may use beside CUB: records, an unknown operator, predicates."""


@frozen
class CppArgument:
    """What one parameter is for one key.

    Attributes:
        texts: its C++: one text, or one a record of a list.
        shape: what a kernel's storage depends on: sizes and alignments in bytes, or the constant; empty for an
            operator.
    """

    name: str
    texts: tuple[str, ...]
    shape: tuple[Any, ...]
    is_list: bool = False


class CppTypes:
    """Says what C++ stands for the keys of one algorithm."""

    def __init__(self, parameters: Sequence[CppParameter]) -> None:
        self._readers = tuple(_Reader(parameter) for parameter in parameters)

    def arguments(self, names: Mapping[str, Any]) -> tuple[CppArgument, ...]:
        """The arguments for a key.

        Args:
            names: values of key and lets.

        Raises:
            ValueError: the key describes nothing that C++ has, such as an integer of 3 bytes.
        """
        return tuple(reader.read(names) for reader in self._readers)


class _Reader:
    """One parameter, compiled."""

    def __init__(self, parameter: CppParameter) -> None:
        self._parameter = parameter
        self._value = compiled(parameter.value)
        self._type = _maybe(parameter.type)
        self._alignment = _maybe(parameter.alignment)
        self._primitive = _maybe(parameter.primitive)

    def read(self, names: Mapping[str, Any]) -> CppArgument:
        parameter = self._parameter
        if parameter.each:
            found = [self._one(record) for record in names[parameter.each]]
            texts, shapes = tuple(text for text, _ in found), tuple(shape for _, shape in found)
            return CppArgument(parameter.name, texts, shapes, is_list=True)
        text, shape = self._one(names)
        return CppArgument(parameter.name, (text,), shape)

    def _one(self, names: Mapping[str, Any]) -> tuple[str, tuple[Any, ...]]:
        value = self._value(names)
        match self._parameter.kind:
            case CppKind.ELEMENT:
                return self._element(value, names)
            case CppKind.INTEGER:
                if value not in _UNSIGNED:
                    raise ValueError(f"{self._parameter.name}: C++ has no unsigned integer of {value} bytes")
                return _UNSIGNED[value], (value,)
            case CppKind.OPERATOR:
                return _OPERATORS[value], ()
            case CppKind.CONSTANT:
                return constant(value, self._parameter.value.type), (value,)

    def _element(self, size: int, names: Mapping[str, Any]) -> tuple[str, tuple[Any, ...]]:
        if size == 0:
            if not self._parameter.none:
                raise ValueError(f"{self._parameter.name}: an element of no bytes")
            return self._parameter.none, (0,)
        natural = min(16, size & -size)
        alignment = natural if self._alignment is None else self._alignment(names)
        named = None if self._type is None else _NAMED.get(self._type(names))
        if named is not None and alignment == natural:
            return named, (size, alignment)
        arithmetic = self._primitive is None or self._primitive(names)
        if arithmetic and self._type is None and size in _SIGNED and alignment == natural:
            return _SIGNED[size], (size, alignment)
        return f"::policygen_proof::record<{size}, {alignment}>", (size, alignment)


def constant(value: Any, kind: Type) -> str:
    """A value as a C++ constant: CUB's spelling of an enumerator."""
    if isinstance(kind, EnumType):
        return kind.enumeration.cub_spelling(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _maybe(expr: Expr | None) -> Evaluator | None:
    return None if expr is None else compiled(expr)
