"""Reading a TOML file: its values, the line of every key, and one clear line for what is wrong with it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from collections.abc import Mapping
from functools import cached_property
from functools import partial
from pathlib import Path
from typing import Any
from typing import Final

from attrs import field
from attrs import frozen

from policygen.loading.toml_positions import KeyMention
from policygen.loading.toml_positions import KeyPath
from policygen.loading.toml_positions import Positions
from policygen.loading.toml_positions import scan_positions
from policygen.model.problems import Location
from policygen.model.problems import Problem
from policygen.model.problems import SpecError
from policygen.model.types import INT64_MAX
from policygen.model.types import INT64_MIN

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_POSITION = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
_LONG_NUMBER = re.compile(r"[0-9A-Fa-f_]{16,}")
_OVERLONG_INTEGER = re.compile(r"[0-9][0-9_]{4000,}")

_TWICE: Final = (
    *("Cannot overwrite", "Cannot declare", "Duplicate inline table key"),
    *("Cannot mutate immutable namespace", "Cannot redefine namespace"),
)
_CLEARER: Final = {
    "Invalid value": "expected a value after the key; text needs quotes",
    "Invalid statement": "expected a key, a [table] header or a comment",
    "Expected '=' after a key in a key/value pair": 'expected "=" after the key',
    "Expected newline or end of document after a statement": "expected the end of the line after the value",
    "Unclosed array": 'expected "," or "]" in the array',
    "Unclosed inline table": 'expected "," or "}" in the inline table',
    "Unterminated string": "a string is not closed",
    "Illegal character '\\n'": "a string is not closed on its line",
    'Expected "\'"': "a string is not closed on its line",
    "Expected ']' at the end of a table declaration": 'expected "]" after the name of the table',
    "Expected ']]' at the end of an array declaration": 'expected "]]" after the name of the array',
    "Invalid initial character for a key part": "expected a key; a key other than A-Z a-z 0-9 _ - needs quotes",
    "Invalid date or datetime": "no such date or time",
    "Unescaped '\\' in a string": r'a "\" in a string in double quotes is written "\\"',
}


@frozen
class TomlSource:
    """A TOML file that was read.

    Attributes:
        file: Name of the file as messages show it.
        data: The document as `tomllib` gives it; every integer is an int64.
        text: The document.
    """

    file: str
    data: Mapping[str, Any] = field(eq=False)
    text: str = field(eq=False, repr=False)

    @cached_property
    def lines(self) -> Mapping[KeyPath, int]:
        """Line of every key path, counted from 1; looked for when the first is asked for."""
        return scan_positions(self.text).lines

    def line_of(self, path: KeyPath) -> int | None:
        """Returns the line of a key path, else that of its nearest known parent, else None."""
        for length in range(len(path), 0, -1):
            line = self.lines.get(path[:length])
            if line is not None:
                return line
        return None

    def location(self, path: KeyPath) -> Location:
        """Returns the file and line of a key path."""
        return Location(self.file, partial(self.line_of, path))

    def problem(self, path: KeyPath, reason: str) -> Problem:
        """Returns a problem of the value at a key path."""
        return Problem(self.file, self.line_of(path), dotted_key(path), reason)


def dotted_key(path: KeyPath) -> str:
    """Returns a key path as people write it: `ladder[0].point[2].multi_tile`, odd keys in quotes."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
            continue
        quoted = part.replace("\\", "\\\\").replace('"', '\\"')
        text += ("." if text else "") + (part if _BARE_KEY.fullmatch(part) else f'"{quoted}"')
    return text


