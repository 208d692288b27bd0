"""Expressions as text: as people read them, and worked, with the values of a key in place of its names."""

from __future__ import annotations

import json
from typing import Any
from typing import Final

from policygen.lang.evaluate import Environment
from policygen.lang.evaluate import evaluate
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
from policygen.model.types import ListType
from policygen.model.types import RecordType
from policygen.model.types import Type
from policygen.model.types import VersionType

_PRECEDENCE: Final = {
    "*": 10,
    "//": 10,
    "%": 10,
    "+": 9,
    "-": 9,
    "compare": 6,
    "not": 5,
    "and": 4,
    "or": 3,
    "choose": 1,
}
_ATOM: Final = 20


def text_of(expr: Expr) -> str:
    """An expression as people read it: `ceil_div(pairs, 8) if operation_t == plus else 1`.

    It is what the spec says but for quotes around enumerators, and conversions between int32 and int64.
    """
    return _Text().text(expr)


def worked(expr: Expr, names: Environment) -> str:
    """An expression with the values of a key put in: `ceil_div(1280, 8)`.

    Of a choice the branch that is taken is shown; names, conditions, rows of tables and loops are their values.

    Args:
        expr: what is evaluated.
        names: the values of its names.

    Raises:
        KeyError: a name has no value.
    """
    return _Worked(names).text(expr)


def shown(value: Any, kind: Type) -> str:
    """A value as people write it in a key: enumerators bare, versions with their dot, truth values in small letters."""
    if isinstance(kind, VersionType):
        return kind.version.unpack(value)
    return value if isinstance(value, str) else json.dumps(value)


class _Text:
    def text(self, expr: Expr) -> str:
        return self.print(expr)[0]

    def _operand(self, expr: Expr, least: int) -> str:
        text, precedence = self.print(expr)
        return text if precedence >= least else f"({text})"

    def print(self, expr: Expr) -> tuple[str, int]:
        """The text, and how strongly it binds."""
        match expr:
            case Const():
                return shown(expr.value, expr.type), _ATOM
            case Name() | Field():
                return self._path(expr), _ATOM
            case Not(operand=Member() as member):
                return self._member(member, "not in", "!="), _PRECEDENCE["compare"]
            case Not():
                return f"not {self._operand(expr.operand, _PRECEDENCE['not'])}", _PRECEDENCE["not"]
            case Negate():
                return f"-{self._operand(expr.operand, 11)}", 11
            case Arith():
                precedence = _PRECEDENCE[expr.op]
                left, right = self._operand(expr.left, precedence), self._operand(expr.right, precedence + 1)
                return f"{left} {expr.op} {right}", precedence
            case Compare():
                left, right = self._operand(expr.left, 7), self._operand(expr.right, 7)
                return f"{left} {expr.op} {right}", _PRECEDENCE["compare"]
            case Member():
                return self._member(expr, "in", "=="), _PRECEDENCE["compare"]
            case Logic():
                precedence = _PRECEDENCE[expr.op]
                return f" {expr.op} ".join(self._operand(e, precedence + 1) for e in expr.operands), precedence
            case Choose():
                then, condition = self._operand(expr.then, 2), self._operand(expr.condition, 2)
                return f"{then} if {condition} else {self._operand(expr.otherwise, 1)}", _PRECEDENCE["choose"]
            case Call(function="int32" | "int64"):
                return self.print(expr.args[0])
            case Call():
                return f"{expr.function}({self._list(expr.args)})", _ATOM
            case Apply():
                return f"{expr.function.name}({self._list(expr.args)})", _ATOM
            case Lookup():
                return f"{expr.table.name}({self._list(expr.args)})", _ATOM
            case Quantifier():
                return self._quantifier(expr), _ATOM
            case Fold():
                step = f"lambda {expr.accumulator}, {expr.variable}: {self.text(expr.body)}"
                return f"fold({self.text(expr.over)}, {self.text(expr.start)}, {step})", _ATOM

    def _path(self, expr: Name | Field) -> str:
        return expr.id if isinstance(expr, Name) else f"{self._operand(expr.base, _ATOM)}.{expr.name}"

    def _list(self, exprs: tuple[Expr, ...]) -> str:
        return ", ".join(map(self.text, exprs))

    def _member(self, expr: Member, among: str, equal: str) -> str:
        operand, values = self._operand(expr.operand, 7), [shown(v, expr.operand.type) for v in expr.values]
        return f"{operand} {equal} {values[0]}" if len(values) == 1 else f"{operand} {among} ({', '.join(values)})"

    def _quantifier(self, expr: Quantifier) -> str:
        guard = "" if expr.condition is None else f" if {self._operand(expr.condition, 2)}"
        loop = f"{self._operand(expr.body, 2)} for {expr.variable} in {self.text(expr.over)}{guard}"
        return f"{expr.kind}({loop if expr.start is None else f'({loop}), default={self.text(expr.start)}'})"


class _Worked(_Text):
    """Prints the arithmetic of an expression, with values."""

    def __init__(self, names: Environment) -> None:
        self._names = names

    def print(self, expr: Expr) -> tuple[str, int]:
        match expr:
            case Arith() | Negate() | Call() | Apply():
                return super().print(expr)
            case Choose():
                return self.print(expr.then if evaluate(expr.condition, self._names) else expr.otherwise)
            case _ if isinstance(expr.type, ListType | RecordType):
                return super().print(expr)
            case _:
                return shown(evaluate(expr, self._names), expr.type), _ATOM
