"""Structuring a TOML table as an `attrs` class: nothing is converted silently, and every error has its line."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from enum import Enum
from functools import partial
from typing import Any
from typing import Final
from typing import TypeVar
from typing import get_args
from typing import get_origin

import attrs
from cattrs import Converter
from cattrs.errors import ClassValidationError
from cattrs.errors import ForbiddenExtraKeysError
from cattrs.errors import IterableValidationError
from cattrs.errors import IterableValidationNote
from cattrs.gen import make_dict_structure_fn

from policygen.loading.toml_positions import KeyPath
from policygen.loading.toml_source import TomlSource
from policygen.model.problems import Problem
from policygen.model.problems import did_you_mean

_Document = TypeVar("_Document")

_TOML_NAMES: Final[dict[type, str]] = {
    str: "a text in quotes",
    int: "a whole number",
    bool: "true or false",
    float: "a number",
    datetime.date: "a date such as 2026-08-20 without quotes",
    list: "an array",
    dict: "a table",
}


class _MismatchError(ValueError):
    """A value is of another type than its key asks for."""


def structure(source: TomlSource, path: KeyPath, value: object, cls: type[_Document]) -> _Document | list[Problem]:
    """Structures a part of a TOML document.

    Args:
        source: The file, for positions.
        path: Key path of `value` in the file.
        value: A table as `tomllib` gives it.
        cls: An `attrs` class; its fields are the keys of the table. Fields may be texts, numbers, dates, enums (by
            value), lists, tables of these, other `attrs` classes, optional, or `Any`. Numbers are not taken for
            texts, nor truth values for numbers; keys that are no field are errors.

    Returns:
        An instance of `cls`, or every problem found, each at its line.
    """
    try:
        return _CONVERTER.structure(value, cls)
    except Exception as error:  # cattrs raises groups, and what the hooks raise outside of them
        return [source.problem(at, reason) for at, reason in _leaves(path, error)]


def _leaves(path: KeyPath, error: BaseException) -> Iterator[tuple[KeyPath, str]]:
    if isinstance(error, ClassValidationError):
        noted, plain = error.group_exceptions()
        for inner, note in noted:
            yield from _leaves((*path, note.name), inner)
        for other in plain:
            yield from _leaves(path, other)
    elif isinstance(error, IterableValidationError):
        items, plain = error.group_exceptions()
        for inner, item in items:
            yield from _leaves((*path, item.index), inner)
        for other in plain:
            yield from _leaves(path, other)
    elif isinstance(error, ForbiddenExtraKeysError):
        valid = [attribute.name for attribute in attrs.fields(error.cl)]
        for key in sorted(error.extra_fields):
            yield (*path, key), f"unknown key{did_you_mean(key, valid)}"
    elif isinstance(error, KeyError):
        yield path, "this key is missing"
    elif isinstance(error, ValueError):
        yield path, str(error)
    else:
        raise error


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{value}"' if len(value) <= 40 else f'"{value[:37]}..."'
    if isinstance(value, (list, dict)):
        return _TOML_NAMES[type(value)]
    return str(value)


def _exactly(cls: type) -> Callable[[object, object], Any]:
    def hook(value: object, _: object) -> object:
        if type(value) is not cls and not (cls is float and type(value) is int):
            raise _MismatchError(f"expected {_TOML_NAMES[cls]}, not {_shown(value)}")
        return value

    return hook


def _enum_hook(value: object, cls: type[Enum]) -> Enum:
    valid = {str(member.value): member for member in cls}
    if not isinstance(value, str) or value not in valid:
        listed = ", ".join(f'"{name}"' for name in valid)
        raise _MismatchError(f"expected one of {listed}, not {_shown(value)}")
    return valid[value]


def _build_converter() -> Converter:
    converter = Converter(forbid_extra_keys=True, detailed_validation=True)
    check_array, check_table = _exactly(list), _exactly(dict)

    # cattrs alone would take a text for a list of its letters, and a list of pairs for a table.
    def array_hook(value: object, cls: Any) -> list[Any] | tuple[Any, ...]:
        element, *_ = get_args(cls)
        items = _each(converter, enumerate(check_array(value, cls)), element, cls)
        return items if get_origin(cls) is list else tuple(items)

    def table_hook(value: object, cls: Any) -> dict[str, Any]:
        table = check_table(value, cls)
        return dict(zip(table, _each(converter, table.items(), get_args(cls)[1], cls), strict=True))

    def class_hook(cls: type) -> Callable[[object, object], Any]:
        structured: Any = make_dict_structure_fn(cls, converter, _cattrs_forbid_extra_keys=True)
        return lambda value, wanted: structured(check_table(value, wanted), wanted)

    for exact in (str, int, bool, float, datetime.date):
        converter.register_structure_hook(exact, _exactly(exact))
    converter.register_structure_hook(Enum, _enum_hook)
    for origin, hook in ((list, array_hook), (tuple, array_hook), (dict, table_hook)):
        converter.register_structure_hook_func(partial(_has_origin, origin), hook)
    converter.register_structure_hook_factory(attrs.has, class_hook)
    return converter


def _has_origin(origin: type, cls: Any) -> bool:
    return get_origin(cls) is origin


def _each(converter: Converter, items: Iterable[tuple[Any, object]], element: Any, cls: Any) -> list[Any]:
    """Structures the elements of an array or table, and raises the errors of all of them at once."""
    structured: list[Any] = []
    errors: list[Exception] = []
    for index, item in items:
        try:
            structured.append(converter.structure(item, element))
        except Exception as error:
            error.__notes__ = [*getattr(error, "__notes__", []), IterableValidationNote("", index, element)]
            errors.append(error)
    if errors:
        raise IterableValidationError("", errors, cls)
    return structured


_CONVERTER: Final = _build_converter()
