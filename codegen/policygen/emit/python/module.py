"""The generated Python module of one algorithm on one target: records, rules for any key, and a table in front."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from collections.abc import Mapping
from typing import Any

from attrs import frozen

from policygen.emit.called import called_functions
from policygen.emit.called import called_tables
from policygen.emit.python.expressions import PythonExpressions
from policygen.emit.python.expressions import identifier
from policygen.emit.python.statements import PythonStatements
from policygen.emit.rows import row_reason
from policygen.emit.statements import Program
from policygen.emit.wrapping import wrapped_comment
from policygen.fold.table import PolicyTable
from policygen.fold.table import Row
from policygen.lang.builtins import BUILTINS
from policygen.lang.intervals import Domains
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
from policygen.spec import TypeParameter

_RUNTIME = ("Record", "check", "check_record", "element", "items_known", "operator_kind")


@frozen
class PythonModule:
    """The text of a module, without its banner.

    Attributes:
        name: module name inside the target's package.
        lines: the text.
        spec_hash: hash of all that decides the policies; the header carries the same.
    """

    name: str
    lines: tuple[str, ...]
    spec_hash: str


def python_module(program: Program, table: PolicyTable) -> PythonModule:
    """Prints a module."""
    return _ModulePrinter(program, table).run()


class _ModulePrinter:
    def __init__(self, program: Program, table: PolicyTable) -> None:
        self._program = program
        self._algorithm = program.rules.algorithm
        self._table = table

    def run(self) -> PythonModule:
        algorithm = self._algorithm
        body: list[str] = []
        body += self._enumerations()
        body += [line for struct in structs_of(self._program) for line in self._struct(struct)]
        body += self._record_makers()
        body += self._points()
        body += selector_lines(self._program, "_select")
        body += self._common()
        body += self._policy_function()
        body += self._whole_function()
        if algorithm.types:
            body += self._for_types()
        digest = hashlib.sha256("\n".join(body).encode()).hexdigest()[:16]
        head = [
            f'"""{algorithm.title}: policies for {self._program.rules.instance.target.title}."""',
            "",
            "from __future__ import annotations",
            "",
            *self._imports(body),
            "",
            f'SPEC_HASH = "{digest}"',
            f'ALGORITHM = "{algorithm.name}"',
        ]
        return PythonModule(identifier(algorithm.name), (*head, *body), digest)

    def _imports(self, body: list[str]) -> list[str]:
        text = "\n".join(body)
        support = ["_fold", "_quotient", "_remainder", *(f"_{name}" for name in BUILTINS)]
        names = [name for name in (*_RUNTIME, *support) if f"{name}(" in text or f"({name})" in text]
        return [f"from ._runtime import {name}" for name in sorted(names)]

    def _enumerations(self) -> list[str]:
        found = ["", "# What the fields of a key may hold."]
        for field in self._algorithm.key:
            if field.element:
                found.append(f"_{identifier(field.name).upper()}: dict[str, object] = {{")
                found += [f"    {part.name!r}: {_domain(part)}," for part in field.element]
                found.append("}")
        found.append("_DOMAINS: dict[str, object] = {")
        for field in self._algorithm.key:
            if not field.element:
                found.append(f"    {identifier(field.name)!r}: {_domain(field)},")
        return [*found, "}"]

    def _struct(self, struct: Struct) -> list[str]:
        docs = "; ".join(f"{f.name}: {f.doc}" for f in struct.fields if f.doc)
        found = ["", "", f"class {identifier(struct.name)}(Record):"]
        found += _docstring([f"CUB's {struct.name}.", *([docs] if docs else [])], "    ")
        found += ["", "    __slots__ = ()"]
        return found + [f"    {identifier(f.name)}: {_annotation(f.type)}" for f in struct.fields]

    def _record_makers(self) -> list[str]:
        """For each key field that holds records, the function that makes one of a dictionary, with defaults."""
        found: list[str] = []
        for field in self._algorithm.key:
            if not field.element:
                continue
            kind = field.type.element if isinstance(field.type, ListType) else field.type
            assert isinstance(kind, RecordType)
            record = identifier(kind.struct.name)
            parameters = [
                f"{p.name}: {_annotation(p.type)}{'' if p.default is None else ' | None = None'}" for p in field.element
            ]
            found += ["", "", f"def _{identifier(field.name)}_record(*, {', '.join(parameters)}) -> {record}:"]
            expressions = PythonExpressions({}, Domains())
            for part in field.element:
                if part.default is not None:
                    found += [f"    if {part.name} is None:", f"        {part.name} = {expressions.text(part.default)}"]
            found.append(f"    return {record}({', '.join(p.name for p in field.element)})")
        if any(given == "iterator_info" for p in self._algorithm.types for _, given in p.gives):
            found += [
                "",
                "",
                "def _info(dtype: object) -> iterator_info:",
                '    """A contiguous iterator over a type."""',
            ]
            found.append("    return iterator_info(*element(dtype)[1:], True, True)")
        return found

    def _points(self) -> list[str]:
        found = ["", "", "# The points, in the order in which they are tried.", "POINTS = ("]
        return [*found, *(f"    {point.id!r}," for point in self._program.points), ")"]

    def _common(self) -> list[str]:
        found = ["", "", "# Common keys, in front of the rules. Each row says where it comes from.", "_COMMON = {"]
        for row in self._table.rows:
            found += wrapped_comment(row_reason(row), "    ", "# ")
            found.append(f"    {self._row_key(row)}: {record_text(row.policy, self._algorithm.policy)},")
        found.append("}")
        return [*found, f"_MEMO: dict[tuple[object, ...], {identifier(self._algorithm.policy.name)}] = {{}}"]

    def _row_key(self, row: Row) -> str:
        """The arguments as a caller writes them: what has a default is left to it."""
        parts = []
        for field in self._algorithm.key:
            value = row.resolution.key[field.name] if field.name in row.given else _default_argument(field)
            parts.append(value_text(value, field.type))
        return f"({', '.join(parts)})"

    def _parameters(self) -> list[str]:
        found = []
        for field in self._algorithm.key:
            kind = _annotation(field.type)
            name = identifier(field.name)
            if field.name == "num_items":
                found.append("num_items: int | None = None")
            elif field.default is None:
                found.append(f"{name}: {kind}")
            else:
                default = _default_argument(field)
                optional = " | None" if default is None else ""
                found.append(f"{name}: {kind}{optional} = {default!r}")
        return found

    def _policy_function(self) -> list[str]:
        policy = identifier(self._algorithm.policy.name)
        names = ", ".join(identifier(f.name) for f in self._algorithm.key)
        signature = ["def policy(", "    *,", *(f"    {p}," for p in self._parameters()), f") -> {policy}:"]
        doc = [f"The policy for a key. Returns {policy} with CUB's field names.", "", "Args:"]
        for field in self._algorithm.key:
            unit = f" ({_domain_text(field)})" if _domain_text(field) else ""
            doc.append(f"    {identifier(field.name)}: {field.doc}{unit}.")
        doc += [
            "",
            "Raises:",
            "    ValueError: a value outside its domain, or a key that no policy of the target works for.",
        ]
        tail = [
            f"    key = ({names},)",
            "    try:",
            "        found = _COMMON.get(key) or _MEMO.get(key)",
            "    except TypeError:  # a list in it",
            f"        return _whole({names})[0]",
            "    if found is None:",
            f"        found = _whole({names})[0]",
            "        if len(_MEMO) >= 4096:",
            "            _MEMO.clear()",
            "        _MEMO[key] = found",
            "    return found",
        ]
        point = [
            "",
            "",
            "def point(",
            "    *,",
            *(f"    {p}," for p in self._parameters()),
            ") -> str:",
            '    """The id of the point that a key\'s policy comes from; see `policy` for arguments and errors."""',
            f"    return POINTS[_whole({names})[1]]",
        ]
        return ["", "", *signature, *_docstring(doc, "    "), *tail, *point]

    def _whole_function(self) -> list[str]:
        """Defaults, checks, selection."""
        algorithm = self._algorithm
        policy = identifier(algorithm.policy.name)
        names = ", ".join(identifier(f.name) for f in algorithm.key)
        found = ["", "", f"def _whole({names}) -> tuple[{policy}, int]:  # type: ignore[no-untyped-def]"]
        found.append("    num_items = items_known(num_items)")
        expressions = PythonExpressions({}, algorithm.domains)
        for field in _given_first(algorithm):
            if field.name == "num_items":
                continue
            name = identifier(field.name)
            derived = field.default is not None and not isinstance(field.default, Const)
            if derived:
                found += [
                    f"    if {name} is None:",
                    f"        {name} = {expressions.text(_without_lets(algorithm, field.default))}",
                ]
            found += self._check(field, name)
        return [*found, f"    return _select({names})"]

    def _check(self, field: KeyField, name: str) -> list[str]:
        kind = field.type
        if isinstance(kind, ListType):
            record, domains = identifier(kind.element.struct.name), f"_{name.upper()}"
            return [
                f"    {name} = tuple([_{name}_record(**r) if isinstance(r, dict) else r for r in {name}])",
                f"    if len({name}) > {kind.max_length}:",
                f'        raise ValueError(f"{name}: at most {kind.max_length} records, not {{len({name})}}")',
                f"    for index, record in enumerate({name}):",
                f'        check_record(f"{name}[{{index}}]", record, {record}, {domains})',
            ]
        if isinstance(kind, RecordType):
            return [
                f"    if isinstance({name}, dict):",
                f"        {name} = _{name}_record(**{name})",
                f'    check_record("{name}", {name}, {identifier(kind.struct.name)}, _{name.upper()})',
            ]
        return [f'    check("{name}", {name}, _DOMAINS["{name}"])']

    def _for_types(self) -> list[str]:
        policy = identifier(self._algorithm.policy.name)
        parameters = [f"    {p.python}: {_type_annotation(p)}," for p in self._algorithm.types if not p.default]
        parameters += [
            f"    {p.python}: {_type_annotation(p)} = {_type_default(p)!r}," for p in self._algorithm.types if p.default
        ]
        doc = [
            "The policy for types, as select_for of the header deduces it.",
            "",
            "Args:",
            *(f"    {p.python}: {_type_doc(p)}" for p in self._algorithm.types),
            "    num_items: problem size, where it is known.",
            "",
            "Raises:",
            "    ValueError: an unknown type or operator, or what `policy` raises.",
        ]
        found = [
            "",
            "",
            "def for_types(",
            "    *,",
            *parameters,
            "    num_items: int | None = None,",
            f") -> {policy}:",
        ]
        found += _docstring(doc, "    ")
        found.append("    fields_: dict[str, object] = {}")
        for parameter in self._algorithm.types:
            found += _deduced(parameter)
        return [*found, "    return policy(num_items=num_items, **fields_)  # type: ignore[arg-type]"]


