"""Keys: what people write, checked against the declared domains, with defaults filled in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policygen.lang.evaluate import Evaluator
from policygen.lang.evaluate import LazyNames
from policygen.lang.evaluate import compiled
from policygen.model.problems import did_you_mean
from policygen.model.ranges import Interval
from policygen.model.types import BoolType
from policygen.model.types import EnumType
from policygen.model.types import IntType
from policygen.model.types import ListType
from policygen.model.types import RecordType
from policygen.spec import Algorithm
from policygen.spec import KeyField


class InvalidKey(ValueError):  # noqa: N818 - it says what the key is
    """A key that is not of the declared domains. `reasons` has one line for each field that is wrong."""

    def __init__(self, reasons: list[str]) -> None:
        super().__init__("; ".join(reasons))
        self.reasons = tuple(reasons)


class KeyReader:
    """Reads the keys of one algorithm."""

    def __init__(self, algorithm: Algorithm) -> None:
        self._algorithm = algorithm
        self._fields = {f.name: f for f in algorithm.key}
        self._lets: dict[str, Evaluator] = {let.name: compiled(let.expr) for let in algorithm.lets}
        self._defaults = {f.name: compiled(f.default) for f in algorithm.key if f.default is not None}

    def read(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The whole key, in the order of the spec.

        Args:
            given: some fields by name. Enumerators are names; records are mappings; lists are sequences of them.

        Raises:
            InvalidKey: unknown names, values outside the domains, fields that must be given.
        """
        reasons = [
            f"unknown key field {name}{did_you_mean(name, tuple(self._fields))}"
            for name in given
            if name not in self._fields
        ]
        checked: dict[str, Any] = {}
        for name, value in given.items():
            if name in self._fields and value is not None:
                checked[name] = _checked(self._fields[name], name, value, reasons)
        missing = [
            name
            for name in self._fields
            if name not in self._defaults and checked.get(name) is None and name not in given
        ]
        reasons += [f"{name} is missing: {_expected(self._fields[name])}" for name in missing]
        if reasons:
            raise InvalidKey(reasons)
        return self._complete(checked)

    def _complete(self, checked: dict[str, Any]) -> dict[str, Any]:
        names = LazyNames(checked, {**self._lets, **self._defaults})
        key: dict[str, Any] = {}
        for name, field in self._fields.items():
            value = names[name]
            if name not in checked and not _within(field, value):
                raise InvalidKey([f"{name} is missing: {_expected(field)}; only types of known size give it"])
            key[name] = value
        return key


def _within(field: KeyField, value: Any) -> bool:
    if field.values is not None:
        return value in field.values
    return field.interval is None or field.interval.low <= value <= field.interval.high


def _checked(field: KeyField, name: str, value: Any, reasons: list[str]) -> Any:
    kind = field.type
    if isinstance(kind, IntType):
        if type(value) is int and _within(field, value):
            return value
    elif isinstance(kind, BoolType):
        if isinstance(value, bool):
            return value
    elif isinstance(kind, EnumType):
        names = kind.enumeration.names
        if value in names:
            return value
        reasons.append(f"{name}: {value!r} is not one of {', '.join(names)}{_near(value, names)}")
        return None
    elif isinstance(kind, ListType):
        if isinstance(value, list | tuple) and len(value) <= kind.max_length:
            return tuple(_record(field, f"{name}[{i}]", v, reasons) for i, v in enumerate(value))
    elif isinstance(kind, RecordType):
        return _record(field, name, value, reasons)
    reasons.append(f"{name}: expected {_expected(field)}, not {value!r}")
    return None


def _near(value: object, names: tuple[str, ...]) -> str:
    hint = did_you_mean(str(value), names)
    return hint if "did you mean" in hint else ""


def _record(field: KeyField, name: str, value: Any, reasons: list[str]) -> dict[str, Any] | None:
    if not isinstance(value, Mapping):
        reasons.append(f"{name}: expected a record with {', '.join(p.name for p in field.element)}, not {value!r}")
        return None
    parts = {p.name: p for p in field.element}
    reasons += [f"{name}: unknown field {n}{did_you_mean(n, tuple(parts))}" for n in value if n not in parts]
    record: dict[str, Any] = {}
    for part in field.element:
        if part.name in value:
            record[part.name] = _checked(part, f"{name}.{part.name}", value[part.name], reasons)
        elif part.default is not None:
            record[part.name] = None if None in record.values() else compiled(part.default)(record)
        else:
            reasons.append(f"{name}.{part.name} is missing: {_expected(part)}")
    return record


def _expected(field: KeyField) -> str:
    match field.type:
        case IntType():
            if field.values is not None:
                return f"one of {', '.join(map(str, field.values))}"
            return f"an integer in {field.interval or Interval(field.type.low, field.type.high)}"
        case BoolType():
            return "true or false"
        case EnumType(enumeration):
            return f"one of {', '.join(enumeration.names)}"
        case ListType(max_length=length):
            return f"a list of at most {length} records"
        case _:
            return f"a {field.type}"
