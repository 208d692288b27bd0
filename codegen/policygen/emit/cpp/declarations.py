"""Declarations of a header: records, the key, the functions and tables of a spec, and values of all these."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policygen.emit.cpp.expressions import CppExpressions
from policygen.emit.cpp.expressions import constant
from policygen.emit.cpp.expressions import identifier
from policygen.emit.cpp.expressions import local
from policygen.emit.cpp.expressions import type_name
from policygen.emit.cpp.statements import CppStatements
from policygen.emit.statements import Define
from policygen.emit.statements import Statement
from policygen.emit.wrapping import WIDTH
from policygen.emit.wrapping import wrapped
from policygen.emit.wrapping import wrapped_comment
from policygen.lang.tree import Const
from policygen.lang.tree import Function
from policygen.lang.tree import Table
from policygen.lang.tree import free_names
from policygen.model.types import BoolType
from policygen.model.types import ListType
from policygen.model.types import RecordType
from policygen.model.types import Struct
from policygen.model.types import Type
from policygen.model.types import initial_value
from policygen.spec import Algorithm
from policygen.spec import KeyField


def struct_lines(struct: Struct, name: str) -> list[str]:
    """A record, with the values that CUB initialises it with, and comparison."""
    found = [f"struct {identifier(name)}", "{"]
    for field in struct.fields:
        if isinstance(field.type, RecordType):
            value = "{}"
        else:
            initial = initial_value(field)
            assert isinstance(initial, int | bool | str)
            value = constant(Const(initial, field.type))
        found += _documented(f"  {type_name(field.type)} {identifier(field.name)} = {value};", field.doc)
    spelled = identifier(name)
    found += [
        "",
        f"  friend POLICYGEN_FUNCTION constexpr bool operator==(const {spelled}& a, const {spelled}& b) noexcept",
        "  {",
        *_equality(struct),
        "  }",
        f"  friend POLICYGEN_FUNCTION constexpr bool operator!=(const {spelled}& a, const {spelled}& b) noexcept",
        "  {",
        "    return !(a == b);",
        "  }",
    ]
    return [*found, "};"]


def _equality(struct: Struct) -> list[str]:
    """Compares two structs. Neighbouring truth values are compared in statements of their own.

    gcc 8 fails on a constant expression that compares neighbours of less than a word in one chain.
    """
    chains: list[list[str]] = [[]]
    for before, field in zip((None, *struct.fields), struct.fields, strict=False):
        if before is not None and isinstance(before.type, BoolType) and isinstance(field.type, BoolType):
            chains.append([])
        chains[-1].append(f"a.{identifier(field.name)} == b.{identifier(field.name)}")
    *first, last = (" && ".join(chain) for chain in chains)
    found: list[str] = []
    for chain in first:
        found += [*wrapped(f"if (!({chain}))", "    ", "        "), "    {", "      return false;", "    }"]
    return [*found, *wrapped(f"return {last};", "    ", "        ")]


def _documented(line: str, doc: str) -> list[str]:
    """A member with its remark beside it, or above it where it is long."""
    beside = f"{line} // {doc}"
    if not doc or len(beside) <= WIDTH:
        return [beside if doc else line]
    return [*wrapped_comment(doc, "  ", "// "), line]


def key_lines(algorithm: Algorithm) -> list[str]:
    """The key, an aggregate in CUB's order; what upstream has defaults for at the end has them here."""
    found = ["// What selects a policy.", *template_head(algorithm), "struct key", "{"]
    defaults: dict[str, str] = {}
    for field in reversed(algorithm.key):
        if not isinstance(field.default, Const):
            break
        defaults[field.name] = constant(field.default)
    for field in algorithm.key:
        kind = type_name(field.type)
        if isinstance(field.type, ListType):
            kind = f"list<{type_name(field.type.element)}, N>"
        value = f" = {defaults[field.name]}" if field.name in defaults else ""
        found += _documented(f"  {kind} {identifier(field.name)}{value};", field.doc)
    return [*found, "};"]


def key_type(algorithm: Algorithm) -> str:
    """The type of a key; one with a list is a template on its length."""
    return "key<N>" if any(isinstance(f.type, ListType) for f in algorithm.key) else "key"


def template_head(algorithm: Algorithm) -> list[str]:
    """What stands before a function of a key that is a template."""
    return ["template <int N>"] if key_type(algorithm) == "key<N>" else []


def _in_domain(field: KeyField, name: str) -> str | None:
    if field.values is not None:
        return " || ".join(f"{name} == {value}" for value in field.values)
    if field.interval is None:
        return None
    low, high = Const(field.interval.low, field.type), Const(field.interval.high, field.type)
    return f"{name} >= {constant(low)} && {name} <= {constant(high)}"


