"""The standalone header of one algorithm on one target: types, rules for any key, checked rows of common keys."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from collections.abc import Mapping
from typing import Any

from attrs import frozen

from policygen.emit.called import called_functions
from policygen.emit.called import called_tables
from policygen.emit.called import expressions_of
from policygen.emit.cpp.expressions import CppExpressions
from policygen.emit.cpp.expressions import constant
from policygen.emit.cpp.expressions import identifier
from policygen.emit.cpp.expressions import local
from policygen.emit.cpp.expressions import type_name
from policygen.emit.cpp.select_for import defaults_beside_types
from policygen.emit.cpp.select_for import select_for
from policygen.emit.cpp.statements import CppStatements
from policygen.emit.cpp.support import with_needs
from policygen.emit.python.module import structs_of
from policygen.emit.rows import row_reason
from policygen.emit.statements import CANDIDATE
from policygen.emit.statements import Define
from policygen.emit.statements import If
from policygen.emit.statements import Program
from policygen.emit.statements import Refuse
from policygen.emit.statements import Statement
from policygen.emit.statements import While
from policygen.emit.statements import violation
from policygen.emit.wrapping import WIDTH
from policygen.emit.wrapping import wrapped
from policygen.emit.wrapping import wrapped_comment
from policygen.fold.table import PolicyTable
from policygen.fold.table import Row
from policygen.lang.simplify import fold_constants
from policygen.lang.tree import TRUE
from policygen.lang.tree import Call
from policygen.lang.tree import Const
from policygen.lang.tree import Expr
from policygen.lang.tree import Function
from policygen.lang.tree import Not
from policygen.lang.tree import Table
from policygen.lang.tree import conjunction
from policygen.lang.tree import free_names
from policygen.lang.tree import walk
from policygen.loading.package_data import data_dir
from policygen.model.types import BoolType
from policygen.model.types import Enumeration
from policygen.model.types import EnumType
from policygen.model.types import ListType
from policygen.model.types import RecordType
from policygen.model.types import Struct
from policygen.model.types import Type
from policygen.model.types import initial_value
from policygen.resolve.specialise import thread_counts
from policygen.spec import Algorithm
from policygen.spec import Constraint
from policygen.spec import KeyField
from policygen.spec import Otherwise
from policygen.spec import Vocabulary

_SPELLED = {"min": "least", "max": "greatest", "len": "", "int32": "", "int64": ""}


@frozen
class SharedDefinition:
    """A definition that several headers carry, guarded so that a translation unit sees it once."""

    name: str
    namespace: str
    lines: tuple[str, ...]

    @property
    def macro(self) -> str:
        """The guard."""
        return f"POLICYGEN_{self.namespace.rpartition('::')[2]}_{self.name}".upper()

    @property
    def version(self) -> str:
        """A number that differs where the text differs."""
        return f"{zlib.crc32(chr(10).join(self.lines).encode()):#x}"


@frozen
class CppHeader:
    """What the template lays out."""

    name: str
    namespace: str
    guard: str
    definitions: tuple[SharedDefinition, ...]
    body: tuple[str, ...]


def cpp_header(program: Program, table: PolicyTable, vocabulary: Vocabulary) -> CppHeader:
    """Prints a header."""
    return _HeaderPrinter(program, table, vocabulary).run()


class _HeaderPrinter:
    def __init__(self, program: Program, table: PolicyTable, vocabulary: Vocabulary) -> None:
        self._program = program
        self._algorithm = program.rules.algorithm
        self._table = table
        self._vocabulary = vocabulary

    def run(self) -> CppHeader:
        program, algorithm = self._program, self._algorithm
        name = identifier(algorithm.name)
        target = identifier(program.rules.target)
        return CppHeader(
            name=name,
            namespace=f"policygen::{target}::{name}",
            guard=f"POLICYGEN_{target}_TUNING_{name}_CUH".upper(),
            definitions=tuple(self._shared()),
            body=tuple(self._body()),
        )

    def _body(self) -> list[str]:
        rules = self._program.rules
        shared = set(self._vocabulary.structs)
        roots = {used.rules.algorithm.policy.name for _, used in self._program.uses} | {rules.algorithm.policy.name}
        found: list[str] = []
        for struct in structs_of(self._program):
            if struct.name not in shared | roots:
                found += ["", *_struct(struct, struct.name)]
        for used_name, used in self._program.uses:
            found += ["", f"namespace {identifier(used_name)}", "{"]
            found += _definitions(used)
            found.append(f"}} // namespace {identifier(used_name)}")
        found += _definitions(self._program)
        found += self._point()
        if rules.constraints or rules.fit:
            found += self._fits()
        if self._algorithm.types:
            found += select_for(self._algorithm, self._key_type())
        return found + self._rows()

    def _shared(self) -> Iterable[SharedDefinition]:
        for enumeration in self._enumerations():
            lines = [f"enum class {identifier(enumeration.name)}", "{"]
            lines += [f"  {identifier(name)}," for name in enumeration.names]
            yield SharedDefinition(enumeration.name, "policygen", (*lines, "};"))
        shared = [s for s in structs_of(self._program) if s.name in self._vocabulary.structs]
        if any(isinstance(f.type, ListType) for f in self._algorithm.key):
            yield SharedDefinition("list", "policygen", tuple(_template("list.cuh")))
        for struct in shared:
            yield SharedDefinition(struct.name, "policygen", tuple(_struct(struct, struct.name)))
        for function in with_needs(self._support()):
            yield SharedDefinition(function.name, "policygen::support", function.lines)
        if self._algorithm.types:
            yield SharedDefinition("traits", "policygen", tuple(_template("traits.cuh")))

    def _enumerations(self) -> list[Enumeration]:
        found: dict[str, Enumeration] = {}

        def add(kind: Type) -> None:
            if isinstance(kind, EnumType):
                found.setdefault(kind.enumeration.name, kind.enumeration)
            elif isinstance(kind, RecordType):
                for field in kind.struct.fields:
                    add(field.type)

        if self._algorithm.types:
            for name in ("type_t", "op_kind_t"):
                add(EnumType(self._vocabulary.enumerations[name]))
        for field in self._algorithm.key:
            add(field.type)
        for struct in structs_of(self._program):
            add(RecordType(struct))
        return list(found.values())

    def _support(self) -> set[str]:
        found: set[str] = set()
        programs = [self._program, *(used for _, used in self._program.uses)]
        for program in programs:
            more = _beside_statements(program)
            exprs = [*expressions_of(program.statements), *more]
            for function in called_functions(program, more):
                exprs += [expr for _, expr in function.lets] + [function.result]
            for expr in exprs:
                for node in walk(expr):
                    if isinstance(node, Call):
                        found.add(_SPELLED.get(node.function, node.function))
                    kind = getattr(node, "kind", "")
                    if kind in ("min", "max"):
                        found.add(_SPELLED[kind])
            if _refuses(program.statements):
                found.add("refuse")
        found.add("refuse")
        return found - {""}

    def _key_type(self) -> str:
        return _key_type(self._algorithm)

    def _point(self) -> list[str]:
        head = _template_head(self._algorithm)
        # a function and not an array: device code cannot read an array of pointers at namespace scope
        found = ["", "// Ids of the points, in the order in which they are tried."]
        found += ["POLICYGEN_FUNCTION constexpr const char* point_id(int number)", "{", "  switch (number)", "  {"]
        for number, point in enumerate(self._program.points):
            found += [f"    case {number}:", f'      return "{point.id}";']
        found += ["    default:", '      return "";', "  }", "}"]
        found += ["", "// Id of the point that a key's policy comes from.", *head]
        found.append(f"POLICYGEN_FUNCTION constexpr const char* point(const {self._key_type()}& k)")
        return [*found, "{", "  return point_id(detail::resolve(k).point);", "}"]

    def _fits(self) -> list[str]:
        rules, algorithm = self._program.rules, self._algorithm
        names = _names(algorithm)
        printer = CppStatements(names, algorithm.policy, {})
        judged = [c for c in rules.constraints or rules.fit if c.otherwise is Otherwise.ERROR]
        broken = [_broken(c) for c in judged]
        lets = [Define(let.name, let.expr) for let in _lets_for(rules.lets, broken)]
        found = ["", "// Whether a policy keeps the constraints of the target for a key."]
        if not rules.constraints:
            found[-1] += " Upstream's own policies need not."
        found += [*_template_head(algorithm)]
        found.append(
            f"POLICYGEN_FUNCTION constexpr bool fits([[maybe_unused]] const {self._key_type()}& k, "
            "[[maybe_unused]] const policy& p)"
        )
        found += ["{", *printer.lines(tuple(lets), 1)]
        if rules.granule is not None:
            paths = {threads: None for point in self._program.points for threads, _, _ in thread_counts(point.policy)}
            for path in paths:
                found.append(f"  if (p.{'.'.join(map(identifier, path))} % {rules.granule.threads} != 0)")
                found += ["  {", "    return false;", "  }"]
        for constraint, condition in zip(judged, broken, strict=True):
            found += wrapped_comment(f"{constraint.id}: {constraint.source}", "  ", "// ")
            found += printer.lines((If(((condition, ()),)),), 1)[:-2]
            found += ["  {", "    return false;", "  }"]
        return [*found, "  return true;", "}"]

    def _rows(self) -> list[str]:
        enforced = bool(self._program.rules.constraints)
        algorithm = self._algorithm
        fits = " && fits(k, p)" if enforced else ""
        what = "what select answers, and that it fits" if enforced else "what select answers"
        found = ["", "namespace detail", "{", *_template_head(algorithm)]
        found.append(f"POLICYGEN_FUNCTION constexpr bool holds(const {self._key_type()}& k, const policy& p)")
        found += ["{", f"  return select(k) == p{fits};", "}", "} // namespace detail"]
        found += ["", f"// Common keys, each checked by the compiler: {what}."]
        for row in self._table.rows:
            found += wrapped_comment(row_reason(row), "", "// ")
            policy = record_text(row.policy, algorithm.policy, "policy")
            found.append(f"static_assert(detail::holds({self._row_key(row)}, {policy}));")
        return found

    def _row_key(self, row: Row) -> str:
        values = [value_text(row.resolution.key[f.name], f.type) for f in self._algorithm.key]
        length = next(
            (len(row.resolution.key[f.name]) for f in self._algorithm.key if isinstance(f.type, ListType)), None
        )
        kind = "key" if length is None else f"key<{length}>"
        return f"{kind}{{{', '.join(values)}}}"


def _definitions(program: Program) -> list[str]:
    """Policy, key, spec functions, domain check and selector of a program, in its own namespace."""
    algorithm = program.rules.algorithm
    found = ["", *_struct(algorithm.policy, "policy"), "", f"using {identifier(algorithm.policy.name)} = policy;"]
    found += ["", *_key(algorithm)]
    more = _beside_statements(program)
    inner: list[str] = []
    for table in called_tables(program, more):
        inner += ["", *_table(table)]
    for function in called_functions(program, more):
        inner += ["", *_function(function)]
    inner += ["", *_validity(algorithm), "", *_resolve(program)]
    found += ["", "namespace detail", "{", *inner[1:], "} // namespace detail"]
    found += [
        "",
        "// The policy for a key. A key outside the declared domains, or without a policy, stops the program;",
        "// in a constant expression, the compilation.",
        *_template_head(algorithm),
    ]
    found.append(f"POLICYGEN_FUNCTION constexpr policy select(const {_key_type(algorithm)}& k)")
    return [*found, "{", "  return detail::resolve(k).p;", "}"]


def _beside_statements(program: Program) -> tuple[Expr, ...]:
    """What a header evaluates beside the selection: constraints, and the defaults that select_for fills in."""
    rules = program.rules
    judged = [c for c in (*rules.constraints, *rules.fit) if c.otherwise is Otherwise.ERROR]
    exprs = [_broken(c) for c in judged]
    exprs += [let.expr for let in _lets_for(rules.lets, exprs)]
    return (*exprs, *(default for _, default in defaults_beside_types(rules.algorithm)))


def _names(algorithm: Algorithm) -> dict[str, str]:
    names = {CANDIDATE.id: CANDIDATE.id} | {f.name: f"k.{identifier(f.name)}" for f in algorithm.key}
    names |= {f.name: f"p.{identifier(f.name)}" for f in algorithm.policy.fields}
    return names


def _resolve(program: Program) -> list[str]:
    algorithm = program.rules.algorithm
    used_key = {
        used.rules.algorithm.name: tuple((f.name, f.type) for f in used.rules.algorithm.key) for _, used in program.uses
    }
    printer = CppStatements(_names(algorithm), algorithm.policy, used_key)
    found = ["struct resolution", "{", "  policy p;", "  int point;", "};", ""]
    found += _template_head(algorithm)
    found.append(f"POLICYGEN_FUNCTION constexpr resolution resolve(const {_key_type(algorithm)}& k)")
    found += [
        "{",
        "  if (!is_valid(k))",
        "  {",
        '    support::refuse("the key is outside the declared domains");',
        "  }",
    ]
    found += ["  policy p{};", "  int point = -1;"]
    found += printer.lines(program.statements, 1)
    return [*found, "  return {p, point};", "}"]


def _validity(algorithm: Algorithm) -> list[str]:
    """Whether every integer of a key lies in its domain."""
    conditions: list[str] = []
    lists: list[tuple[str, list[str]]] = []
    for field in algorithm.key:
        name = f"k.{identifier(field.name)}"
        if isinstance(field.type, ListType):
            lists.append((name, [c for part in field.element if (c := _in_domain(part, f"x.{part.name}"))]))
        elif field.element:
            conditions += [c for part in field.element if (c := _in_domain(part, f"{name}.{part.name}"))]
        elif (condition := _in_domain(field, name)) is not None:
            conditions.append(condition)
    found = ["// Whether every integer of a key lies in its domain.", *_template_head(algorithm)]
    found.append(f"POLICYGEN_FUNCTION constexpr bool is_valid(const {_key_type(algorithm)}& k)")
    found.append("{")
    for name, parts in lists:
        text = " && ".join(f"({p})" if "||" in p else p for p in parts)
        found += [
            f"  for (const auto& x : {name})",
            "  {",
            f"    if (!({text}))",
            "    {",
            "      return false;",
            "    }",
            "  }",
        ]
    parts = [f"({c})" if "||" in c else c for c in conditions] or ["true"]
    found += wrapped(f"return {parts[0]}", "  ", "          ")
    for part in parts[1:]:
        found += wrapped(f"&& {part}", "      ", "          ")
    return [*found[:-1], f"{found[-1]};", "}"]


def _in_domain(field: KeyField, name: str) -> str | None:
    if field.values is not None:
        return " || ".join(f"{name} == {value}" for value in field.values)
    if field.interval is None:
        return None
    low, high = Const(field.interval.low, field.type), Const(field.interval.high, field.type)
    return f"{name} >= {constant(low)} && {name} <= {constant(high)}"


def _key_type(algorithm: Algorithm) -> str:
    return "key<N>" if any(isinstance(f.type, ListType) for f in algorithm.key) else "key"


def _template_head(algorithm: Algorithm) -> list[str]:
    return ["template <int N>"] if _key_type(algorithm) == "key<N>" else []


def _key(algorithm: Algorithm) -> list[str]:
    """The key, an aggregate in CUB's order; what upstream has defaults for at the end has them here."""
    found = ["// What selects a policy.", *_template_head(algorithm), "struct key", "{"]
    defaults: dict[str, str] = {}
    for field in reversed(algorithm.key):
        if not isinstance(field.default, Const):
            break
        defaults[field.name] = constant(field.default)
    for field in algorithm.key:
        kind = type_name(field.type)
        if isinstance(field.type, ListType):
            kind = f"list<{type_name(field.type.element)}, N>"
        value = f" = {defaults[field.name]}" if field.name in defaults else ""
        found += _documented(f"  {kind} {identifier(field.name)}{value};", field.doc)
    return [*found, "};"]


