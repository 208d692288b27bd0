"""Expressions in C++17: constant expressions on `int` and `std::int64_t`, without a narrowing or a sign conversion."""

from __future__ import annotations

from collections.abc import Mapping

from policygen.lang.builtins import BUILTINS
from policygen.lang.tree import Apply
from policygen.lang.tree import Arith
from policygen.lang.tree import Call
from policygen.lang.tree import Choose
from policygen.lang.tree import Compare
from policygen.lang.tree import Const
from policygen.lang.tree import Expr
from policygen.lang.tree import Field
from policygen.lang.tree import Fold
from policygen.lang.tree import Logic
from policygen.lang.tree import Lookup
from policygen.lang.tree import Member
from policygen.lang.tree import Name
from policygen.lang.tree import Negate
from policygen.lang.tree import Not
from policygen.lang.tree import Quantifier
from policygen.lang.tree import free_names
from policygen.model.types import INT32
from policygen.model.types import INT64
from policygen.model.types import SCALING_RESULT
from policygen.model.types import BoolType
from policygen.model.types import EnumType
from policygen.model.types import IntType
from policygen.model.types import ListType
from policygen.model.types import RecordType
from policygen.model.types import Type
from policygen.model.types import VersionType

_PRECEDENCE = {"*": 10, "//": 10, "%": 10, "+": 9, "-": 9, "compare": 7, "and": 3, "or": 2, "choose": 1}
_SPELLED = {"//": "/", "and": "&&", "or": "||"}
_ATOM = 20
_SIGNED = 11
"""A minus sign in front: below the operand of another, since `--` is an operator of its own."""

_TAKEN = frozenset(("N", "detail", "k", "key", "list", "p", "point", "policy", "std", "support"))
_INT32_ONLY = frozenset(name for name, b in BUILTINS.items() if name != "int32" and b.result in (INT32, SCALING_RESULT))

KEYWORDS = frozenset(
    [
        "alignas",
        "alignof",
        "and",
        "and_eq",
        "asm",
        "auto",
        "bitand",
        "bitor",
        "bool",
        "break",
        "case",
        "catch",
        "char",
        "char16_t",
        "char32_t",
        "char8_t",
        "class",
        "compl",
        "concept",
        "const",
        "const_cast",
        "consteval",
        "constexpr",
        "constinit",
        "continue",
        "co_await",
        "co_return",
        "co_yield",
        "decltype",
        "default",
        "delete",
        "do",
        "double",
        "dynamic_cast",
        "else",
        "enum",
        "explicit",
        "export",
        "extern",
        "false",
        "float",
        "for",
        "friend",
        "goto",
        "if",
        "inline",
        "int",
        "long",
        "mutable",
        "namespace",
        "new",
        "noexcept",
        "not",
        "not_eq",
        "nullptr",
        "operator",
        "or",
        "or_eq",
        "private",
        "protected",
        "public",
        "register",
        "reinterpret_cast",
        "requires",
        "return",
        "short",
        "signed",
        "sizeof",
        "static",
        "static_assert",
        "static_cast",
        "struct",
        "switch",
        "template",
        "this",
        "thread_local",
        "throw",
        "true",
        "try",
        "typedef",
        "typeid",
        "typename",
        "union",
        "unsigned",
        "using",
        "virtual",
        "void",
        "volatile",
        "wchar_t",
        "while",
        "xor",
        "xor_eq",
    ]
)


def identifier(name: str) -> str:
    """A name as C++ takes it: without leading underscores, and with `_each` after the keyword `for`."""
    name = name.lstrip("_")
    if name == "for":
        return "for_each"
    return f"{name}_" if name in KEYWORDS else name


def local(name: str) -> str:
    """The spelling of a local variable or a parameter: no name that headers use for their own."""
    name = identifier(name)
    return f"{name}_" if name in _TAKEN else name


def type_name(kind: Type) -> str:
    """The C++ type."""
    match kind:
        case IntType(bits=64):
            return "std::int64_t"
        case IntType(unsigned=True):
            return "unsigned int"
        case IntType() | VersionType():
            return "int"
        case BoolType():
            return "bool"
        case EnumType(enumeration):
            return identifier(enumeration.name)
        case RecordType(struct):
            return "support::scaling_result" if struct.name == "ScalingResult" else identifier(struct.name)
        case ListType(element=element):
            return f"list of {element}"


