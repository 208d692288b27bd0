"""The element types of a key: what a report lays policies out by, and what it is filtered by."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any

from attrs import frozen

from policygen.kernels import CppKind
from policygen.kernels import CppParameter
from policygen.lang.evaluate import Evaluator
from policygen.lang.evaluate import LazyNames
from policygen.lang.evaluate import compiled
from policygen.lang.tree import free_names
from policygen.resolve.passes import evaluators
from policygen.resolve.specialise import Rules

_NO_TYPE = ("other", "boolean")
"""Enumerators that are no arithmetic type."""


@frozen
class ElementType:
    """The type of one kind of element.

    Attributes:
        parameter: the template parameter that stands for it, `KeyT`; the key field, of a table of the engine.
        size: bytes, 0 where there is no such element.
        type: its enumerator, `float32`; None where the key has only its size.
    """

    parameter: str
    size: int
    type: str | None = None


def filter_words(elements: Iterable[ElementType]) -> tuple[str, ...]:
    """What a filter by type finds a key by: `4B` and `float32` where the key names types, else `4B` and `any4B`.

    Args:
        elements: those of the key; it is found by any of them.
    """
    there = [element for element in elements if element.size]
    named = [element.type for element in there if element.type is not None]
    sizes = [f"{element.size}B" for element in there]
    return tuple(dict.fromkeys((*sizes, *(named or [f"any{size}" for size in sizes]))))


class ElementTypes:
    """Reads the element types of the keys of one algorithm."""

    def __init__(self, rules: Rules) -> None:
        algorithm = rules.algorithm
        self._lets = evaluators(rules)
        self._readers = tuple(_Reader(p) for p in algorithm.cpp if p.kind is CppKind.ELEMENT and not _is_offset(p))
        # a table of the engine has no C++: its sizes of elements are fields of the key
        self._sizes = tuple(
            f.name
            for f in algorithm.key
            if algorithm.engine is not None and f.unit == "bytes" and f.name.endswith("_size")
        )

    def of(self, key: Mapping[str, Any]) -> tuple[ElementType, ...]:
        """The element types of a whole key, in the order of the spec; each of a list by itself."""
        if self._sizes:
            return tuple(ElementType(name, key[name]) for name in self._sizes)
        names = LazyNames(key, self._lets)
        return tuple(found for reader in self._readers for found in reader.read(names))


def _is_offset(parameter: CppParameter) -> bool:
    """Whether a parameter is an offset that C++ has as a signed integer: it is written like an element, and is none."""
    return any(name.startswith("offset_size") for name in free_names(parameter.value))


class _Reader:
    """One parameter, compiled."""

    def __init__(self, parameter: CppParameter) -> None:
        self._parameter = parameter
        self._size = compiled(parameter.value)
        self._type: Evaluator | None = None if parameter.type is None else compiled(parameter.type)

    def read(self, names: Mapping[str, Any]) -> Iterator[ElementType]:
        records = names[self._parameter.each] if self._parameter.each else (names,)
        for record in records:
            type_ = None if self._type is None else self._type(record)
            yield ElementType(self._parameter.name, self._size(record), None if type_ in _NO_TYPE else type_)
