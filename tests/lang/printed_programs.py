"""Programs around printed expressions: a Python namespace and a C++ translation unit for the example scope."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from typing import cast

from compilers import WARNINGS
from compilers import HostCompiler
from lang.example_scope import DOMAINS
from lang.example_scope import ENUMERATIONS
from lang.example_scope import FIELDS
from lang.example_scope import FUNCTIONS
from lang.example_scope import INPUT
from lang.example_scope import LET_EXPRESSIONS
from lang.example_scope import STRUCTS
from lang.example_scope import TABLES
from policygen.emit.cpp.declarations import function_lines
from policygen.emit.cpp.declarations import struct_lines
from policygen.emit.cpp.declarations import table_lines
from policygen.emit.cpp.declarations import value_text
from policygen.emit.cpp.expressions import CppExpressions
from policygen.emit.cpp.expressions import type_name
from policygen.emit.cpp.statements import CppStatements
from policygen.emit.cpp.support import support_functions
from policygen.emit.python.expressions import PythonExpressions
from policygen.emit.python.functions import spec_functions
from policygen.emit.statements import Define
from policygen.emit.statements import Program
from policygen.emit.templates import template
from policygen.lang.tree import Apply
from policygen.lang.tree import Const
from policygen.lang.tree import Expr
from policygen.lang.tree import Lookup
from policygen.model.types import ListType
from policygen.model.types import Struct


@cache
def runtime_namespace() -> Mapping[str, Any]:
    """What `_runtime.py` of a generated package defines."""
    text = template("python/_runtime.py.j2").render(banner=["test"], elements=[("int8", 1, 1)])
    namespace: dict[str, Any] = {"__name__": "_runtime"}
    exec(compile(text, "_runtime.py", "exec", dont_inherit=True), namespace)
    return namespace


@cache
def python_namespace() -> Mapping[str, Any]:
    """The support functions, the record of the scope, its tables and its functions, as a generated module has them."""
    called: list[Expr] = [Apply(function, (), function.result.type) for function in FUNCTIONS]
    called += [Lookup(table, (), table.row) for table in TABLES]
    rules = SimpleNamespace(algorithm=SimpleNamespace(key=(), lets=()))
    program = cast("Program", SimpleNamespace(rules=rules, statements=tuple(Define("", expr) for expr in called)))
    fields = [f"    {f.name}: object" for f in INPUT.struct.fields]
    lines = [f"class {INPUT.struct.name}(Record):", "    __slots__ = ()", *fields, *spec_functions([program])]
    namespace = dict(runtime_namespace())
    text = "from __future__ import annotations\n" + "\n".join(lines)
    exec(compile(text, "module.py", "exec", dont_inherit=True), namespace)
    return namespace


def python_values(key: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a key as a generated module holds them: records in place of dictionaries."""
    record = python_namespace()[INPUT.struct.name]
    values = dict(key)
    values["input"] = record(**key["input"])
    values["inputs"] = tuple(record(**element) for element in key["inputs"])
    return values


def python_text(expr: Expr) -> str:
    """The Python text of an expression."""
    return PythonExpressions({}, DOMAINS).text(expr)


def python_value(expr: Expr, names: Mapping[str, Any]) -> Any:
    """What the Python text of an expression evaluates to; `names` holds what `python_values` gives."""
    return eval(python_text(expr), {**python_namespace(), **names})


def cpp_program(
    functions: Sequence[tuple[Expr, int]], keys: Mapping[int, Sequence[Mapping[str, Any]]], main: str
) -> str:
    """A translation unit.

    Args:
        functions: expressions, each with the number of inputs of its keys; they become `e0`, `e1`, ..
        keys: for each number of inputs some keys; they become `keys_0`, `keys_1`, ..
        main: the statements of `main`, and static assertions.
    """
    lines = ["#include <cstdint>", "#include <cstdio>", "#include <cstdlib>", "#include <type_traits>"]
    lines += ["#define POLICYGEN_FUNCTION", "namespace support", "{"]
    lines += [line for function in support_functions().values() for line in function.lines]
    lines += ["} // namespace support", *_list_template()]
    for enumeration in ENUMERATIONS:
        lines.append(f"enum class {enumeration.name} {{ {', '.join(enumeration.names)} }};")
    lines += [line for struct in STRUCTS for line in struct_lines(struct, struct.name)]
    lines += ["template <int N>", "struct key", "{"]
    lines += [
        f"  {f'list<{type_name(kind.element)}, N>' if isinstance(kind, ListType) else type_name(kind)} {name};"
        for name, kind in FIELDS.items()
    ]
    lines += ["};", "namespace detail", "{"]
    lines += [line for table in TABLES for line in table_lines(table)]
    lines += [line for function in FUNCTIONS for line in function_lines(function)]
    lines += ["} // namespace detail"]
    for length, some in keys.items():
        texts = [", ".join(value_text(k[name], kind) for name, kind in FIELDS.items()) for k in some]
        lines.append(f"constexpr key<{length}> keys_{length}[] = {{ {', '.join(f'{{{t}}}' for t in texts)} }};")
    for number, (expr, length) in enumerate(functions):
        lines += _cpp_function(f"e{number}", expr, length)
    return "\n".join([*lines, main, ""])


def _list_template() -> list[str]:
    text = (Path(__file__).resolve().parents[2] / "templates" / "cuda" / "list.cuh").read_text(encoding="utf-8")
    return text.splitlines()


def _cpp_function(name: str, expr: Expr, length: int) -> list[str]:
    names = {field: f"k.{field}" for field in FIELDS}
    printer = CppStatements(names, Struct("", ()), {})
    lets = printer.lines(tuple(Define(let, definition) for let, definition in LET_EXPRESSIONS.items()))
    kind = type_name(expr.type)
    lines = [f"constexpr {kind} {name}([[maybe_unused]] const key<{length}>& k)", "{"]
    lines += [f"  [[maybe_unused]] {let.lstrip()}" for let in lets if let.lstrip().startswith("const")]
    lines += [f"  return {CppExpressions(names).converted(expr, expr.type)};", "}"]
    return lines


def run_cpp(source: str, folder: Path, name: str, compiler: HostCompiler) -> str:
    """Compiles with warnings as errors, runs, and returns what the program prints."""
    path, program = folder / f"{name}.cpp", folder / name
    path.write_text(source, encoding="utf-8")
    command = [str(compiler.path), "-std=c++17", "-O0", *WARNINGS, str(path), "-o", str(program)]
    compiled = subprocess.run(command, capture_output=True, text=True, check=False)
    assert compiled.returncode == 0, compiled.stderr[:4000]
    ran = subprocess.run([str(program)], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, f"the program stopped with {ran.returncode} after {len(ran.stdout.splitlines())} lines"
    return ran.stdout


def bindings_of(key: Mapping[str, Any], names: Sequence[str]) -> dict[str, Expr]:
    """Constants for the named scalar fields of a key, and for the fields of its record."""
    bindings: dict[str, Expr] = {}
    for name in names:
        kind = FIELDS[name]
        if isinstance(key[name], dict):
            for field in INPUT.struct.fields:
                bindings[f"{name}.{field.name}"] = Const(key[name][field.name], field.type)
        elif not isinstance(kind, ListType):
            bindings[name] = Const(key[name], kind)
    return bindings
