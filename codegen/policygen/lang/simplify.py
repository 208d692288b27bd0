"""Partial evaluation: known names are replaced by their values and what then has a constant value is folded."""

from __future__ import annotations

from collections.abc import Mapping

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
from policygen.lang.tree import Logic
from policygen.lang.tree import Lookup
from policygen.lang.tree import Member
from policygen.lang.tree import Name
from policygen.lang.tree import Negate
from policygen.lang.tree import Not
from policygen.lang.tree import path_of
from policygen.lang.tree import rebuild
from policygen.model.types import RecordType


def substitute(expr: Expr, bindings: Mapping[str, Expr]) -> Expr:
    """Replaces free names and dotted paths of record fields (`target.warp_size`), then folds constants.

    A bound variable never hides another name (the parser forbids it), so no renaming is needed.
    """
    if isinstance(expr, Name):
        return bindings.get(expr.id, expr)
    if isinstance(expr, Field) and (path := path_of(expr)) in bindings:
        return bindings[path or ""]
    return fold_constants(rebuild(expr, lambda child: substitute(child, bindings)))


def fold_constants(expr: Expr) -> Expr:
    """One node, folded if its children decide it."""
    match expr:
        case Logic():
            return _logic(expr)
        case Not(operand=Const(value=value)):
            return FALSE if value else TRUE
        case Not(operand=Not(operand=inner)):
            return inner
        case Choose(condition=Const(value=value)):
            return expr.then if value else expr.otherwise
        case Choose() if expr.then == expr.otherwise:
            return expr.then
        case Field(base=Lookup() as lookup, name=name) if _constant(lookup.args):
            return Const(evaluate(lookup, {})[name], expr.type)
        case Field(base=Call() as call, name=name) if _constant(call.args):
            return Const(evaluate(call, {})[name], expr.type)
        case Arith() | Compare() if isinstance(expr.left, Const) and isinstance(expr.right, Const):
            return Const(evaluate(expr, {}), expr.type)
        case Negate() | Member() if isinstance(expr.operand, Const):
            return Const(evaluate(expr, {}), expr.type)
        case Call() | Apply() if _constant(expr.args) and not isinstance(expr.type, RecordType):
            return Const(evaluate(expr, {}), expr.type)
        case _:
            return expr


def _constant(args: tuple[Expr, ...]) -> bool:
    return all(isinstance(a, Const) for a in args)


def _logic(expr: Logic) -> Expr:
    decisive, neutral = (FALSE, TRUE) if expr.op == "and" else (TRUE, FALSE)
    kept: list[Expr] = []
    for operand in expr.operands:
        if operand == decisive:
            return decisive
        if operand != neutral and operand not in kept:
            kept.extend(operand.operands if isinstance(operand, Logic) and operand.op == expr.op else (operand,))
    if not kept:
        return neutral
    return kept[0] if len(kept) == 1 else Logic(expr.op, tuple(kept))
