"""The expression tree: the one form that is evaluated, analysed and printed.

Every node knows its type. Enumerators and versions in it are resolved; nothing is left to the printers but spelling.
Hashes are kept, since trees are keys of what is compiled from them.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from functools import cache
from typing import TypeAlias

from attrs import field
from attrs import frozen

from policygen.model.types import BOOL
from policygen.model.types import BoolType
from policygen.model.types import ListType
from policygen.model.types import RecordType
from policygen.model.types import Scalar
from policygen.model.types import Type


@frozen(cache_hash=True)
class Const:
    """A literal."""

    value: Scalar
    type: Type


@frozen(cache_hash=True)
class Name:
    """A key field, a `let` name, a fact, a parameter or a bound variable."""

    id: str
    type: Type


@frozen(cache_hash=True)
class Field:
    """A field of a record."""

    base: Expr
    name: str
    type: Type


@frozen(cache_hash=True)
class Not:
    """Logical negation."""

    operand: Expr
    type: BoolType = BOOL


@frozen(cache_hash=True)
class Negate:
    """Arithmetic negation."""

    operand: Expr
    type: Type


@frozen(cache_hash=True)
class Arith:
    """`+ - * // %`. Division truncates toward zero and the remainder has the sign of the dividend, as in C++."""

    op: str
    left: Expr
    right: Expr
    type: Type


@frozen(cache_hash=True)
class Compare:
    """`== != < <= > >=` on integers or versions, `== !=` on truth values."""

    op: str
    left: Expr
    right: Expr
    type: BoolType = BOOL


@frozen(cache_hash=True)
class Member:
    """Whether a value is one of a few constants; also how an enumerator is compared (with what refines it)."""

    operand: Expr
    values: tuple[Scalar, ...]
    type: BoolType = BOOL


@frozen(cache_hash=True)
class Logic:
    """`and` or `or` of two or more operands."""

    op: str
    operands: tuple[Expr, ...]
    type: BoolType = BOOL


@frozen(cache_hash=True)
class Choose:
    """The conditional expression."""

    condition: Expr
    then: Expr
    otherwise: Expr
    type: Type


@frozen(cache_hash=True)
class Call:
    """A function of the language, see `policygen.lang.builtins`."""

    function: str
    args: tuple[Expr, ...]
    type: Type


@frozen(cache_hash=True)
class Function:
    """A function that a spec defines. It sees its parameters and its own lets alone."""

    name: str
    parameters: tuple[tuple[str, Type], ...]
    lets: tuple[tuple[str, Expr], ...]
    result: Expr


@frozen(cache_hash=True)
class Apply:
    """A call of a function that a spec defines."""

    function: Function
    args: tuple[Expr, ...]
    type: Type


@frozen(cache_hash=True)
class Table:
    """Rows found by the values of their key columns; `default` answers for every other key."""

    name: str
    keys: tuple[tuple[str, Type], ...]
    row: RecordType
    rows: tuple[tuple[tuple[Scalar, ...], tuple[Scalar, ...]], ...]
    default: tuple[Scalar, ...]


@frozen(cache_hash=True)
class Lookup:
    """The row of a table."""

    table: Table
    args: tuple[Expr, ...]
    type: Type


@frozen(cache_hash=True)
class Quantifier:
    """`all any sum min max` over the elements of a list that pass `condition`; min and max start at `start`."""

    kind: str
    variable: str
    over: Expr
    body: Expr
    condition: Expr | None
    start: Expr | None
    type: Type

    @property
    def list_type(self) -> ListType:
        """The type of the list."""
        assert isinstance(self.over.type, ListType)
        return self.over.type


@frozen(cache_hash=True)
class Fold:
    """`fold(list, start, lambda accumulator, element: body)`, from the first element to the last."""

    over: Expr
    start: Expr
    accumulator: str
    variable: str
    body: Expr
    type: Type

    @property
    def list_type(self) -> ListType:
        """The type of the list."""
        assert isinstance(self.over.type, ListType)
        return self.over.type


Expr: TypeAlias = (
    Const
    | Name
    | Field
    | Not
    | Negate
    | Arith
    | Compare
    | Member
    | Logic
    | Choose
    | Call
    | Apply
    | Lookup
    | Quantifier
    | Fold
)

_NO_NAMES: frozenset[str] = frozenset()

TRUE = Const(True, BOOL)
FALSE = Const(False, BOOL)


@cache
def children(expr: Expr) -> tuple[Expr, ...]:
    """The expressions directly below a node, in evaluation order."""
    match expr:
        case Const() | Name():
            return ()
        case Field():
            return (expr.base,)
        case Not() | Negate() | Member():
            return (expr.operand,)
        case Arith() | Compare():
            return (expr.left, expr.right)
        case Logic():
            return expr.operands
        case Choose():
            return (expr.condition, expr.then, expr.otherwise)
        case Call() | Apply() | Lookup():
            return expr.args
        case Quantifier():
            return tuple(e for e in (expr.over, expr.start, expr.condition, expr.body) if e is not None)
        case Fold():
            return (expr.over, expr.start, expr.body)


def walk(expr: Expr) -> Iterator[Expr]:
    """A node and all below it; bodies of called functions are not entered."""
    waiting = [expr]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(children(node)))


@cache
def free_names(expr: Expr) -> frozenset[str]:
    """The names that an expression takes from its surroundings."""
    match expr:
        case Name():
            return frozenset((expr.id,))
        case Quantifier():
            inner = free_names(expr.body) | (_NO_NAMES if expr.condition is None else free_names(expr.condition))
            start = _NO_NAMES if expr.start is None else free_names(expr.start)
            return free_names(expr.over) | start | (inner - {expr.variable})
        case Fold():
            inner = free_names(expr.body) - {expr.variable, expr.accumulator}
            return free_names(expr.over) | free_names(expr.start) | inner
        case _:
            return _NO_NAMES.union(*map(free_names, children(expr)))


def path_of(expr: Expr) -> str | None:
    """The dotted path of a name or a field of a record; None for anything else."""
    if isinstance(expr, Name):
        return expr.id
    if isinstance(expr, Field):
        base = path_of(expr.base)
        return None if base is None else f"{base}.{expr.name}"
    return None


def rebuild(expr: Expr, replace: Callable[[Expr], Expr]) -> Expr:
    """The same node over replaced children."""
    match expr:
        case Const() | Name():
            return expr
        case Field():
            return Field(replace(expr.base), expr.name, expr.type)
        case Not():
            return Not(replace(expr.operand))
        case Negate():
            return Negate(replace(expr.operand), expr.type)
        case Member():
            return Member(replace(expr.operand), expr.values)
        case Arith():
            return Arith(expr.op, replace(expr.left), replace(expr.right), expr.type)
        case Compare():
            return Compare(expr.op, replace(expr.left), replace(expr.right))
        case Logic():
            return Logic(expr.op, tuple(replace(e) for e in expr.operands))
        case Choose():
            return Choose(replace(expr.condition), replace(expr.then), replace(expr.otherwise), expr.type)
        case Call():
            return Call(expr.function, tuple(replace(a) for a in expr.args), expr.type)
        case Apply():
            return Apply(expr.function, tuple(replace(a) for a in expr.args), expr.type)
        case Lookup():
            return Lookup(expr.table, tuple(replace(a) for a in expr.args), expr.type)
        case Quantifier():
            return Quantifier(
                expr.kind,
                expr.variable,
                replace(expr.over),
                replace(expr.body),
                None if expr.condition is None else replace(expr.condition),
                None if expr.start is None else replace(expr.start),
                expr.type,
            )
        case Fold():
            return Fold(
                replace(expr.over),
                replace(expr.start),
                expr.accumulator,
                expr.variable,
                replace(expr.body),
                expr.type,
            )


def conjunction(operands: list[Expr]) -> Expr:
    """`and` of any number of conditions; true for none."""
    flat: list[Expr] = []
    for operand in operands:
        flat.extend(operand.operands if isinstance(operand, Logic) and operand.op == "and" else [operand])
    if not flat:
        return TRUE
    return flat[0] if len(flat) == 1 else Logic("and", tuple(flat))


@frozen
class Scope:
    """What an expression may refer to."""

    names: dict[str, Type] = field(factory=dict)
    functions: dict[str, Function] = field(factory=dict)
    tables: dict[str, Table] = field(factory=dict)

    def bind(self, names: dict[str, Type]) -> Scope:
        """The scope with more names."""
        return Scope({**self.names, **names}, self.functions, self.tables)

    def define(self, function: Function) -> Scope:
        """The scope with one more function."""
        return Scope(self.names, {**self.functions, function.name: function}, self.tables)

    def tabulate(self, table: Table) -> Scope:
        """The scope with one more table."""
        return Scope(self.names, self.functions, {**self.tables, table.name: table})
