"""The fixed functions of the expression language: signature, meaning and interval, one entry each.

The C++ and Python texts of the same functions are in `templates/`; a property test holds the three together.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
from typing import Any

from attrs import frozen

from policygen import scaling
from policygen.model.ranges import Interval
from policygen.model.types import BOOL
from policygen.model.types import INT32
from policygen.model.types import INT64
from policygen.model.types import SCALING_RESULT
from policygen.model.types import Type

Intervals = Sequence[Interval]


@frozen
class Builtin:
    """A function on integers. `arity` is (least, most); `result` None means the wider type of the arguments.

    `preconditions` gives for each argument the interval that the loader must prove. `interval` maps argument
    intervals to the result's; for a record it is given field by field in `fields`.
    """

    name: str
    arity: tuple[int, int]
    evaluate: Callable[..., Any]
    interval: Callable[[Intervals], Interval]
    result: Type | None = None
    preconditions: tuple[Interval | None, ...] = ()
    fields: Callable[[Intervals], dict[str, Interval]] | None = None


def ceil_div(a: int, b: int) -> int:
    """The quotient of two non-negative integers, rounded up."""
    return -(-a // b)


def round_up(a: int, b: int) -> int:
    """The least multiple of b that is not less than a."""
    return ceil_div(a, b) * b


def round_down(a: int, b: int) -> int:
    """The greatest multiple of b that is not greater than a."""
    return a // b * b


def is_power_of_two(a: int) -> bool:
    """Whether a is a positive power of two; false for zero."""
    return a > 0 and a & (a - 1) == 0


def power_of_two_factor(a: int) -> int:
    """The greatest power of two that divides a positive integer: a bound on the alignment of a type of that size."""
    return a & -a


def next_power_of_two(a: int) -> int:
    """The least power of two that is not less than a positive integer: a block of Triton's that holds so many items."""
    return 1 << (a - 1).bit_length()


def clamp(a: int, low: int, high: int) -> int:
    """a, brought between low and high."""
    return low if a < low else high if a > high else a


def _record(scaled: scaling.ScaledCounts) -> dict[str, int]:
    return scaled._asdict()


POSITIVE = Interval(1, 2**62)
COUNT = Interval(1, 2**20)
NATURAL = Interval(0, 2**62)


def _div_up(args: Intervals) -> Interval:
    a, b = args
    return Interval(ceil_div(a.low, b.high), ceil_div(a.high, b.low))


def _rounded_up(args: Intervals) -> Interval:
    a, b = args
    return Interval(max(a.low, 0), round_up(a.high, b.high) if b.low == b.high else a.high + b.high - 1)


def _scaled(most_items: int) -> Callable[[Intervals], dict[str, Interval]]:
    def fields(args: Intervals) -> dict[str, Interval]:
        threads, items, size = args
        least = max(1, items.low * 4 // max(4, size.high))
        most = max(1, min(items.high * most_items, items.high * 4 // size.low))
        return {
            "items_per_thread": Interval(least, most),
            "threads_per_block": Interval(
                min(threads.low, 32 if size.high * most <= scaling.TILE_BYTES else 0), threads.high
            ),
        }

    return fields


def _clamped(args: Intervals) -> Interval:
    """Also where the bounds cross: clamp(a, low, high) is low below low, else the lesser of a and high."""
    a, low, high = args
    found = []
    if a.low < low.high:
        found.append(Interval(max(low.low, a.low + 1), low.high))
    if a.high >= low.low:
        found.append(Interval(min(max(a.low, low.low), high.low), min(a.high, high.high)))
    return found[0].hull(found[-1])


def _items(args: Intervals) -> Interval:
    items, _ = args
    return Interval(1, items.high)


def _hull(args: Intervals) -> Interval:
    return args[0]


BUILTINS: dict[str, Builtin] = {
    b.name: b
    for b in (
        Builtin(
            "min",
            (2, 16),
            min,
            lambda a: Interval(min(i.low for i in a), min(i.high for i in a)),
        ),
        Builtin(
            "max",
            (2, 16),
            max,
            lambda a: Interval(max(i.low for i in a), max(i.high for i in a)),
        ),
        Builtin("clamp", (3, 3), clamp, _clamped),
        Builtin("ceil_div", (2, 2), ceil_div, _div_up, preconditions=(NATURAL, POSITIVE)),
        Builtin("round_up", (2, 2), round_up, _rounded_up, preconditions=(NATURAL, POSITIVE)),
        Builtin(
            "round_down",
            (2, 2),
            round_down,
            lambda a: Interval(max(0, a[0].low - a[1].high + 1), a[0].high),
            preconditions=(NATURAL, POSITIVE),
        ),
        Builtin("is_power_of_two", (1, 1), is_power_of_two, lambda _: Interval(0, 1), result=BOOL),
        Builtin(
            "power_of_two_factor",
            (1, 1),
            power_of_two_factor,
            lambda a: Interval(1, a[0].high),
            preconditions=(POSITIVE,),
        ),
        Builtin(
            "next_power_of_two",
            (1, 1),
            next_power_of_two,
            lambda a: Interval(next_power_of_two(a[0].low), next_power_of_two(a[0].high)),
            preconditions=(Interval(1, 2**30),),
        ),
        Builtin("int64", (1, 1), int, _hull, result=INT64),
        Builtin("int32", (1, 1), int, _hull, result=INT32, preconditions=(Interval(INT32.low, INT32.high),)),
        Builtin(
            "scale_mem_bound",
            (3, 3),
            lambda t, i, s: _record(scaling.scale_mem_bound(t, i, s)),
            _hull,
            result=SCALING_RESULT,
            preconditions=(COUNT, COUNT, COUNT),
            fields=_scaled(2),
        ),
        Builtin(
            "scale_reg_bound",
            (3, 3),
            lambda t, i, s: _record(scaling.scale_reg_bound(t, i, s)),
            _hull,
            result=SCALING_RESULT,
            preconditions=(COUNT, COUNT, COUNT),
            fields=_scaled(1),
        ),
        Builtin(
            "nominal_4b_items", (2, 2), scaling.nominal_4b_items, _items, result=INT32, preconditions=(COUNT, COUNT)
        ),
        Builtin(
            "nominal_8b_items", (2, 2), scaling.nominal_8b_items, _items, result=INT32, preconditions=(COUNT, COUNT)
        ),
    )
}
