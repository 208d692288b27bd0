"""The generated Python module of one algorithm on one target: records, rules for any key, and a table in front."""

from __future__ import annotations

import hashlib

from attrs import frozen

from policygen.emit.python.expressions import PythonExpressions
from policygen.emit.python.expressions import identifier
from policygen.emit.python.for_types import for_types_lines
from policygen.emit.python.functions import selector_lines
from policygen.emit.python.functions import spec_functions
from policygen.emit.python.values import annotation
from policygen.emit.python.values import default_argument
from policygen.emit.python.values import docstring
from policygen.emit.python.values import domain_doc
from policygen.emit.python.values import domain_text
from policygen.emit.python.values import given_first
from policygen.emit.python.values import key_parameters
from policygen.emit.python.values import record_text
from policygen.emit.python.values import structs_of
from policygen.emit.python.values import value_text
from policygen.emit.python.values import without_lets
from policygen.emit.rows import row_reason
from policygen.emit.variants import Variant
from policygen.emit.variants import Variants
from policygen.emit.wrapping import wrapped_comment
from policygen.fold.table import Row
from policygen.lang.builtins import BUILTINS
from policygen.lang.intervals import Domains
from policygen.lang.tree import Const
from policygen.model.types import ListType
from policygen.model.types import RecordType
from policygen.model.types import Struct
from policygen.spec import KeyField

_RUNTIME = (
    *("NotApplicable", "Record", "check", "check_record", "element", "items_known", "operator_kind", "represented"),
)


@frozen
class Names:
    """What a module calls its functions and tables. Several tables of the engine share one module.

    Attributes:
        policy: the function that answers for a key.
        point: the function that says which point a policy comes from.
        apart: what sets the names of one table apart from those of another; empty where there is one.
        sized: whether callers may say how large the problem is.
    """

    policy: str = "policy"
    point: str = "point"
    apart: str = ""
    sized: bool = True

    def constant(self, name: str) -> str:
        """A constant of the table."""
        return f"_{self.apart.upper()}_{name}" if self.apart else f"_{name}"

    def function(self, name: str) -> str:
        """A function of the table that only the module calls."""
        return f"_{self.apart}_{name}" if self.apart else f"_{name}"

    @property
    def points(self) -> str:
        """The ids of the points."""
        return f"{self.apart.upper()}_POINTS" if self.apart else "POINTS"


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


def python_module(variants: Variants) -> PythonModule:
    """Prints the module of an algorithm."""
    algorithm = variants.algorithm
    body, whole_key = table_lines(variants, Names()), _TablePrinter(variants, Names()).whole_key()
    digest = digest_of(body)
    head = [
        f'"""{algorithm.title}: policies for {variants.title}."""',
        "",
        "from __future__ import annotations",
        "",
        *import_lines([*body, *whole_key]),
        "",
        f'SPEC_HASH = "{digest}"',
        f'ALGORITHM = "{algorithm.name}"',
    ]
    # it decides no policy
    return PythonModule(identifier(algorithm.name), (*head, *body, *whole_key), digest)


def table_lines(variants: Variants, names: Names) -> list[str]:
    """Prints what a module says of one algorithm or table: records, rules, common keys and the functions in front."""
    return _TablePrinter(variants, names).lines()


def digest_of(body: list[str]) -> str:
    """The hash of all that decides the policies of a module."""
    return hashlib.sha256("\n".join(body).encode()).hexdigest()[:16]


def import_lines(body: list[str]) -> list[str]:
    """Imports of what a module uses of the package's own support."""
    text = "\n".join(body)
    support = ["_fold", "_quotient", "_remainder", *(f"_{name}" for name in BUILTINS)]
    names = [name for name in (*_RUNTIME, *support) if f"{name}(" in text or f"({name})" in text]
    found = [f"from ._runtime import {name}" for name in sorted(names)]
    if "-> NoReturn:" in text:
        # for type checkers alone: typing takes long to import
        found += ["", "TYPE_CHECKING = False", "if TYPE_CHECKING:", "    from typing import NoReturn"]
    return found


