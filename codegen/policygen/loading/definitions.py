"""Definitions that vocabulary, algorithms and rule files share: enumerations, structs, functions, tables and lets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import Factory
from attrs import evolve
from attrs import frozen

from policygen.lang.intervals import Domains
from policygen.lang.intervals import interval_of
from policygen.lang.parse import LANGUAGE_WORDS
from policygen.lang.parse import ExpressionError
from policygen.lang.parse import convert
from policygen.lang.tree import Function
from policygen.lang.tree import Scope
from policygen.lang.tree import Table
from policygen.loading.collector import Collector
from policygen.loading.toml_positions import KeyPath
from policygen.model.problems import did_you_mean
from policygen.model.ranges import Interval
from policygen.model.types import Enumeration
from policygen.model.types import Enumerator
from policygen.model.types import EnumType
from policygen.model.types import IntType
from policygen.model.types import ListType
from policygen.model.types import RecordType
from policygen.model.types import Role
from policygen.model.types import Scalar
from policygen.model.types import Struct
from policygen.model.types import StructField
from policygen.model.types import Type
from policygen.spec import Let

_GENERATED = frozenset(("quotient", "remainder", "select", "whole", "resolve", "resolution", "is_valid", "holds"))
"""What generated files define beside the functions of a spec."""

ROLE_RANGES = {
    Role.THREADS: Interval(0, 1024),
    Role.ITEMS: Interval(0, 2**16),
    Role.VECTOR: Interval(0, 2**10),
    Role.STAGES: Interval(0, 2**6),
}
"""What a count may be at most anywhere: threads by CUDA's launch limit, the others generously."""


@frozen
class EnumerationDocument:
    """`[enumeration.NAME]`."""

    enumerators: list[str]
    refines: dict[str, str] = Factory(dict)
    renamed: dict[str, str] = Factory(dict)
    cub: str | None = None


@frozen
class StructFieldDocument:
    """A field of `[struct.NAME]`; a text alone is its type."""

    type: str
    default: Any = None
    role: Role | None = None
    range: list[int] | None = None
    doc: str = ""
    array: bool = False
    unit: str = ""


@frozen
class FunctionDocument:
    """`[function.NAME]`."""

    params: dict[str, str]
    result: Any
    let: dict[str, Any] = Factory(dict)


@frozen
class TypedLetDocument:
    """A `let` whose quoted names need a type: `{ type = "TransformAlgorithm", value = ".." }`."""

    type: str
    value: Any


@frozen
class TableDocument:
    """`[table.NAME]`: a row holds the key columns, then the value columns."""

    keys: dict[str, str]
    columns: dict[str, str]
    default: list[Any]
    rows: list[list[Any]]


def enumeration(collector: Collector, path: KeyPath, name: str, table: object) -> Enumeration | None:
    """Reads an enumeration."""
    document = collector.structured(path, table, EnumerationDocument)
    if document is None:
        return None
    names = document.enumerators
    for twice in sorted({n for n in names if names.count(n) > 1}):
        collector.report((*path, "enumerators"), f'"{twice}" is listed twice')
    for key in ("refines", "renamed"):
        for given in getattr(document, key):
            if given not in names:
                collector.report((*path, key, given), f"unknown enumerator{did_you_mean(given, names)}")
    for given, general in document.refines.items():
        if general not in names or general in document.refines:
            collector.report((*path, "refines", given), f'"{general}" is no enumerator that can be refined')
    return Enumeration(
        name,
        tuple(Enumerator(n, document.refines.get(n)) for n in names),
        document.cub,
        tuple(document.renamed.items()),
    )


def declare(collector: Collector, document: Mapping[str, Any]) -> None:
    """Adds the enumerations and structs of a file to what its types may name, in the order of the file."""
    for name, table in document.get("enumeration", {}).items():
        enumerated = enumeration(collector, ("enumeration", name), name, table)
        if enumerated is not None and _new_type(collector, ("enumeration", name), name, enumerated):
            collector.enumerations[name] = enumerated
    for name, table in document.get("struct", {}).items():
        record = struct(collector, ("struct", name), name, table)
        if record is not None and _new_type(collector, ("struct", name), name, record):
            collector.structs[name] = record


