"""From text to a typed tree.

The text is a closed subset of Python's expression syntax, read with `ast` and never executed. Quoted strings are
enumerators or versions, typed by what they are compared with or assigned to.
"""

from __future__ import annotations

import ast

from attrs import frozen

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
from policygen.lang.tree import Scope
from policygen.lang.tree import conjunction
from policygen.model.problems import did_you_mean
from policygen.model.types import BOOL
from policygen.model.types import INT32
from policygen.model.types import INT64
from policygen.model.types import INT64_MAX
from policygen.model.types import BoolType
from policygen.model.types import EnumType
from policygen.model.types import IntType
from policygen.model.types import ListType
from policygen.model.types import RecordType
from policygen.model.types import Scalar
from policygen.model.types import Type
from policygen.model.types import VersionType

_ARITHMETIC = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%"}
_COMPARISONS = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_QUANTIFIERS = ("all", "any", "sum", "min", "max")
LANGUAGE_WORDS = frozenset((*BUILTINS, *_QUANTIFIERS, "fold", "len"))
"""Names that the language has for itself; a spec gives none of its own that name."""
_MOST_LEVELS = 100
"""Far beyond any rule, far within what Python's recursion and a C++ compiler's brackets take."""
_TOO_DEEP = f"nested more than {_MOST_LEVELS} levels deep; name parts of it with let"
_MOST_QUOTED = 120


class ExpressionError(Exception):
    """The text is not an expression of the language; the message says what was expected.

    `unknown` is the name that nothing defines, where that is what is wrong.
    """

    def __init__(self, message: str, unknown: str = "") -> None:
        super().__init__(message)
        self.unknown = unknown


@frozen
class _Quoted:
    """The type of a quoted string before its place gives it one."""

    def __str__(self) -> str:
        return "a quoted name"


_QUOTED = _Quoted()


def parse(text: str, scope: Scope, expected: Type | None = None) -> Expr:
    """Reads an expression.

    Args:
        text: the source.
        scope: the names, functions and tables it may use.
        expected: the type that its place asks for; quoted names take their meaning from it.

    Raises:
        ExpressionError: with one line that says what is wrong and what would be right.
    """
    if not text.strip():
        raise ExpressionError("expected an expression, but the text is empty")
    try:
        module = ast.parse(text.strip(), mode="eval")
    except (RecursionError, MemoryError):
        raise ExpressionError(f"not an expression: {_TOO_DEEP}") from None
    except (SyntaxError, ValueError) as error:
        reason = error.msg if isinstance(error, SyntaxError) else str(error)
        if "nested parentheses" in reason:
            reason = _TOO_DEEP
        elif "integer string conversion" in reason:
            reason = "an integer is beyond 64 bits"
        raise ExpressionError(f"not an expression: {reason} in `{_shortened(text.strip())}`") from None
    # a level takes a character at the least, and hardly any rule has so many
    if len(text) > _MOST_LEVELS and _levels(module.body) > _MOST_LEVELS:
        raise ExpressionError(f"not an expression: {_TOO_DEEP}")
    expr = _Reader(scope).read(module.body)
    return convert(expr, expected, text.strip()) if expected is not None else _settled(expr)


def _levels(root: ast.AST) -> int:
    deepest, open_nodes = 0, [(root, 1)]
    while open_nodes:
        node, level = open_nodes.pop()
        deepest = max(deepest, level)
        open_nodes += [(child, level + 1) for child in ast.iter_child_nodes(node)]
    return deepest


def _shortened(text: str) -> str:
    return text if len(text) <= _MOST_QUOTED else f"{text[:_MOST_QUOTED]}.."


def convert(expr: Expr, expected: Type, text: str | None = None) -> Expr:
    """Gives an expression the type of its place, or raises ExpressionError, which quotes the text."""
    actual: object = expr.type
    if isinstance(actual, _Quoted):
        return _name_quoted(expr, expected)
    if isinstance(expected, IntType) and isinstance(actual, IntType):
        # a narrowing is written into the tree, so that the loader has to prove it
        narrows = expected == INT32 and actual != INT32
        return Call("int32", (expr,), INT32) if narrows else expr
    if actual != expected:
        raise ExpressionError(f"expected {expected}, but `{_shortened(text or _summary(expr))}` is {actual}")
    return expr


