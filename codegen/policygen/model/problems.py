"""Problems found in specs: where they are, what was expected, what to write instead."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from collections.abc import Iterable

from attrs import field
from attrs import frozen

_FEW = 8
"""How many valid names a message lists when none of them is near."""


def _told(line: int | Callable[[], int | None] | None) -> int | None:
    return line() if callable(line) else line


@frozen
class Location:
    """A place in a spec file.

    Attributes:
        file: Name of the file as the user knows it, with forward slashes.
        line: Line, counted from 1; None where it cannot be known.
    """

    file: str
    _line: int | Callable[[], int | None] | None = field(default=None, eq=_told)

    @property
    def line(self) -> int | None:
        """The line; it may be looked up only now, since most places are never told."""
        return _told(self._line)

    def __str__(self) -> str:
        return self.file if self.line is None else f"{self.file}:{self.line}"


def _one_line(text: str) -> str:
    return " ".join(text.split())


@frozen
class Problem:
    """One thing that is wrong, printed as `file:line: dotted.key: reason`.

    Attributes:
        file: Name of the file as the user knows it.
        line: Line, counted from 1; None where it cannot be known.
        key: Dotted key of the value; empty where no key is meant.
        reason: One line that says what was expected and what to write instead.
    """

    file: str
    line: int | None
    key: str
    reason: str = field(converter=_one_line)

    @classmethod
    def at(cls, location: Location, key: str, reason: str) -> Problem:
        """Returns the problem of `key` at a location."""
        return cls(location.file, location.line, key, reason)

    def __str__(self) -> str:
        place = str(Location(self.file, self.line))
        return ": ".join(part for part in (place, self.key, self.reason) if part)


class SpecError(Exception):
    """The specs are wrong: carries every problem found, sorted by place, each once.

    Attributes:
        problems: The problems, never empty.
    """

    problems: tuple[Problem, ...]

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(set(problems), key=_place))
        super().__init__(self.problems)

    def __str__(self) -> str:
        return "\n".join(map(str, self.problems))


def _place(problem: Problem) -> tuple[str, int, str, str]:
    return (problem.file, problem.line or 0, problem.key, problem.reason)


def nearest(name: str, valid: Iterable[str]) -> str | None:
    """Returns the valid name that is most like `name`, or None when none is near.

    Case and the choice between `-` and `_` do not count against a name.
    """
    plain = {_plain(candidate): candidate for candidate in sorted(valid, reverse=True)}
    matches = difflib.get_close_matches(_plain(name), sorted(plain), n=1, cutoff=0.6)
    return plain[matches[0]] if matches else None


def _plain(name: str) -> str:
    return name.casefold().replace("-", "_")


def did_you_mean(name: str, valid: Iterable[str]) -> str:
    """Returns the end of a message about an unknown name; it may be empty.

    The result is `; did you mean "vec_size"?` where a valid name is near, else the sorted list of the
    valid names where they are few, else nothing.
    """
    names = sorted(set(valid))
    near = nearest(name, names)
    if near is not None:
        return f'; did you mean "{near}"?'
    if not names or len(names) > _FEW:
        return ""
    listed = ", ".join(f'"{candidate}"' for candidate in names)
    return f"; valid: {listed}"
