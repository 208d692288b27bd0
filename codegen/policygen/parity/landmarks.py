"""Where a selector's answers may change: what its rules compare key fields with, and what its points ask for."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from attrs import frozen

from policygen.lang.simplify import substitute
from policygen.lang.tree import Compare
from policygen.lang.tree import Const
from policygen.lang.tree import Expr
from policygen.lang.tree import Field
from policygen.lang.tree import Logic
from policygen.lang.tree import Member
from policygen.lang.tree import Name
from policygen.lang.tree import Not
from policygen.lang.tree import walk
from policygen.model.types import BoolType
from policygen.resolve.specialise import policy_expressions
from policygen.spec import Algorithm
from policygen.spec import RuleSet
from policygen.spec import Status


@frozen
class Wish:
    """A value that a condition asks of a key field; one of several where any of them would do."""

    field: str
    values: tuple[Any, ...]


@frozen
class Landmarks:
    """What rules say about a key.

    Attributes:
        thresholds: the integers that anything which depends on a field is compared with, by the field's last name.
        wishes: for each active point, what its condition and its ladder's ask of single key fields.
    """

    thresholds: Mapping[str, tuple[int, ...]]
    wishes: tuple[tuple[Wish, ...], ...]


def landmarks(algorithm: Algorithm, rules: Sequence[RuleSet]) -> Landmarks:
    """Reads the landmarks of an algorithm off its own expressions and those of some rules about it."""
    definitions: dict[str, Expr] = {}
    for let in (*algorithm.lets, *(let for rule_set in rules for let in rule_set.lets)):
        definitions[let.name] = substitute(let.expr, definitions)
    exprs = [*definitions.values(), *(f.default for f in algorithm.key if f.default is not None)]
    wishes: list[tuple[Wish, ...]] = []
    for ladder in (ladder for rule_set in rules for ladder in rule_set.ladders):
        accept = [] if ladder.accept is None else [substitute(ladder.accept, definitions)]
        entered = substitute(ladder.when, definitions)
        exprs += [entered, *accept]
        for point in ladder.points:
            when = substitute(point.when, definitions)
            exprs += [when, *(substitute(e, definitions) for e in policy_expressions(point.policy))]
            if point.status is Status.ACTIVE:
                asked = [wish for expr in (entered, when, *accept) for wish in _wishes(expr)]
                wishes.append(tuple(wish for wish in asked if algorithm.key_field(wish.field) is not None))
    return Landmarks(_thresholds(exprs), tuple(wishes))


def _thresholds(exprs: Iterable[Expr]) -> dict[str, tuple[int, ...]]:
    found: dict[str, set[int]] = {}
    for expr in exprs:
        for node in walk(expr):
            for side, value in _compared(node):
                if isinstance(value, bool):
                    continue
                for name in _leaves(side):
                    found.setdefault(name, set()).add(value)
    return {name: tuple(sorted(values)) for name, values in sorted(found.items())}


def _compared(node: Expr) -> Iterator[tuple[Expr, int]]:
    match node:
        case Compare(left=left, right=Const(value=int() as value)):
            yield left, value
        case Compare(left=Const(value=int() as value), right=right):
            yield right, value
        case Member(operand=operand, values=values):
            yield from ((operand, value) for value in values if isinstance(value, int))
        case _:
            return


def _leaves(expr: Expr) -> set[str]:
    return {node.id if isinstance(node, Name) else node.name for node in walk(expr) if isinstance(node, Name | Field)}


def _wishes(expr: Expr) -> Iterator[Wish]:
    match expr:
        case Logic(op="and", operands=operands):
            for operand in operands:
                yield from _wishes(operand)
        case Name(id=name, type=BoolType()):
            yield Wish(name, (True,))
        case Not(operand=Name(id=name)):
            yield Wish(name, (False,))
        case Member(operand=Name(id=name), values=values):
            yield Wish(name, values)
        case Compare(op="==", left=Name(id=name), right=Const(value=value)):
            yield Wish(name, (value,))
        case _:
            return