def selector_lines(program: Program, name: str) -> list[str]:
    """The functions of a program, and the function that selects a policy for a whole, checked key."""
    algorithm = program.rules.algorithm
    found: list[str] = []
    for used_name, used in program.uses:
        found += selector_lines(used, f"_select_{used_name}")
        found += _use_wrapper(used_name, used)
    found += spec_functions(program)
    domains = algorithm.domains
    printer = PythonStatements(algorithm.policy, domains, {n: f"_use_{n}" for n, _ in program.uses})
    names = ", ".join(identifier(f.name) for f in algorithm.key)
    policy = identifier(algorithm.policy.name)
    found += ["", "", f"def {name}({names}) -> tuple[{policy}, int]:  # type: ignore[no-untyped-def]"]
    found += printer.initial(1)
    found += printer.lines(program.statements, 1)
    return [*found, f"    return {printer.record()}, point"]


def _use_wrapper(name: str, used: Program) -> list[str]:
    """Calls the selector of a used algorithm with some of its key; the rest has its defaults."""
    algorithm = used.rules.algorithm
    expressions = PythonExpressions({}, algorithm.domains)
    arguments = ", ".join(f"{identifier(f.name)}=None" for f in algorithm.key)
    found = ["", "", f"def _use_{name}(*, {arguments}):  # type: ignore[no-untyped-def]"]
    for field in _given_first(algorithm):
        if field.default is not None:
            default = expressions.text(_without_lets(algorithm, field.default))
            found += [f"    if {identifier(field.name)} is None:", f"        {identifier(field.name)} = {default}"]
    names = ", ".join(identifier(f.name) for f in algorithm.key)
    return [*found, f"    return _select_{name}({names})[0]"]


