"""Sizes, rates, times and versions written by people, read as exact integers."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Final

from policygen.model.capabilities import HIGHEST_CAPABILITY
from policygen.model.capabilities import KNOWN_CAPABILITIES
from policygen.model.capabilities import LOWEST_CAPABILITY
from policygen.model.capabilities import nearest_capability
from policygen.model.dimensions import UNITS
from policygen.model.dimensions import Dimension
from policygen.model.dimensions import format_value
from policygen.model.problems import nearest
from policygen.model.types import INT64_MAX

_WITH_UNIT = re.compile(r"(-?[0-9]+(?:\.[0-9]+)?) ?([A-Za-z/]*)", re.ASCII)
_VERSION = re.compile(r"([0-9]{1,4})\.([0-9]{1,2})", re.ASCII)
_CAPABILITY_NAME = re.compile(r"(?:sm|compute)_([0-9]+)[af]?", re.ASCII)
_CAPABILITY_DOTTED = re.compile(r"([0-9]{1,2})\.([0-9])", re.ASCII)
_CAPABILITY_NUMBER = re.compile(r"([0-9]+)([af]?)", re.ASCII)
_BOUND = re.compile(r"(<=|>=|==|<|>)\s*(\S+)", re.ASCII)
_COUNT = re.compile(r"([0-9]{1,19})(?:\^([0-9]{1,2}))?", re.ASCII)

_LONGEST: Final = 40
"""Characters of a number; more cannot be an int64 in any unit."""

_DECIMAL_SIZES: Final = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}

_EXAMPLES: Final = {
    Dimension.BYTES: "48 KiB",
    Dimension.BYTES_PER_SECOND: "900 GB/s",
    Dimension.FLOPS: "7.8 TFLOP/s",
    Dimension.NANOSECONDS: "6.2 us",
    Dimension.COMPUTE_CAPABILITY: "9.0",
    Dimension.TOOLKIT: "13.0",
}


class QuantityError(ValueError):
    """A text is no quantity of the dimension that was expected; the message says what to write."""


def parse_quantity(value: object, dimension: Dimension) -> int:
    """Reads a quantity of a spec.

    Args:
        value: A bare integer for a count; a text with a unit for sizes ("48 KiB", binary units), rates
            ("584.2 GB/s", decimal units) and times ("6.2 us"); a text "major.minor" for versions.
        dimension: What is expected.

    Returns:
        The exact value, 0 to 2^63 - 1: bytes, bytes a second, operations a second, nanoseconds, a count,
        major * 10 + minor for a compute capability, major * 100 + minor for a toolkit.

    Raises:
        QuantityError: With one line that says what to write instead.
    """
    if dimension is Dimension.COUNT:
        number = _count(value)
    elif not isinstance(value, str):
        raise QuantityError(_bare_number(value, dimension))
    elif dimension in (Dimension.COMPUTE_CAPABILITY, Dimension.TOOLKIT):
        number = _version(value, dimension)
    else:
        number = _with_unit(value, dimension)
    if number < 0:
        raise QuantityError(f'"{value}" is below zero')
    if number > INT64_MAX:
        raise QuantityError(f'"{value}" is more than an int64 holds')
    return number


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        shown = f'"{value}"' if isinstance(value, str) else _toml(value)
        hint = f"; write {value} without quotes" if isinstance(value, str) and value.isdecimal() else ""
        raise QuantityError(f"{shown} is not a count: expected a whole number{hint}")
    return value


def _bare_number(value: object, dimension: Dimension) -> str:
    example = _EXAMPLES[dimension]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return f'{_toml(value)} is not a value of {dimension.value}: write a text such as "{example}"'
    if dimension in (Dimension.COMPUTE_CAPABILITY, Dimension.TOOLKIT):
        return f'{value} is a number: a version is a text, write "{example}"'
    if isinstance(value, int) and value >= 0:
        smallest = f'"{value} {next(iter(UNITS[dimension]))}"'
        largest = f'"{format_value(dimension, value)}"'
        written = smallest if smallest == largest else f"{smallest} or {largest}"
        return f"{value} needs a unit: write {written}"
    return f'{value} needs a unit: write a text such as "{example}"'


def _toml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _version(text: str, dimension: Dimension) -> int:
    factor = 10 if dimension is Dimension.COMPUTE_CAPABILITY else 100
    match = _VERSION.fullmatch(text)
    if match is None or int(match.group(2)) >= factor or (len(match.group(2)) > 1 and match.group(2)[0] == "0"):
        raise QuantityError(f'"{text}" is not a version: write major.minor, such as "{_EXAMPLES[dimension]}"')
    return int(match.group(1)) * factor + int(match.group(2))


def _with_unit(text: str, dimension: Dimension) -> int:
    units = UNITS[dimension]
    match = _WITH_UNIT.fullmatch(text)
    if match is None or len(match.group(1)) > _LONGEST:
        raise QuantityError(f'"{text}" is not a number with a unit: write a text such as "{_EXAMPLES[dimension]}"')
    number, unit = Fraction(match.group(1)), match.group(2)
    if unit not in units:
        raise QuantityError(_unit_reason(text, number, unit, dimension))
    exact = number * units[unit]
    if exact.denominator != 1:
        raise QuantityError(f'"{text}" is not a whole number of {next(iter(units))}')
    return int(exact)


def _unit_reason(text: str, number: Fraction, unit: str, dimension: Dimension) -> str:
    units = UNITS[dimension]
    if not unit:
        written = f"{text.strip()} {next(iter(units))}"
        return f'"{text}" needs a unit: write "{written}" or such as "{_EXAMPLES[dimension]}"'
    letter = unit[0].lower()
    if dimension is Dimension.BYTES and unit.lower() in (letter, f"{letter}b") and letter in _DECIMAL_SIZES:
        binary = f"{letter.upper()}iB"
        sizes = (number * units[binary], number * _DECIMAL_SIZES[letter])
        if number >= 0 and all(size.denominator == 1 for size in sizes):
            plain = text[: len(text) - len(unit)].strip()
            return f'"{text}" is in doubt: write "{plain} {binary}" ({sizes[0]} bytes) or "{sizes[1]} B"'
    near = nearest(unit, units)
    hint = f'did you mean "{near}"? Valid' if near else "valid"
    return f'"{text}" has an unknown unit "{unit}"; {hint}: {", ".join(units)}'


def parse_compute_capability(text: str) -> int:
    """Reads the name of an NVIDIA architecture.

    `sm_90`, `sm_90a`, `sm_103f`, `compute_90`, `90`, `90a`, `9.0` and `900` (the identifier that CCCL's macros use)
    are accepted; a suffix `a` or `f` names the same capability.

    Returns:
        A known capability as major * 10 + minor.

    Raises:
        QuantityError: The text is of another form, or the capability is not a known one.
    """
    if match := _CAPABILITY_NAME.fullmatch(text):
        return _known_capability(match.group(1), text)
    if match := _CAPABILITY_DOTTED.fullmatch(text):
        return _known_capability(match.group(1) + match.group(2), text)
    if match := _CAPABILITY_NUMBER.fullmatch(text):
        digits, suffix = match.groups()
        hundreds = not suffix and len(digits) in (3, 4) and digits.endswith("0")
        if hundreds and int(digits) not in KNOWN_CAPABILITIES and int(digits) // 10 in KNOWN_CAPABILITIES:
            return int(digits) // 10
        return _known_capability(digits, text)
    raise QuantityError(f'"{text}" is not a compute capability: write it as sm_90, compute_90, 90 or 9.0')


def _known_capability(digits: str, text: str) -> int:
    number = int(digits[:9])
    if len(digits) > 9 or number not in KNOWN_CAPABILITIES or digits.startswith("0"):
        near = nearest_capability(number)
        raise QuantityError(f'"{text}" is not a known compute capability; the nearest is sm_{near} ({near / 10})')
    return number


def parse_count_range(text: str) -> tuple[int, int]:
    """Reads a range of counts such as `<=2^20`, `>2^16,<=2^24` or `==1024`.

    Returns:
        Both ends, inclusive, int64. Without a lower bound the range begins at 0, for an unknown count is held
        as -1 and must not match; without an upper bound it ends at 2^63 - 1.

    Raises:
        QuantityError: The text is no range, bounds an end twice, or holds no number.
    """
    return _range(text, _range_count, 0, INT64_MAX, '"<=2^20" or ">2^16,<=2^24" or "==1024"')


def _range_count(word: str) -> int:
    match = _COUNT.fullmatch(word)
    if match is None:
        raise QuantityError(f'"{word}" is not a count: write a whole number such as 1024 or 2^20')
    number: int = pow(int(match.group(1)), int(match.group(2) or 1))
    if number > INT64_MAX:
        raise QuantityError(f'"{word}" is more than an int64 holds')
    return number


def parse_cc_range(text: str) -> tuple[int, int]:
    """Reads a range of compute capabilities such as `>=10.7,<11` or `==8.0`.

    A bound without a minor version means minor 0: `<11` ends below 11.0, `<=9` ends at 9.0.

    Returns:
        Both ends, inclusive, as major * 10 + minor: `>=10.7,<11` gives (107, 109). Without a lower bound the
        range begins at 0, without an upper bound it ends at 2^31 - 1.

    Raises:
        QuantityError: The text is no range, bounds an end twice, or holds no capability.
    """
    return _range(text, _range_version, LOWEST_CAPABILITY, HIGHEST_CAPABILITY, '">=10.0" or ">=10.7,<11" or "==8.0"')


def _range_version(word: str) -> int:
    match = re.fullmatch(r"([0-9]{1,2})(?:\.([0-9]))?", word, re.ASCII)
    if match is None:
        raise QuantityError(f'"{word}" is not a compute capability: write major.minor, such as "9.0"')
    return int(match.group(1)) * 10 + int(match.group(2) or 0)


def _range(text: str, number: Callable[[str], int], lowest: int, highest: int, examples: str) -> tuple[int, int]:
    low: int | None = None
    high: int | None = None
    for part in text.split(","):
        match = _BOUND.fullmatch(part.strip())
        if match is None:
            raise QuantityError(f'"{text}" is not a range: write such as {examples}')
        sign, bound = match.group(1), number(match.group(2))
        if (sign in (">", ">=", "==") and low is not None) or (sign in ("<", "<=", "==") and high is not None):
            raise QuantityError(f'"{text}" bounds one end twice')
        if sign in (">", ">=", "=="):
            low = bound + 1 if sign == ">" else bound
        if sign in ("<", "<=", "=="):
            high = bound - 1 if sign == "<" else bound
    low = lowest if low is None else low
    high = highest if high is None else high
    if low > high:
        raise QuantityError(f'"{text}" holds nothing: its lower end is above its upper end')
    return low, high