class CppExpressions:
    """Prints expressions. `names` gives the spelling of free names; any other is a local of the same name."""

    def __init__(self, names: Mapping[str, str], prefix: str = "detail::") -> None:
        self._names = names
        self._prefix = prefix

    def text(self, expr: Expr) -> str:
        """The expression, to stand where any expression may."""
        return self._print(expr)[0]

    def converted(self, expr: Expr, kind: Type) -> str:
        """The expression as a value of a type, for a place where C++ does not convert by itself."""
        if isinstance(kind, IntType) and (kind.unsigned or (kind == INT32 and expr.type != INT32)):
            text = constant(expr) if isinstance(expr, Const) else self.text(expr)
            return f"static_cast<{type_name(kind)}>({text})"
        return self.text(expr)

    def _exact(self, expr: Expr, kind: Type, least: int) -> str:
        """An operand of 64 bits where the type has them."""
        if _is_wide(kind) and not _prints_wide(expr):
            return f"static_cast<std::int64_t>({self.text(expr)})"
        return self._operand(expr, least)

    def _operand(self, expr: Expr, least: int) -> str:
        text, precedence = self._print(expr)
        return text if precedence >= least else f"({text})"

    def _print(self, expr: Expr) -> tuple[str, int]:
        match expr:
            case Const():
                text = constant(Const(expr.value, INT64) if _is_wide(expr.type) else expr)
                return text, _SIGNED if text.startswith("-") else _ATOM
            case Name():
                return _signed(self._names.get(expr.id, local(expr.id)), expr.type), _ATOM
            case Field():
                return _signed(f"{self._operand(expr.base, _ATOM)}.{identifier(expr.name)}", expr.type), _ATOM
            case Not():
                return f"!{self._operand(expr.operand, 12)}", 12
            case Negate():
                return f"-{self._exact(expr.operand, expr.type, 12)}", _SIGNED
            case Arith():
                precedence = _PRECEDENCE[expr.op]
                # one operand of 64 bits is enough for C++ to compute in 64 bits
                kind = INT32 if _prints_wide(expr.right) else expr.type
                left, right = self._exact(expr.left, kind, precedence), self._operand(expr.right, precedence + 1)
                return f"{left} {_SPELLED.get(expr.op, expr.op)} {right}", precedence
            case Compare():
                precedence = _PRECEDENCE["compare"]
                return f"{self._operand(expr.left, 9)} {expr.op} {self._operand(expr.right, 9)}", precedence
            case Member():
                return self._member(expr)
            case Logic():
                # parenthesised unless alike, since compilers warn of && within ||
                parts = [self._operand(e, 4) for e in expr.operands]
                return f" {_SPELLED[expr.op]} ".join(parts), _PRECEDENCE[expr.op]
            case Choose():
                kind = INT32 if _prints_wide(expr.otherwise) else expr.type
                condition, then = self._operand(expr.condition, 2), self._exact(expr.then, kind, 2)
                return f"{condition} ? {then} : {self._operand(expr.otherwise, 2)}", _PRECEDENCE["choose"]
            case Call():
                return self._call(expr), _ATOM
            case Apply():
                args = ", ".join(
                    self._argument(a, t) for a, (_, t) in zip(expr.args, expr.function.parameters, strict=True)
                )
                return f"{self._prefix}{identifier(expr.function.name)}({args})", _ATOM
            case Lookup():
                args = ", ".join(self._argument(a, t) for a, (_, t) in zip(expr.args, expr.table.keys, strict=True))
                return f"{self._prefix}{identifier(expr.table.name)}({args})", _ATOM
            case Quantifier():
                return self._quantifier(expr), _ATOM
            case Fold():
                return self._fold(expr), _ATOM

    def _argument(self, expr: Expr, kind: Type) -> str:
        return self.converted(expr, kind)

    def _member(self, expr: Member) -> tuple[str, int]:
        operand = self._operand(expr.operand, 9)
        parts = [f"{operand} == {self._operand(Const(value, expr.operand.type), 9)}" for value in expr.values]
        return (" || ".join(parts), _PRECEDENCE["or"]) if len(parts) > 1 else (parts[0], _PRECEDENCE["compare"])

    def _call(self, expr: Call) -> str:
        if expr.function == "len":
            return f"{self._operand(expr.args[0], _ATOM)}.size()"
        if expr.function in ("int32", "int64"):
            return f"static_cast<{type_name(expr.type)}>({self.text(expr.args[0])})"
        if expr.function in _INT32_ONLY:
            return f"support::{expr.function}({', '.join(self.converted(a, INT32) for a in expr.args)})"
        args = [self.text(a) for a in expr.args]
        name = {"min": "least", "max": "greatest"}.get(expr.function, expr.function)
        # named and not deduced, since operands may be of 32 and 64 bits, or `long long` where std::int64_t is `long`
        name += "<std::int64_t>" if any(_is_wide(e.type) for e in (expr, *expr.args)) else ""
        if expr.function in ("min", "max"):
            text = args[0]
            for arg in args[1:]:
                text = f"support::{name}({text}, {arg})"
            return text
        return f"support::{name}({', '.join(args)})"

    def _loop(self, expr: Quantifier | Fold, result: str, start: str, used: frozenset[str], body: str) -> str:
        element = f"{_maybe_unused(expr.variable, used)}const auto& {local(expr.variable)}"
        loop = f"for ({element} : {self.text(expr.over)}) {{ {body} }}"
        return f"[&] {{ {type_name(expr.type)} {result} = {start}; {loop} return {result}; }}()"

    def _quantifier(self, expr: Quantifier) -> str:
        used = free_names(expr.body) | (frozenset() if expr.condition is None else free_names(expr.condition))
        result = _result(free_names(expr) | used | {expr.variable})
        body = self.text(expr.body)
        guard = "" if expr.condition is None else f"if ({self.text(expr.condition)}) "
        match expr.kind:
            case "all":
                start, step = "true", f"{result} = {result} && ({body});"
            case "any":
                start, step = "false", f"{result} = {result} || ({body});"
            case "sum":
                start, step = "0", f"{result} += {body};"
            case _:
                assert expr.start is not None
                name = {"min": "least", "max": "greatest"}[expr.kind] + (
                    "<std::int64_t>" if _is_wide(expr.type) else ""
                )
                start = self.text(expr.start)
                step = f"{result} = support::{name}({result}, {body});"
        return self._loop(expr, result, start, used, f"{guard}{step}")

    def _fold(self, expr: Fold) -> str:
        used = free_names(expr.body)
        result = _result(free_names(expr) | used | {expr.variable, expr.accumulator})
        total = f"{_maybe_unused(expr.accumulator, used)}const auto {local(expr.accumulator)} = {result};"
        return self._loop(expr, result, self.text(expr.start), used, f"{total} {result} = {self.text(expr.body)};")