def spec_functions(program: Program) -> list[str]:
    """The tables and functions of the spec that a program calls."""
    algorithm = program.rules.algorithm
    defaults = tuple(_without_lets(algorithm, f.default) for f in algorithm.key if f.default is not None)
    found: list[str] = []
    for table in called_tables(program, defaults):
        columns = [f.name for f in table.row.struct.fields]
        record = f"_{identifier(table.name).title().replace('_', '')}Row"
        rows = f"_{identifier(table.name).upper()}"
        found += ["", "", f"class {record}(Record):", f'    """A row of {table.name}."""', "", "    __slots__ = ()"]
        found += [f"    {c}: {_annotation(f.type)}" for c, f in zip(columns, table.row.struct.fields, strict=True)]
        found += ["", "", f"{rows} = {{"]
        for keys, values in table.rows:
            found.append(f"    ({', '.join(map(repr, keys))},): {record}({', '.join(map(repr, values))}),")
        default = f"{record}({', '.join(map(repr, table.default))})"
        parameters = ", ".join(identifier(n) for n, _ in table.keys)
        found += ["}", f"{rows}_DEFAULT = {default}", "", ""]
        found += [
            f"def _{identifier(table.name)}({parameters}) -> {record}:  # type: ignore[no-untyped-def]",
            f"    return {rows}.get(({parameters},), {rows}_DEFAULT)",
        ]
    for function in called_functions(program, defaults):
        parameters = ", ".join(identifier(n) for n, _ in function.parameters)
        found += ["", "", f"def _{function.name}({parameters}):  # type: ignore[no-untyped-def]"]
        expressions = PythonExpressions({}, Domains())
        for name, expr in function.lets:
            found.append(f"    {identifier(name)} = {expressions.text(expr)}")
        found.append(f"    return {expressions.text(function.result)}")
    return found


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


