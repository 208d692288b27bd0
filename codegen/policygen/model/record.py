"""An immutable record with CUB's field names: a resolved policy, or a part of one."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any


class Record(Mapping[str, Any]):
    """A mapping whose keys are attributes too: `policy.multi_tile.items_per_thread`. Equal to any equal mapping."""

    __slots__ = ("_fields",)

    def __init__(self, fields: Mapping[str, Any]) -> None:
        """Wraps the fields; nested mappings become records, lists become tuples."""
        object.__setattr__(self, "_fields", {name: _wrapped(value) for name, value in fields.items()})

    def __getattr__(self, name: str) -> Any:
        try:
            return self._fields[name]
        except KeyError:
            raise AttributeError(f"no field {name!r}; the fields are {', '.join(self._fields)}") from None

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a record cannot be changed")

    def __getitem__(self, name: str) -> Any:
        return self._fields[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __hash__(self) -> int:
        return hash(tuple(self._fields.items()))

    def __repr__(self) -> str:
        return f"Record({', '.join(f'{name}={value!r}' for name, value in self._fields.items())})"

    def as_dict(self) -> dict[str, Any]:
        """Plain dictionaries and lists, as for JSON."""
        return {name: _plain(value) for name, value in self._fields.items()}


def _wrapped(value: Any) -> Any:
    if isinstance(value, Record):
        return value
    if isinstance(value, Mapping):
        return Record(value)
    if isinstance(value, list | tuple):
        return tuple(_wrapped(v) for v in value)
    return value


def _plain(value: Any) -> Any:
    if isinstance(value, Record):
        return value.as_dict()
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    return value
