"""Values of key fields that stand for the others: those at which a condition can change, and their neighbours."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from itertools import combinations
from typing import Any

from attrs import evolve

from policygen.lang.evaluate import LazyNames
from policygen.lang.evaluate import compiled
from policygen.lang.simplify import substitute
from policygen.lang.tree import Apply
from policygen.lang.tree import Arith
from policygen.lang.tree import Call
from policygen.lang.tree import Compare
from policygen.lang.tree import Const
from policygen.lang.tree import Expr
from policygen.lang.tree import Field
from policygen.lang.tree import Fold
from policygen.lang.tree import Lookup
from policygen.lang.tree import Member
from policygen.lang.tree import Name
from policygen.lang.tree import Quantifier
from policygen.lang.tree import children
from policygen.lang.tree import walk
from policygen.model.ranges import Interval
from policygen.model.types import BoolType
from policygen.model.types import EnumType
from policygen.model.types import IntType
from policygen.model.types import ListType
from policygen.model.types import RecordType
from policygen.spec import Algorithm
from policygen.spec import KeyField

MOST_ELEMENTS = 64
"""How many different elements lists are built from."""


def variables_of(algorithm: Algorithm) -> dict[str, KeyField]:
    """What a key consists of, by dotted path: scalar fields, the fields of records, and lists as wholes.

    The default of a record's field refers to the other fields by their paths.
    """
    found: dict[str, KeyField] = {}
    for field in algorithm.key:
        if isinstance(field.type, RecordType):
            paths: dict[str, Expr] = {p.name: Name(f"{field.name}.{p.name}", p.type) for p in field.element}
            for part in field.element:
                default = None if part.default is None else substitute(part.default, paths)
                found[f"{field.name}.{part.name}"] = evolve(part, default=default)
        else:
            found[field.name] = field
    return found


def interval_of_field(field: KeyField) -> Interval:
    """The declared domain of an integer field."""
    assert isinstance(field.type, IntType)
    return field.interval or Interval(field.type.low, field.type.high)


def enumerated(field: KeyField) -> tuple[Any, ...] | None:
    """Every value of a scalar, where they are few."""
    match field.type:
        case BoolType():
            return (False, True)
        case EnumType(enumeration):
            return enumeration.names
        case _:
            return field.values


def representatives(algorithm: Algorithm, conditions: Iterable[Expr]) -> dict[str, tuple[Any, ...]]:
    """Values for each part of a key that `variables_of` names, in the order in which a search should try them.

    Args:
        algorithm: gives the domains.
        conditions: what is asked of keys, lets inlined.
    """
    points = _Points()
    for condition in conditions:
        points.visit(condition, {})
    variables = variables_of(algorithm)
    for _ in range(2):  # what a default takes from another field may be a default itself
        for name, field in variables.items():
            if field.default is not None:
                points.default(name, field.default)
            for part in field.element:
                if part.default is not None:
                    points.default(f"{name}.*.{part.name}", part.default)
    common = dict(algorithm.common)
    found: dict[str, tuple[Any, ...]] = {}
    for name, field in variables.items():
        if isinstance(field.type, ListType):
            found[name] = _lists(field, points)
        else:
            found[name] = _scalars(name, field, points, common.get(name, ()))
    return found


def _scalars(name: str, field: KeyField, points: _Points, first: Iterable[Any]) -> tuple[Any, ...]:
    few = enumerated(field)
    if few is not None:
        return tuple(dict.fromkeys([*(v for v in first if v in few), *few]))
    domain = interval_of_field(field)
    values = {domain.low, domain.high, *points.at.get(name, ())}
    if name in points.mixed:
        values.update(1 << power for power in range(domain.high.bit_length()))
    return tuple(sorted(v for v in values if domain.low <= v <= domain.high))


def _lists(field: KeyField, points: _Points) -> tuple[tuple[dict[str, Any], ...], ...]:
    assert isinstance(field.type, ListType)
    parts = {p.name: _scalars(f"{field.name}.*.{p.name}", p, points, ()) for p in field.element}
    base = _element(field, parts, {})
    others = [(name, value) for name, values in parts.items() for value in values if value != base[name]]
    elements = [base, *(_element(field, parts, {name: value}) for name, value in others)]
    for (a, x), (b, y) in combinations(others, 2):
        if len(elements) < MOST_ELEMENTS and a != b:
            elements.append(_element(field, parts, {a: x, b: y}))
    longest = field.type.max_length
    lists: list[tuple[dict[str, Any], ...]] = [(e,) for e in elements]
    lists.append(())
    lists += [pair for e in elements for pair in ((e, e), (base, e), (e, base))]
    lengths = {longest, *points.at.get(f"len {field.name}", ())}
    lists += [(e,) * n for n in sorted(lengths) if n > 2 for e in elements[: 1 + len(others)]]
    unique = {tuple(tuple(e.items()) for e in value): value for value in lists if len(value) <= longest}
    return tuple(unique.values())


def _element(field: KeyField, parts: Mapping[str, tuple[Any, ...]], given: Mapping[str, Any]) -> dict[str, Any]:
    """An element with some fields given; the others have their defaults, or else the first value of theirs."""
    first = {p.name: parts[p.name][0] for p in field.element if p.default is None}
    defaults = {p.name: compiled(p.default) for p in field.element if p.default is not None}
    names = LazyNames({**first, **given}, defaults)
    return {p.name: names[p.name] for p in field.element}


class _Points:
    """Where conditions can change, by dotted path; `inputs.*.size` is a field of a list's elements.

    `mixed` are the paths that take part in more than a comparison with a constant.
    """

    def __init__(self) -> None:
        self.at: dict[str, set[int]] = {}
        self.mixed: set[str] = set()

    def visit(self, expr: Expr, bound: Mapping[str, str]) -> None:
        """Notes what an expression compares; `bound` maps variables and parameters to paths."""
        match expr:
            case Compare():
                for side, other in ((expr.left, expr.right), (expr.right, expr.left)):
                    if isinstance(other, Const) and isinstance(other.value, int):
                        self.reach(side, other.value, bound)
                    elif _path(side, bound) is not None:
                        self.mixed.add(_path(side, bound) or "")
            case Member():
                for value in expr.values:
                    if isinstance(value, int):
                        self.reach(expr.operand, value, bound)
            case Arith() | Call():
                self.mixed.update(p for child in children(expr) if (p := _path(child, bound)) is not None)
            case Apply():
                self.body(expr, bound)
        if isinstance(expr, Quantifier | Fold):
            over = _path(expr.over, bound)
            bound = bound if over is None else {**bound, expr.variable: f"{over}.*"}
        for child in children(expr):
            self.visit(child, bound)

    def body(self, expr: Apply, bound: Mapping[str, str]) -> None:
        paths = [(name, _path(arg, bound)) for (name, _), arg in zip(expr.function.parameters, expr.args, strict=True)]
        inner = {name: path for name, path in paths if path is not None}
        for body in (*(e for _, e in expr.function.lets), expr.function.result):
            self.visit(body, inner)

    def reach(self, expr: Expr, value: int, bound: Mapping[str, str]) -> None:
        """Notes values of fields at which an integer comes near a value."""
        path = _path(expr, bound)
        if path is not None:
            self.at.setdefault(path, set()).update((value - 1, value, value + 1))
            return
        match expr:
            case Arith(right=Const(value=int() as k)):
                for inverse in _inverses(expr.op, value, k):
                    self.reach(expr.left, inverse, bound)
            case Quantifier() | Fold():
                over = _path(expr.over, bound)
                inner = bound if over is None else {**bound, expr.variable: f"{over}.*"}
                self.reach(expr.body, value, inner)
            case _:
                for child in children(expr):
                    self.reach(child, value, bound)

    def default(self, name: str, expr: Expr) -> None:
        """Notes what a default can be: its constants, columns of tables that it takes, values of other fields."""
        values = self.at.setdefault(name, set())
        for node in walk(expr):
            if isinstance(node, Const) and isinstance(node.value, int):
                values.add(node.value)
            elif isinstance(node, Field) and isinstance(node.base, Lookup):
                table = node.base.table
                column = [f.name for f in table.row.struct.fields].index(node.name)
                values.update(v for _, row in table.rows if isinstance(v := row[column], int))
            elif isinstance(node, Name):
                values.update(self.at.get(node.id, ()))


def _inverses(op: str, value: int, k: int) -> tuple[int, ...]:
    match op:
        case "+":
            return (value - k,)
        case "-":
            return (value + k,)
        case "*":
            return (value // k,) if k else ()
        case "//":
            return (value * k, value * k + k - 1)
        case _:
            return (value, value + k)


def _path(expr: Expr, bound: Mapping[str, str]) -> str | None:
    match expr:
        case Name():
            return bound.get(expr.id, expr.id)
        case Field():
            base = _path(expr.base, bound)
            return None if base is None else f"{base}.{expr.name}"
        case Call(function="len"):
            over = _path(expr.args[0], bound)
            return None if over is None else f"len {over}"
        case _:
            return None
