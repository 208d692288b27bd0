"""Reading what an algorithm needs of a target: constraints, alternatives for missing features, knobs without effect."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from attrs import Factory
from attrs import frozen

from policygen.lang.intervals import Domains
from policygen.lang.simplify import substitute
from policygen.lang.tree import Arith
from policygen.lang.tree import Call
from policygen.lang.tree import Expr
from policygen.lang.tree import Field
from policygen.lang.tree import Name
from policygen.lang.tree import Scope
from policygen.loading.collector import Collector
from policygen.loading.collector import field_paths
from policygen.loading.definitions import constant
from policygen.loading.toml_positions import KeyPath
from policygen.model.problems import did_you_mean
from policygen.model.types import BOOL
from policygen.model.types import INT64
from policygen.model.types import RecordType
from policygen.model.types import Scalar
from policygen.model.types import Struct
from policygen.model.types import StructField
from policygen.model.types import Type
from policygen.spec import Alternative
from policygen.spec import Constraint
from policygen.spec import Neutral
from policygen.spec import Otherwise
from policygen.spec import Path

MODELS = {"none": "+", "tile": "+", "sum": "+", "tile+extra": "+", "union": "max"}
"""Kinds of resource model, and how each combines its terms."""


@frozen
class ConstraintDocument:
    """`[[constraint]]`."""

    id: str
    source: str
    each: dict[str, list[str]] = Factory(dict)
    when: Any = True
    check: Any = None
    kind: str | None = None
    terms: dict[str, Any] = Factory(dict)
    limit: Any = None
    unit: str = ""
    shrink: list[str] = Factory(list)
    otherwise: Otherwise = Otherwise.ERROR
    unknown: Any = None
    unknown_reason: str = ""
    reason: str = ""


@frozen
class AlternativeDocument:
    """`[[alternative]]`; `value` is a value, or a list of those that are replaced alike."""

    field: str
    value: Any
    requires: str
    otherwise: Any
    each: dict[str, list[str]] = Factory(dict)


@frozen
class NeutralDocument:
    """`[[neutral]]`."""

    field: str
    when: Any
    value: Any
    proof: str
    each: dict[str, list[str]] = Factory(dict)


class Needs:
    """Reads them, with the policy's fields in scope; `each` repeats an entry for several sub-policies."""

    def __init__(
        self, collector: Collector, policy: Struct, features: Mapping[str, str], scope: Scope, domains: Domains
    ) -> None:
        self._collector = collector
        self._policy = policy
        self._features = features
        self._scope = scope.bind({f.name: f.type for f in policy.fields})
        paths = field_paths("", policy.fields)
        self._domains = domains.with_paths({path.removeprefix("."): interval for path, interval in paths.items()})

    def constraints(self, documents: Sequence[ConstraintDocument]) -> tuple[Constraint, ...]:
        """Reads constraints; their ids are unique."""
        found: list[Constraint] = []
        for index, document in enumerate(documents):
            path: KeyPath = ("constraint", index)
            if any(d.id == document.id for d in documents[:index]):
                self._collector.report((*path, "id"), f'"{document.id}" is the id of an earlier constraint')
            for binding in self._bindings(path, document.each):
                constraint = _ConstraintReader(self, path, document, binding).read()
                if constraint is not None:
                    found.append(constraint)
        return tuple(found)

    def alternatives(self, documents: Sequence[AlternativeDocument]) -> tuple[Alternative, ...]:
        """Reads alternatives."""
        found: list[Alternative] = []
        for index, document in enumerate(documents):
            path: KeyPath = ("alternative", index)
            if document.requires not in self._features:
                hint = did_you_mean(document.requires, tuple(self._features))
                self._collector.report((*path, "requires"), f'unknown feature "{document.requires}"{hint}')
            for binding in self._bindings(path, document.each):
                target = self.field((*path, "field"), document.field, binding)
                if target is None:
                    continue
                field_path, field = target
                otherwise = self.expression((*path, "otherwise"), document.otherwise, binding, field.type)
                values = self._replaced(path, document.value, field.type)
                if otherwise is not None:
                    place = self._collector.location(path)
                    found += [Alternative(field_path, value, document.requires, otherwise, place) for value in values]
        return tuple(found)

    def neutrals(self, documents: Sequence[NeutralDocument]) -> tuple[Neutral, ...]:
        """Reads neutral values."""
        found: list[Neutral] = []
        for index, document in enumerate(documents):
            path: KeyPath = ("neutral", index)
            for binding in self._bindings(path, document.each):
                target = self.field((*path, "field"), document.field, binding)
                if target is None:
                    continue
                field_path, field = target
                when = self.expression((*path, "when"), document.when, binding, BOOL)
                value = self.expression((*path, "value"), document.value, binding, field.type)
                if when is not None and value is not None:
                    place = self._collector.location(path)
                    found.append(Neutral(field_path, when, value, document.proof, place))
        return tuple(found)

    def _replaced(self, path: KeyPath, given: Any, kind: Type) -> list[Scalar]:
        if not isinstance(given, list):
            value = constant(self._collector, (*path, "value"), given, kind)
            return [] if value is None else [value]
        if not given:
            self._collector.report((*path, "value"), "expected at least one value")
        checked = [constant(self._collector, (*path, "value", n), v, kind) for n, v in enumerate(given)]
        return [value for value in checked if value is not None]

    def _bindings(self, path: KeyPath, each: Mapping[str, list[str]]) -> list[dict[str, Expr]]:
        if not each:
            return [{}]
        if len(each) > 1:
            self._collector.report((*path, "each"), "expected one variable with its list of sub-policies")
            return []
        ((variable, names),) = each.items()
        found: list[dict[str, Expr]] = []
        kinds: set[Type] = set()
        for position, name in enumerate(names):
            expr = self._collector.expression((*path, "each", variable, position), name, self._scope)
            if expr is not None and isinstance(expr.type, RecordType):
                found.append({variable: expr})
                kinds.add(expr.type)
            elif expr is not None:
                self._collector.report((*path, "each", variable, position), f'"{name}" is no sub-policy')
        if len(kinds) > 1:
            self._collector.report(
                (*path, "each"), "the sub-policies are of different structs: write an entry for each struct"
            )
            return []
        return found

    def expression(
        self, path: KeyPath, value: Any, binding: Mapping[str, Expr], expected: Type | None = None
    ) -> Expr | None:
        """Reads an expression over key, facts and policy."""
        scope = self._scope.bind({name: expr.type for name, expr in binding.items()})
        expr = self._collector.expression(path, value, scope, expected)
        if expr is None:
            return None
        expr = substitute(expr, binding)
        return expr if self._collector.proven(path, expr, self._domains) else None

    def field(self, path: KeyPath, text: str, binding: Mapping[str, Expr]) -> tuple[Path, StructField] | None:
        """Reads the dotted name of a scalar field of the policy."""
        head, *rest = text.split(".")
        names = [*_path(binding[head]), *rest] if head in binding else [head, *rest]
        struct = self._policy
        for position, name in enumerate(names):
            if name not in struct.by_name:
                hint = did_you_mean(name, tuple(struct.by_name))
                self._collector.report(path, f'{struct.name} has no field "{name}"{hint}')
                return None
            field = struct.by_name[name]
            if not isinstance(field.type, RecordType):
                if position + 1 == len(names):
                    return tuple(names), field
                self._collector.report(path, f'"{name}" has no fields')
                return None
            struct = field.type.struct
        self._collector.report(path, f'"{text}" is a sub-policy: name one of its fields')
        return None

    def location(self, path: KeyPath) -> Any:
        """The place of a key path."""
        return self._collector.location(path)

    def report(self, path: KeyPath, reason: str) -> None:
        """Notes a problem."""
        self._collector.report(path, reason)