def validity_lines(algorithm: Algorithm) -> list[str]:
    """Whether every integer of a key lies in its domain."""
    conditions: list[str] = []
    lists: list[tuple[str, list[str]]] = []
    for field in algorithm.key:
        name = f"k.{identifier(field.name)}"
        if isinstance(field.type, ListType):
            lists.append((name, [c for part in field.element if (c := _in_domain(part, f"x.{part.name}"))]))
        elif field.element:
            conditions += [c for part in field.element if (c := _in_domain(part, f"{name}.{part.name}"))]
        elif (condition := _in_domain(field, name)) is not None:
            conditions.append(condition)
    found = ["// Whether every integer of a key lies in its domain.", *template_head(algorithm)]
    found.append(f"POLICYGEN_FUNCTION constexpr bool is_valid(const {key_type(algorithm)}& k)")
    found.append("{")
    for name, parts in lists:
        text = " && ".join(f"({p})" if "||" in p else p for p in parts)
        found += [
            f"  for (const auto& x : {name})",
            "  {",
            f"    if (!({text}))",
            "    {",
            "      return false;",
            "    }",
            "  }",
        ]
    parts = [f"({c})" if "||" in c else c for c in conditions] or ["true"]
    found += wrapped(f"return {parts[0]}", "  ", "          ")
    for part in parts[1:]:
        found += wrapped(f"&& {part}", "      ", "          ")
    return [*found[:-1], f"{found[-1]};", "}"]


def function_lines(function: Function) -> list[str]:
    """A function of the spec."""
    lists = [name for name, kind in function.parameters if isinstance(kind, ListType)]
    statements: tuple[Statement, ...] = ()
    used = free_names(function.result)
    for name, expr in reversed(function.lets):
        if name in used:
            statements = (Define(name, expr), *statements)
            used |= free_names(expr)
    parameters = []
    for name, kind in function.parameters:
        spelled = local(name) if name in used else f"/*{name}*/"
        if isinstance(kind, ListType):
            parameters.append(f"const list<{type_name(kind.element)}, N>& {spelled}")
        elif isinstance(kind, RecordType):
            parameters.append(f"const {type_name(kind)}& {spelled}")
        else:
            parameters.append(f"{type_name(kind)} {spelled}")
    result = type_name(function.result.type)
    found = ["template <int N>"] if lists else []
    found.append(f"POLICYGEN_FUNCTION constexpr {result} {identifier(function.name)}({', '.join(parameters)})")
    printer = CppStatements({}, Struct("", ()), {})
    found += ["{", *printer.lines(statements, 1)]
    found += wrapped_return(CppExpressions({}).converted(function.result, function.result.type))
    return [*found, "}"]


def wrapped_return(text: str) -> list[str]:
    """A return statement, broken at blanks where it is long."""
    return wrapped(f"return {text};", "  ", "      ")


def table_lines(table: Table) -> list[str]:
    """A table of the spec: a record for its rows, and the function that finds one."""
    row = f"{identifier(table.name)}_row"
    found = [f"struct {row}", "{"]
    found += [f"  {type_name(f.type)} {identifier(f.name)};" for f in table.row.struct.fields]
    parameters = ", ".join(f"{type_name(kind)} {identifier(name)}" for name, kind in table.keys)
    found += ["};", "", f"POLICYGEN_FUNCTION constexpr {row} {identifier(table.name)}({parameters})", "{"]
    kinds = [f.type for f in table.row.struct.fields]
    for keys, values in table.rows:
        condition = " && ".join(
            f"{identifier(name)} == {constant(Const(value, kind))}"
            for (name, kind), value in zip(table.keys, keys, strict=True)
        )
        result = ", ".join(constant(Const(v, t)) for v, t in zip(values, kinds, strict=True))
        found += [f"  if ({condition})", "  {", f"    return {{{result}}};", "  }"]
    default = ", ".join(constant(Const(v, t)) for v, t in zip(table.default, kinds, strict=True))
    return [*found, f"  return {{{default}}};", "}"]


def record_text(record: Mapping[str, Any], struct: Struct, name: str = "") -> str:
    """A record as a braced list of its fields."""
    parts = [
        record_text(record[f.name], f.type.struct)
        if isinstance(f.type, RecordType)
        else constant(Const(record[f.name], f.type))
        for f in struct.fields
    ]
    return f"{name}{{{', '.join(parts)}}}"


def value_text(value: Any, kind: Type) -> str:
    """A value of a key."""
    if isinstance(kind, RecordType):
        return record_text(value, kind.struct)
    if isinstance(kind, ListType):
        return f"{{{{{', '.join(value_text(v, kind.element) for v in value)}}}}}" if value else "{}"
    if isinstance(kind, BoolType):
        return "true" if value else "false"
    return constant(Const(value, kind))
