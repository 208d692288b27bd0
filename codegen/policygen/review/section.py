"""A titled table: what a reviewer reads, and the same as data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen


@frozen
class Column:
    """A column of a table; numbers stand to the right."""

    name: str
    right: bool = False


@frozen
class Row:
    """A row: a text for each column, and what programs get."""

    cells: tuple[str, ...]
    data: Mapping[str, Any]


@frozen
class Section:
    """One table of a review.

    Attributes:
        id: its name for programs.
        title: what it shows.
        notes: what a reader has to know beside it, a line each.
    """

    id: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The section as data."""
        return {"title": self.title, "rows": [dict(row.data) for row in self.rows], "notes": list(self.notes)}