class _ConstraintReader:
    def __init__(self, needs: Needs, path: KeyPath, document: ConstraintDocument, binding: dict[str, Expr]) -> None:
        self._needs, self._path, self._document, self._binding = needs, path, document, binding

    def _read(self, key: str, value: Any, expected: Type | None = None) -> Expr | None:
        return None if value is None else self._needs.expression((*self._path, key), value, self._binding, expected)

    def read(self) -> Constraint | None:
        document, path = self._document, self._path
        is_check = document.check is not None
        if is_check == bool(document.terms):
            self._needs.report(path, "a constraint has either a check, or a kind with terms and a limit")
            return None
        if not is_check and (document.limit is None or document.kind not in MODELS):
            self._needs.report(path, f"terms need a limit and a kind: one of {', '.join(MODELS)}")
            return None
        terms = tuple(
            (name, expr)
            for name, value in document.terms.items()
            if (expr := self._needs.expression((*path, "terms", name), value, self._binding, INT64)) is not None
        )
        when = self._read("when", document.when, BOOL)
        targets = [self._needs.field((*path, "shrink", i), s, self._binding) for i, s in enumerate(document.shrink)]
        for position, target in enumerate(targets):
            if target is not None and target[1].role is None:
                self._needs.report((*path, "shrink", position), "only fields with a role can be lowered")
        if when is None or len(terms) < len(document.terms):
            return None
        scope = next((".".join(_path(e)) for e in self._binding.values()), "")
        return Constraint(
            id=f"{document.id} of {scope}" if scope else document.id,
            when=when,
            check=self._read("check", document.check, BOOL),
            need=None if is_check else _combined(MODELS[document.kind or ""], [expr for _, expr in terms]),
            limit=self._read("limit", document.limit, INT64),
            model=document.kind or "",
            terms=terms,
            unit=document.unit,
            shrink=tuple(t[0] for t in targets if t is not None),
            otherwise=document.otherwise,
            unknown=self._read("unknown", document.unknown, BOOL),
            unknown_reason=document.unknown_reason,
            reason=document.reason,
            source=document.source,
            location=self._needs.location(path),
        )


def _combined(how: str, terms: Sequence[Expr]) -> Expr:
    first, *rest = terms
    if how == "max":
        return Call("max", tuple(terms), INT64) if rest else first
    total = first
    for term in rest:
        total = Arith("+", total, term, INT64)
    return total


def _path(expr: Expr) -> list[str]:
    match expr:
        case Name():
            return [expr.id]
        case Field():
            return [*_path(expr.base), expr.name]
        case _:
            return []