class _TablePrinter:
    def __init__(self, variants: Variants, names: Names) -> None:
        self._variants = variants
        self._called = names
        self._programs = [variant.program for variant in variants.variants]
        self._algorithm = variants.algorithm
        self._key = [field for field in self._algorithm.key if names.sized or field.name != "num_items"]
        # the arguments of selection: what chooses an architecture of a family, then the key
        self._names = ["cc"] if variants.is_family else []
        self._names += [identifier(field.name) for field in self._key]

    def lines(self) -> list[str]:
        algorithm = self._algorithm
        body: list[str] = []
        body += self._enumerations()
        for struct in dict.fromkeys(s for program in self._programs for s in structs_of(program)):
            body += self._struct(struct)
        body += self._record_makers()
        body += self._points()
        body += spec_functions(self._programs)
        for variant in self._variants.variants:
            body += selector_lines(variant.program, f"{self._called.function('select')}{variant.suffix}")
        body += self._common()
        body += self._policy_function()
        body += self._whole_function()
        if algorithm.types:
            body += for_types_lines(algorithm, by_capability=self._variants.is_family)
        return body

    def _enumerations(self) -> list[str]:
        found = ["", *([""] if self._called.apart else []), "# What the fields of a key may hold."]
        for field in self._key:
            if field.element:
                found.append(f"_{identifier(field.name).upper()}: dict[str, object] = {{")
                found += [f"    {part.name!r}: {domain_text(part)}," for part in field.element]
                found.append("}")
        found.append(f"{self._called.constant('DOMAINS')}: dict[str, object] = {{")
        for field in self._key:
            if not field.element:
                found.append(f"    {identifier(field.name)!r}: {domain_text(field)},")
        return [*found, "}"]

    def _struct(self, struct: Struct) -> list[str]:
        found = ["", "", f"class {identifier(struct.name)}(Record):"]
        found += docstring(self._struct_doc(struct), "    ")
        found += ["", "    __slots__ = ()"]
        return found + [f"    {identifier(f.name)}: {annotation(f.type)}" for f in struct.fields]

    def _struct_doc(self, struct: Struct) -> list[str]:
        engine = self._algorithm.engine
        if engine is None or struct != self._algorithm.policy:
            docs = "; ".join(f"{f.name}: {f.doc}" for f in struct.fields if f.doc)
            return [f"CUB's {struct.name}.", *([docs] if docs else [])]
        units = {f.name: f" ({f.unit})" if f.unit else "" for f in struct.fields}
        fields = [f"    {identifier(f.name)}{units[f.name]}: {f.doc}." for f in struct.fields]
        return [f"{engine.returns[0].upper()}{engine.returns[1:]}.", "", "Attributes:", *fields]

    def _record_makers(self) -> list[str]:
        """For each key field that holds records, the function that makes one of a dictionary, with defaults."""
        found: list[str] = []
        for field in self._key:
            if not field.element:
                continue
            kind = field.type.element if isinstance(field.type, ListType) else field.type
            assert isinstance(kind, RecordType)
            record = identifier(kind.struct.name)
            parameters = [
                f"{p.name}: {annotation(p.type)}{'' if p.default is None else ' | None = None'}" for p in field.element
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
        found = ["", "", "# The points, in the order in which they are tried.", f"{self._called.points} = ("]
        return [*found, *(f"    {p.id!r}," for program in self._programs for p in program.points), ")"]

    def _common(self) -> list[str]:
        policy = identifier(self._algorithm.policy.name)
        found = ["", "", "# Common keys, in front of the rules. Each row says where it comes from."]
        found.append(f"{self._called.constant('COMMON')}: dict[object, {policy}] = {{")
        for variant, row in self._variants.rows:
            where = f"from {variant.cc // 10}.{variant.cc % 10}: " if variant.cc is not None else ""
            found += wrapped_comment(f"{where}{row_reason(row)}", "    ", "# ")
            found.append(f"    {self._row_key(variant, row)}: {record_text(row.policy, self._algorithm.policy)},")
        found.append("}")
        if self._variants.is_family:
            found += ["# The lowest architecture of each run that has the same rules.", "_ARCHITECTURES = ("]
            found += [f"    {variant.cc}," for variant in self._variants.variants]
            found.append(")")
        known, common = self._called.constant("KNOWN"), self._called.constant("COMMON")
        return [*found, f"{known}: dict[object, {policy}] = dict({common})  # and what was asked for since"]

    def _row_key(self, variant: Variant, row: Row) -> str:
        """The arguments as a caller writes them: what has a default is left to it."""
        parts = [] if variant.cc is None else [str(variant.cc)]
        for field in self._key:
            value = row.resolution.key[field.name] if field.name in row.given else default_argument(field)
            parts.append(value_text(value, field.type))
        return f"({', '.join(parts)})" if len(parts) != 1 else parts[0]

    def _parameters(self) -> list[str]:
        return key_parameters(self._key, with_capability=self._variants.is_family)

    def _policy_function(self) -> list[str]:
        policy, names = identifier(self._algorithm.policy.name), ", ".join(self._names)
        called, whole = self._called, self._called.function("whole")
        signature = [f"def {called.policy}(", "    *,", *(f"    {p}," for p in self._parameters()), f") -> {policy}:"]
        folded = ["    cc = represented(cc, _ARCHITECTURES)"] if self._variants.is_family else []
        tail = [
            *folded,
            "    try:",
            f"        return {called.constant('KNOWN')}[{names}]",
            "    except (KeyError, TypeError):  # not asked for yet, or a list in it",
            "        pass",
            f"    return {called.function('asked')}({names})",
        ]
        asked = [
            "",
            "",
            f"def {called.function('asked')}({names}) -> {policy}:  # type: ignore[no-untyped-def]",
            f"    found = {whole}({names})[0]",
            f"    known = {called.constant('KNOWN')}",
            f"    if len(known) >= len({called.constant('COMMON')}) + 4096:",
            "        known.clear()",
            f"        known.update({called.constant('COMMON')})",
            "    try:",
            f"        known[{names}] = found",
            "    except TypeError:  # a list in it",
            "        pass",
            "    return found",
        ]
        point = [
            "",
            "",
            f"def {called.point}(",
            "    *,",
            *(f"    {p}," for p in self._parameters()),
            ") -> str:",
            *docstring([f"The id of the point that a policy comes from; see `{called.policy}` for the key."], "    "),
            *folded,
            f"    return {called.points}[{whole}({names})[1]]",
        ]
        doc = docstring(self._policy_doc(), "    ")
        return ["", "", *signature, *doc, *tail, *asked, *point, *self._architecture_function()]

    def _policy_doc(self) -> list[str]:
        algorithm, policy = self._algorithm, identifier(self._algorithm.policy.name)
        if algorithm.engine is None:
            doc = [f"The policy for a key. Returns {policy} with CUB's field names.", "", "Args:"]
        else:
            doc = [f"{algorithm.title}.", "", "Args:"]
        if self._variants.is_family:
            listed = ", ".join(map(str, self._variants.architectures))
            doc.append(f"    cc: compute capability, 90 or '9.0' or 'sm_90'; one that is not listed ({listed}) has the")
            doc.append("        policies of the next lower one.")
        for field in self._key:
            unit = field.unit if algorithm.engine is not None else ""
            domain = ", ".join(part for part in (unit, domain_doc(field)) if part)
            doc.append(f"    {identifier(field.name)}: {field.doc}{f' ({domain})' if domain else ''}.")
        if algorithm.engine is not None:
            doc += ["", "Returns:", f"    {policy}: {algorithm.engine.returns}."]
        return [
            *doc,
            "",
            "Raises:",
            "    ValueError: a value outside its domain, or a key that no policy of the target works for.",
        ]

    def _architecture_function(self) -> list[str]:
        if not self._variants.is_family:
            return []
        doc = "The architecture whose rules answer for a capability: the lowest that has them. Raises ValueError."
        return [
            "",
            "",
            "def architecture(cc: int | str) -> int:",
            f'    """{doc}"""',
            "    return represented(cc, _ARCHITECTURES)",
        ]

    def _whole_function(self) -> list[str]:
        """Defaults, checks, selection."""
        algorithm = self._algorithm
        policy = identifier(algorithm.policy.name)
        names = ", ".join(self._names)
        whole = self._called.function("whole")
        found = ["", "", f"def {whole}({names}) -> tuple[{policy}, int]:  # type: ignore[no-untyped-def]"]
        return [*found, *self._completed(), *self._selected()]

    def _completed(self) -> list[str]:
        """Fills in what is left out of a key, and checks it."""
        algorithm = self._algorithm
        found = ["    num_items = items_known(num_items)"] if self._called.sized else []
        expressions = PythonExpressions({}, algorithm.domains)
        for field in given_first(algorithm):
            if field.name == "num_items":
                continue
            name = identifier(field.name)
            derived = field.default is not None and not isinstance(field.default, Const)
            if derived:
                found += [
                    f"    if {name} is None:",
                    f"        {name} = {expressions.text(without_lets(algorithm, field.default))}",
                ]
            found += self._check(field, name)
        return found

    def whole_key(self) -> list[str]:
        """The record of a whole key, and the function that makes one."""
        fields = self._algorithm.key
        found = ["", "", "class Key(Record):", '    """A whole key: what was given, and what follows from it."""', ""]
        found += ["    __slots__ = ()", *(f"    {identifier(f.name)}: {annotation(f.type)}" for f in fields)]
        names = ", ".join(identifier(f.name) for f in fields)
        found += ["", "", f"def _completed({names}):  # type: ignore[no-untyped-def]", *self._completed()]
        found += [f"    return Key({names})", "", "", "def whole_key("]
        found += [
            "    *,",
            *(f"    {p}," for p in key_parameters(self._algorithm.key, with_capability=False)),
            ") -> Key:",
        ]
        doc = ["The key with its defaults; see `policy` for arguments and errors. A num_items of -1 is unknown."]
        return [
            *found,
            *docstring(doc, "    "),
            f"    return _completed({names})  # type: ignore[no-any-return,no-untyped-call]",
        ]

    def _selected(self) -> list[str]:
        """Calls the selector; that of a family's architecture numbers its own points."""
        select = self._called.function("select")
        # a table of the engine has sizes of its own among its keys
        names = ", ".join(identifier(f.name) if f in self._key else "-1" for f in self._algorithm.key)
        if not self._variants.is_family:
            return [f"    return {select}({names})"]
        found: list[str] = []
        first = 0
        for variant in self._variants.variants:
            found += [f"    if cc == {variant.cc}:", f"        policy_, number = {select}{variant.suffix}({names})"]
            found.append(f"        return policy_, number + {first}")
            first += len(variant.program.points)
        return [*found, "    raise AssertionError(cc)"]

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
        return [f'    check("{name}", {name}, {self._called.constant("DOMAINS")}["{name}"])']