def _result(used: frozenset[str]) -> str:
    # no name of a spec is printed with a leading underscore
    return "_result" if "result" in used else "result"


def _maybe_unused(name: str, used: frozenset[str]) -> str:
    return "" if name in used else "[[maybe_unused]] "


def _is_wide(kind: Type) -> bool:
    """Whether integers of a type are computed in 64 bits: a stored uint32 is, too."""
    return isinstance(kind, IntType) and kind != INT32


def _prints_wide(expr: Expr) -> bool:
    """Whether the C++ text of an expression has 64 bits; small literals are plain `int`."""
    if isinstance(expr, Const):
        return _is_wide(expr.type) and not INT32.low <= int(expr.value) <= INT32.high
    return _is_wide(expr.type)


def _signed(text: str, kind: Type) -> str:
    return f"static_cast<std::int64_t>({text})" if isinstance(kind, IntType) and kind.unsigned else text


def constant(const: Const) -> str:
    """A literal of C++."""
    value, kind = const.value, const.type
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(kind, EnumType):
        return f"{identifier(kind.enumeration.name)}::{identifier(str(value))}"
    assert isinstance(value, int)
    return f"{value}u" if isinstance(kind, IntType) and kind.unsigned else _integer(value)


def _integer(value: int) -> str:
    if value in (-(2**31), -(2**63)):  # the literal without its sign does not fit the type
        return f"({value + 1}{'LL' if value < -(2**31) else ''} - 1)"
    return f"{value}" if -(2**31) < value < 2**31 else f"{value}LL"
