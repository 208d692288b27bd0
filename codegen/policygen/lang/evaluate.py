"""Evaluation: a tree becomes a Python closure over an environment of names."""

from __future__ import annotations

import operator
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from functools import cache
from typing import Any
from typing import TypeAlias

from policygen.lang.builtins import BUILTINS
from policygen.lang.tree import Apply
from policygen.lang.tree import Arith
from policygen.lang.tree import Call
from policygen.lang.tree import Choose
from policygen.lang.tree import Compare
from policygen.lang.tree import Const
from policygen.lang.tree import Expr
from policygen.lang.tree import Field
from policygen.lang.tree import Fold
from policygen.lang.tree import Logic
from policygen.lang.tree import Lookup
from policygen.lang.tree import Member
from policygen.lang.tree import Name
from policygen.lang.tree import Negate
from policygen.lang.tree import Not
from policygen.lang.tree import Quantifier

Environment: TypeAlias = Mapping[str, Any]
Evaluator: TypeAlias = Callable[[Environment], Any]


def truncated_quotient(a: int, b: int) -> int:
    """The quotient as C++ divides: toward zero."""
    if a >= 0 and b > 0:
        return a // b
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def truncated_remainder(a: int, b: int) -> int:
    """The remainder as in C++: with the sign of a."""
    return a - b * truncated_quotient(a, b)


_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": truncated_quotient,
    "%": truncated_remainder,
}
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class LazyNames(dict[str, Any]):
    """Names whose `let` definitions are evaluated when first asked for, and then kept."""

    def __init__(self, values: Mapping[str, Any] | Iterable[tuple[str, Any]], lets: Mapping[str, Evaluator]) -> None:
        super().__init__(values)
        self._lets = lets

    def __missing__(self, name: str) -> Any:
        value = self._lets[name](self)
        self[name] = value
        return value


class Bound(dict[str, Any]):
    """An environment with a few names of its own in front of another."""

    def __init__(self, outer: Environment) -> None:
        super().__init__()
        self._outer = outer

    def __missing__(self, name: str) -> Any:
        return self._outer[name]


def evaluate(expr: Expr, names: Environment) -> Any:
    """The value of an expression, given the values of its free names."""
    return compiled(expr)(names)


@cache
def compiled(expr: Expr) -> Evaluator:
    """The closure that evaluates an expression."""
    match expr:
        case Const():
            value = expr.value
            return lambda _: value
        case Name():
            return operator.itemgetter(expr.id)
        case Field():
            return _field(expr)
        case Not():
            operand = compiled(expr.operand)
            return lambda names: not operand(names)
        case Negate():
            operand = compiled(expr.operand)
            return lambda names: -operand(names)
        case Arith():
            return _binary(_ARITHMETIC[expr.op], expr.left, expr.right)
        case Compare():
            return _binary(_COMPARISONS[expr.op], expr.left, expr.right)
        case Member():
            return _member(expr)
        case Logic():
            return _logic(expr)
        case Choose():
            condition, then, otherwise = compiled(expr.condition), compiled(expr.then), compiled(expr.otherwise)
            return lambda names: then(names) if condition(names) else otherwise(names)
        case Call():
            return _call(expr)
        case Apply():
            return _apply(expr)
        case Lookup():
            return _lookup(expr)
        case Quantifier():
            return _quantifier(expr)
        case Fold():
            return _fold(expr)


# Names, and operations on a name and a constant, are most of what rules are made of: they are evaluated without a call
# for each leaf.


def _field(expr: Field) -> Evaluator:
    name = expr.name
    if isinstance(expr.base, Name):
        record = expr.base.id
        return lambda names: names[record][name]
    base = compiled(expr.base)
    return lambda names: base(names)[name]


def _member(expr: Member) -> Evaluator:
    values = frozenset(expr.values)
    if isinstance(expr.operand, Name):
        name = expr.operand.id
        if len(expr.values) == 1:
            (only,) = expr.values
            return lambda names: names[name] == only
        return lambda names: names[name] in values
    operand = compiled(expr.operand)
    return lambda names: operand(names) in values


def _binary(operation: Callable[[Any, Any], Any], left: Expr, right: Expr) -> Evaluator:
    first, second = compiled(left), compiled(right)
    if isinstance(right, Const):
        value = right.value
        if isinstance(left, Name):
            name = left.id
            return lambda names: operation(names[name], value)
        return lambda names: operation(first(names), value)
    return lambda names: operation(first(names), second(names))


def _call(expr: Call) -> Evaluator:
    function: Callable[..., Any] = len if expr.function == "len" else BUILTINS[expr.function].evaluate
    args = [compiled(a) for a in expr.args]
    if len(args) == 2:
        first, second = args
        return lambda names: function(first(names), second(names))
    return lambda names: function(*[a(names) for a in args])


def _logic(expr: Logic) -> Evaluator:
    operands = tuple(compiled(e) for e in expr.operands)
    decisive = expr.op == "or"

    def run(names: Environment) -> bool:
        for operand in operands:
            if bool(operand(names)) is decisive:
                return decisive
        return not decisive

    if len(operands) > 2:
        return run
    first, second = operands
    if decisive:
        return lambda names: first(names) or second(names)
    return lambda names: first(names) and second(names)


def _apply(expr: Apply) -> Evaluator:
    function = expr.function
    parameters = [name for name, _ in function.parameters]
    args = [compiled(a) for a in expr.args]
    lets = {name: compiled(e) for name, e in function.lets}
    result = compiled(function.result)
    return lambda names: result(LazyNames(zip(parameters, [a(names) for a in args], strict=True), lets))


def _lookup(expr: Lookup) -> Evaluator:
    table = expr.table
    columns = [f.name for f in table.row.struct.fields]
    rows = {keys: dict(zip(columns, values, strict=True)) for keys, values in reversed(table.rows)}
    default = dict(zip(columns, table.default, strict=True))
    args = [compiled(a) for a in expr.args]
    return lambda names: rows.get(tuple(a(names) for a in args), default)


def _quantifier(expr: Quantifier) -> Evaluator:
    if expr.kind in ("all", "any"):
        return _all_or_any(expr)
    over, body, variable = compiled(expr.over), compiled(expr.body), expr.variable
    condition = None if expr.condition is None else compiled(expr.condition)
    start = None if expr.start is None else compiled(expr.start)
    combine: Callable[[list[Any]], Any] = sum if expr.kind == "sum" else min if expr.kind == "min" else max

    def run(names: Environment) -> Any:
        bound = Bound(names)
        values = [] if start is None else [start(names)]
        for element in over(names):
            bound[variable] = element
            if condition is None or condition(bound):
                values.append(body(bound))
        return combine(values)

    return run


def _all_or_any(expr: Quantifier) -> Evaluator:
    over, body, variable = compiled(expr.over), compiled(expr.body), expr.variable
    condition = None if expr.condition is None else compiled(expr.condition)
    decisive = expr.kind == "any"

    def run(names: Environment) -> bool:
        bound = Bound(names)
        for element in over(names):
            bound[variable] = element
            if (condition is None or condition(bound)) and bool(body(bound)) is decisive:
                return decisive
        return not decisive

    return run


def _fold(expr: Fold) -> Evaluator:
    over, start, body = compiled(expr.over), compiled(expr.start), compiled(expr.body)
    accumulator, variable = expr.accumulator, expr.variable

    def run(names: Environment) -> Any:
        bound = Bound(names)
        total = start(names)
        for element in over(names):
            bound[accumulator], bound[variable] = total, element
            total = body(bound)
        return total

    return run
