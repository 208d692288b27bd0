"""The standalone header of one algorithm on one target: types, rules for any key, checked rows of common keys."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from collections.abc import Sequence
from typing import Any

from attrs import frozen

from policygen.emit.called import called_functions
from policygen.emit.called import called_tables
from policygen.emit.called import expressions_of
from policygen.emit.cpp.declarations import function_lines
from policygen.emit.cpp.declarations import key_lines
from policygen.emit.cpp.declarations import key_type
from policygen.emit.cpp.declarations import record_text
from policygen.emit.cpp.declarations import struct_lines
from policygen.emit.cpp.declarations import table_lines
from policygen.emit.cpp.declarations import template_head
from policygen.emit.cpp.declarations import validity_lines
from policygen.emit.cpp.declarations import value_text
from policygen.emit.cpp.expressions import identifier
from policygen.emit.cpp.select_for import defaults_beside_types
from policygen.emit.cpp.select_for import select_for
from policygen.emit.cpp.statements import CppStatements
from policygen.emit.cpp.support import with_needs
from policygen.emit.python.values import structs_of
from policygen.emit.rows import row_reason
from policygen.emit.statements import CANDIDATE
from policygen.emit.statements import Define
from policygen.emit.statements import If
from policygen.emit.statements import Program
from policygen.emit.statements import violation
from policygen.emit.variants import Variants
from policygen.emit.wrapping import wrapped_comment
from policygen.fold.table import Row
from policygen.lang.simplify import fold_constants
from policygen.lang.tree import TRUE
from policygen.lang.tree import Call
from policygen.lang.tree import Expr
from policygen.lang.tree import Not
from policygen.lang.tree import conjunction
from policygen.lang.tree import free_names
from policygen.lang.tree import walk
from policygen.loading.package_data import data_dir
from policygen.model.types import Enumeration
from policygen.model.types import EnumType
from policygen.model.types import ListType
from policygen.model.types import RecordType
from policygen.model.types import Struct
from policygen.model.types import Type
from policygen.resolve.specialise import Rules
from policygen.resolve.specialise import thread_counts
from policygen.spec import Algorithm
from policygen.spec import Constraint
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
    inline_namespace: str
    guard: str
    definitions: tuple[SharedDefinition, ...]
    body: tuple[str, ...]


def cpp_header(variants: Variants, vocabulary: Vocabulary) -> CppHeader:
    """Prints a header."""
    return _HeaderPrinter(variants, vocabulary).run()


class _HeaderPrinter:
    def __init__(self, variants: Variants, vocabulary: Vocabulary) -> None:
        self._variants = variants
        self._algorithm = variants.algorithm
        self._vocabulary = vocabulary
        self._programs = [variant.program for variant in variants.variants]
        self._key = key_type(self._algorithm)
        self._head = template_head(self._algorithm)
        # what chooses among the variants of a family, as parameter and as argument
        self._parameter = ", compute_capability cc" if variants.is_family else ""
        self._argument = ", cc" if variants.is_family else ""

    def run(self) -> CppHeader:
        name, target = identifier(self._algorithm.name), identifier(self._variants.target)
        listed = "_".join(map(str, self._variants.architectures))
        return CppHeader(
            name=name,
            namespace=f"policygen::{target}::{name}",
            inline_namespace=f"archs_{listed}" if listed else "",
            guard=f"POLICYGEN_{target}_TUNING_{name}_CUH".upper(),
            definitions=tuple(self._shared()),
            body=tuple(self._body()),
        )

    def _structs(self) -> tuple[Struct, ...]:
        return tuple(dict.fromkeys(struct for program in self._programs for struct in structs_of(program)))

    def _body(self) -> list[str]:
        roots = {p.rules.algorithm.policy.name for program in self._programs for _, p in program.uses}
        taken = set(self._vocabulary.structs) | roots | {self._algorithm.policy.name}
        found: list[str] = []
        for struct in self._structs():
            if struct.name not in taken:
                found += ["", *struct_lines(struct, struct.name)]
        for variant in self._variants.variants:
            for name, used in variant.program.uses:
                space = f"{identifier(name)}{variant.suffix}"
                found += ["", f"namespace {space}", "{", *_used(used), f"}} // namespace {space}"]
        found += _declarations(self._algorithm)
        found += ["", "namespace detail", "{", *self._detail(), "} // namespace detail"]
        found += self._select()
        found += self._point()
        found += self._fits()
        if self._algorithm.types:
            found += select_for(self._algorithm, self._key, self._parameter, self._argument)
        return found + self._rows()

    def _detail(self) -> list[str]:
        found = _functions(self._programs, [self._beside(program) for program in self._programs])
        found += [*validity_lines(self._algorithm), "", *_RESOLUTION]
        first = 0
        for variant in self._variants.variants:
            found += ["", *_resolve(variant.program, variant.suffix, first)]
            first += len(variant.program.points)
        if not self._variants.is_family:
            return found
        found += [
            "",
            "// An architecture that is not listed has the policies of the next lower one: it runs those kernels.",
        ]
        found += [
            *self._head,
            f"POLICYGEN_FUNCTION constexpr resolution resolve(const {self._key}& k{self._parameter})",
        ]
        found.append("{")
        for variant in reversed(self._variants.variants):
            found += [f"  if (cc.value >= {variant.cc})", "  {", f"    return resolve{variant.suffix}(k);", "  }"]
        lowest = self._variants.architectures[0]
        reason = f"the architecture is below {lowest // 10}.{lowest % 10}, the lowest of this header"
        found.append(f'  support::refuse("{reason}");')
        return [*found, "  return {policy{}, -1};", "}"]

    def _beside(self, program: Program) -> tuple[Expr, ...]:
        """What a header evaluates beside the selection: constraints, and the defaults that select_for fills in."""
        exprs: list[Expr] = []
        if not self._variants.is_family:
            rules = program.rules
            exprs = [_broken(c) for c in _judged(rules)]
            exprs += [let.expr for let in _lets_for(rules.lets, exprs)]
        return (*exprs, *(default for _, default in defaults_beside_types(self._algorithm)))

    def _shared(self) -> Iterable[SharedDefinition]:
        for enumeration in self._enumerations():
            lines = [f"enum class {identifier(enumeration.name)}", "{"]
            lines += [f"  {identifier(name)}," for name in enumeration.names]
            yield SharedDefinition(enumeration.name, "policygen", (*lines, "};"))
        if any(isinstance(f.type, ListType) for f in self._algorithm.key):
            yield SharedDefinition("list", "policygen", tuple(_template("list.cuh")))
        for struct in self._structs():
            if struct.name in self._vocabulary.structs:
                yield SharedDefinition(struct.name, "policygen", tuple(struct_lines(struct, struct.name)))
        for function in with_needs(self._support()):
            yield SharedDefinition(function.name, "policygen::support", function.lines)
        if self._variants.is_family:
            yield SharedDefinition("compute_capability", "policygen", tuple(_template("compute_capability.cuh")))
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
        used = [program.rules.algorithm for own in self._programs for _, program in own.uses]
        for algorithm in (self._algorithm, *used):
            for field in algorithm.key:
                add(field.type)
        for struct in self._structs():
            add(RecordType(struct))
        return list(found.values())

    def _support(self) -> set[str]:
        found = {"refuse"}
        programs = [*self._programs, *(used for program in self._programs for _, used in program.uses)]
        for program in programs:
            more = self._beside(program) if program in self._programs else ()
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
        return found - {""}

    def _select(self) -> list[str]:
        return [
            "",
            "// The policy for a key. A key outside the declared domains, or without a policy, stops the program;",
            "// in a constant expression, the compilation.",
            *self._head,
            f"POLICYGEN_FUNCTION constexpr policy select(const {self._key}& k{self._parameter})",
            "{",
            f"  return detail::resolve(k{self._argument}).p;",
            "}",
        ]

    def _point(self) -> list[str]:
        # a function and not an array: device code cannot read an array of pointers at namespace scope
        ids = [point.id for program in self._programs for point in program.points]
        found = ["", "// Ids of the points, in the order in which they are tried."]
        found += ["POLICYGEN_FUNCTION constexpr const char* point_id(int number)", "{", "  switch (number)", "  {"]
        for number, point in enumerate(ids):
            found += [f"    case {number}:", f'      return "{point}";']
        found += ["    default:", '      return "";', "  }", "}"]
        found += ["", "// Id of the point that a key's policy comes from.", *self._head]
        found.append(f"POLICYGEN_FUNCTION constexpr const char* point(const {self._key}& k{self._parameter})")
        return [*found, "{", f"  return point_id(detail::resolve(k{self._argument}).point);", "}"]

    def _fits(self) -> list[str]:
        """The constraints, restated; a family has none of its own, since limits are those of an architecture."""
        rules, algorithm = self._programs[0].rules, self._algorithm
        if self._variants.is_family or not (rules.constraints or rules.fit):
            return []
        printer = CppStatements(_names(algorithm), algorithm.policy, {})
        judged = _judged(rules)
        broken = [_broken(c) for c in judged]
        lets = [Define(let.name, let.expr) for let in _lets_for(rules.lets, broken)]
        found = ["", "// Whether a policy keeps the constraints of the target for a key."]
        if not rules.constraints:
            found[-1] += " Upstream's own policies need not."
        found += [*self._head]
        found.append(
            f"POLICYGEN_FUNCTION constexpr bool fits([[maybe_unused]] const {self._key}& k, "
            "[[maybe_unused]] const policy& p)"
        )
        found += ["{", *printer.lines(tuple(lets), 1)]
        if rules.granule is not None:
            points = self._programs[0].points
            for path in dict.fromkeys(threads for p in points for threads, _, _ in thread_counts(p.policy)):
                found.append(f"  if (p.{'.'.join(map(identifier, path))} % {rules.granule.threads} != 0)")
                found += ["  {", "    return false;", "  }"]
        for constraint, condition in zip(judged, broken, strict=True):
            found += wrapped_comment(f"{constraint.id}: {constraint.source}", "  ", "// ")
            found += printer.lines((If(((condition, ()),)),), 1)[:-2]
            found += ["  {", "    return false;", "  }"]
        return [*found, "  return true;", "}"]

    def _rows(self) -> list[str]:
        enforced = bool(self._programs[0].rules.constraints)
        fits = " && fits(k, p)" if enforced else ""
        what = "what select answers, and that it fits" if enforced else "what select answers"
        found = ["", "namespace detail", "{", *self._head]
        found.append(f"POLICYGEN_FUNCTION constexpr bool holds(const {self._key}& k{self._parameter}, const policy& p)")
        found += ["{", f"  return select(k{self._argument}) == p{fits};", "}", "} // namespace detail"]
        found += ["", f"// Common keys, each checked by the compiler: {what}."]
        for variant, row in self._variants.rows:
            where = f"from {variant.cc // 10}.{variant.cc % 10}: " if variant.cc is not None else ""
            found += wrapped_comment(f"{where}{row_reason(row)}", "", "// ")
            policy = record_text(row.policy, self._algorithm.policy, "policy")
            cc = f", compute_capability{{{variant.cc}}}" if variant.cc is not None else ""
            found.append(f"static_assert(detail::holds({self._row_key(row)}{cc}, {policy}));")
        return found

    def _row_key(self, row: Row) -> str:
        values = [value_text(row.resolution.key[f.name], f.type) for f in self._algorithm.key]
        length = next(
            (len(row.resolution.key[f.name]) for f in self._algorithm.key if isinstance(f.type, ListType)), None
        )
        kind = "key" if length is None else f"key<{length}>"
        return f"{kind}{{{', '.join(values)}}}"


_RESOLUTION = ("struct resolution", "{", "  policy p;", "  int point;", "};")


def _declarations(algorithm: Algorithm) -> list[str]:
    """The policy struct and the key."""
    found = ["", *struct_lines(algorithm.policy, "policy"), "", f"using {identifier(algorithm.policy.name)} = policy;"]
    return [*found, "", *key_lines(algorithm)]


def _functions(programs: Sequence[Program], beside: Sequence[tuple[Expr, ...]]) -> list[str]:
    """The tables and functions of the spec that some programs call; the same name means the same in all of them."""
    tables = {t.name: t for p, more in zip(programs, beside, strict=True) for t in called_tables(p, more)}
    functions = {f.name: f for p, more in zip(programs, beside, strict=True) for f in called_functions(p, more)}
    found: list[str] = []
    for table in tables.values():
        found += [*table_lines(table), ""]
    for function in functions.values():
        found += [*function_lines(function), ""]
    return found


def _used(program: Program) -> list[str]:
    """A used algorithm, in a namespace of its own: just what selects its policy."""
    algorithm = program.rules.algorithm
    found = [*_declarations(algorithm), "", "namespace detail", "{"]
    found += [*_functions([program], [()]), *validity_lines(algorithm), "", *_RESOLUTION, "", *_resolve(program, "", 0)]
    found += ["} // namespace detail", "", *template_head(algorithm)]
    found.append(f"POLICYGEN_FUNCTION constexpr policy select(const {key_type(algorithm)}& k)")
    return [*found, "{", "  return detail::resolve(k).p;", "}"]


def _judged(rules: Rules) -> list[Constraint]:
    """The constraints that must hold, enforced or only judged."""
    return [c for c in rules.constraints or rules.fit if c.otherwise is Otherwise.ERROR]


def _names(algorithm: Algorithm) -> dict[str, str]:
    names = {CANDIDATE.id: CANDIDATE.id} | {f.name: f"k.{identifier(f.name)}" for f in algorithm.key}
    names |= {f.name: f"p.{identifier(f.name)}" for f in algorithm.policy.fields}
    return names


def _resolve(program: Program, suffix: str, first: int) -> list[str]:
    """The selection; `first` is the number of the program's first point among those of the file."""
    algorithm = program.rules.algorithm
    used_key = {
        used.rules.algorithm.name: tuple((f.name, f.type) for f in used.rules.algorithm.key) for _, used in program.uses
    }
    printer = CppStatements(_names(algorithm), algorithm.policy, used_key, suffix)
    found = [*template_head(algorithm)]
    found.append(f"POLICYGEN_FUNCTION constexpr resolution resolve{suffix}(const {key_type(algorithm)}& k)")
    found += [
        "{",
        "  if (!is_valid(k))",
        "  {",
        '    support::refuse("the key is outside the declared domains");',
        "  }",
    ]
    found += ["  policy p{};", "  int point = -1;"]
    found += printer.lines(program.statements, 1)
    return [*found, f"  return {{p, point + {first}}};" if first else "  return {p, point};", "}"]


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


def _template(name: str) -> list[str]:
    return (data_dir("templates") / "cuda" / name).read_text(encoding="utf-8").rstrip("\n").split("\n")
