"""The generated Python module of some tables of the engine: a function for each, and whether it is in effect."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence

from policygen.emit.python.expressions import identifier
from policygen.emit.python.module import Names
from policygen.emit.python.module import PythonModule
from policygen.emit.python.module import digest_of
from policygen.emit.python.module import import_lines
from policygen.emit.python.module import table_lines
from policygen.emit.python.values import docstring
from policygen.emit.variants import Variants
from policygen.model.problems import Problem
from policygen.model.problems import SpecError
from policygen.resolve.backends import Effect
from policygen.resolve.backends import effect_of
from policygen.resolve.instance import TargetInstance
from policygen.spec import Algorithm


def engine_module(
    name: str, instance: TargetInstance, tables: Sequence[Algorithm], made: Mapping[str, Variants]
) -> PythonModule:
    """Prints a module.

    Args:
        name: of the module: attention, moe ..
        instance: the target whose tables they are.
        tables: of this module, in the order of their names.
        made: the programs of those that apply, by the table's name.

    Raises:
        SpecError: two tables of the module define different things under one name.
    """
    body: list[str] = []
    for table in tables:
        assert table.engine is not None
        if table.name in made:
            names = Names(table.engine.function, f"{table.engine.function}_point", table.engine.function, sized=False)
            body += table_lines(made[table.name], names)
        else:
            body += _not_applicable(table, effect_of(table, instance))
    body = _each_once(name, tables, body)
    digest = digest_of(body)
    head = [
        f'"""What an engine reads of {instance.target.title} for {name}: a function for each table."""',
        "",
        "from __future__ import annotations",
        "",
        *import_lines(body),
        "",
        f'SPEC_HASH = "{digest}"',
        "",
        "# Why nothing runs with the numbers of a table; empty where it does.",
        "NOT_IN_EFFECT: dict[str, str] = {",
        *(f"    {t.engine.function!r}: {effect_of(t, instance).reason!r}," for t in tables if t.engine is not None),
        "}",
        "",
        "# What each field of a table's record counts; empty for what is no number.",
        "UNITS: dict[str, dict[str, str]] = {",
        *(line for table in tables for line in _units(table)),
        "}",
    ]
    return PythonModule(name, (*head, *body), digest)


def _units(table: Algorithm) -> list[str]:
    assert table.engine is not None
    fields = [f"        {identifier(field.name)!r}: {field.unit!r}," for field in table.policy.fields]
    return [f"    {table.engine.function!r}: {{", *fields, "    },"]


def _not_applicable(table: Algorithm, effect: Effect) -> list[str]:
    assert table.engine is not None
    doc = [
        f"Not applicable: {effect.reason}.",
        "",
        "Raises:",
        "    NotApplicable: always.",
    ]
    return [
        "",
        "",
        f"def {table.engine.function}(**key: object) -> NoReturn:",
        *docstring(doc, "    "),
        f"    raise NotApplicable({f'{table.name}: {effect.reason}'!r})",
    ]


def _each_once(module: str, tables: Sequence[Algorithm], lines: Sequence[str]) -> list[str]:
    """Definitions that tables share are printed once; each begins after two blank lines."""
    found: dict[str, list[str]] = {}
    chunk: list[str] = []
    chunks: list[list[str]] = [chunk]
    for position, line in enumerate(lines):
        if line == "" and lines[position + 1 : position + 2] == [""]:
            chunk = []
            chunks.append(chunk)
        chunk.append(line)
    problems = []
    for chunk in chunks:
        named = next((line for line in chunk if line.startswith(("class ", "def "))), "\n".join(chunk))
        key = named.partition("(")[0]
        if key in found and found[key] != chunk:
            reason = f"two tables of {module} define {key} in different ways: give one of them another name"
            problems.append(Problem.at(tables[0].location, module, reason))
        found.setdefault(key, chunk)
    if problems:
        raise SpecError(problems)
    return [line for chunk in found.values() for line in chunk]
