"""Asks nvcc for the size of CUB's TempStorage types, and the specs for what they say of them."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from attrs import field
from attrs import frozen

from policygen.lang.evaluate import LazyNames
from policygen.lang.evaluate import compiled
from policygen.parity.toolchain import Toolchain
from policygen.parity.toolchain import compile_program
from policygen.spec import Spec

PROLOGUE = """\
using namespace cub;
namespace d = cub::detail;
template <int N, int A = 1>
struct alignas(A) box
{
  char bytes[N];
  __host__ __device__ friend bool operator==(const box&, const box&) { return true; }
  __host__ __device__ friend box operator+(box a, const box&) { return a; }
};
template <int Threads, int Items>
struct unscaled
{
  static constexpr int BLOCK_THREADS    = Threads;
  static constexpr int ITEMS_PER_THREAD = Items;
};
using delay = d::fixed_delay_constructor_t<350, 450>;
using eq    = ::cuda::std::equal_to<>;
using plus  = ::cuda::std::plus<>;
struct Op
{
  template <class A, class B>
  __host__ __device__ bool operator()(A, B) const { return false; }
};
"""


@frozen
class Kind:
    """An element type: how C++ spells it, its size and alignment in bytes; of size 0 where there is none."""

    cpp: str
    size: int
    alignment: int


NONE = Kind("NullType", 0, 1)
I8, I16, I32, I64 = Kind("char", 1, 1), Kind("short", 2, 2), Kind("int", 4, 4), Kind("long long", 8, 8)
F32, F64, I128 = Kind("float", 4, 4), Kind("double", 8, 8), Kind("__int128_t", 16, 16)
PLAIN = (I8, I16, I32, I64, F32, F64, I128)


def box(size: int, alignment: int = 1) -> Kind:
    return Kind(f"box<{size}, {alignment}>", size, alignment)


@frozen
class Storage:
    """One storage: the C++ type, and what the spec is told so that it says the size.

    Attributes:
        algorithm: whose spec.
        cpp: the type whose size counts.
        given: key fields, and policy records by their paths.
        constraints: how the names of the constraints begin whose greatest need it is.
    """

    algorithm: str
    cpp: str
    given: Mapping[str, Any]
    constraints: str = field(default="shared-memory", kw_only=True)


def sizes(
    headers: Sequence[str], declarations: str, storages: Sequence[Storage], tools: Toolchain, cache: Path
) -> list[int]:
    """What nvcc says, in order. All of it is one program."""
    lines = [f"#include <{header}>" for header in (*headers, "cstdio")]
    lines += [PROLOGUE, declarations, "int main()", "{"]
    lines += [f'  std::printf("%d\\n", static_cast<int>(sizeof({storage.cpp})));' for storage in storages]
    program = compile_program("\n".join([*lines, "}", ""]), tools, cache)
    said = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout
    return [int(line) for line in said.split()]


def need(spec: Spec, storage: Storage) -> int | None:
    """What the spec says for 32 lanes; None where it says that it does not know."""
    algorithm = spec.algorithms[storage.algorithm]
    lets = {let.name: compiled(let.expr) for let in algorithm.lets}
    defaults = {f.name: compiled(f.default) for f in algorithm.key if f.default is not None}
    known = LazyNames({"target": {"warp_size": 32}, **storage.given}, {**defaults, **lets})
    constraints = [
        constraint
        for constraint in algorithm.constraints
        if constraint.id.startswith(storage.constraints) and constraint.need is not None
    ]
    constraints = [constraint for constraint in constraints if compiled(constraint.when)(known)]
    if any(constraint.unknown is not None and compiled(constraint.unknown)(known) for constraint in constraints):
        return None
    return max(int(compiled(constraint.need)(known)) for constraint in constraints if constraint.need is not None)
