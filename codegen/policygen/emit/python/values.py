"""Values, domains and types of a generated module."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from typing import Any

from policygen.emit.python.expressions import identifier
from policygen.emit.statements import Program
from policygen.emit.wrapping import wrapped_comment
from policygen.lang.simplify import substitute
from policygen.lang.tree import Const
from policygen.lang.tree import Expr
from policygen.lang.tree import free_names
from policygen.model.record import Record
from policygen.model.types import BoolType
from policygen.model.types import EnumType
from policygen.model.types import IntType
from policygen.model.types import ListType
from policygen.model.types import RecordType
from policygen.model.types import Struct
from policygen.model.types import Type
from policygen.spec import Algorithm
from policygen.spec import KeyField


def structs_of(program: Program) -> tuple[Struct, ...]:
    """All structs of a module, each before those that hold it: of the key, of used policies, of the policy."""
    found: dict[str, Struct] = {}

    def add(struct: Struct) -> None:
        for field in struct.fields:
            if isinstance(field.type, RecordType):
                add(field.type.struct)
        found.setdefault(struct.name, struct)

    for field in program.rules.algorithm.key:
        kind = field.type.element if isinstance(field.type, ListType) else field.type
        if isinstance(kind, RecordType):
            add(kind.struct)
    for _, used in program.uses:
        for struct in structs_of(used):
            add(struct)
    add(program.rules.algorithm.policy)
    return tuple(found.values())


def record_text(record: Mapping[str, Any], struct: Struct) -> str:
    """A record as a call of its class."""
    parts = []
    for field in struct.fields:
        value = record[field.name]
        parts.append(record_text(value, field.type.struct) if isinstance(field.type, RecordType) else repr(value))
    return f"{identifier(struct.name)}({', '.join(parts)})"


def value_text(value: Any, kind: Type) -> str:
    """A value of a key."""
    if isinstance(kind, RecordType) and isinstance(value, Record):
        return record_text(value, kind.struct)
    if isinstance(kind, ListType):
        parts = [value_text(v, kind.element) for v in value]
        return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
    return repr(value)


def given_first(algorithm: Algorithm) -> list[KeyField]:
    """The key fields in an order in which each default finds what it refers to."""
    fields = {f.name: f for f in algorithm.key}
    ordered: dict[str, KeyField] = {}

    def add(field: KeyField) -> None:
        if field.name in ordered:
            return
        if field.default is not None:
            needed = free_names(without_lets(algorithm, field.default))
            for name in fields:
                if name in needed:
                    add(fields[name])
        ordered[field.name] = field

    for field in algorithm.key:
        add(field)
    return list(ordered.values())


def without_lets(algorithm: Algorithm, expr: Expr | None) -> Expr:
    """An expression over key fields alone: lets are written out."""
    assert expr is not None
    for let in reversed(algorithm.lets):
        expr = substitute(expr, {let.name: let.expr})
    return expr


def default_argument(field: KeyField) -> object:
    """The default of a parameter; None where the module works it out."""
    if field.name == "num_items":
        return None
    return field.default.value if isinstance(field.default, Const) else None


def key_parameters(key: Iterable[KeyField], *, with_capability: bool) -> list[str]:
    """The parameters of a function that takes a key, each as Python writes it.

    Args:
        key: its fields.
        with_capability: whether a compute capability comes first, which chooses an architecture of a family.
    """
    found = ["cc: int | str"] if with_capability else []
    for field in key:
        kind = annotation(field.type)
        name = identifier(field.name)
        if field.name == "num_items":
            found.append("num_items: int | None = None")
        elif field.default is None:
            found.append(f"{name}: {kind}")
        else:
            default = default_argument(field)
            optional = " | None" if default is None else ""
            found.append(f"{name}: {kind}{optional} = {default!r}")
    return found


def domain_text(field: KeyField) -> str:
    """The domain of a key field, as the module checks it."""
    match field.type:
        case BoolType():
            return "bool"
        case EnumType(enumeration):
            return repr(enumeration.names)
        case _:
            if field.values is not None:
                return repr(tuple(field.values))
            assert field.interval is not None
            return f"range({field.interval.low}, {field.interval.high + 1})"


def domain_doc(field: KeyField) -> str:
    """The domain of a key field, for a docstring."""
    match field.type:
        case EnumType(enumeration):
            return ", ".join(enumeration.names)
        case IntType() if field.values is not None:
            return ", ".join(map(str, field.values))
        case IntType() if field.interval is not None and field.name != "num_items":
            return f"{field.interval}"
        case _:
            return ""


def annotation(kind: Type) -> str:
    """The annotation of a parameter or a field."""
    match kind:
        case BoolType():
            return "bool"
        case EnumType():
            return "str"
        case RecordType(struct):
            return identifier(struct.name)
        case ListType(element=element):
            return f"tuple[{identifier(element.struct.name)}, ...] | list[{identifier(element.struct.name)}]"
        case _:
            return "int"


def docstring(lines: Iterable[str], pad: str) -> list[str]:
    """A docstring, its lines broken at blanks."""
    text = list(lines)
    if len(text) == 1 and len(text[0]) < 100:
        return [f'{pad}"""{text[0]}"""']
    found = [f'{pad}"""{text[0]}']
    if len(text) > 1 and text[1]:
        found.append("")
    for line in text[1:]:
        lead = pad + " " * (len(line) - len(line.lstrip()))
        found += [part.rstrip() for part in wrapped_comment(line.strip(), lead, "")] if line else [""]
    return [*found, f'{pad}"""']
