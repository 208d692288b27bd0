"""A C++ program around generated headers: keys as integers in, policies as integers out, one line each."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any

from policygen.emit.cpp.expressions import identifier
from policygen.emit.cpp.expressions import type_name
from policygen.model.types import EnumType
from policygen.model.types import ListType
from policygen.model.types import RecordType
from policygen.model.types import Struct
from policygen.model.types import Type
from policygen.spec import Algorithm


def host_main(target: str, algorithms: list[Algorithm], family: bool = False) -> str:
    """The program for some algorithms of one target; a line starts with the algorithm's position.

    With a family, the compute capability comes next.
    """
    lines = [f"#include <policygen/{target}/tuning.cuh>", "#include <iostream>", "#include <cstdint>", ""]
    for number, algorithm in enumerate(algorithms):
        lines += _algorithm(target, number, algorithm, family)
    lines += [
        "int main()",
        "{",
        "  int algorithm;",
        "  while (std::cin >> algorithm)",
        "  {",
        "    switch (algorithm)",
        "    {",
    ]
    for number, _ in enumerate(algorithms):
        lines += [f"      case {number}:", f"        answer_{number}();", "        break;"]
    return "\n".join([*lines, "    }", "    std::cout << '\\n';", "  }", "}", ""])


def _algorithm(target: str, number: int, algorithm: Algorithm, family: bool) -> list[str]:
    space = f"policygen::{identifier(target)}::{identifier(algorithm.name)}"
    lists = [f for f in algorithm.key if isinstance(f.type, ListType)]
    lines = [
        f"namespace algorithm_{number}",
        "{",
        "using namespace policygen;",
        f"using namespace {space};",
        "template <class Key>",
    ]
    lines += ["void answer(Key k)", "{"]
    if family:
        lines += ["  int cc;", "  std::cin >> cc;"]
    chosen = ", compute_capability(cc)" if family else ""
    for field in algorithm.key:
        if isinstance(field.type, ListType):
            element = field.type.element.struct
            lines += [
                f"  for (int i = 0; i < k.{field.name}.size(); ++i)",
                "  {",
                f"    {type_name(field.type.element)} x{{}};",
            ]
            lines += [f"  {line}" for part in element.fields for line in _read(f"x.{part.name}", part.type)]
            # an empty list has no items to write to
            lines += [f"    const_cast<{type_name(field.type.element)}*>(k.{field.name}.begin())[i] = x;", "  }"]
        else:
            lines += _read(f"k.{identifier(field.name)}", field.type)
    lines += [f"  const policy p = select(k{chosen});", *_write("p", algorithm.policy)]
    lines += [f"  std::cout << point(k{chosen});", "}", "} // namespace", f"void answer_{number}()", "{"]
    if not lists:
        return [*lines, f"  algorithm_{number}::answer({space}::key{{}});", "}"]
    lines += ["  int length;", "  std::cin >> length;"]
    for length in range(_longest(lists[0].type) + 1):
        lines.append(f"  if (length == {length}) algorithm_{number}::answer({space}::key<{length}>{{}});")
    return [*lines, "}"]


def _longest(kind: Type) -> int:
    assert isinstance(kind, ListType)
    return kind.max_length


def _read(place: str, kind: Type) -> list[str]:
    if isinstance(kind, RecordType):
        return [line for part in kind.struct.fields for line in _read(f"{place}.{part.name}", part.type)]
    return [
        "  {",
        "    std::int64_t v;",
        "    std::cin >> v;",
        f"    {place} = static_cast<{type_name(kind)}>(v);",
        "  }",
    ]


def _write(place: str, struct: Struct) -> list[str]:
    lines = []
    for field in struct.fields:
        inner = f"{place}.{identifier(field.name)}"
        if isinstance(field.type, RecordType):
            lines += _write(inner, field.type.struct)
        else:
            lines.append(f"  std::cout << static_cast<std::int64_t>({inner}) << ' ';")
    return lines


def encoded_key(number: int, algorithm: Algorithm, key: Mapping[str, Any], cc: int | None = None) -> str:
    """A whole key as a line of the program's input; with the capability for a family."""
    words = [number]
    words += [len(key[f.name]) for f in algorithm.key if isinstance(f.type, ListType)]
    words += [] if cc is None else [cc]
    for field in algorithm.key:
        words += _integers(key[field.name], field.type)
    return " ".join(map(str, words))


def encoded_policy(algorithm: Algorithm, policy: Mapping[str, Any], point: str) -> str:
    """What the program must print for a policy."""
    return " ".join([*map(str, _integers(policy, RecordType(algorithm.policy))), point])


def _integers(value: Any, kind: Type) -> list[int]:
    return list(_scalars(value, kind))


def _scalars(value: Any, kind: Type) -> Iterator[int]:
    match kind:
        case EnumType(enumeration):
            yield enumeration.names.index(value)
        case RecordType(struct):
            for field in struct.fields:
                yield from _scalars(value[field.name], field.type)
        case ListType(element=element):
            for item in value:
                yield from _scalars(item, element)
        case _:
            yield int(value)
