"""The functions of a generated module: selectors, and the tables and functions of the spec that they call."""

from __future__ import annotations

from collections.abc import Sequence

from policygen.emit.called import called_functions
from policygen.emit.called import called_tables
from policygen.emit.python.expressions import PythonExpressions
from policygen.emit.python.expressions import identifier
from policygen.emit.python.statements import PythonStatements
from policygen.emit.python.values import annotation
from policygen.emit.python.values import given_first
from policygen.emit.python.values import without_lets
from policygen.emit.statements import Program
from policygen.lang.intervals import Domains
from policygen.lang.tree import Table


def selector_lines(program: Program, name: str) -> list[str]:
    """The function that selects a policy for a whole, checked key, behind those of used algorithms."""
    algorithm = program.rules.algorithm
    found: list[str] = []
    for used_name, used in program.uses:
        found += spec_functions([used])
        found += selector_lines(used, f"{name}_{used_name}")
        found += _use_wrapper(name, used_name, used)
    uses = {used_name: f"{name}_use_{used_name}" for used_name, _ in program.uses}
    printer = PythonStatements(algorithm.policy, algorithm.domains, uses)
    names = ", ".join(identifier(f.name) for f in algorithm.key)
    policy = identifier(algorithm.policy.name)
    found += ["", "", f"def {name}({names}) -> tuple[{policy}, int]:  # type: ignore[no-untyped-def]"]
    found += printer.initial(1)
    found += printer.lines(program.statements, 1)
    return [*found, f"    return {printer.record()}, point"]


def _use_wrapper(selector: str, name: str, used: Program) -> list[str]:
    """Calls the selector of a used algorithm with some of its key; the rest has its defaults."""
    algorithm = used.rules.algorithm
    expressions = PythonExpressions({}, algorithm.domains)
    arguments = ", ".join(f"{identifier(f.name)}=None" for f in algorithm.key)
    found = ["", "", f"def {selector}_use_{name}(*, {arguments}):  # type: ignore[no-untyped-def]"]
    for field in given_first(algorithm):
        if field.default is not None:
            default = expressions.text(without_lets(algorithm, field.default))
            found += [f"    if {identifier(field.name)} is None:", f"        {identifier(field.name)} = {default}"]
    names = ", ".join(identifier(f.name) for f in algorithm.key)
    return [*found, f"    return {selector}_{name}({names})[0]"]


def spec_functions(programs: Sequence[Program]) -> list[str]:
    """The tables and functions of the spec that programs of one algorithm call."""
    algorithm = programs[0].rules.algorithm
    defaults = tuple(without_lets(algorithm, f.default) for f in algorithm.key if f.default is not None)
    tables = {table.name: table for program in programs for table in called_tables(program, defaults)}
    functions = {function.name: function for program in programs for function in called_functions(program, defaults)}
    found: list[str] = []
    for table in tables.values():
        found += _table(table)
    for function in functions.values():
        parameters = ", ".join(identifier(n) for n, _ in function.parameters)
        found += ["", "", f"def _{function.name}({parameters}):  # type: ignore[no-untyped-def]"]
        expressions = PythonExpressions({}, Domains())
        for name, expr in function.lets:
            found.append(f"    {identifier(name)} = {expressions.text(expr)}")
        found.append(f"    return {expressions.text(function.result)}")
    return found


def _table(table: Table) -> list[str]:
    """A table of the spec: a record for its rows, the rows, and the function that finds one."""
    columns = [identifier(f.name) for f in table.row.struct.fields]
    name = identifier(table.name)
    record, rows = f"_{name.title().replace('_', '')}Row", f"_{name.upper()}"
    found = ["", "", f"class {record}(Record):", f'    """A row of {table.name}."""', "", "    __slots__ = ()"]
    found += [f"    {c}: {annotation(f.type)}" for c, f in zip(columns, table.row.struct.fields, strict=True)]
    found += ["", "", f"{rows} = {{"]
    for keys, values in table.rows:
        found.append(f"    ({', '.join(map(repr, keys))},): {record}({', '.join(map(repr, values))}),")
    default = f"{record}({', '.join(map(repr, table.default))})"
    parameters = ", ".join(identifier(n) for n, _ in table.keys)
    found += ["}", f"{rows}_DEFAULT = {default}", "", ""]
    return [
        *found,
        f"def _{name}({parameters}) -> {record}:  # type: ignore[no-untyped-def]",
        f"    return {rows}.get(({parameters},), {rows}_DEFAULT)",
    ]
