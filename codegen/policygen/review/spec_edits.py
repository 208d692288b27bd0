"""What differs between the spec files of two revisions: value by value, by the names that people give to tables."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any
from typing import Final

from attrs import frozen

from policygen.loading.toml_positions import KeyPath
from policygen.loading.toml_source import TomlSource

_MISSING: Final = object()


@frozen
class SpecEdit:
    """One value of a spec file that differs.

    Attributes:
        file: as people see it: `specs/targets/bi100.toml`.
        line: in the file that has the value, of the later revision if both have it.
        path: table by table, a table in a list by its id: `("rules", "reduce", "ladder", "two-pass", "point", "4B")`.
        before: the value as TOML; None where there was none.
        after: the value as TOML; None where there is none.
    """

    file: str
    line: int | None
    path: tuple[str, ...]
    before: str | None
    after: str | None

    @property
    def key(self) -> str:
        """The dotted key, ids of tables in brackets."""
        text = ""
        for part in self.path:
            text += part if part.startswith("[") else f".{part}" if text else part
        return text

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        if self.before is None:
            return f"{place}: {self.key} = {self.after} is new"
        if self.after is None:
            return f"{place}: {self.key} = {self.before} is gone"
        return f"{place}: {self.key}: {self.before} -> {self.after}"

    def as_dict(self) -> dict[str, Any]:
        """The edit as data."""
        return {"file": self.file, "line": self.line, "key": self.key, "before": self.before, "after": self.after}


def spec_edits(old: Mapping[str, TomlSource], new: Mapping[str, TomlSource]) -> tuple[SpecEdit, ...]:
    """All values that differ, file by file; comments, order of keys and layout are no difference.

    Args:
        old: the spec files of one revision by the name that people see.
        new: those of the other.
    """
    found: list[SpecEdit] = []
    for file in sorted({*old, *new}):
        before, after = old.get(file), new.get(file)
        if before is None or after is None:
            here = after if after is not None else before
            assert here is not None
            what = f'"{here.data.get("name") or here.data.get("algorithm") or file}"'
            found.append(SpecEdit(file, 1, ("file",), what if before else None, what if after else None))
        elif before.data != after.data:
            found += _TwoFiles(file, before, after).edits()
    return tuple(found)


def table_at(source: TomlSource | None, path: tuple[str, ...]) -> Mapping[str, Any] | None:
    """The table of a spec file at the path of an edit; None where there is none.

    Args:
        source: the file; None where a revision does not have it.
        path: as in `SpecEdit`, ids of tables in brackets.
    """
    found: Any = None if source is None else source.data
    for part in path:
        if _are_tables(found) and part.startswith("["):
            found = _named(found).get(part[1:-1], (0, None))[1]
        else:
            found = found.get(part) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else None


class _TwoFiles:
    def __init__(self, file: str, old: TomlSource, new: TomlSource) -> None:
        self._file = file
        self._old = old
        self._new = new

    def edits(self) -> Iterator[SpecEdit]:
        yield from self._tables(self._old.data, self._new.data, (), (), ())

    def _values(
        self, before: Any, after: Any, path: tuple[str, ...], old_at: KeyPath, new_at: KeyPath
    ) -> Iterator[SpecEdit]:
        if before == after and type(before) is type(after):
            return
        if isinstance(before, dict) and isinstance(after, dict):
            yield from self._tables(before, after, path, old_at, new_at)
        elif _are_tables(before) and _are_tables(after):
            yield from self._lists(before, after, path, old_at, new_at)
        else:
            line = self._old.line_of(old_at) if after is _MISSING else self._new.line_of(new_at)
            yield SpecEdit(self._file, line, path, _text(before), _text(after))

    def _tables(
        self,
        before: Mapping[str, Any],
        after: Mapping[str, Any],
        path: tuple[str, ...],
        old_at: KeyPath,
        new_at: KeyPath,
    ) -> Iterator[SpecEdit]:
        for key in dict.fromkeys((*after, *before)):
            yield from self._values(
                before.get(key, _MISSING), after.get(key, _MISSING), (*path, key), (*old_at, key), (*new_at, key)
            )

    def _lists(
        self, before: list[Any], after: list[Any], path: tuple[str, ...], old_at: KeyPath, new_at: KeyPath
    ) -> Iterator[SpecEdit]:
        olds, news = _named(before), _named(after)
        for name in dict.fromkeys((*news, *olds)):
            old, new = olds.get(name, (0, _MISSING)), news.get(name, (0, _MISSING))
            yield from self._values(old[1], new[1], (*path, f"[{name}]"), (*old_at, old[0]), (*new_at, new[0]))
        order = [name for name in news if name in olds]
        if order != [name for name in olds if name in news]:
            yield SpecEdit(
                self._file,
                self._new.line_of(new_at),
                path,
                f"[{', '.join(name for name in olds if name in news)}]",
                f"[{', '.join(order)}]",
            )


def _are_tables(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, dict) for one in value)


def _named(tables: list[dict[str, Any]]) -> dict[str, tuple[int, Any]]:
    """Tables of a list by what tells them apart: their id; of a reading its kind and date, and which of these it is."""
    found: dict[str, tuple[int, Any]] = {}
    for position, table in enumerate(tables):
        name = str(table["id"]) if "id" in table else _reading_name(table)
        if name in found:
            name = f"{name}, {sum(one.partition(', ')[0] == name for one in found) + 1}"
        found[name] = (position, table)
    return found


def _reading_name(table: Mapping[str, Any]) -> str:
    parts = [table.get("kind"), table.get("date")]
    return " ".join(str(part) for part in parts if part is not None) or "table"


def _text(value: Any) -> str | None:
    if value is _MISSING:
        return None
    match value:
        case bool():
            return str(value).lower()
        case str():
            return f'"{value}"'
        case dict():
            return f"{{ {', '.join(f'{key} = {_text(one)}' for key, one in value.items())} }}"
        case list():
            return f"[{', '.join(str(_text(one)) for one in value)}]"
        case _:
            return str(value)
