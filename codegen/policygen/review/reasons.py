"""Whether a change of the specs comes with a reason: one that is new, or was changed with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from policygen.project import Project
from policygen.review.spec_edits import SpecEdit
from policygen.review.spec_edits import table_at

_OF_A_READING: Final = ("effective", "withdrawn", "method")
"""What says of a reading why it counts, why it no longer does, and how it was measured."""


def reasoned(old: Project, new: Project, edit: SpecEdit, known: str = "") -> bool:
    """Whether one of the tables that an edit is in says why, with words that the earlier revision does not have.

    A point and a constraint say it with `reason`. A reading has `effective`, `withdrawn` or `method`; that it has a
    source, as every reading has, is none.

    Args:
        old: the earlier revision.
        new: the later one.
        edit: of a spec file.
        known: words that are a reason of the earlier revision, wherever they stand.
    """
    before, after = old.sources.get(edit.file), new.sources.get(edit.file)
    for path in _around(edit.path):
        table, earlier = table_at(after, path), table_at(before, path) or {}
        for key in _OF_A_READING if "reading" in path else ("reason",):
            said = None if table is None else table.get(key)
            if isinstance(said, str) and said.strip() and said not in (earlier.get(key), known):
                return True
    return False


def _around(path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """A path and those of the tables around it, the innermost first."""
    for length in range(len(path), 0, -1):
        yield path[:length]
