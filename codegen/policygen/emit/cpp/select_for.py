"""select_for: the key that follows from C++ types, as CUB deduces it, and its policy."""

from __future__ import annotations

import re

from policygen.emit.cpp.expressions import CppExpressions
from policygen.emit.cpp.expressions import constant
from policygen.emit.cpp.expressions import identifier
from policygen.emit.cpp.expressions import type_name
from policygen.lang.simplify import substitute
from policygen.lang.tree import Const
from policygen.lang.tree import Expr
from policygen.model.types import EnumType
from policygen.model.types import ListType
from policygen.spec import Algorithm
from policygen.spec import KeyField
from policygen.spec import TypeParameter

_ACCUMULATOR = re.compile(r"accumulator\((\w+), (\w+)\)")

_PROPERTIES = {
    "type": "element_type<{0}>::value",
    "size": "static_cast<int>(sizeof({0}))",
    "alignment": "static_cast<int>(alignof({0}))",
    "operator": "support::operator_kind<{0}>",
    "value": "{0}",
    "trivially_copyable": "std::is_trivially_copyable_v<{0}>",
    "trivially_copy_constructible": "std::is_trivially_copy_constructible_v<{0}>",
    "trivially_relocatable": "std::is_trivially_copyable_v<{0}>",
    "default_constructible": "std::is_default_constructible_v<{0}>",
    "primitive": "std::is_arithmetic_v<{0}>",
    "iterator_info": "iterator_info{{static_cast<int>(sizeof({0})), static_cast<int>(alignof({0})), "
    "std::is_trivially_copyable_v<{0}>, true}}",
}


def select_for(algorithm: Algorithm, key_type: str, chosen: str, argument: str) -> list[str]:
    """The function template, with the type parameters that the spec declares.

    `chosen` and `argument` are parameter and argument that choose an architecture of a family, empty for a chip.
    """
    before = f"{chosen.removeprefix(', ')}, " if chosen else ""
    pack = next((p.name for p in algorithm.types if p.kind == "elements"), None)
    parameters = ", ".join(_parameter(p, algorithm) for p in algorithm.types)
    key = key_type if pack is None else f"key<static_cast<int>(sizeof...({pack}))>"
    found = [
        "",
        "// The policy for types: iterators are contiguous, operators are policygen::plus, minimum, maximum, or a type",
        "// of yours. num_items is the problem size, where it is known.",
        f"template <{parameters}>",
        f"POLICYGEN_FUNCTION constexpr policy select_for({before}std::int64_t num_items = -1)",
        "{",
        f"  {key} k{{}};",
    ]
    for parameter in algorithm.types:
        for field, given_property in parameter.gives:
            value = f"k.{identifier(field)} = {_value(parameter, given_property, algorithm, field)};"
            if parameter.kind == "elements":
                found += [f"  if constexpr (sizeof...({parameter.name}) > 0)", "  {", f"    {value}", "  }"]
            else:
                found.append(f"  {value}")
    expressions = CppExpressions({f.name: f"k.{identifier(f.name)}" for f in algorithm.key})
    for field_spec, default in defaults_beside_types(algorithm):
        found.append(f"  k.{identifier(field_spec.name)} = {expressions.converted(default, field_spec.type)};")
    return [*found, "  k.num_items = num_items;", f"  return select(k{argument});", "}"]


def defaults_beside_types(algorithm: Algorithm) -> list[tuple[KeyField, Expr]]:
    """The key fields that no type parameter gives, with their defaults; lets are written out."""
    if not algorithm.types:
        return []
    given = {field for parameter in algorithm.types for field, _ in parameter.gives}
    found: list[tuple[KeyField, Expr]] = []
    for field in algorithm.key:
        if field.name in given or field.default is None or field.name == "num_items":
            continue
        default = field.default
        for let in reversed(algorithm.lets):
            default = substitute(default, {let.name: let.expr})
        found.append((field, default))
    return found


def _parameter(parameter: TypeParameter, algorithm: Algorithm) -> str:
    if parameter.kind == "elements":
        return f"class... {parameter.name}"
    if parameter.kind == "value":
        kind = _value_type(parameter, algorithm)
        default = f" = {constant(Const(parameter.default, kind))}" if parameter.default else ""
        return f"{type_name(kind)} {parameter.name}{default}"
    if not parameter.default:
        return f"class {parameter.name}"
    deduced = _ACCUMULATOR.fullmatch(parameter.default)
    default = f"support::accumulator_t<{deduced[1]}, {deduced[2]}>" if deduced else parameter.default
    return f"class {parameter.name} = {default}"


def _value_type(parameter: TypeParameter, algorithm: Algorithm) -> EnumType:
    field = algorithm.key_field(parameter.gives[0][0])
    assert field is not None
    assert isinstance(field.type, EnumType)
    return field.type


def _value(parameter: TypeParameter, given: str, algorithm: Algorithm, field: str) -> str:
    text = _PROPERTIES[given].format(parameter.name)
    if parameter.kind != "elements":
        return text
    target = algorithm.key_field(field)
    assert target is not None
    assert isinstance(target.type, ListType)
    return f"decltype(k.{identifier(field)}){{{{{text}...}}}}"
