"""Ranges of keys: many keys that behave alike, told by the values that each of their fields takes."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from typing import TypeAlias

from attrs import frozen

from policygen.resolve.telling import as_given

Given: TypeAlias = tuple[tuple[str, str], ...]
"""A key as people write it: field and value as text, fields in the order of the spec."""


def given_text(given: Mapping[str, Any]) -> Given:
    """A key as text."""
    return tuple((name, as_given(value)) for name, value in given.items())


@frozen
class KeyRange:
    """All keys whose fields take one of the values listed: the product of them.

    Attributes:
        fields: each field with its values as text, in the order in which they were first met.
        keys: how many keys these are.
    """

    fields: tuple[tuple[str, tuple[str, ...]], ...]
    keys: int

    def __str__(self) -> str:
        parts = [
            f"{name}={values[0]}" if len(values) == 1 else f"{name}={{{', '.join(values)}}}"
            for name, values in self.fields
        ]
        return ", ".join(parts) or "the only key"


def key_ranges(keys: Iterable[Given]) -> tuple[KeyRange, ...]:
    """The fewest ranges that merging keys field by field leads to; together they hold exactly these keys.

    Keys that differ in one field become one range over it, ranges that differ in one field likewise. Fields that vary
    over many values are merged first.
    """
    ranges: list[dict[str, tuple[str, ...]]] = [{name: (value,) for name, value in key} for key in dict.fromkeys(keys)]
    names = list(dict.fromkeys(name for found in ranges for name in found))
    names.sort(key=lambda name: -len({found.get(name) for found in ranges}))
    while True:
        before = len(ranges)
        for name in names:
            ranges = _merged(ranges, name)
        if len(ranges) == before:
            break
    return tuple(KeyRange(tuple(found.items()), _product(len(values) for values in found.values())) for found in ranges)


def _merged(ranges: Sequence[Mapping[str, tuple[str, ...]]], name: str) -> list[dict[str, tuple[str, ...]]]:
    groups: dict[tuple[tuple[str, tuple[str, ...]], ...], dict[str, tuple[str, ...]]] = {}
    for found in ranges:
        rest = tuple((other, values) for other, values in found.items() if other != name)
        merged = groups.setdefault(rest, dict(found))
        if name in found:
            merged[name] = tuple(dict.fromkeys((*merged[name], *found[name])))
    return list(groups.values())


def _product(numbers: Iterable[int]) -> int:
    total = 1
    for number in numbers:
        total *= number
    return total