def _settled(expr: Expr) -> Expr:
    if isinstance(expr.type, _Quoted):
        while isinstance(expr, Choose):
            expr = expr.then
        raise ExpressionError(f"'{_summary(expr)}' is a quoted name where nothing says which enumeration it is from")
    return expr


def _name_quoted(expr: Expr, expected: Type) -> Expr:
    if isinstance(expr, Choose):
        then, otherwise = _retype(expr.then, expected), _retype(expr.otherwise, expected)
        return Choose(expr.condition, then, otherwise, expected)
    assert isinstance(expr, Const)
    text = str(expr.value)
    match expected:
        case EnumType(enumeration):
            if text not in enumeration.names:
                raise ExpressionError(
                    f"'{text}' is not an enumerator of {enumeration.name}{did_you_mean(text, enumeration.names)}"
                )
            return Const(text, expected)
        case VersionType(version):
            try:
                return Const(version.pack(text), expected)
            except ValueError as error:
                raise ExpressionError(f"expected {expected}: {error}") from None
        case _:
            raise ExpressionError(f"expected {expected}, but '{text}' is a quoted name")


def _retype(expr: Expr, expected: Type) -> Expr:
    return convert(expr, expected)


def _summary(expr: Expr) -> str:
    match expr:
        case Const():
            return str(expr.value)
        case Name():
            return expr.id
        case Field():
            return f"{_summary(expr.base)}.{expr.name}"
        case Call():
            return f"{expr.function}(..)"
        case Apply():
            return f"{expr.function.name}(..)"
        case Lookup():
            return f"{expr.table.name}(..)"
        case _:
            return type(expr).__name__.lower()


def wider(left: Type, right: Type) -> IntType:
    """The type of an operation on two integers: int32 if both are; a stored uint32 counts as 64 bits."""
    assert isinstance(left, IntType)
    assert isinstance(right, IntType)
    return INT32 if left == right == INT32 else INT64


def _beyond(value: int) -> str:
    # the text of a huge integer is of no use, and Python refuses to write one of more than 4300 digits
    text = str(value) if value.bit_length() <= 128 else f"an integer of {value.bit_length()} bits"
    return f"{text} is beyond 64 bits"


def _reached(expr: Expr, value: Scalar) -> None:
    """Refuses a comparison with what no value of the other operand's type comes up to."""
    while isinstance(expr, Call) and expr.function == "int64":
        (expr,) = expr.args
    assert isinstance(expr.type, IntType)
    if not expr.type.low <= int(value) <= expr.type.high:
        raise ExpressionError(f"`{_summary(expr)}` is {expr.type} and never reaches {value}")


def _takes_two(arguments: ast.arguments) -> bool:
    others = (arguments.posonlyargs, arguments.kwonlyargs, arguments.defaults, arguments.vararg, arguments.kwarg)
    return len(arguments.args) == 2 and not any(others)