def read_toml(path: Path, display_name: str) -> TomlSource:
    """Reads a TOML file.

    Args:
        path: The file.
        display_name: Its name in messages.

    Raises:
        SpecError: The file cannot be read, is not UTF-8, is empty, is not TOML, or holds an integer
            outside int64.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise SpecError([Problem(display_name, None, "", f"cannot be read: {error.strerror}")]) from error
    return parse_toml(content, display_name)


def parse_toml(content: bytes, display_name: str) -> TomlSource:
    """Reads the bytes of a TOML file; raises as `read_toml` does."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        reason = f"not UTF-8 at byte {error.start}"
        raise SpecError([Problem(display_name, line, "", reason)]) from error
    if text.startswith("\ufeff"):
        raise SpecError([Problem(display_name, 1, "", "starts with a byte order mark; save it as UTF-8 without one")])
    text = text.replace("\r\n", "\n")
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SpecError([_syntax_problem(str(error), text, display_name)]) from error
    except ValueError as error:  # int() refuses to convert thousands of digits
        raise SpecError([_overlong_problem(text, display_name)]) from error
    except RecursionError as error:
        raise SpecError([Problem(display_name, None, "", "values are nested too deeply")]) from error
    if not data:
        raise SpecError([Problem(display_name, None, "", "the file is empty: it holds no key")])
    source = TomlSource(display_name, data, text)
    # an integer beyond 64 bits has sixteen digits at the least, in whatever base: 64 in binary
    numbers = _integers((), data) if _LONG_NUMBER.search(text) else ()
    problems = [source.problem(at, _huge_reason(number)) for at, number in numbers if not _fits(number)]
    if problems:
        raise SpecError(problems)
    return source


def _fits(number: int) -> bool:
    return INT64_MIN <= number <= INT64_MAX


def _huge_reason(number: int) -> str:
    shown = str(number) if number.bit_length() <= 256 else f"of {number.bit_length()} bits"
    return f"huge integer {shown}: expected one in int64, -2^63 to 2^63 - 1"


def _integers(path: KeyPath, value: object) -> Iterator[tuple[KeyPath, int]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _integers((*path, key), item)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _integers((*path, index), item)
    elif isinstance(value, int) and not isinstance(value, bool):
        yield path, value


def _overlong_problem(text: str, file: str) -> Problem:
    match = _OVERLONG_INTEGER.search(text)
    line = None if match is None else text.count("\n", 0, match.start()) + 1
    return Problem(file, line, "", "huge integer: expected one in int64, -2^63 to 2^63 - 1")


def _syntax_problem(message: str, text: str, file: str) -> Problem:
    match = _POSITION.search(message)
    reason = message[: match.start()] if match else message
    # What tomllib calls the end of the document is, for people, the end of the last line that has text.
    rows = text.rstrip().split("\n")
    line, column = len(rows), len(rows[-1]) + 1
    if match and match.group(1):
        rows = text.split("\n")
        line, column = int(match.group(1)), int(match.group(2))
    offset = sum(len(row) + 1 for row in rows[: line - 1]) + column - 1
    positions = scan_positions(text)
    before = [mention for mention in positions.mentions if mention.offset <= offset]
    if reason.startswith(_TWICE):
        return _twice_problem(reason, before, positions, file, line)
    last = before[-1] if before and before[-1].line == line else None
    clear = _CLEARER.get(reason, reason[:1].lower() + reason[1:])
    return Problem(file, line, dotted_key(last.path) if last else "", f"not TOML: {clear} (column {column})")


def _twice_problem(reason: str, before: list[KeyMention], positions: Positions, file: str, line: int) -> Problem:
    """Says which key is written twice, and where it stands first."""
    # A value may hold keys of its own: the key at fault is the last statement, unless the inline table itself is.
    inside = reason.startswith("Duplicate inline")
    candidates = [mention for mention in before if inside or not mention.nested]
    if not candidates:
        return Problem(file, line, "", "a key is written twice")
    mention = candidates[-1]
    key = dotted_key(mention.path)
    for earlier in before[: before.index(mention)]:
        if earlier.path == mention.path:
            return Problem(file, mention.line, key, f"written twice: it stands on line {earlier.line} already")
    for length in range(len(mention.path), 0, -1):
        known = positions.lines.get(mention.path[:length])
        if known is not None and known < mention.line:
            owner = dotted_key(mention.path[:length])
            return Problem(file, mention.line, key, f'cannot be added: "{owner}" is complete on line {known}')
    return Problem(file, mention.line, key, "written twice")