def _documented(line: str, doc: str) -> list[str]:
    """A member with its remark beside it, or above it where it is long."""
    beside = f"{line} // {doc}"
    if not doc or len(beside) <= WIDTH:
        return [beside if doc else line]
    return [*wrapped_comment(doc, "  ", "// "), line]


def _struct(struct: Struct, name: str) -> list[str]:
    found = [f"struct {identifier(name)}", "{"]
    for field in struct.fields:
        if isinstance(field.type, RecordType):
            value = "{}"
        else:
            initial = initial_value(field)
            assert isinstance(initial, int | bool | str)
            value = constant(Const(initial, field.type))
        found += _documented(f"  {type_name(field.type)} {identifier(field.name)} = {value};", field.doc)
    spelled = identifier(name)
    equal = " && ".join(f"a.{identifier(f.name)} == b.{identifier(f.name)}" for f in struct.fields)
    found += [
        "",
        f"  friend POLICYGEN_FUNCTION constexpr bool operator==(const {spelled}& a, const {spelled}& b) noexcept",
        "  {",
        *wrapped(f"return {equal};", "    ", "        "),
        "  }",
        f"  friend POLICYGEN_FUNCTION constexpr bool operator!=(const {spelled}& a, const {spelled}& b) noexcept",
        "  {",
        "    return !(a == b);",
        "  }",
    ]
    return [*found, "};"]