class _Reader:
    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def read(self, node: ast.expr) -> Expr:
        match node:
            case ast.Constant():
                return self._constant(node.value)
            case ast.Name():
                return self._name(node.id)
            case ast.Attribute():
                return self._attribute(node)
            case ast.UnaryOp(op=ast.Not()):
                return Not(self._of(node.operand, BOOL))
            case ast.UnaryOp(op=ast.USub()):
                return self._negated(node)
            case ast.BinOp():
                return self._arithmetic(node)
            case ast.BoolOp():
                op = "and" if isinstance(node.op, ast.And) else "or"
                return Logic(op, tuple(self._of(value, BOOL) for value in node.values))
            case ast.Compare():
                return self._comparison(node)
            case ast.IfExp():
                return self._conditional(node)
            case ast.Call():
                return self._call(node)
            case _:
                raise ExpressionError(
                    f"`{ast.unparse(node)}` is not allowed here: the language has integers, truth values, comparisons, "
                    "and/or/not, in, `a if c else b`, + - * // %, dotted names and its own functions"
                )

    def _of(self, node: ast.expr, expected: Type) -> Expr:
        return convert(self.read(node), expected, ast.unparse(node))

    def _integer(self, node: ast.expr) -> Expr:
        expr = self.read(node)
        if not isinstance(expr.type, IntType):
            raise ExpressionError(f"expected an integer, but `{ast.unparse(node)}` is {expr.type}")
        return expr

    def _constant(self, value: object) -> Expr:
        if isinstance(value, bool):
            return Const(value, BOOL)
        if isinstance(value, int):
            if value > INT64_MAX:
                raise ExpressionError(_beyond(value))
            return Const(value, INT32 if value <= INT32.high else INT64)
        if isinstance(value, str):
            return Const(value, _QUOTED)  # type: ignore[arg-type]
        raise ExpressionError(
            f"`{value!r}` is not allowed: numbers are integers, and versions are quoted, such as '9.0'"
        )

    def _name(self, name: str) -> Expr:
        if name in self._scope.names:
            return Name(name, self._scope.names[name])
        if name in self._scope.functions or name in self._scope.tables or name in LANGUAGE_WORDS:
            raise ExpressionError(f"`{name}` is a function: call it, such as {name}(..)")
        raise ExpressionError(f"unknown name `{name}`{did_you_mean(name, tuple(self._scope.names))}", unknown=name)

    def _attribute(self, node: ast.Attribute) -> Expr:
        base = self.read(node.value)
        if not isinstance(base.type, RecordType):
            raise ExpressionError(f"`{ast.unparse(node.value)}` is {base.type} and has no fields")
        fields = base.type.struct.by_name
        if node.attr not in fields:
            raise ExpressionError(f"{base.type} has no field `{node.attr}`{did_you_mean(node.attr, tuple(fields))}")
        return Field(base, node.attr, fields[node.attr].type)

    def _negated(self, node: ast.UnaryOp) -> Expr:
        if isinstance(node.operand, ast.Constant) and type(node.operand.value) is int:
            value = -node.operand.value
            if value < INT64.low:
                raise ExpressionError(_beyond(value))
            return Const(value, INT32 if value >= INT32.low else INT64)
        operand = self._integer(node.operand)
        return Negate(operand, wider(operand.type, operand.type))

    def _arithmetic(self, node: ast.BinOp) -> Expr:
        op = _ARITHMETIC.get(type(node.op))
        if op is None:
            hint = "; division is written //" if isinstance(node.op, ast.Div) else ""
            raise ExpressionError(f"`{ast.unparse(node)}`: the operators are + - * // %{hint}")
        left, right = self._integer(node.left), self._integer(node.right)
        return Arith(op, left, right, wider(left.type, right.type))

    def _comparison(self, node: ast.Compare) -> Expr:
        parts: list[Expr] = []
        left = node.left
        for op, right in zip(node.ops, node.comparators, strict=True):
            parts.append(self._compared(left, op, right))
            left = right
        return conjunction(parts)

    def _compared(self, left_node: ast.expr, op: ast.cmpop, right_node: ast.expr) -> Expr:
        left = self.read(left_node)
        if isinstance(op, ast.In | ast.NotIn):
            member = self._member(left, right_node)
            return Not(member) if isinstance(op, ast.NotIn) else member
        symbol = _COMPARISONS.get(type(op))
        if symbol is None:
            raise ExpressionError("`is` is not allowed: compare with == or !=")
        right = self.read(right_node)
        if isinstance(left.type, _Quoted) and not isinstance(right.type, _Quoted):
            left = convert(left, right.type)
        if isinstance(left.type, IntType) and isinstance(right.type, IntType):
            for const, other in ((left, right), (right, left)):
                if isinstance(const, Const) and not isinstance(other, Const):
                    _reached(other, const.value)
            return Compare(symbol, left, right)
        right = convert(right, _settled(left).type, ast.unparse(right_node))
        if isinstance(left.type, EnumType):
            return self._compared_enumerators(left, symbol, right)
        if isinstance(left.type, RecordType | ListType):
            raise ExpressionError(f"{left.type} cannot be compared; compare its fields")
        if isinstance(left.type, BoolType) and symbol not in ("==", "!="):
            raise ExpressionError(f"truth values are compared with == and !=, not {symbol}")
        return Compare(symbol, left, right)

    def _compared_enumerators(self, left: Expr, symbol: str, right: Expr) -> Expr:
        if symbol not in ("==", "!="):
            raise ExpressionError(f"enumerators are compared with ==, != and in, not {symbol}")
        if isinstance(left, Const):
            left, right = right, left
        assert isinstance(left.type, EnumType)
        if not isinstance(right, Const):
            raise ExpressionError(f"compare `{_summary(left)}` with a quoted enumerator of {left.type}")
        member = Member(left, left.type.enumeration.covered_by(str(right.value)))
        return Not(member) if symbol == "!=" else member

    def _member(self, left: Expr, node: ast.expr) -> Expr:
        if not isinstance(node, ast.Tuple | ast.List) or not node.elts:
            raise ExpressionError(f"`in` needs a list of constants such as (4, 8), not `{ast.unparse(node)}`")
        left = _settled(left)
        if isinstance(left.type, RecordType | ListType | BoolType):
            raise ExpressionError(f"`in` is for integers and enumerators; `{_summary(left)}` is {left.type}")
        values: list[Scalar] = []
        for element in node.elts:
            given = self.read(element)
            if isinstance(given, Const) and isinstance(given.type, IntType) and isinstance(left.type, IntType):
                _reached(left, given.value)
                value: Expr = Const(given.value, left.type)
            else:
                value = convert(given, left.type)
            if not isinstance(value, Const):
                raise ExpressionError(f"`in` needs constants; `{ast.unparse(element)}` is none")
            if isinstance(left.type, EnumType):
                values.extend(left.type.enumeration.covered_by(str(value.value)))
            else:
                values.append(value.value)
        return Member(left, tuple(dict.fromkeys(values)))

    def _conditional(self, node: ast.IfExp) -> Expr:
        condition = self._of(node.test, BOOL)
        then, otherwise = self.read(node.body), self.read(node.orelse)
        if isinstance(then.type, _Quoted) and not isinstance(otherwise.type, _Quoted):
            then = convert(then, otherwise.type)
        if isinstance(then.type, IntType) and isinstance(otherwise.type, IntType):
            return Choose(condition, then, otherwise, wider(then.type, otherwise.type))
        if not isinstance(then.type, _Quoted):
            otherwise = convert(otherwise, then.type, ast.unparse(node.orelse))
        return Choose(condition, then, otherwise, then.type)

    def _call(self, node: ast.Call) -> Expr:
        if not isinstance(node.func, ast.Name):
            raise ExpressionError(f"`{ast.unparse(node.func)}` cannot be called: only named functions can")
        name = node.func.id
        over_list = len(node.args) == 1 and isinstance(node.args[0], ast.GeneratorExp)
        if name in _QUANTIFIERS and (over_list or name in ("all", "any", "sum")):
            return self._quantifier(name, node)
        if node.keywords:
            raise ExpressionError(f"{name}: arguments are given by position")
        if name == "fold":
            return self._fold(node)
        if name == "len":
            (over,) = self._arguments(name, node, 1)
            return Call("len", (self._list(over),), INT32)
        if name in self._scope.functions:
            return self._apply(name, node)
        if name in self._scope.tables:
            return self._lookup(name, node)
        if name in BUILTINS:
            return self._builtin(name, node)
        known = (*LANGUAGE_WORDS, *self._scope.functions, *self._scope.tables)
        raise ExpressionError(
            f"a call of `{name}` is not allowed: it is no function of the language{did_you_mean(name, known)}"
        )

    def _arguments(self, name: str, node: ast.Call, count: int) -> list[ast.expr]:
        if len(node.args) != count:
            raise ExpressionError(f"{name} takes {count} argument{'s' * (count != 1)}, not {len(node.args)}")
        return node.args

    def _builtin(self, name: str, node: ast.Call) -> Expr:
        builtin = BUILTINS[name]
        least, most = builtin.arity
        if not least <= len(node.args) <= most:
            wanted = str(least) if least == most else f"{least} to {most}"
            raise ExpressionError(f"{name} takes {wanted} argument{'s' * (most != 1)}, not {len(node.args)}")
        args = tuple(self._integer(a) for a in node.args)
        if builtin.result is not None:
            return Call(name, args, builtin.result)
        result = wider(args[0].type, args[0].type)
        for arg in args[1:]:
            result = wider(result, arg.type)
        return Call(name, args, result)

    def _apply(self, name: str, node: ast.Call) -> Expr:
        function = self._scope.functions[name]
        nodes = self._arguments(name, node, len(function.parameters))
        args = tuple(self._of(a, t) for a, (_, t) in zip(nodes, function.parameters, strict=True))
        return Apply(function, args, function.result.type)

    def _lookup(self, name: str, node: ast.Call) -> Expr:
        table = self._scope.tables[name]
        nodes = self._arguments(name, node, len(table.keys))
        return Lookup(table, tuple(self._of(a, t) for a, (_, t) in zip(nodes, table.keys, strict=True)), table.row)

    def _list(self, node: ast.expr) -> Expr:
        over = self.read(node)
        if not isinstance(over.type, ListType):
            raise ExpressionError(f"expected a list, but `{ast.unparse(node)}` is {over.type}")
        return over

    def _fresh(self, name: str) -> str:
        scope = self._scope
        if name in scope.names or name in scope.functions or name in scope.tables or name in LANGUAGE_WORDS:
            raise ExpressionError(f"the variable `{name}` hides another name: choose a new one")
        return name

    def _quantifier(self, kind: str, node: ast.Call) -> Expr:
        generator = node.args[0] if len(node.args) == 1 else None
        if not isinstance(generator, ast.GeneratorExp) or len(generator.generators) != 1:
            example = "x.size > 0" if kind in ("all", "any") else "x.size"
            raise ExpressionError(f"{kind} runs over one list: {kind}({example} for x in inputs)")
        clause = generator.generators[0]
        if not isinstance(clause.target, ast.Name) or clause.is_async:
            raise ExpressionError(f"{kind}: the variable is one name")
        over = self._list(clause.iter)
        assert isinstance(over.type, ListType)
        variable = self._fresh(clause.target.id)
        inner = _Reader(self._scope.bind({variable: over.type.element}))
        conditions = [inner._of(test, BOOL) for test in clause.ifs]
        body = inner._of(generator.elt, BOOL) if kind in ("all", "any") else inner._integer(generator.elt)
        start: Expr | None = None
        defaults = {k.arg: k.value for k in node.keywords}
        if kind in ("min", "max"):
            if set(defaults) != {"default"}:
                raise ExpressionError(
                    f"{kind} over a list says what an empty list gives: {kind}((.. for x in list), default=0)"
                )
            start = self._integer(defaults["default"])
        elif defaults:
            raise ExpressionError(f"{kind} takes no keyword")
        result: Type = BOOL if kind in ("all", "any") else wider(body.type, body.type if start is None else start.type)
        return Quantifier(kind, variable, over, body, conjunction(conditions) if conditions else None, start, result)

    def _fold(self, node: ast.Call) -> Expr:
        over_node, start_node, step = self._arguments("fold", node, 3)
        over = self._list(over_node)
        assert isinstance(over.type, ListType)
        start = self._integer(start_node)
        if not isinstance(step, ast.Lambda) or not _takes_two(step.args):
            raise ExpressionError("fold is written fold(list, start, lambda total, x: ..)")
        accumulator, variable = (self._fresh(a.arg) for a in step.args.args)
        inner = _Reader(self._scope.bind({accumulator: start.type, variable: over.type.element}))
        body = inner._integer(step.body)
        if wider(start.type, body.type) != start.type:
            start = Call("int64", (start,), INT64)
            body = _Reader(self._scope.bind({accumulator: INT64, variable: over.type.element}))._integer(step.body)
        return Fold(over, start, accumulator, variable, body, start.type)
