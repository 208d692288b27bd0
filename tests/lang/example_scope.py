"""A scope with one of everything that an expression may refer to, its domains, and random values within them."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from attrs import evolve

from policygen.lang.evaluate import evaluate
from policygen.lang.intervals import Domains
from policygen.lang.intervals import interval_of
from policygen.lang.parse import parse
from policygen.lang.tree import Expr
from policygen.lang.tree import Function
from policygen.lang.tree import Scope
from policygen.lang.tree import Table
from policygen.model.ranges import Interval
from policygen.model.types import BOOL
from policygen.model.types import COMPUTE_CAPABILITY
from policygen.model.types import INT32
from policygen.model.types import INT64
from policygen.model.types import UINT32
from policygen.model.types import Enumeration
from policygen.model.types import Enumerator
from policygen.model.types import EnumType
from policygen.model.types import IntType
from policygen.model.types import ListType
from policygen.model.types import RecordType
from policygen.model.types import Struct
from policygen.model.types import StructField
from policygen.model.types import Type

ELEMENT = EnumType(
    Enumeration(
        "element_t",
        (
            Enumerator("int8"),
            Enumerator("float32"),
            Enumerator("float64"),
            Enumerator("other"),
            Enumerator("float16", refines="other"),
            Enumerator("bfloat16", refines="other"),
        ),
    )
)
OPERATION = EnumType(Enumeration("operation_kind", tuple(map(Enumerator, ("plus", "min", "max", "other")))))
INPUT = RecordType(
    Struct(
        "input_info",
        (
            StructField("size", INT32, interval=Interval(1, 65536)),
            StructField("alignment", INT32, interval=Interval(1, 256)),
            StructField("offset", INT64, interval=Interval(-(2**40), 2**40)),
            StructField("delay", UINT32, interval=Interval(0, 2**32 - 1)),
            StructField("trivial", BOOL),
            StructField("element", ELEMENT),
        ),
    )
)
MOST_INPUTS = 4
INPUTS = ListType(INPUT, MOST_INPUTS)

FIELDS: dict[str, Type] = {
    "accum_t": ELEMENT,
    "operation_t": OPERATION,
    "accum_size": INT32,
    "offset_size": INT32,
    "delta": INT32,
    "any32": INT32,
    "num_items": INT64,
    "any64": INT64,
    "delay": UINT32,
    "stable": BOOL,
    "cc": COMPUTE_CAPABILITY,
    "input": INPUT,
    "inputs": INPUTS,
}
INTEGERS: dict[str, Interval] = {
    "accum_size": Interval(1, 65536),
    "offset_size": Interval(4, 8),
    "delta": Interval(-1000, 1000),
    "any32": Interval(INT32.low, INT32.high),
    "num_items": Interval(-1, 2**62),
    "any64": Interval(INT64.low, INT64.high),
    "delay": Interval(0, 2**32 - 1),
}

SIZES = Table(
    "element_size",
    (("element", ELEMENT),),
    RecordType(
        Struct(
            "element_size",
            (
                StructField("size", INT32),
                StructField("bias", INT64),
                StructField("is_float", BOOL),
                StructField("widened", ELEMENT),
            ),
        )
    ),
    (
        (("int8",), (1, -128, False, "int8")),
        (("float32",), (4, 2**33, True, "float64")),
        (("float64",), (8, 0, True, "float64")),
        (("float16",), (2, -(2**40), True, "float32")),
    ),
    (16, 1, False, "other"),
)
STEPS = Table(
    "steps",
    (("size", INT32), ("stable", BOOL)),
    RecordType(Struct("steps", (StructField("count", INT32), StructField("kind", OPERATION)))),
    (((4, True), (7, "plus")), ((4, False), (-3, "min")), ((8, True), (0, "max"))),
    (1, "other"),
)

LETS = {
    "pitch": "input.size",
    "is_wide": "accum_size > 8 and pitch >= 4",
    "spread": "delta - 1001",
    "result": "int64(offset_size) * accum_size",
}
"""A plain name, a condition, an int32 and an int64; `result` is also what a printer might call its own variable."""


def _function(scope: Scope, name: str, parameters: Mapping[str, Type], result: str, **lets: str) -> Scope:
    inner = Scope(dict(parameters), scope.functions, scope.tables)
    bodies: list[tuple[str, Expr]] = []
    for let, text in lets.items():
        bodies.append((let, parse(text, inner)))
        inner = inner.bind({let: bodies[-1][1].type})
    return scope.define(Function(name, tuple(parameters.items()), tuple(bodies), parse(result, inner)))


def _scope() -> Scope:
    scope = Scope().tabulate(SIZES).tabulate(STEPS)
    scope = _function(
        scope,
        "tile_bytes",
        {"items": INT32, "size": INT32},
        "wide * max(size, 1) if size < 4096 else wide",
        wide="int64(items) * 2",
    )
    scope = _function(scope, "is_plain", {"info": INPUT}, "info.trivial and info.element != 'other'")
    scope = _function(
        scope,
        "heaviest",
        {"list_": INPUTS, "least": INT32},
        "max((result.size for result in list_ if result.alignment <= least), default=least)",
    )
    scope = _function(scope, "first", {"a": INT32, "unused": BOOL}, "a", also_unused="a + 0 if a < 9 else a")
    scope = _function(scope, "weight", {"big": INT64}, "big // 3 if big > 0 else -(big // 7)")
    scope = _function(
        scope, "widened", {"element": ELEMENT}, "element_size(element).widened if element != 'other' else element"
    )
    return _function(
        scope,
        "scaled",
        {"items": INT32, "size": INT32},
        "scale_mem_bound(256, clamp(items, 1, 64), clamp(size, 1, 512))",
    )


def _paths() -> dict[str, Interval]:
    paths = dict(INTEGERS)
    for prefix in ("input", "inputs.*"):
        paths |= {f"{prefix}.{f.name}": f.interval for f in INPUT.struct.fields if f.interval is not None}
    return paths


def _with_lets(scope: Scope, domains: Domains) -> tuple[Scope, Domains, dict[str, Expr]]:
    lets: dict[str, Expr] = {}
    for name, text in LETS.items():
        expr = parse(text, scope)
        reports: list[str] = []
        interval = interval_of(expr, domains, reports.append)
        assert not reports, f"{name}: {reports[0]}"
        lets[name] = expr
        scope = scope.bind({name: expr.type})
        domains = evolve(domains, lets={**domains.lets, name: expr})
        if isinstance(expr.type, IntType):
            domains = domains.with_paths({name: interval})
    return scope, domains, lets


SCOPE, DOMAINS, LET_EXPRESSIONS = _with_lets(_scope().bind(FIELDS), Domains(_paths()))
FUNCTIONS = tuple(SCOPE.functions.values())
TABLES = tuple(SCOPE.tables.values())
STRUCTS = (INPUT.struct,)
ENUMERATIONS = (ELEMENT.enumeration, OPERATION.enumeration)

_COMMON = (0, 1, 2, 3, 4, 8, 16, 31, 32, 256, 48 * 1024)


def random_integer(rng: random.Random, interval: Interval) -> int:
    """Bounds, small and round numbers often, anything else otherwise."""
    corners = [v for v in (interval.low, interval.high, *_COMMON, -1, -2, -7) if interval.low <= v <= interval.high]
    if rng.random() < 0.6:
        return rng.choice(corners)
    return rng.randint(interval.low, interval.high)


def random_value(rng: random.Random, kind: Type, interval: Interval | None, length: int) -> Any:
    """A value of a type; `length` is the length of lists."""
    match kind:
        case EnumType(enumeration):
            return rng.choice(enumeration.names)
        case RecordType(struct):
            return {f.name: random_value(rng, f.type, f.interval, length) for f in struct.fields}
        case ListType(element):
            return tuple(random_value(rng, element, None, length) for _ in range(length))
        case IntType():
            assert interval is not None
            return random_integer(rng, interval)
        case _ if kind == COMPUTE_CAPABILITY:
            return rng.choice((50, 75, 80, 86, 87, 89, 90, 100, 103, 110, 120, 121))
        case _:
            return rng.random() < 0.5


def random_key(rng: random.Random, length: int) -> dict[str, Any]:
    """A value for every field, within the domains; `length` is the number of inputs."""
    return {name: random_value(rng, kind, INTEGERS.get(name), length) for name, kind in FIELDS.items()}


def with_lets(key: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a key and of the lets that follow from it."""
    names = dict(key)
    for name, expr in LET_EXPRESSIONS.items():
        names[name] = evaluate(expr, names)
    return names