def _function(function: Function) -> list[str]:
    lists = [name for name, kind in function.parameters if isinstance(kind, ListType)]
    statements: tuple[Statement, ...] = ()
    used = free_names(function.result)
    for name, expr in reversed(function.lets):
        if name in used:
            statements = (Define(name, expr), *statements)
            used |= free_names(expr)
    parameters = []
    for name, kind in function.parameters:
        spelled = local(name) if name in used else f"/*{name}*/"
        if isinstance(kind, ListType):
            parameters.append(f"const list<{type_name(kind.element)}, N>& {spelled}")
        elif isinstance(kind, RecordType):
            parameters.append(f"const {type_name(kind)}& {spelled}")
        else:
            parameters.append(f"{type_name(kind)} {spelled}")
    result = type_name(function.result.type)
    found = ["template <int N>"] if lists else []
    found.append(f"POLICYGEN_FUNCTION constexpr {result} {identifier(function.name)}({', '.join(parameters)})")
    printer = CppStatements({}, Struct("", ()), {})
    found += ["{", *printer.lines(statements, 1)]
    found += wrapped_return(CppExpressions({}).converted(function.result, function.result.type))
    return [*found, "}"]


def wrapped_return(text: str) -> list[str]:
    """A return statement, broken at blanks where it is long."""
    return wrapped(f"return {text};", "  ", "      ")


