"""Which functions and tables of a spec a program calls, each after those that it calls itself."""

from __future__ import annotations

from collections.abc import Iterator

from policygen.emit.statements import Assign
from policygen.emit.statements import Define
from policygen.emit.statements import DefineUse
from policygen.emit.statements import If
from policygen.emit.statements import Program
from policygen.emit.statements import Statement
from policygen.emit.statements import While
from policygen.lang.tree import Apply
from policygen.lang.tree import Expr
from policygen.lang.tree import Function
from policygen.lang.tree import Lookup
from policygen.lang.tree import Table
from policygen.lang.tree import walk


def expressions_of(statements: tuple[Statement, ...]) -> Iterator[Expr]:
    """Every expression of some statements."""
    for statement in statements:
        match statement:
            case Define() | Assign():
                yield statement.value
            case DefineUse():
                yield from (expr for _, expr in statement.key)
            case If():
                for condition, body in statement.branches:
                    yield condition
                    yield from expressions_of(body)
            case While():
                yield statement.condition
                yield from expressions_of(statement.body)
            case _:
                pass


def called_functions(program: Program, more: tuple[Expr, ...] = ()) -> tuple[Function, ...]:
    """The functions that a program (and some more expressions) calls."""
    found: dict[str, Function] = {}

    def visit(expr: Expr) -> None:
        for node in walk(expr):
            if isinstance(node, Apply) and node.function.name not in found:
                for _, let in node.function.lets:
                    visit(let)
                visit(node.function.result)
                found[node.function.name] = node.function

    for expr in (*expressions_of(program.statements), *more):
        visit(expr)
    return tuple(found.values())


def called_tables(program: Program, more: tuple[Expr, ...] = ()) -> tuple[Table, ...]:
    """The tables that a program (and some more expressions) looks into."""
    found: dict[str, Table] = {}
    exprs = [*expressions_of(program.statements), *more]
    for function in called_functions(program, more):
        exprs += [expr for _, expr in function.lets] + [function.result]
    for expr in exprs:
        for node in walk(expr):
            if isinstance(node, Lookup):
                found.setdefault(node.table.name, node.table)
    return tuple(found.values())
