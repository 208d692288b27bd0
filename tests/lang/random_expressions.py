"""A hypothesis strategy for well-typed expressions that interval analysis proves safe over the example scope's domains.

Text is drawn and parsed, as a spec's author would have it. Where a drawn operation could overflow or divide by zero,
the next of a few guarded spellings takes its place, so that hardly any draw is thrown away.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from collections.abc import Sequence
from typing import Protocol
from typing import TypeVar

from attrs import field
from attrs import frozen
from hypothesis import assume
from hypothesis import strategies as st

from lang.example_scope import DOMAINS
from lang.example_scope import ELEMENT
from lang.example_scope import INPUT
from lang.example_scope import OPERATION
from lang.example_scope import SCOPE
from policygen.lang.evaluate import evaluate
from policygen.lang.intervals import Domains
from policygen.lang.intervals import interval_of
from policygen.lang.parse import ExpressionError
from policygen.lang.parse import parse
from policygen.lang.simplify import substitute
from policygen.lang.tree import Arith
from policygen.lang.tree import Compare
from policygen.lang.tree import Const
from policygen.lang.tree import Expr
from policygen.lang.tree import Scope
from policygen.lang.tree import free_names
from policygen.lang.tree import walk
from policygen.model.ranges import Interval
from policygen.model.types import EnumType
from policygen.model.types import IntType
from policygen.model.types import Type

_CONSTANTS = ("0", "1", "2", "3", "4", "7", "8", "32", "256", "49152", "-1", "-2", "-7")
_BOUNDS = (
    "2147483647",
    "-2147483648",
    "2147483648",
    "9223372036854775807",
    "-9223372036854775808",
    "4611686018427387904",
)
_NAMES = ("accum_size", "offset_size", "delta", "any32", "num_items", "any64", "delay", "pitch", "spread", "result")
_FIELDS = ("size", "alignment", "offset", "delay")
_TESTS = ("stable", "is_wide", "input.trivial")
_VERSIONS = ("5.0", "8.0", "9.0", "10.3", "12.1")

T = TypeVar("T")


@frozen
class RandomExpression:
    """An expression and the text it was read from."""

    text: str
    expr: Expr = field(repr=False)


@frozen
class _Place:
    """Where a part of an expression stands: what it may refer to, and how many loops are around it."""

    scope: Scope
    domains: Domains
    elements: tuple[str, ...] = ()
    totals: tuple[str, ...] = ()

    def within_loop(self) -> _Place:
        """Inside a loop over `inputs` with one more element variable."""
        name = f"x{len(self.elements)}"
        paths = {
            f"{name}.{path.removeprefix('inputs.*.')}": interval
            for path, interval in self.domains.paths.items()
            if path.startswith("inputs.*.")
        }
        bound = self.scope.bind({name: INPUT})
        return _Place(bound, self.domains.with_paths(paths), (*self.elements, name), self.totals)

    def with_total(self, kind: Type, interval: Interval) -> _Place:
        """Inside a fold, after `within_loop`."""
        name = f"total{len(self.totals)}"
        scope, domains = self.scope.bind({name: kind}), self.domains.with_paths({name: interval})
        return _Place(scope, domains, self.elements, (*self.totals, name))

    def analysed(self, text: str) -> tuple[Expr, Interval, list[str]]:
        """The tree of a text, its interval, and what cannot be proven of it."""
        expr = parse(text, self.scope)
        reports: list[str] = []
        return expr, interval_of(expr, self.domains, reports.append), reports

    def first_proven(self, texts: Sequence[str]) -> str:
        """The first text that is safe here; the last is trusted."""
        return next((text for text in texts[:-1] if not self.analysed(text)[2]), texts[-1])


class _Choice(Protocol):
    """What picks one of a few things: a hypothesis draw, or a seeded generator."""

    def __call__(self, options: Sequence[T], /) -> T: ...


class _Writer:
    def __init__(self, choose: _Choice) -> None:
        self._pick = choose

    def _one_of(self, *options: Callable[[], str]) -> str:
        return self._pick(options)()

    def _coin(self) -> bool:
        return self._pick((True, False))

    # Integers. Every text that is returned may stand as an operand.

    def integer(self, at: _Place, depth: int) -> str:
        if depth <= 0:
            return self._integer_leaf(at)
        inner = depth - 1
        options: list[Callable[[], str]] = [
            lambda: self._integer_leaf(at),
            lambda: self._arithmetic(at, inner),
            lambda: self._arithmetic(at, inner),
            lambda: self._quotient(at, inner),
            lambda: self._quotient(at, inner),
            lambda: self._choice(at, inner),
            lambda: self._least_or_greatest(at, inner),
            lambda: self._builtin(at, inner),
            lambda: self._converted(at, inner),
            lambda: self._scaled(at, inner),
            lambda: self._called(at, inner),
            lambda: self._column(at, inner),
        ]
        if len(at.elements) < 2:
            options += [lambda: self._aggregate(at, inner), lambda: self._fold(at, inner)]
        return self._one_of(*options)

    def _integer_leaf(self, at: _Place) -> str:
        if at.elements and self._coin():
            return f"{self._pick(at.elements)}.{self._pick(_FIELDS)}"
        if at.totals and self._coin():
            return self._pick(at.totals)
        options = [
            _NAMES,
            _NAMES,
            _CONSTANTS,
            _CONSTANTS,
            _BOUNDS,
            tuple(f"input.{f}" for f in _FIELDS),
            ("len(inputs)",),
        ]
        return self._pick(self._pick(options))

    def _arithmetic(self, at: _Place, depth: int) -> str:
        left, right, op = self.integer(at, depth), self.integer(at, depth), self._pick(("+", "-", "*", "*"))
        negated = f"(-{left})" if self._coin() else f"({left} {op} {right})"
        return at.first_proven(
            (
                negated,
                f"(int64({left}) {op} {right})",
                f"(clamp({left}, -40000, 40000) {op} clamp({right}, -7, 50000))",
                left,
            )
        )

    def _quotient(self, at: _Place, depth: int) -> str:
        left, right, op = self.integer(at, depth), self.integer(at, depth), self._pick(("//", "%"))
        guards = [
            f"({left} {op} {right} if {right} > 0 else {left})",
            f"(0 if {right} <= 0 else {left} {op} {right})",
            f"({left} {op} {right} if not ({right} <= 0) else 1)",
        ]
        guarded = self._pick(guards)
        return at.first_proven((f"({left} {op} {right})", guarded, f"({left} {op} clamp({right}, 1, 77))", left))

    def _choice(self, at: _Place, depth: int) -> str:
        condition = self.truth(at, depth)
        return f"({self.integer(at, depth)} if {condition} else {self.integer(at, depth)})"

    def _least_or_greatest(self, at: _Place, depth: int) -> str:
        args = [self.integer(at, depth) for _ in range(self._pick((2, 3)))]
        return f"{self._pick(('min', 'max'))}({', '.join(args)})"

    def _builtin(self, at: _Place, depth: int) -> str:
        a, b = self.integer(at, depth), self.integer(at, depth)
        name = self._pick(
            (
                "ceil_div",
                "round_up",
                "round_down",
                "clamp",
                "power_of_two_factor",
                "next_power_of_two",
                "nominal_4b_items",
                "nominal_8b_items",
            )
        )
        match name:
            case "clamp":
                return f"clamp({a}, {b}, {self.integer(at, depth)})"
            case "power_of_two_factor" | "next_power_of_two":
                return at.first_proven((f"{name}({a})", f"{name}(clamp({a}, 1, 65536))"))
            case "nominal_4b_items" | "nominal_8b_items":
                return at.first_proven((f"{name}({a}, {b})", f"{name}(clamp({a}, 1, 64), clamp({b}, 1, 50000))"))
            case _:
                return at.first_proven(
                    (
                        f"{name}({a}, {b})",
                        f"{name}(max({a}, 0), clamp({b}, 1, 4096))",
                        f"{name}(clamp({a}, 0, 99999), 48)",
                    )
                )

    def _scaled(self, at: _Place, depth: int) -> str:
        rule, part = self._pick(("mem", "reg")), self._pick(("items_per_thread", "threads_per_block"))
        t, i, s = self.integer(at, depth), self.integer(at, depth), self.integer(at, depth)
        plain = f"scale_{rule}_bound({t}, {i}, {s}).{part}"
        return at.first_proven(
            (plain, f"scale_{rule}_bound(clamp({t}, 32, 1024), clamp({i}, 1, 64), clamp({s}, 1, 70000)).{part}")
        )

    def _converted(self, at: _Place, depth: int) -> str:
        text = self.integer(at, depth)
        if self._coin():
            return f"int64({text})"
        return at.first_proven((f"int32({text})", f"int32(clamp({text}, -2147483648, 2147483647))"))

    def _called(self, at: _Place, depth: int) -> str:
        text = self.integer(at, depth)
        match self._pick(("tile_bytes", "heaviest", "weight", "scaled")):
            case "tile_bytes":
                other = self.integer(at, depth)
                calls = (f"tile_bytes({text}, {other})", f"tile_bytes(clamp({text}, 0, 64), clamp({other}, 1, 99999))")
                return at.first_proven((*calls, "tile_bytes(16, 4)"))
            case "heaviest":
                return at.first_proven((f"heaviest(inputs, {text})", f"heaviest(inputs, clamp({text}, -5, 300))"))
            case "weight":
                return at.first_proven((f"weight(first({text}, {self.truth(at, depth)}))", f"weight({text})"))
            case _:
                narrow = f"clamp({text}, -5, 300)"
                return at.first_proven(
                    (f"scaled({text}, 4).items_per_thread", f"scaled(16, {narrow}).threads_per_block")
                )

    def _column(self, at: _Place, depth: int) -> str:
        if self._coin():
            return f"element_size({self.element(at, depth)}).{self._pick(('size', 'bias'))}"
        text, test = self.integer(at, depth), self.truth(at, depth)
        return at.first_proven((f"steps({text}, {test}).count", f"steps(clamp({text}, 1, 9), {test}).count"))

    def _aggregate(self, at: _Place, depth: int) -> str:
        inner = at.within_loop()
        body, guard = self.integer(inner, depth), self._guard(inner, depth)
        kind = self._pick(("sum", "min", "max"))
        loop = f"for {inner.elements[-1]} in inputs{guard}"
        if kind != "sum":
            return f"{kind}(({body} {loop}), default={self.integer(at, depth)})"
        return at.first_proven(
            (f"sum({body} {loop})", f"sum(int64({body}) {loop})", f"sum(clamp({body}, -99, 99) {loop})")
        )

    def _guard(self, inner: _Place, depth: int) -> str:
        return f" if {self.truth(inner, depth)}" if self._coin() else ""

    def _fold(self, at: _Place, depth: int) -> str:
        start = self.integer(at, depth)
        expr, interval, _ = at.analysed(start)
        inner = at.within_loop().with_total(expr.type, interval.hull(Interval(-1000, 1000)))
        body, total, element = self.integer(inner, depth), inner.totals[-1], inner.elements[-1]
        condition = self.truth(inner, depth)
        steps = (
            f"{total} + {body}",
            f"{total} * 2 - {body}",
            f"{body} - {total} if {condition} else {total}",
            f"({total} + {body}) % 97",
            f"min({total} + {element}.size, 5000)",
        )
        first = self._pick(range(len(steps)))
        texts = [
            f"fold(inputs, {start}, lambda {total}, {element}: {step})" for step in (*steps[first:], *steps[:first])
        ]
        # the accumulator's interval, which the body was drawn for, may be wider here
        return at.first_proven(
            (*texts, f"fold(inputs, {start}, lambda {total}, {element}: max({total}, {element}.size))")
        )

    # Enumerators, which are compared with quoted names and looked up in tables.

    def element(self, at: _Place, depth: int) -> str:
        names = ["accum_t", "input.element", *(f"{x}.element" for x in at.elements)]
        name = self._pick(names)
        if depth <= 0:
            return name
        match self._pick(("name", "column", "choice", "call")):
            case "column":
                return f"element_size({name}).widened"
            case "choice":
                return f"({name} if {self.truth(at, depth - 1)} else {self._quoted(ELEMENT)})"
            case "call":
                return f"widened({name})"
            case _:
                return name

    def _operation(self, at: _Place, depth: int) -> str:
        if depth <= 0 or self._coin():
            return "operation_t"
        if self._coin():
            return f"steps({self._pick(('4', '8', 'accum_size', 'delta'))}, stable).kind"
        return f"({self._quoted(OPERATION)} if {self.truth(at, depth - 1)} else operation_t)"

    def _quoted(self, kind: EnumType) -> str:
        return f"'{self._pick(kind.enumeration.names)}'"

    # Truth values.

    def truth(self, at: _Place, depth: int) -> str:
        if depth <= 0:
            return self._one_of(
                lambda: self._test(at), lambda: self._enumerator_test(at, 0), lambda: self._version_test()
            )
        inner = depth - 1
        options: list[Callable[[], str]] = [
            lambda: self._test(at),
            lambda: self._version_test(),
            lambda: self._enumerator_test(at, inner),
            lambda: self._comparison(at, inner),
            lambda: self._comparison(at, inner),
            lambda: self._membership(at, inner),
            lambda: self._joined(at, inner),
            lambda: self._joined(at, inner),
            lambda: f"(not {self.truth(at, inner)})",
            lambda: f"({self.truth(at, inner)} if {self.truth(at, inner)} else {self.truth(at, inner)})",
            lambda: self._equal_truths(at, inner),
            lambda: f"is_power_of_two({self.integer(at, inner)})",
            lambda: f"element_size({self.element(at, inner)}).is_float",
        ]
        if len(at.elements) < 2:
            options += [lambda: self._quantifier(at, inner), lambda: self._quantifier(at, inner)]
        return self._one_of(*options)

    def _test(self, at: _Place) -> str:
        per_element = [test for x in at.elements for test in (f"{x}.trivial", f"is_plain({x})")]
        return self._pick([*_TESTS, "is_plain(input)", "True", "False", *per_element])

    def _version_test(self) -> str:
        return f"(cc {self._pick(('==', '!=', '<', '<=', '>', '>='))} '{self._pick(_VERSIONS)}')"

    def _enumerator_test(self, at: _Place, depth: int) -> str:
        kind = self._pick((ELEMENT, OPERATION))
        operand = self.element(at, depth) if kind is ELEMENT else self._operation(at, depth)
        if self._coin():
            return f"({operand} {self._pick(('==', '!='))} {self._quoted(kind)})"
        return f"({operand} {self._pick(('in', 'not in'))} ({self._quoted(kind)}, {self._quoted(kind)}))"

    def _comparison(self, at: _Place, depth: int) -> str:
        operands = [self.integer(at, depth) for _ in range(self._pick((2, 2, 2, 3)))]
        text = operands[0]
        for operand in operands[1:]:
            text += f" {self._pick(('==', '!=', '<', '<=', '>', '>='))} {operand}"
        return self._readable(at, f"({text})")

    def _readable(self, at: _Place, text: str) -> str:
        try:
            parse(text, at.scope)
        except ExpressionError:  # a constant that the other operand's type does not reach
            return self._test(at)
        return text

    def _equal_truths(self, at: _Place, depth: int) -> str:
        return f"({self.truth(at, depth)} {self._pick(('==', '!='))} {self.truth(at, depth)})"

    def _membership(self, at: _Place, depth: int) -> str:
        operand = self.integer(at, depth)
        values = [self._pick(_CONSTANTS) for _ in range(self._pick((1, 2, 3)))]
        return self._readable(at, f"({operand} {self._pick(('in', 'not in'))} ({', '.join(values)},))")

    def _joined(self, at: _Place, depth: int) -> str:
        op = self._pick((" and ", " or "))
        parts = [self.truth(at, depth) for _ in range(self._pick((2, 3)))]
        return f"({op.join(dict.fromkeys(parts))})"

    def _quantifier(self, at: _Place, depth: int) -> str:
        inner = at.within_loop()
        body, guard = self.truth(inner, depth), self._guard(inner, depth)
        return f"{self._pick(('all', 'any'))}({body} for {inner.elements[-1]} in inputs{guard})"


def compilers_warn_of(expr: Expr) -> bool:
    """Whether a part is a constant that cannot be and is never evaluated, or a comparison that types decide."""
    for node in walk(expr):
        if isinstance(node, Compare):
            left, right = (interval_of(side, Domains(), lambda _: None) for side in (node.left, node.right))
            if isinstance(node.left.type, IntType) and (left.high <= right.low or right.high <= left.low):
                return True
            if isinstance(substitute(node, {}), Const):
                return True
        if isinstance(node, Arith) and not free_names(node):
            try:
                value = evaluate(node, {})
            except ZeroDivisionError:
                return True
            assert isinstance(node.type, IntType)
            if not node.type.low <= value <= node.type.high:
                return True
    return False


def _written(choose: _Choice, depth: int) -> RandomExpression | None:
    place, writer = _Place(SCOPE, DOMAINS), _Writer(choose)
    text = writer.integer(place, depth) if choose((True, False)) else writer.truth(place, depth)
    expr, _, reports = place.analysed(text)
    return None if reports or compilers_warn_of(expr) else RandomExpression(text, expr)


@st.composite
def random_expressions(draw: st.DrawFn, depth: int = 3) -> RandomExpression:
    """Integer and truth-valued expressions over the example scope, proven safe over its domains."""
    written = _written(lambda options: draw(st.sampled_from(options)), depth)
    assume(written is not None)
    assert written is not None
    return written


def different_expressions(seed: int, count: int, depth: int = 4) -> list[RandomExpression]:
    """Such expressions without hypothesis, whose draws depend on what else a test session has imported."""
    rng = random.Random(seed)
    found: dict[str, RandomExpression] = {}
    while len(found) < count:
        written = _written(rng.choice, depth)
        if written is not None:
            found.setdefault(written.text, written)
    return list(found.values())