def _table(table: Table) -> list[str]:
    row = f"{identifier(table.name)}_row"
    found = [f"struct {row}", "{"]
    found += [f"  {type_name(f.type)} {identifier(f.name)};" for f in table.row.struct.fields]
    parameters = ", ".join(f"{type_name(kind)} {identifier(name)}" for name, kind in table.keys)
    found += ["};", "", f"POLICYGEN_FUNCTION constexpr {row} {identifier(table.name)}({parameters})", "{"]
    kinds = [f.type for f in table.row.struct.fields]
    for keys, values in table.rows:
        condition = " && ".join(
            f"{identifier(name)} == {constant(Const(value, kind))}"
            for (name, kind), value in zip(table.keys, keys, strict=True)
        )
        result = ", ".join(constant(Const(v, t)) for v, t in zip(values, kinds, strict=True))
        found += [f"  if ({condition})", "  {", f"    return {{{result}}};", "  }"]
    default = ", ".join(constant(Const(v, t)) for v, t in zip(table.default, kinds, strict=True))
    return [*found, f"  return {{{default}}};", "}"]


def _broken(constraint: Constraint) -> Expr:
    """The condition under which a constraint applies, can be judged and does not hold."""
    parts: list[Expr] = [constraint.when, violation(constraint)]
    if constraint.unknown is not None:
        parts.append(fold_constants(Not(constraint.unknown)))
    return conjunction([p for p in parts if p != TRUE])


