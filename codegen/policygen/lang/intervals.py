"""Interval analysis: what an expression can be, given what its names can be.

The loader uses it to prove that nothing overflows its type or divides by zero for any key of the declared domains.
A condition narrows what it guards: in `a // b if b > 0 else 0` the divisor is at least one.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping

from attrs import evolve
from attrs import field
from attrs import frozen

from policygen.lang.builtins import BUILTINS
from policygen.lang.evaluate import truncated_quotient
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
from policygen.lang.tree import children
from policygen.lang.tree import path_of
from policygen.model.ranges import Interval
from policygen.model.types import BoolType
from policygen.model.types import IntType
from policygen.model.types import RecordType
from policygen.model.types import VersionType

_TRUTH = Interval(0, 1)
_VERSIONS = Interval(0, 2**31 - 1)
_SWAPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
_NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


@frozen
class Domains:
    """What names can be: `paths` maps a name or a dotted path of record fields to an interval.

    `lets` are definitions that a condition on their name may look into.
    """

    paths: Mapping[str, Interval] = field(factory=dict)
    lets: Mapping[str, Expr] = field(factory=dict)

    def with_paths(self, paths: Mapping[str, Interval]) -> Domains:
        """The domains with some paths given anew."""
        return evolve(self, paths={**self.paths, **paths})


Report = Callable[[str], None]


def interval_of(expr: Expr, domains: Domains, report: Report) -> Interval:
    """The interval of an integer (or 0 .. 1 of a truth value); what cannot be proven is reported, one line each."""
    return _Analysis(report).of(expr, domains)


class _Analysis:
    def __init__(self, report: Report) -> None:
        self._report = report

    def of(self, expr: Expr, domains: Domains) -> Interval:
        match expr:
            case Const(value=int() as value):
                return Interval(int(value), int(value))
            case Const():
                return _TRUTH
            case Name() | Field():
                return self._path(expr, domains)
            case Negate():
                inner = self.of(expr.operand, domains)
                return self._fits(Interval(-inner.high, -inner.low), expr, "-")
            case Arith():
                return self._arithmetic(expr, domains)
            case Logic():
                return self._logic(expr, domains)
            case Choose():
                return self._choose(expr, domains)
            case Call():
                return self._call(expr, domains)
            case Apply():
                return self._apply(expr, domains)
            case Quantifier():
                return self._quantifier(expr, domains)
            case Fold():
                return self._fold(expr, domains)
            case _:
                for child in children(expr):
                    self.of(child, domains)
                return _TRUTH

    def _path(self, expr: Name | Field, domains: Domains) -> Interval:
        path = path_of(expr)
        if path is not None and path in domains.paths:
            return domains.paths[path]
        if isinstance(expr, Field):
            match expr.base:
                case Lookup():
                    return self._column(expr.base, expr.name, domains)
                case Call():
                    args = self._arguments(expr.base, domains)
                    fields = BUILTINS[expr.base.function].fields
                    if fields is not None:
                        return fields(args)[expr.name]
                case _:
                    self.of(expr.base, domains)
        if isinstance(expr.type, IntType):
            return Interval(expr.type.low, expr.type.high)
        return _VERSIONS if isinstance(expr.type, VersionType) else _TRUTH

    def _column(self, lookup: Lookup, name: str, domains: Domains) -> Interval:
        for arg in lookup.args:
            self.of(arg, domains)
        index = [f.name for f in lookup.table.row.struct.fields].index(name)
        values = [int(row[index]) for _, row in lookup.table.rows if not isinstance(row[index], str)]
        default = lookup.table.default[index]
        if isinstance(default, str):
            return _TRUTH
        return Interval(min([*values, int(default)]), max([*values, int(default)]))

    def _fits(self, interval: Interval, expr: Expr, op: str) -> Interval:
        assert isinstance(expr.type, IntType)
        limits = Interval(expr.type.low, expr.type.high)
        if interval.inside(limits):
            return interval
        hint = "write int64(..) around an operand" if expr.type.bits == 32 else "guard it, or narrow the domains"
        self._report(f"`{op}` can overflow {expr.type}: it ranges over {interval}; {hint}")
        return interval.meet(limits) or limits

    def _arithmetic(self, expr: Arith, domains: Domains) -> Interval:
        a, b = self.of(expr.left, domains), self.of(expr.right, domains)
        match expr.op:
            case "+":
                result = Interval(a.low + b.low, a.high + b.high)
            case "-":
                result = Interval(a.low - b.high, a.high - b.low)
            case "*":
                corners = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
                result = Interval(min(corners), max(corners))
            case _:
                result = self._divided(expr.op, a, b)
                if expr.op == "%":
                    # the least integer % -1 is undefined in C++ because the quotient overflows
                    self._fits(self._divided("//", a, b, lambda _: None), expr, "%")
        return self._fits(result, expr, expr.op)

    def _divided(self, op: str, a: Interval, b: Interval, report: Report | None = None) -> Interval:
        pieces = [
            p for p in (b.meet(Interval(b.low, -1)), b.meet(Interval(1, b.high))) if p is not None and p.low <= p.high
        ]
        if b.low <= 0 <= b.high:
            (report or self._report)(
                f"`{op}` can divide by zero: the divisor ranges over {b}; guard it, such as `a {op} b if b > 0 else 0`"
            )
        if not pieces:
            return Interval(0, 0)
        if op == "%":
            most = max(max(abs(p.low), abs(p.high)) for p in pieces) - 1
            return Interval(-min(most, -a.low) if a.low < 0 else 0, min(most, a.high) if a.high > 0 else 0)
        corners = [truncated_quotient(x, y) for x in (a.low, a.high) for p in pieces for y in (p.low, p.high)]
        return Interval(min(corners), max(corners))

    def _logic(self, expr: Logic, domains: Domains) -> Interval:
        for operand in expr.operands:
            self.of(operand, domains)
            narrowed = narrow(domains, operand, expr.op == "and")
            if narrowed is None:
                break
            domains = narrowed
        return _TRUTH

    def _choose(self, expr: Choose, domains: Domains) -> Interval:
        self.of(expr.condition, domains)
        then, otherwise = narrow(domains, expr.condition, True), narrow(domains, expr.condition, False)
        results = [
            self.of(branch, inner)
            for branch, inner in ((expr.then, then), (expr.otherwise, otherwise))
            if inner is not None
        ]
        return results[0].hull(results[-1]) if results else _TRUTH

    def _arguments(self, expr: Call, domains: Domains) -> list[Interval]:
        builtin = BUILTINS[expr.function]
        args = [self.of(a, domains) for a in expr.args]
        for position, required in enumerate(builtin.preconditions):
            if required is not None and not args[position].inside(required):
                self._report(
                    f"{expr.function}: argument {position + 1} must lie in {required}, but ranges over {args[position]}"
                )
                args[position] = args[position].meet(required) or required
        return args

    def _call(self, expr: Call, domains: Domains) -> Interval:
        if expr.function == "len":
            path = path_of(expr.args[0])
            most = getattr(expr.args[0].type, "max_length", 0)
            return domains.paths.get(f"len {path}", Interval(0, most))
        builtin = BUILTINS[expr.function]
        result = builtin.interval(self._arguments(expr, domains))
        return self._fits(result, expr, expr.function) if isinstance(expr.type, IntType) else result

    def _apply(self, expr: Apply, domains: Domains) -> Interval:
        paths: dict[str, Interval] = {}
        for (name, _), arg in zip(expr.function.parameters, expr.args, strict=True):
            if isinstance(arg.type, RecordType):
                paths.update(self._record_paths(name, arg, domains))
            else:
                paths[name] = self.of(arg, domains)
                path = path_of(arg)
                paths.update(_renamed(domains, path, name) if path is not None else {})
        inner = Domains(paths)
        for name, definition in expr.function.lets:
            inner = inner.with_paths({name: self.of(definition, inner)})
            inner = evolve(inner, lets={**inner.lets, name: definition})
        return self.of(expr.function.result, inner)

    def _record_paths(self, name: str, arg: Expr, domains: Domains) -> dict[str, Interval]:
        path = path_of(arg)
        return {} if path is None else _renamed(domains, path, name)

    def _element(self, over: Expr, variable: str, domains: Domains) -> Domains:
        path = path_of(over)
        return domains.with_paths(_renamed(domains, f"{path}.*", variable)) if path is not None else domains

    def _quantifier(self, expr: Quantifier, domains: Domains) -> Interval:
        start = None if expr.start is None else self.of(expr.start, domains)
        inner: Domains | None = self._element(expr.over, expr.variable, domains)
        assert inner is not None
        if expr.condition is not None:
            self.of(expr.condition, inner)
            inner = narrow(inner, expr.condition, True)
            if inner is None:
                return start or (Interval(1, 1) if expr.kind == "all" else Interval(0, 0))
        body = self.of(expr.body, inner)
        if expr.kind == "sum":
            most = expr.list_type.max_length
            total = Interval(min(0, body.low * most), max(0, body.high * most))
            return self._fits(total, expr, "sum")
        if start is None:
            return _TRUTH
        pick = min if expr.kind == "min" else max
        return start.hull(Interval(pick(start.low, body.low), pick(start.high, body.high)))

    def _fold(self, expr: Fold, domains: Domains) -> Interval:
        total = self.of(expr.start, domains)
        inner = self._element(expr.over, expr.variable, domains)
        for _ in range(expr.list_type.max_length):
            total = total.hull(self.of(expr.body, inner.with_paths({expr.accumulator: total})))
        return total


def _renamed(domains: Domains, path: str, name: str) -> dict[str, Interval]:
    prefixes = (f"{path}.", f"len {path}")
    renamed = {
        f"{name}.{p[len(path) + 1 :]}": interval for p, interval in domains.paths.items() if p.startswith(prefixes[0])
    }
    if prefixes[1] in domains.paths:
        renamed[f"len {name}"] = domains.paths[prefixes[1]]
    return renamed


def narrow(domains: Domains, condition: Expr, truth: bool) -> Domains | None:
    """The domains where a condition has the given truth value; None if it never has."""
    match condition:
        case Const(value=value):
            return domains if bool(value) is truth else None
        case Not():
            return narrow(domains, condition.operand, not truth)
        case Name() if condition.id in domains.lets and isinstance(condition.type, BoolType):
            return narrow(domains, domains.lets[condition.id], truth)
        case Logic():
            if (condition.op == "and") is truth:
                narrowed: Domains | None = domains
                for operand in condition.operands:
                    if narrowed is not None:
                        narrowed = narrow(narrowed, operand, truth)
                return narrowed
            return domains
        case Compare():
            return _compared(domains, condition, truth)
        case Member() if truth and all(isinstance(v, int) for v in condition.values):
            values = [int(v) for v in condition.values]
            return _met(domains, condition.operand, Interval(min(values), max(values)))
        case _:
            return domains


def _compared(domains: Domains, condition: Compare, truth: bool) -> Domains | None:
    op = condition.op if truth else _NEGATED[condition.op]
    narrowed: Domains | None = domains
    for left, symbol, right in ((condition.left, op, condition.right), (condition.right, _SWAPPED[op], condition.left)):
        if narrowed is None or _narrowable(left) is None:
            continue
        bound = interval_of(right, narrowed, lambda _: None)
        allowed = _allowed(symbol, bound, interval_of(left, narrowed, lambda _: None))
        narrowed = None if allowed is None else _met(narrowed, left, allowed)
    return narrowed


def _allowed(symbol: str, bound: Interval, now: Interval) -> Interval | None:
    low, high = now.low, now.high
    match symbol:
        case "<":
            high = min(high, bound.high - 1)
        case "<=":
            high = min(high, bound.high)
        case ">":
            low = max(low, bound.low + 1)
        case ">=":
            low = max(low, bound.low)
        case "==":
            low, high = max(low, bound.low), min(high, bound.high)
        case _:
            if bound.low == bound.high == low:
                low += 1
            elif bound.low == bound.high == high:
                high -= 1
    return Interval(low, high) if low <= high else None


def _narrowable(expr: Expr) -> str | None:
    if isinstance(expr, Call) and expr.function == "len":
        path = path_of(expr.args[0])
        return None if path is None else f"len {path}"
    return path_of(expr)


def _met(domains: Domains, expr: Expr, allowed: Interval) -> Domains | None:
    path = _narrowable(expr)
    if path is None:
        return domains
    both = interval_of(expr, domains, lambda _: None).meet(allowed)
    if both is None:
        return None
    narrowed = domains.with_paths({path: both})
    # what is known of a let's name holds for the name or field it stands for
    definition = domains.lets.get(path)
    return _met(narrowed, definition, allowed) if definition is not None and _narrowable(definition) else narrowed