def _new_type(collector: Collector, path: KeyPath, name: str, declared: Enumeration | Struct) -> bool:
    """Whether a name is free; a file may say again what is declared in the same words."""
    earlier = collector.enumerations.get(name) or collector.structs.get(name)
    if earlier is not None:
        if earlier != declared:
            reason = f"the type {name} is declared otherwise, in the vocabulary or in what this file includes"
            collector.report(path, reason)
        return False
    return True


def struct(collector: Collector, path: KeyPath, name: str, table: object) -> Struct | None:
    """Reads a struct; the structs of its fields are defined before it."""
    if not isinstance(table, dict):
        collector.report(path, "expected a table of fields")
        return None
    fields: list[StructField] = []
    for field_name, value in table.items():
        at = (*path, field_name)
        document = collector.structured(at, {"type": value} if isinstance(value, str) else value, StructFieldDocument)
        if document is None:
            continue
        kind = collector.type_named((*at, "type") if isinstance(value, dict) else at, document.type)
        if kind is None:
            continue
        fields.append(
            StructField(
                field_name,
                kind,
                constant(collector, (*at, "default"), document.default, kind),
                document.role,
                _range(collector, at, document),
                document.doc,
                document.array and _is_array(collector, at, kind),
                document.unit,
            )
        )
    return Struct(name, tuple(fields))


def _is_array(collector: Collector, path: KeyPath, kind: Type) -> bool:
    """Whether the fields of a type can be the elements of an array: a record with fields of one type."""
    alike = isinstance(kind, RecordType) and len({f.type for f in kind.struct.fields}) == 1
    if not alike:
        collector.report((*path, "array"), f"only a struct whose fields are all of one type is an array, not {kind}")
    return alike


def _range(collector: Collector, path: KeyPath, document: StructFieldDocument) -> Interval | None:
    if document.range is None:
        return ROLE_RANGES.get(document.role) if document.role is not None else None
    return interval(collector, (*path, "range"), document.range)


def interval(collector: Collector, path: KeyPath, bounds: list[int]) -> Interval | None:
    """Reads `[least, most]`."""
    if len(bounds) != 2 or bounds[0] > bounds[1]:
        collector.report(path, "expected [least, most]")
        return None
    return Interval(bounds[0], bounds[1])


def constant(collector: Collector, path: KeyPath, value: object, kind: Type) -> Scalar | None:
    """Checks a constant of a scalar type; None stays None."""
    if value is None:
        return None
    match kind:
        case EnumType(enumeration=enumeration):
            if isinstance(value, str) and value in enumeration.names:
                return value
            hint = did_you_mean(str(value), enumeration.names)
            collector.report(path, f"expected an enumerator of {enumeration.name}, not {value!r}{hint}")
        case IntType():
            if type(value) is int and kind.low <= value <= kind.high:
                return value
            collector.report(path, f"expected an integer of {kind}, not {value!r}")
        case RecordType() | ListType():
            collector.report(path, f"{kind} has no constants")
        case _:
            if isinstance(value, bool):
                return value
            collector.report(path, f"expected true or false, not {value!r}")
    return None


def define(collector: Collector, scope: Scope, document: Mapping[str, Any], lists: Mapping[str, ListType]) -> Scope:
    """Adds the tables and functions of a file to a scope, in its order; the same may be said twice."""
    for name, body in document.get("table", {}).items():
        found = _table(collector, ("table", name), name, body)
        if found is None or scope.tables.get(name) == found:
            continue
        if _fresh(collector, ("table", name), name, scope):
            scope = scope.tabulate(found)
    for name, body in document.get("function", {}).items():
        function = _function(collector, ("function", name), name, body, scope, lists)
        if function is None or scope.functions.get(name) == function:
            continue
        if _fresh(collector, ("function", name), name, scope):
            scope = scope.define(function)
    return scope


