"""Expressions in Python 3.10, on local variables and records with attributes."""

from __future__ import annotations

import keyword
from collections.abc import Mapping

from policygen.lang.intervals import Domains
from policygen.lang.intervals import interval_of
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
from policygen.lang.tree import path_of
from policygen.model.types import RecordType

_PRECEDENCE = {"*": 10, "//": 10, "%": 10, "+": 9, "-": 9, "compare": 6, "not": 5, "and": 4, "or": 3, "choose": 1}
_ATOM = 20


def identifier(name: str) -> str:
    """A name as Python takes it: without leading underscores, and with `_each` after the keyword `for`."""
    name = name.lstrip("_")
    if name == "for":
        return "for_each"
    return f"{name}_" if keyword.iskeyword(name) else name


class PythonExpressions:
    """Prints expressions. `policy` names the root fields whose parts are locals (`p_multi_tile__vec_size`)."""

    def __init__(self, policy: Mapping[str, RecordType | None], domains: Domains) -> None:
        self._policy = policy
        self._domains = domains

    def text(self, expr: Expr) -> str:
        """The expression, to stand where any expression may."""
        return self._print(expr)[0]

    def _operand(self, expr: Expr, least: int) -> str:
        text, precedence = self._print(expr)
        return text if precedence >= least else f"({text})"

    def _print(self, expr: Expr) -> tuple[str, int]:
        match expr:
            case Const():
                text = repr(expr.value)
                return text, 11 if text.startswith("-") else _ATOM
            case Name():
                return self._name(expr), _ATOM
            case Field():
                path = path_of(expr)
                if path is not None and path.split(".")[0] in self._policy:
                    if isinstance(expr.type, RecordType):
                        return self._record(path, expr.type), _ATOM
                    return local(tuple(path.split("."))), _ATOM
                return f"{self._operand(expr.base, _ATOM)}.{identifier(expr.name)}", _ATOM
            case Not():
                return self._negated(expr)
            case Negate():
                return f"-{self._operand(expr.operand, 11)}", 11
            case Arith():
                return self._arithmetic(expr)
            case Compare():
                precedence = _PRECEDENCE["compare"]
                left, right = self._operand(expr.left, 7), self._operand(expr.right, 7)
                return f"{left} {expr.op} {right}", precedence
            case Member():
                return self._member(expr, "in", "==")
            case Logic():
                precedence = _PRECEDENCE[expr.op]
                return f" {expr.op} ".join(self._operand(e, precedence + 1) for e in expr.operands), precedence
            case Choose():
                then, condition = self._operand(expr.then, 2), self._operand(expr.condition, 2)
                return f"{then} if {condition} else {self._operand(expr.otherwise, 1)}", _PRECEDENCE["choose"]
            case Call():
                return self._call(expr), _ATOM
            case Apply():
                return f"_{expr.function.name}({', '.join(map(self.text, expr.args))})", _ATOM
            case Lookup():
                return f"_{identifier(expr.table.name)}({', '.join(map(self.text, expr.args))})", _ATOM
            case Quantifier():
                return self._quantifier(expr), _ATOM
            case Fold():
                step = f"lambda {identifier(expr.accumulator)}, {identifier(expr.variable)}: {self.text(expr.body)}"
                return f"_fold({self.text(expr.over)}, {self.text(expr.start)}, {step})", _ATOM

    def _name(self, expr: Name) -> str:
        if expr.id in self._policy:
            return self._record(expr.id, expr.type) if isinstance(expr.type, RecordType) else local((expr.id,))
        return identifier(expr.id)

    def _record(self, path: str, kind: RecordType) -> str:
        parts = []
        for field in kind.struct.fields:
            inner = f"{path}.{field.name}"
            parts.append(
                self._record(inner, field.type)
                if isinstance(field.type, RecordType)
                else local(tuple(inner.split(".")))
            )
        return f"{identifier(kind.struct.name)}({', '.join(parts)})"

    def _negated(self, expr: Not) -> tuple[str, int]:
        if isinstance(expr.operand, Member):
            return self._member(expr.operand, "not in", "!=")
        return f"not {self._operand(expr.operand, _PRECEDENCE['not'])}", _PRECEDENCE["not"]

    def _member(self, expr: Member, among: str, equal: str) -> tuple[str, int]:
        operand = self._operand(expr.operand, 7)
        if len(expr.values) == 1:
            return f"{operand} {equal} {expr.values[0]!r}", _PRECEDENCE["compare"]
        return f"{operand} {among} ({', '.join(map(repr, expr.values))})", _PRECEDENCE["compare"]

    def _arithmetic(self, expr: Arith) -> tuple[str, int]:
        precedence = _PRECEDENCE[expr.op]
        if expr.op in ("//", "%") and not self._natural(expr.left, expr.right):
            # Python rounds down where C++ truncates
            name = "_quotient" if expr.op == "//" else "_remainder"
            return f"{name}({self.text(expr.left)}, {self.text(expr.right)})", _ATOM
        left, right = self._operand(expr.left, precedence), self._operand(expr.right, precedence + 1)
        return f"{left} {expr.op} {right}", precedence

    def _natural(self, *exprs: Expr) -> bool:
        return all(interval_of(e, self._domains, lambda _: None).low >= 0 for e in exprs)

    def _call(self, expr: Call) -> str:
        args = ", ".join(map(self.text, expr.args))
        match expr.function:
            case "len" | "min" | "max":
                return f"{expr.function}({args})"
            case "int32" | "int64":
                return self._operand(expr.args[0], _ATOM)
            case _:
                return f"_{expr.function}({args})"

    def _quantifier(self, expr: Quantifier) -> str:
        guard = "" if expr.condition is None else f" if {self._operand(expr.condition, 2)}"
        loop = f"{self._operand(expr.body, 1)} for {identifier(expr.variable)} in {self.text(expr.over)}{guard}"
        if expr.start is None:
            return f"{expr.kind}({loop})"
        return f"{expr.kind}(({self.text(expr.start)}, *({loop})))"


def local(path: tuple[str, ...]) -> str:
    """The local variable that holds a policy field while a policy is being selected."""
    return "p_" + "__".join(identifier(name) for name in path)
