"""Partial evaluation: known names are replaced by their values and what then has a constant value is folded."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping

from attrs import evolve

from policygen.lang.evaluate import evaluate
from policygen.lang.tree import FALSE
from policygen.lang.tree import TRUE
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
from policygen.lang.tree import free_names
from policygen.lang.tree import path_of
from policygen.lang.tree import rebuild
from policygen.model.types import INT32
from policygen.model.types import INT64
from policygen.model.types import BoolType
from policygen.model.types import IntType
from policygen.model.types import RecordType
from policygen.model.types import Type


def substitute(expr: Expr, bindings: Mapping[str, Expr]) -> Expr:
    """Replaces free names and dotted paths of record fields (`target.warp_size`), then folds constants.

    The result has the type, and for every key of the declared domains the value, that the expression has.
    """
    match expr:
        case Name():
            return _retyped(bindings[expr.id], expr.type) if expr.id in bindings else expr
        case Field() if (path := path_of(expr)) in bindings:
            return _retyped(bindings[path or ""], expr.type)
        case Choose():
            # the branch that is not taken may divide by what is known to be zero here
            condition = substitute(expr.condition, bindings)
            if isinstance(condition, Const):
                return _retyped(substitute(expr.then if condition.value else expr.otherwise, bindings), expr.type)
            then, otherwise = substitute(expr.then, bindings), substitute(expr.otherwise, bindings)
            return fold_constants(Choose(condition, then, otherwise, expr.type))
        case Logic():
            decisive = FALSE if expr.op == "and" else TRUE
            operands: list[Expr] = []
            for operand in expr.operands:
                operands.append(substitute(operand, bindings))
                if operands[-1] == decisive:
                    break
            return _logic(expr.op, operands)
        case Quantifier() | Fold():
            return _loop(expr, bindings)
        case _:
            return fold_constants(rebuild(expr, lambda child: substitute(child, bindings)))


def _loop(expr: Quantifier | Fold, bindings: Mapping[str, Expr]) -> Expr:
    own = [expr.variable] if isinstance(expr, Quantifier) else [expr.accumulator, expr.variable]
    inner = {path: bound for path, bound in bindings.items() if path.split(".")[0] not in own}
    foreign = {name for bound in inner.values() for name in free_names(bound)}
    for name in own:
        if name in foreign:
            new = name
            while new in foreign or new in own or new in inner:
                new += "_"
            kind: Type = expr.list_type.element if name == expr.variable else expr.type
            inner[name] = Name(new, kind)
    names = [bound.id if isinstance(bound := inner.get(name), Name) else name for name in own]
    over, body = substitute(expr.over, bindings), substitute(expr.body, inner)
    if isinstance(expr, Fold):
        return Fold(over, substitute(expr.start, bindings), names[0], names[1], body, expr.type)
    condition = None if expr.condition is None else substitute(expr.condition, inner)
    start = None if expr.start is None else substitute(expr.start, bindings)
    return Quantifier(expr.kind, names[0], over, body, condition, start, expr.type)


def _retyped(expr: Expr, kind: Type) -> Expr:
    """An expression that takes the place of one of a type: an integer keeps the width that the place had."""
    if not isinstance(kind, IntType) or (kind == INT32) is (expr.type == INT32):
        return expr
    if isinstance(expr, Const):
        return Const(expr.value, kind)
    return Call("int32", (expr,), INT32) if kind == INT32 else Call("int64", (expr,), INT64)


def fold_constants(expr: Expr) -> Expr:
    """One node, folded if its children decide it."""
    match expr:
        case Logic():
            return _logic(expr.op, expr.operands)
        case Not(operand=Const(value=value)):
            return FALSE if value else TRUE
        case Not(operand=Not(operand=inner)):
            return inner
        case Choose(condition=Const(value=value)):
            return _retyped(expr.then if value else expr.otherwise, expr.type)
        case Choose() if expr.then == expr.otherwise:
            return _retyped(expr.then, expr.type)
        case Field(base=(Lookup() | Call() | Apply()) as base) if _constant(base.args):
            return _value(expr)
        case Arith(op="//" | "%", right=Const(value=0)):
            return Const(0, expr.type)  # never evaluated, see _value
        case Arith() | Compare() if isinstance(expr.left, Const) and isinstance(expr.right, Const):
            return _value(expr)
        case Compare() if expr.left == expr.right:
            return TRUE if expr.op in ("==", "<=", ">=") else FALSE
        case Compare(left=Const() as const) | Compare(right=Const() as const):
            return _compared(expr, const)
        case Negate() | Member() if isinstance(expr.operand, Const):
            return _value(expr)
        case Call() | Apply() if _constant(expr.args) and not isinstance(expr.type, RecordType):
            return _value(expr)
        case _:
            return expr


def _compared(expr: Compare, const: Const) -> Expr:
    """A comparison with a constant that is decided by the other operand's type alone; compilers warn of it."""
    other = expr.right if const is expr.left else expr.left
    while isinstance(other, Call) and other.function == "int64":
        (other,) = other.args
    kind = other.type
    if not isinstance(kind, IntType) or (expr.op in ("==", "!=") and kind.low <= int(const.value) <= kind.high):
        return expr
    ends = [Const(end, kind) for end in (kind.low, kind.high)]
    low, high = (_value(evolve(expr, right=e) if const is expr.left else evolve(expr, left=e)) for e in ends)
    return low if low == high else expr


def _value(expr: Expr) -> Expr:
    """The constant that an expression of constants is.

    The loader proves that nothing overflows or divides by zero, so that what does stands where a guard keeps it from
    being evaluated: any value of its type will do there.
    """
    try:
        value = evaluate(expr, {})
    except ZeroDivisionError:
        if not isinstance(expr.type, IntType | BoolType):
            return expr
        value = 0 if isinstance(expr.type, IntType) else False
    if isinstance(expr.type, IntType):
        value = min(max(value, expr.type.low), expr.type.high)
    return Const(value, expr.type)


def _constant(args: tuple[Expr, ...]) -> bool:
    return all(isinstance(a, Const) for a in args)


def _logic(op: str, operands: Iterable[Expr]) -> Expr:
    decisive, neutral = (FALSE, TRUE) if op == "and" else (TRUE, FALSE)
    kept: list[Expr] = []
    for operand in operands:
        if operand == decisive:
            return decisive
        if operand != neutral and operand not in kept:
            kept.extend(operand.operands if isinstance(operand, Logic) and operand.op == op else (operand,))
    if not kept:
        return neutral
    return kept[0] if len(kept) == 1 else Logic(op, tuple(kept))