def lets(
    collector: Collector, path: KeyPath, table: Mapping[str, Any], scope: Scope, domains: Domains
) -> tuple[tuple[Let, ...], Scope, Domains]:
    """Reads `let` names in order; each sees the earlier ones."""
    found: list[Let] = []
    for name, value in table.items():
        expected: Type | None = None
        if isinstance(value, dict):
            typed = collector.structured((*path, name), value, TypedLetDocument)
            if typed is None:
                continue
            value, expected = typed.value, collector.type_named((*path, name, "type"), typed.type)
        if not isinstance(value, str | int | bool):
            collector.report((*path, name), "expected an expression in quotes, or { type = .., value = .. }")
            continue
        expr = collector.expression((*path, name), value, scope, expected, domains)
        if expr is None or not _fresh(collector, (*path, name), name, scope):
            collector.broken.add(name)
            continue
        found.append(Let(name, expr))
        scope = scope.bind({name: expr.type})
        domains = evolve(domains, lets={**domains.lets, name: expr})
        if isinstance(expr.type, IntType):
            domains = domains.with_paths({name: interval_of(expr, domains, lambda _: None)})
    return tuple(found), scope, domains


def _fresh(collector: Collector, path: KeyPath, name: str, scope: Scope) -> bool:
    if not name.isidentifier():
        collector.report(path, f'"{name}" is no name: letters, digits and _ only')
        return False
    if name in scope.names or name in scope.functions or name in scope.tables:
        collector.report(path, f"`{name}` is defined already; choose another name")
        return False
    if name in LANGUAGE_WORDS or name in _GENERATED:
        collector.report(path, f"`{name}` is a word of the language or of generated files; choose another name")
        return False
    return True


def _table(collector: Collector, path: KeyPath, name: str, body: object) -> Table | None:
    document = collector.structured(path, body, TableDocument)
    if document is None:
        return None
    keys = _columns(collector, (*path, "keys"), document.keys)
    columns = _columns(collector, (*path, "columns"), document.columns)
    if keys is None or columns is None:
        return None
    types = [t for _, t in (*keys, *columns)]
    default = _row(collector, (*path, "default"), document.default, [t for _, t in columns])
    rows = [_row(collector, (*path, "rows", i), row, types) for i, row in enumerate(document.rows)]
    if default is None or None in rows:
        return None
    width = len(keys)
    split = tuple((row[:width], row[width:]) for row in rows if row is not None)
    seen: set[tuple[Scalar, ...]] = set()
    for index, (key, _) in enumerate(split):
        if key in seen:
            collector.report((*path, "rows", index), f"the key {list(key)} has a row already")
        seen.add(key)
    record = RecordType(Struct(name, tuple(StructField(n, t) for n, t in columns)))
    return Table(name, tuple(keys), record, split, default)


def _columns(collector: Collector, path: KeyPath, columns: Mapping[str, str]) -> list[tuple[str, Type]] | None:
    types = [(name, collector.type_named((*path, name), kind)) for name, kind in columns.items()]
    found = [(name, kind) for name, kind in types if kind is not None]
    return found if len(found) == len(types) else None


def _row(collector: Collector, path: KeyPath, row: list[Any], types: list[Type]) -> tuple[Scalar, ...] | None:
    if len(row) != len(types):
        collector.report(path, f"expected {len(types)} values, not {len(row)}")
        return None
    values = [constant(collector, path, value, kind) for value, kind in zip(row, types, strict=True)]
    checked = [value for value in values if value is not None]
    return tuple(checked) if len(checked) == len(types) else None


def _function(
    collector: Collector, path: KeyPath, name: str, body: object, scope: Scope, lists: Mapping[str, ListType]
) -> Function | None:
    document = collector.structured(path, body, FunctionDocument)
    if document is None:
        return None
    parameters: list[tuple[str, Type]] = []
    for parameter, type_name in document.params.items():
        kind = lists.get(type_name) or collector.type_named((*path, "params", parameter), type_name)
        if kind is None:
            return None
        parameters.append((parameter, kind))
    inner = Scope(dict(parameters), scope.functions, scope.tables)
    found: list[tuple[str, Any]] = []
    for let_name, value in document.let.items():
        expr = collector.expression((*path, "let", let_name), value, inner)
        if expr is None or not _fresh(collector, (*path, "let", let_name), let_name, inner):
            return None
        found.append((let_name, expr))
        inner = inner.bind({let_name: expr.type})
    result = collector.expression((*path, "result"), document.result, inner)
    if result is None:
        return None
    try:
        return Function(name, tuple(parameters), tuple(found), convert(result, result.type))
    except ExpressionError as error:
        collector.report((*path, "result"), str(error))
        return None
