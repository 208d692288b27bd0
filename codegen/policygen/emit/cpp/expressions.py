"""Expressions in C++17: constant expressions on `int` and `std::int64_t`, without a narrowing or a sign conversion."""

from __future__ import annotations

from collections.abc import Mapping

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
from policygen.model.types import INT32
from policygen.model.types import INT64
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
        if isinstance(kind, IntType) and (kind.unsigned or (kind.bits == 32 and expr.type == INT64)):
            return f"static_cast<{type_name(kind)}>({self.text(expr)})"
        return self.text(expr)

    def _operand(self, expr: Expr, least: int) -> str:
        text, precedence = self._print(expr)
        return text if precedence >= least else f"({text})"

    def _print(self, expr: Expr) -> tuple[str, int]:
        match expr:
            case Const():
                return constant(expr), _ATOM
            case Name():
                return self._names.get(expr.id, identifier(expr.id)), _ATOM
            case Field():
                return f"{self._operand(expr.base, _ATOM)}.{identifier(expr.name)}", _ATOM
            case Not():
                return f"!{self._operand(expr.operand, 12)}", 12
            case Negate():
                return f"-{self._operand(expr.operand, 12)}", 12
            case Arith():
                precedence = _PRECEDENCE[expr.op]
                left = self._widened(expr.left, expr.right, precedence)
                right = self._widened(expr.right, expr.left, precedence + 1)
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
                condition, then = self._operand(expr.condition, 2), self._branch(expr.then, expr.type)
                return f"{condition} ? {then} : {self._branch(expr.otherwise, expr.type)}", _PRECEDENCE["choose"]
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

    def _widened(self, expr: Expr, other: Expr, least: int) -> str:
        """An operand; a constant of 64 bits is written as one where nothing else makes the operation one of 64 bits."""
        alone = isinstance(other, Const) or other.type != INT64
        if isinstance(expr, Const) and expr.type == INT64 and alone:
            return f"static_cast<std::int64_t>({constant(expr)})"
        return self._operand(expr, least)

    def _branch(self, expr: Expr, kind: Type) -> str:
        """An operand that must have exactly this type: of ?: or of a support template."""
        if kind == INT64 and (expr.type == INT32 or isinstance(expr, Const)):
            return f"static_cast<std::int64_t>({self.text(expr)})"
        return self._operand(expr, 2)

    def _argument(self, expr: Expr, kind: Type) -> str:
        return self.converted(expr, kind)

    def _member(self, expr: Member) -> tuple[str, int]:
        operand = self._operand(expr.operand, 9)
        parts = [f"{operand} == {constant(Const(value, expr.operand.type))}" for value in expr.values]
        return (" || ".join(parts), _PRECEDENCE["or"]) if len(parts) > 1 else (parts[0], _PRECEDENCE["compare"])

    def _call(self, expr: Call) -> str:
        if expr.function == "len":
            return f"{self._operand(expr.args[0], _ATOM)}.size()"
        if expr.function in ("int32", "int64"):
            return f"static_cast<{type_name(expr.type)}>({self.text(expr.args[0])})"
        wide = any(a.type == INT64 for a in expr.args)
        args = [self._branch(a, INT64 if wide else INT32) if wide else self.text(a) for a in expr.args]
        name = {"min": "least", "max": "greatest"}.get(expr.function, expr.function)
        if expr.function in ("min", "max"):
            text = args[0]
            for arg in args[1:]:
                text = f"support::{name}({text}, {arg})"
            return text
        return f"support::{name}({', '.join(args)})"

    def _loop(self, over: Expr, result: str, start: str, variable: str, body: str) -> str:
        name = identifier(variable)
        loop = f"for (const auto& {name} : {self.text(over)}) {{ {body} }}"
        return f"[&] {{ {result} result = {start}; {loop} return result; }}()"

    def _quantifier(self, expr: Quantifier) -> str:
        body = self.text(expr.body)
        guard = "" if expr.condition is None else f"if ({self.text(expr.condition)}) "
        result = type_name(expr.type)
        match expr.kind:
            case "all":
                start, step = "true", f"result = result && ({body});"
            case "any":
                start, step = "false", f"result = result || ({body});"
            case "sum":
                start, step = "0", f"result += {body};"
            case _:
                assert expr.start is not None
                name = {"min": "least", "max": "greatest"}[expr.kind]
                start = self.text(expr.start)
                step = f"result = support::{name}(result, {self._branch(expr.body, expr.type)});"
        return self._loop(expr.over, result, start, expr.variable, f"{guard}{step}")

    def _fold(self, expr: Fold) -> str:
        accumulator = identifier(expr.accumulator)
        body = f"const auto {accumulator} = result; result = {self.text(expr.body)};"
        return self._loop(expr.over, type_name(expr.type), self.text(expr.start), expr.variable, body)


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
