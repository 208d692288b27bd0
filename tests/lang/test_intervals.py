"""What cannot be proven is reported in a useful line, and a guard is a proof."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from lang.example_scope import DOMAINS
from lang.example_scope import SCOPE
from lang.example_scope import random_key
from lang.example_scope import with_lets
from policygen.lang.builtins import BUILTINS
from policygen.lang.evaluate import evaluate
from policygen.lang.intervals import Domains
from policygen.lang.intervals import interval_of
from policygen.lang.intervals import narrow
from policygen.lang.parse import parse
from policygen.lang.tree import Function
from policygen.lang.tree import Scope
from policygen.model.ranges import Interval
from policygen.model.types import BOOL
from policygen.model.types import COMPUTE_CAPABILITY
from policygen.model.types import INT32
from policygen.model.types import INT64

QUICK = settings(
    derandomize=True, database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=300
)


def analysed(text: str) -> tuple[Interval, list[str]]:
    reports: list[str] = []
    return interval_of(parse(text, SCOPE), DOMAINS, reports.append), reports


@pytest.mark.parametrize(
    ("text", "report"),
    [
        (
            "any32 + 1",
            "`+` can overflow int32: it ranges over -2147483647 .. 2147483648; write int64(..) around an operand",
        ),
        (
            "any32 - 1",
            "`-` can overflow int32: it ranges over -2147483649 .. 2147483646; write int64(..) around an operand",
        ),
        (
            "accum_size * accum_size",
            "`*` can overflow int32: it ranges over 1 .. 4294967296; write int64(..) around an operand",
        ),
        (
            "-any32",
            "`-` can overflow int32: it ranges over -2147483647 .. 2147483648; write int64(..) around an operand",
        ),
        (
            "any32 // -1",
            "`//` can overflow int32: it ranges over -2147483647 .. 2147483648; write int64(..) around an operand",
        ),
        (
            "any32 % -1",
            "`%` can overflow int32: it ranges over -2147483647 .. 2147483648; write int64(..) around an operand",
        ),
        (
            "num_items * 4",
            "`*` can overflow int64: it ranges over -4 .. 18446744073709551616; guard it, or narrow the domains",
        ),
        (
            "sum(x.offset * 4000000 for x in inputs)",
            "`sum` can overflow int64: it ranges over -17592186044416000000 .. 17592186044416000000; "
            "guard it, or narrow the domains",
        ),
        (
            "accum_size // delta",
            "`//` can divide by zero: the divisor ranges over -1000 .. 1000; "
            "guard it, such as `a // b if b > 0 else 0`",
        ),
        (
            "accum_size % len(inputs)",
            "`%` can divide by zero: the divisor ranges over 0 .. 4; guard it, such as `a % b if b > 0 else 0`",
        ),
        (
            "accum_size // 0",
            "`//` can divide by zero: the divisor ranges over 0; guard it, such as `a // b if b > 0 else 0`",
        ),
        (
            "ceil_div(delta, 4)",
            "ceil_div: argument 1 must lie in 0 .. 4611686018427387904, but ranges over -1000 .. 1000",
        ),
        (
            "round_up(accum_size, len(inputs))",
            "round_up: argument 2 must lie in 1 .. 4611686018427387904, but ranges over 0 .. 4",
        ),
        (
            "scale_mem_bound(256, 16, delta).items_per_thread",
            "scale_mem_bound: argument 3 must lie in 1 .. 1048576, but ranges over -1000 .. 1000",
        ),
        (
            "int32(num_items)",
            "int32: argument 1 must lie in -2147483648 .. 2147483647, but ranges over -1 .. 4611686018427387904",
        ),
        (
            "fold(inputs, 1, lambda t, x: t * x.size)",
            "`*` can overflow int32: it ranges over 1 .. 4294967296; write int64(..) around an operand",
        ),
        (
            "10 // delta if delta >= 0 else 0",
            "`//` can divide by zero: the divisor ranges over 0 .. 1000; guard it, such as `a // b if b > 0 else 0`",
        ),
        (
            "10 // delta if cc >= '9.0' else 0",
            "`//` can divide by zero: the divisor ranges over -1000 .. 1000; "
            "guard it, such as `a // b if b > 0 else 0`",
        ),
        (
            "10 // delta if cc < '9.0' else 0",
            "`//` can divide by zero: the divisor ranges over -1000 .. 1000; "
            "guard it, such as `a // b if b > 0 else 0`",
        ),
        (
            "10 // delta if accum_t == 'other' else 0",
            "`//` can divide by zero: the divisor ranges over -1000 .. 1000; "
            "guard it, such as `a // b if b > 0 else 0`",
        ),
    ],
)
def test_what_cannot_be_proven_is_reported(text: str, report: str) -> None:
    _, reports = analysed(text)
    assert reports[0] == report


def test_the_body_of_a_called_function_is_analysed_with_its_arguments() -> None:
    scope = SCOPE.define(_function("half", "100 // n"))
    reports: list[str] = []
    interval_of(parse("half(accum_size)", scope), DOMAINS, reports.append)
    assert reports == []
    interval_of(parse("half(delta)", scope), DOMAINS, reports.append)
    assert len(reports) == 1
    assert "divide by zero" in reports[0]


@pytest.mark.parametrize(
    "text",
    [
        "10 // delta if delta > 0 else 0",
        "10 // delta if 0 < delta else 0",
        "0 if delta <= 0 else 10 // delta",
        "10 // delta if not delta <= 0 else 0",
        "10 // delta if not (delta <= 0) and stable else 0",
        "10 // delta if not (delta <= 0 or stable) else 0",
        "0 if delta < 1 or stable else 10 // delta",
        "delta > 0 and 10 // delta > 3",
        "delta <= 0 or 10 // delta > 3",
        "stable or delta > 0 and 10 // delta > 3",
        "10 // delta if 1 <= delta <= 8 else 0",
        "10 // delta if delta in (1, 2, 8) else 0",
        "10 // delta if delta == 4 else 0",
        "0 if delta not in (1, 2) else 10 // delta",
        "10 // len(inputs) if len(inputs) > 0 else 0",
        "10 // len(inputs) if len(inputs) != 0 else 0",
        "10 // delta if offset_size < delta else 0",
        "any32 + 1 if any32 < 2147483647 else any32",
        "any32 % -1 if any32 > -2147483648 else 0",
        "num_items * accum_size if num_items <= 1000000 else 0",
        "any64 * 2 if -1000 < any64 < 1000 else 0",
        "10 // (delta if delta > 0 else 1)",
        "sum(10 // x.delay for x in inputs if x.delay > 0)",
        "all(x.delay > 0 and 10 // x.delay > 1 for x in inputs)",
        "max((10 // x.delay for x in inputs if x.delay != 0), default=0)",
        "fold(inputs, 0, lambda t, x: min(t + x.size, 1000))",
        "int32(clamp(num_items, 0, 1000))",
        "10 // input.delay if input.delay > 0 else 0",
    ],
)
def test_a_guard_is_a_proof(text: str) -> None:
    _, reports = analysed(text)
    assert reports == []


def _function(name: str, result: str) -> Function:
    return Function(name, (("n", INT32),), (), parse(result, Scope({"n": INT32})))


def with_let(name: str, definition: str) -> tuple[Scope, Domains]:
    expr = parse(definition, SCOPE)
    domains = Domains({**DOMAINS.paths, name: interval_of(expr, DOMAINS, pytest.fail)}, {**DOMAINS.lets, name: expr})
    return SCOPE.bind({name: expr.type}), domains


@pytest.mark.parametrize(
    ("definition", "text"),
    [
        ("delta > 0", "10 // delta if d else 0"),
        ("delta <= 0 or stable", "10 // delta if not d else 0"),
        ("delta", "10 // delta if d > 0 else 0"),
        ("delta", "10 // d if d > 0 else 0"),
        ("input.delay", "10 // input.delay if d > 0 else 0"),
        ("is_wide and delta > 0", "10 // delta if d and stable else 0"),
    ],
)
def test_a_let_is_looked_through(definition: str, text: str) -> None:
    scope, domains = with_let("d", definition)
    interval_of(parse(text, scope), domains, pytest.fail)


@pytest.mark.parametrize(
    ("text", "interval"),
    [
        ("accum_size", Interval(1, 65536)),
        ("pitch", Interval(1, 65536)),
        ("input.offset", Interval(-(2**40), 2**40)),
        ("len(inputs)", Interval(0, 4)),
        ("accum_size + offset_size", Interval(5, 65544)),
        ("delta - offset_size", Interval(-1008, 996)),
        ("delta * delta", Interval(-1000000, 1000000)),
        ("-delta", Interval(-1000, 1000)),
        ("delta // offset_size", Interval(-250, 250)),
        ("accum_size // -8", Interval(-8192, 0)),
        ("accum_size % offset_size", Interval(0, 7)),
        ("delta % offset_size", Interval(-7, 7)),
        ("min(delta, 5)", Interval(-1000, 5)),
        ("max(delta, 5)", Interval(5, 1000)),
        ("clamp(delta, 0, 10)", Interval(0, 10)),
        ("clamp(accum_size, 4, 8)", Interval(4, 8)),
        ("clamp(accum_size, 8, delta)", Interval(-1000, 1000)),
        ("ceil_div(accum_size, 16)", Interval(1, 4096)),
        ("round_up(accum_size, 16)", Interval(16, 65536)),
        ("round_down(accum_size, 16)", Interval(0, 65536)),
        ("power_of_two_factor(accum_size)", Interval(1, 65536)),
        ("next_power_of_two(accum_size)", Interval(1, 65536)),
        ("next_power_of_two(clamp(accum_size, 5, 9))", Interval(8, 16)),
        ("stable", Interval(0, 1)),
        ("is_power_of_two(accum_size)", Interval(0, 1)),
        ("element_size(accum_t).size", Interval(1, 16)),
        ("element_size(accum_t).bias", Interval(-(2**40), 2**33)),
        ("sum(x.size for x in inputs)", Interval(0, 4 * 65536)),
        ("sum(x.size - 2 for x in inputs)", Interval(-4, 4 * 65534)),
        ("max((x.size for x in inputs), default=0)", Interval(0, 65536)),
        ("min((x.size for x in inputs), default=70000)", Interval(1, 70000)),
        ("fold(inputs, 0, lambda t, x: t + 1)", Interval(0, 4)),
        ("scale_mem_bound(256, 16, accum_size).items_per_thread", Interval(1, 32)),
        ("scale_reg_bound(256, 16, offset_size).items_per_thread", Interval(8, 16)),
        ("nominal_4b_items(16, accum_size)", Interval(1, 16)),
        ("all(x.trivial for x in inputs if False)", Interval(1, 1)),
        ("any(x.trivial for x in inputs if False)", Interval(0, 0)),
        ("max((x.size for x in inputs if False), default=3)", Interval(3, 3)),
    ],
)
def test_intervals_are_tight_where_rules_need_it(text: str, interval: Interval) -> None:
    found, reports = analysed(text)
    assert reports == []
    assert interval.inside(found)
    assert found.inside(Interval(interval.low - 15, interval.high + 15))


def test_a_condition_that_never_holds_leaves_nothing_to_analyse() -> None:
    assert narrow(DOMAINS, parse("accum_size > 65536", SCOPE), True) is None
    assert narrow(DOMAINS, parse("accum_size > 65536", SCOPE), False) is not None
    assert analysed("10 // 0 if accum_size > 65536 else 1") == (Interval(1, 1), [])


def test_a_version_can_be_any_version() -> None:
    scope, domains = Scope({"cc": COMPUTE_CAPABILITY}), Domains()
    for text in ("cc >= '9.0'", "cc < '9.0'", "cc == '12.1'"):
        assert narrow(domains, parse(text, scope), True) is not None
        assert narrow(domains, parse(text, scope), False) is not None


BOUNDS = st.integers(-300, 300) | st.sampled_from([-(2**31), 2**31 - 1, -(2**62), 2**62, 49152, 65536])
OPERATORS = ("+", "-", "*", "//", "%", "<", "<=", ">", ">=", "==", "!=")


@st.composite
def boxes(draw: st.DrawFn) -> tuple[Interval, Interval, Interval]:
    found = []
    for _ in range(3):
        low, high = sorted((draw(BOUNDS), draw(BOUNDS)))
        found.append(Interval(low, high))
    return found[0], found[1], found[2]


def _corners(rng: random.Random, interval: Interval) -> list[int]:
    inside = [rng.randint(interval.low, interval.high) for _ in range(3)]
    near = [v for v in (-1, 0, 1, interval.low + 1, interval.high - 1) if interval.low <= v <= interval.high]
    return [interval.low, interval.high, *inside, *near]


@QUICK
@given(boxes(), st.sampled_from(OPERATORS), st.integers(0, 1000))
def test_operators_are_sound(box: tuple[Interval, Interval, Interval], op: str, seed: int) -> None:
    a, b, _ = box
    expr = parse(f"a {op} b", Scope({"a": INT64, "b": INT64}))
    reports: list[str] = []
    found = interval_of(expr, Domains({"a": a, "b": b}), reports.append)
    rng = random.Random(seed)
    for x in _corners(rng, a):
        for y in _corners(rng, b):
            if op in ("//", "%") and y == 0:
                assert any("divide by zero" in r for r in reports)
                continue
            value = evaluate(expr, {"a": x, "b": y})
            if expr.type == BOOL or INT64.low <= value <= INT64.high:
                assert found.low <= value <= found.high
            else:
                assert any("overflow" in r for r in reports)


@QUICK
@given(boxes(), st.sampled_from(sorted(BUILTINS)), st.integers(0, 1000))
def test_functions_are_sound(box: tuple[Interval, Interval, Interval], name: str, seed: int) -> None:
    builtin = BUILTINS[name]
    count = min(max(builtin.arity[0], 1), 3)
    args = list(box[:count])
    for position, required in enumerate(builtin.preconditions):
        if required is not None:
            args[position] = args[position].meet(required) or Interval(max(required.low, 1), max(required.low, 1) + 7)
    rng = random.Random(seed)
    intervals = {"": builtin.interval(args)} if builtin.fields is None else builtin.fields(args)
    for _ in range(40):
        values = [rng.choice(_corners(rng, interval)) for interval in args]
        result = builtin.evaluate(*values)
        for part, interval in intervals.items():
            value = result[part] if part else result
            assert interval.low <= value <= interval.high, (name, args, values, part)


@QUICK
@given(boxes(), st.sampled_from(OPERATORS[5:]), st.sampled_from(OPERATORS[5:]), st.integers(0, 1000))
def test_a_narrowing_loses_no_key_that_meets_the_condition(
    box: tuple[Interval, Interval, Interval], first: str, second: str, seed: int
) -> None:
    scope = Scope({"a": INT64, "b": INT64, "c": INT64})
    domains = Domains({"a": box[0], "b": box[1], "c": box[2]})
    rng = random.Random(seed)
    for joined in ("and", "or"):
        condition = parse(f"a {first} b {joined} not b {second} c", scope)
        for _ in range(20):
            key = {name: rng.choice(_corners(rng, interval)) for name, interval in domains.paths.items()}
            holds = evaluate(condition, key)
            narrowed = narrow(domains, condition, holds)
            assert narrowed is not None
            for name, value in key.items():
                assert narrowed.paths[name].low <= value <= narrowed.paths[name].high


@QUICK
@given(
    st.sampled_from(["cc >= '9.0'", "is_wide", "stable == (delta > 4)", "input.trivial or delta != 0"]),
    st.integers(0, 999),
)
def test_other_conditions_lose_no_key_either(text: str, seed: int) -> None:
    condition = parse(text, SCOPE)
    key = with_lets(random_key(random.Random(seed), 2))
    narrowed = narrow(DOMAINS, condition, evaluate(condition, key))
    assert narrowed is not None
    for name in ("delta", "accum_size", "pitch"):
        interval = narrowed.paths[name]
        assert interval.low <= key[name] <= interval.high