def _lets_for(lets: Iterable[Any], conditions: Iterable[Expr]) -> list[Any]:
    needed = {name for c in conditions for name in free_names(c)}
    found: list[Any] = []
    for let in reversed(list(lets)):
        if let.name in needed:
            found.insert(0, let)
            needed |= free_names(let.expr)
    return found


def _refuses(statements: tuple[Statement, ...]) -> bool:
    return any(
        isinstance(s, Refuse)
        or (isinstance(s, If) and any(_refuses(body) for _, body in s.branches))
        or (isinstance(s, While) and _refuses(s.body))
        for s in statements
    )


def _template(name: str) -> list[str]:
    return (data_dir("templates") / "cuda" / name).read_text(encoding="utf-8").rstrip("\n").split("\n")


def record_text(record: Mapping[str, Any], struct: Struct, name: str = "") -> str:
    """A record as a braced list of its fields."""
    parts = [
        record_text(record[f.name], f.type.struct)
        if isinstance(f.type, RecordType)
        else constant(Const(record[f.name], f.type))
        for f in struct.fields
    ]
    return f"{name}{{{', '.join(parts)}}}"


def value_text(value: Any, kind: Type) -> str:
    """A value of a key."""
    if isinstance(kind, RecordType):
        return record_text(value, kind.struct)
    if isinstance(kind, ListType):
        return f"{{{{{', '.join(value_text(v, kind.element) for v in value)}}}}}" if value else "{}"
    if isinstance(kind, BoolType):
        return "true" if value else "false"
    return constant(Const(value, kind))