def _given_first(algorithm: Algorithm) -> list[KeyField]:
    """The key fields in an order in which each default finds what it refers to."""
    fields = {f.name: f for f in algorithm.key}
    ordered: dict[str, KeyField] = {}

    def add(field: KeyField) -> None:
        if field.name in ordered:
            return
        if field.default is not None:
            needed = free_names(_without_lets(algorithm, field.default))
            for name in fields:
                if name in needed:
                    add(fields[name])
        ordered[field.name] = field

    for field in algorithm.key:
        add(field)
    return list(ordered.values())


def _without_lets(algorithm: Algorithm, expr: Expr | None) -> Expr:
    assert expr is not None
    for let in reversed(algorithm.lets):
        expr = substitute(expr, {let.name: let.expr})
    return expr


def _default_argument(field: KeyField) -> object:
    if field.name == "num_items":
        return None
    return field.default.value if isinstance(field.default, Const) else None


def _domain(field: KeyField) -> str:
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


def _domain_text(field: KeyField) -> str:
    match field.type:
        case EnumType(enumeration):
            return ", ".join(enumeration.names)
        case IntType() if field.values is not None:
            return ", ".join(map(str, field.values))
        case IntType() if field.interval is not None and field.name != "num_items":
            return f"{field.interval}"
        case _:
            return ""


def _annotation(kind: Type) -> str:
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


def _docstring(lines: Iterable[str], pad: str) -> list[str]:
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


def _type_annotation(parameter: TypeParameter) -> str:
    return "object" if parameter.kind != "value" else "str"


def _type_default(parameter: TypeParameter) -> object:
    return parameter.default if parameter.kind == "value" else None


def _type_doc(parameter: TypeParameter) -> str:
    what = {
        "element": "a torch or numpy dtype, a type's name, or a size in bytes",
        "elements": "a list of torch or numpy dtypes, or of types' names",
        "operator": "plus, min, max, other, or a function",
        "value": "a name",
    }[parameter.kind]
    return f"{what}; deduced where it is left out." if parameter.default and parameter.kind != "value" else f"{what}."


def _deduced(parameter: TypeParameter) -> list[str]:
    name = parameter.python
    lines: list[str] = []
    if parameter.kind == "element":
        properties = {"type": "0", "size": "1", "alignment": "2"}
        for field, given in parameter.gives:
            if given in properties:
                lines.append(f'fields_["{identifier(field)}"] = element({name})[{properties[given]}]')
            elif given == "iterator_info":
                lines.append(f'fields_["{identifier(field)}"] = _info({name})')
    elif parameter.kind == "elements":
        lines += [f'fields_["{identifier(field)}"] = tuple(_info(e) for e in {name})' for field, _ in parameter.gives]
    elif parameter.kind == "operator":
        lines += [f'fields_["{identifier(field)}"] = operator_kind({name})' for field, _ in parameter.gives]
    else:
        lines += [f'fields_["{identifier(field)}"] = {name}' for field, _ in parameter.gives]
    if parameter.default and parameter.kind != "value":
        return [f"    if {name} is not None:", *(f"        {line}" for line in lines)] if lines else []
    return [f"    {line}" for line in lines]
