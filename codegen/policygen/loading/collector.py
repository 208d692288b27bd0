"""What the loaders of one file share: its positions, the problems found so far, and the reading of expressions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from attrs import Factory
from attrs import define

from policygen.lang.intervals import Domains
from policygen.lang.intervals import interval_of
from policygen.lang.parse import ExpressionError
from policygen.lang.parse import parse
from policygen.lang.tree import Const
from policygen.lang.tree import Expr
from policygen.lang.tree import Function
from policygen.lang.tree import Scope
from policygen.lang.tree import Table
from policygen.loading.structuring import structure
from policygen.loading.toml_positions import KeyPath
from policygen.loading.toml_source import TomlSource
from policygen.model.problems import Location
from policygen.model.problems import Problem
from policygen.model.problems import did_you_mean
from policygen.model.ranges import Interval
from policygen.model.types import BOOL
from policygen.model.types import INT32
from policygen.model.types import INT64
from policygen.model.types import UINT32
from policygen.model.types import Enumeration
from policygen.model.types import EnumType
from policygen.model.types import IntType
from policygen.model.types import RecordType
from policygen.model.types import Scalar
from policygen.model.types import Struct
from policygen.model.types import StructField
from policygen.model.types import Type

_Document = TypeVar("_Document")

SCALARS: Mapping[str, Type] = {"int32": INT32, "int64": INT64, "uint32": UINT32, "bool": BOOL}


@define
class Collector:
    """Reads one file and collects everything that is wrong with it."""

    source: TomlSource
    enumerations: dict[str, Enumeration]
    structs: dict[str, Struct]
    problems: list[Problem] = Factory(list)
    broken: set[str] = Factory(set)
    """Names whose definition has a problem: what uses them is not reported for that."""

    def report(self, path: KeyPath, reason: str) -> None:
        """Notes a problem of the value at a key path."""
        self.problems.append(self.source.problem(path, reason))

    def location(self, path: KeyPath) -> Location:
        """The place of a key path."""
        return self.source.location(path)

    def structured(self, path: KeyPath, value: object, cls: type[_Document]) -> _Document | None:
        """The document form of a table; None if there is a problem with it."""
        document = structure(self.source, path, value, cls)
        if isinstance(document, list):
            self.problems += document
            return None
        return document

    def type_named(self, path: KeyPath, name: str) -> Type | None:
        """The type that a spec calls by name: a scalar, an enumeration or a struct."""
        if name in SCALARS:
            return SCALARS[name]
        if name in self.enumerations:
            return EnumType(self.enumerations[name])
        if name in self.structs:
            return RecordType(self.structs[name])
        known = (*SCALARS, *self.enumerations, *self.structs)
        self.report(path, f'unknown type "{name}"{did_you_mean(name, known)}')
        return None

    def expression(
        self,
        path: KeyPath,
        value: Scalar,
        scope: Scope,
        expected: Type | None = None,
        domains: Domains | None = None,
        within: Interval | None = None,
    ) -> Expr | None:
        """Reads the value of a key as an expression.

        Text is an expression, unless the place is an enumerator and the text is one. With `domains`, overflow and
        division by zero are excluded for all of them; `within` bounds an integer result.
        """
        if isinstance(value, str) and isinstance(expected, EnumType) and value in expected.enumeration.names:
            return Const(value, expected)
        if type(value) is int and isinstance(expected, IntType) and INT32.low <= value <= INT32.high:
            constant = Const(value, INT32)
            limits = within or Interval(value, value)
            return (
                constant
                if limits.low <= value <= limits.high or self.proven(path, constant, Domains(), within)
                else None
            )
        if (
            isinstance(value, str)
            and isinstance(expected, EnumType)
            and value.isidentifier()
            and value not in scope.names
        ):
            known = expected.enumeration.names
            self.report(path, f'"{value}" is not an enumerator of {expected}{did_you_mean(value, known)}')
            return None
        text = value if isinstance(value, str) else repr(value)
        try:
            expr = parse(text, scope, expected)
        except ExpressionError as error:
            if error.unknown not in self.broken:
                self.report(path, str(error))
            return None
        return expr if domains is None or self.proven(path, expr, domains, within) else None

    def proven(self, path: KeyPath, expr: Expr, domains: Domains, within: Interval | None = None) -> bool:
        """Whether an expression is safe over the domains and its value lies in an interval; else problems are noted."""
        reasons: list[str] = []
        interval = interval_of(expr, domains, reasons.append)
        if not reasons and within is not None and isinstance(expr.type, IntType) and not interval.inside(within):
            reasons.append(f"expected an integer in {within}, but this ranges over {interval}")
        for reason in reasons[:1]:  # what follows in the same expression is mostly its consequence
            self.report(path, reason)
        return not reasons


def scope_of(fields: Mapping[str, Type], functions: Mapping[str, Function], tables: Mapping[str, Table]) -> Scope:
    """A scope with these names."""
    return Scope(dict(fields), dict(functions), dict(tables))


def field_paths(prefix: str, fields: tuple[StructField, ...]) -> dict[str, Interval]:
    """The intervals of all integer fields below a name, by dotted path."""
    paths: dict[str, Interval] = {}
    for field in fields:
        path = f"{prefix}.{field.name}"
        if isinstance(field.type, RecordType):
            paths |= field_paths(path, field.type.struct.fields)
        elif isinstance(field.type, IntType):
            paths[path] = field.interval or Interval(field.type.low, field.type.high)
    return paths
