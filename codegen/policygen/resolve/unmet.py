"""Why a condition does not hold on a key: the first part of it that fails, with the value that it looks at."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Final

from policygen.lang.evaluate import Bound
from policygen.lang.evaluate import Environment
from policygen.lang.evaluate import evaluate
from policygen.lang.simplify import substitute
from policygen.lang.text import shown
from policygen.lang.text import text_of
from policygen.lang.tree import Apply
from policygen.lang.tree import Choose
from policygen.lang.tree import Compare
from policygen.lang.tree import Const
from policygen.lang.tree import Expr
from policygen.lang.tree import Logic
from policygen.lang.tree import Member
from policygen.lang.tree import Name
from policygen.lang.tree import Not
from policygen.lang.tree import Quantifier
from policygen.resolve.conditions import opened
from policygen.resolve.trace import Unmet

_OPPOSITE: Final = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", "<=": ">", ">": "<="}
_MIRRORED: Final = {"==": "==", "!=": "!=", "<": ">", ">=": "<=", "<=": ">=", ">": "<"}


def unmet(condition: Expr, names: Environment, lets: Mapping[str, Expr]) -> tuple[Unmet, ...]:
    """What fails of a condition that does not hold.

    Of conditions that must all hold it is the first that fails. Where one of several would do, all of them fail, and
    each is told.

    Args:
        condition: a truth value, false for these names.
        names: key, lets, and what else it looks at.
        lets: definitions of names, which are looked into.
    """
    return _Reader(lets).fails(condition, names)


class _Reader:
    def __init__(self, lets: Mapping[str, Expr]) -> None:
        self._lets = lets

    def fails(self, expr: Expr, names: Environment) -> tuple[Unmet, ...]:
        """What fails of a condition that is false."""
        match expr:
            case Name() if expr.id in self._lets:
                return self.fails(self._lets[expr.id], names)
            case Logic(op="and"):
                return self.fails(next(e for e in expr.operands if not evaluate(e, names)), names)
            case Logic():
                return _each_once(u for e in expr.operands for u in self.fails(e, names))
            case Not():
                return self.holds(expr.operand, names)
            case Choose():
                return self.fails(expr.then if evaluate(expr.condition, names) else expr.otherwise, names)
            case Apply() if (inside := opened(expr)) is not expr:
                return self.fails(inside, names)
            case Quantifier(kind="all"):
                return self._of_element(expr, names)
            case Compare():
                return (_compared(expr.left, expr.op, expr.right, names),)
            case Member():
                return (_unmet(expr.operand, names, [shown(v, expr.operand.type) for v in expr.values]),)
            case _:
                return (_unmet(expr, names, ["true"]),)

    def holds(self, expr: Expr, names: Environment) -> tuple[Unmet, ...]:
        """What stands in the way of a condition being false."""
        match expr:
            case Name() if expr.id in self._lets:
                return self.holds(self._lets[expr.id], names)
            case Logic(op="or"):
                return self.holds(next(e for e in expr.operands if evaluate(e, names)), names)
            case Logic():
                return _each_once(u for e in expr.operands for u in self.holds(e, names))
            case Not():
                return self.fails(expr.operand, names)
            case Choose():
                return self.holds(expr.then if evaluate(expr.condition, names) else expr.otherwise, names)
            case Apply() if (inside := opened(expr)) is not expr:
                return self.holds(inside, names)
            case Compare():
                return (_compared(expr.left, _OPPOSITE[expr.op], expr.right, names),)
            case Member():
                values = [shown(v, expr.operand.type) for v in expr.values]
                other = f"other than {' or '.join(values)}"
                return (_unmet(expr.operand, names, [other]),)
            case _:
                return (_unmet(expr, names, ["false"]),)

    def _of_element(self, expr: Quantifier, names: Environment) -> tuple[Unmet, ...]:
        """What fails for the first element that it fails for: `inputs[1].value_type_size = 2, not 4`."""
        for position, element in enumerate(evaluate(expr.over, names)):
            name = f"{text_of(expr.over)}[{position}]"
            inside = Bound(names)
            inside[name] = element
            this = {expr.variable: Name(name, expr.list_type.element)}
            if expr.condition is not None and not evaluate(substitute(expr.condition, this), inside):
                continue
            body = substitute(expr.body, this)
            if not evaluate(body, inside):
                return self.fails(body, inside)
        raise ValueError(f"{text_of(expr)} holds")


def _compared(left: Expr, op: str, right: Expr, names: Environment) -> Unmet:
    if isinstance(left, Const):
        return _compared(right, _MIRRORED[op], left, names)
    value = shown(evaluate(right, names), right.type)
    wanted = value if isinstance(right, Const) else f"{text_of(right)} = {value}"
    return _unmet(left, names, [wanted if op == "==" else f"{op} {wanted}"])


def _unmet(subject: Expr, names: Environment, wanted: Sequence[str]) -> Unmet:
    return Unmet(text_of(subject), shown(evaluate(subject, names), subject.type), tuple(wanted))


def _each_once(found: Iterable[Unmet]) -> tuple[Unmet, ...]:
    return tuple(dict.fromkeys(found))
