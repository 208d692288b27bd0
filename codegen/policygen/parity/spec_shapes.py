"""From an algorithm's spec to the shape of CUB's selector, and from its keys to those that the oracle takes."""

from __future__ import annotations

import json
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from functools import lru_cache
from typing import Any
from typing import Final

from attrs import evolve

from policygen.model.types import BoolType
from policygen.model.types import Enumeration
from policygen.model.types import EnumType
from policygen.model.types import IntType
from policygen.model.types import ListType
from policygen.model.types import RecordType
from policygen.model.types import Struct
from policygen.model.types import StructField
from policygen.model.types import Type
from policygen.parity.shape import ArithmeticType
from policygen.parity.shape import EnumShape
from policygen.parity.shape import Field
from policygen.parity.shape import ListField
from policygen.parity.shape import RecordField
from policygen.parity.shape import ScalarField
from policygen.parity.shape import SelectorShape
from policygen.parity.shape import Value
from policygen.resolve.key import InvalidKey
from policygen.resolve.key import KeyReader
from policygen.spec import Algorithm

_DETAIL: Final = "cub::detail::"
_SELECTOR: Final = "policy_selector"


def selector_shape(algorithm: Algorithm) -> SelectorShape:
    """The shape of the selector that CUB has for an algorithm: its key without context fields, and its policy.

    Raises:
        ValueError: the spec does not say where CUB keeps the selector, or uses a type that CUB's selectors have not.
    """
    cub = algorithm.cub
    if cub is None:
        raise ValueError(f"{algorithm.name} has no selector in CUB: {algorithm.location.file} has no `cub`")
    if not cub.namespace.startswith(_DETAIL):
        raise ValueError(f"{algorithm.location.file}: cub.namespace: expected {_DETAIL}..., not {cub.namespace}")
    return SelectorShape(
        algorithm=algorithm.name,
        header=cub.header,
        namespace=cub.namespace.removeprefix(_DETAIL),
        selector=_SELECTOR,
        key=tuple(_member(f.name, f.type, algorithm.name) for f in algorithm.key if not f.context),
        policy=_members(algorithm.policy, algorithm.name),
    )


def oracle_key(algorithm: Algorithm, key: Mapping[str, Any]) -> dict[str, Value]:
    """A whole key as CUB sees it: without context fields, refinements as what they refine.

    Args:
        algorithm: whose key it is.
        key: every field by name.
    """
    return {f.name: _translator(f.type)(key[f.name]) for f in algorithm.key if not f.context}


def told_key(algorithm: Algorithm, key: Mapping[str, Any]) -> tuple[str, ...]:
    """A whole key as people write it, `name=value`: without fields that have their defaults, and none for context.

    Args:
        algorithm: whose key it is.
        key: every field by name.
    """
    reader = KeyReader(algorithm)
    told = []
    for field in algorithm.key:
        try:
            usual = reader.read({name: value for name, value in key.items() if name != field.name})[field.name]
        except InvalidKey:
            usual = None
        if not field.context and usual != key[field.name]:
            value = key[field.name]
            told.append(f"{field.name}={value if isinstance(value, str) else json.dumps(value)}")
    return tuple(told)


def _members(struct: Struct, where: str) -> tuple[Field, ...]:
    inside = f"{where}.{struct.name}"
    return tuple(_array(f, inside) if f.array else _member(f.name, f.type, inside) for f in struct.fields)


def _array(field: StructField, where: str) -> Field:
    """A record whose fields are the elements of an array in C++."""
    assert isinstance(field.type, RecordType)
    elements = _members(field.type.struct, where)
    return RecordField(field.name, tuple(evolve(e, member=f"[{i}]") for i, e in enumerate(elements)))


def _member(name: str, kind: Type, where: str) -> Field:
    match kind:
        case RecordType(struct):
            return RecordField(name, _members(struct, where))
        case ListType(element, max_length):
            return ListField(name, _members(element.struct, where), max_length)
        case EnumType(enumeration):
            return ScalarField(name, enum_shape(enumeration))
        case _:
            return ScalarField(name, _arithmetic(kind, f"{where}.{name}"))


def _arithmetic(kind: Type, where: str) -> ArithmeticType:
    match kind:
        case BoolType():
            return "bool"
        case IntType(bits=32, unsigned=unsigned):
            return "unsigned" if unsigned else "int"
        case _:
            raise ValueError(f"{where}: CUB's selectors have no {kind}: make it int32, uint32, bool or an enumeration")


def enum_shape(enumeration: Enumeration) -> EnumShape:
    """The shape of an enumeration: its C++ type is the scope of its enumerators, or stands beside them.

    Raises:
        ValueError: the vocabulary does not say how CUB spells its enumerators.
    """
    if enumeration.cub is None:
        raise ValueError(f"enumeration {enumeration.name}: parity needs `cub`, the C++ spelling of its enumerators")
    scope = enumeration.cub.rpartition("::")[0]
    scoped = scope.rpartition("::")[2].lstrip("_") == enumeration.name
    known = [e.name for e in enumeration.enumerators if e.refines is None]
    return EnumShape(
        cpp_type=scope if scoped else f"{scope}::{enumeration.name}",
        enumerators=tuple((name, enumeration.cub_spelling(name)) for name in known),
    )


@lru_cache(maxsize=256)
def _translator(kind: Type) -> Callable[[Any], Any]:
    match kind:
        case EnumType(enumeration):
            general = {name: enumeration.general(name) for name in enumeration.names}
            return general.__getitem__
        case RecordType(struct):
            return _record_translator(struct)
        case ListType(element):
            return _list_translator(_record_translator(element.struct))
        case _:
            return lambda value: value


def _record_translator(struct: Struct) -> Callable[[Mapping[str, Any]], dict[str, Value]]:
    fields = tuple((f.name, _translator(f.type)) for f in struct.fields)
    return lambda record: {name: translate(record[name]) for name, translate in fields}


def _list_translator(
    translate: Callable[[Mapping[str, Any]], dict[str, Value]],
) -> Callable[[Sequence[Mapping[str, Any]]], tuple[dict[str, Value], ...]]:
    return lambda records: tuple(translate(record) for record in records)
