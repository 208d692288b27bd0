"""Lines of the keys of a TOML text.

`tomllib` gives values without positions. This scanner walks the same text and notes where every key and every
array element stands. It trusts `tomllib` to judge the text: on text that is no TOML it stops where it is lost.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from contextlib import suppress

from attrs import Factory
from attrs import define
from attrs import frozen

KeyPath = tuple[str | int, ...]
"""Keys and array indices from the top of a document to a value."""

_BLANK = re.compile(r"[ \t]*")
_SPACE = re.compile(r"(?:[ \t\n]|#[^\n]*)*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_BASIC = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_LITERAL = re.compile(r"'[^'\n]*'")
_MULTILINE_BASIC = re.compile(r'"""(?:[^\\]|\\.)*?"{3,5}(?!")', re.DOTALL)
_MULTILINE_LITERAL = re.compile(r"'''.*?'{3,5}(?!')", re.DOTALL)
_SCALAR = re.compile(r"[^,\]}#\n]+")


class _LostError(Exception):
    """The text is no TOML from here on."""


@frozen
class KeyMention:
    """One place where a key is written.

    Attributes:
        path: Its path, indices of arrays of tables included.
        offset: Character offset of the key.
        line: Line, counted from 1.
        nested: True for a key of an inline table, which is part of another key's value.
    """

    path: KeyPath
    offset: int
    line: int
    nested: bool


@frozen
class Positions:
    """What the scanner found.

    Attributes:
        lines: Line of every key path; a table's own header comes before the first mention of it.
        mentions: Complete keys (not their leading parts) in the order of the text.
    """

    lines: dict[KeyPath, int]
    mentions: tuple[KeyMention, ...]


def scan_positions(text: str) -> Positions:
    """Returns the lines of all keys and array elements of a TOML text whose lines end in a line feed alone."""
    scanner = _Scanner(text)
    # The reader of the file reports what is wrong; the positions up to there help it.
    with suppress(_LostError, RecursionError):
        scanner.document()
    return Positions(scanner.lines, tuple(scanner.mentions))


@define
class _Scanner:
    text: str
    offset: int = 0
    lines: dict[KeyPath, int] = Factory(dict)
    mentions: list[KeyMention] = Factory(list)
    lengths: dict[KeyPath, int] = Factory(dict)
    declared: set[KeyPath] = Factory(set)
    depth: int = 0
    starts: list[int] = Factory(list)

    def __attrs_post_init__(self) -> None:
        self.starts = [0, *(match.end() for match in re.finditer("\n", self.text))]

    def document(self) -> None:
        table: KeyPath = ()
        while True:
            self.skip(_SPACE)
            if self.offset >= len(self.text):
                return
            if self.text.startswith("[", self.offset):
                table = self.header()
            else:
                self.pair(table)

    def header(self) -> KeyPath:
        start = self.offset
        brackets = 2 if self.text.startswith("[[", start) else 1
        self.offset += brackets
        *parents, last = self.dotted_key()
        self.expect("]" * brackets)
        line = self.line_at(start)
        path: KeyPath = ()
        for part in parents:
            path = self.newest((*path, part))
            self.lines.setdefault(path, line)
        path = (*path, last)
        if brackets == 2:
            self.lines.setdefault(path, line)
            self.lengths[path] = self.lengths.get(path, 0) + 1
            path = self.newest(path)
        # An explicit header says more than a mention on the way to a deeper table.
        if path not in self.declared:
            self.declared.add(path)
            self.lines[path] = line
        self.mentions.append(KeyMention(path, start, line, nested=False))
        return path

    def newest(self, path: KeyPath) -> KeyPath:
        """Returns the newest element where the path is an array of tables, else the path."""
        length = self.lengths.get(path)
        if length is None:
            return path
        self.lines.setdefault(path, self.line_at(self.offset))
        return (*path, length - 1)

    def pair(self, table: KeyPath) -> None:
        start = self.offset
        parts = self.dotted_key()
        line = self.line_at(start)
        path = table
        for part in parts:
            path = (*path, part)
            self.lines.setdefault(path, line)
        self.mentions.append(KeyMention(path, start, line, nested=self.depth > 0))
        self.expect("=")
        self.skip(_BLANK)
        self.depth += 1
        self.value(path)
        self.depth -= 1

    def value(self, path: KeyPath) -> None:
        character = self.text[self.offset : self.offset + 1]
        if character == "[":
            self.array(path)
        elif character == "{":
            self.inline_table(path)
        elif character in ("'", '"'):
            triple = self.text.startswith(character * 3, self.offset)
            if character == '"':
                self.take(_MULTILINE_BASIC if triple else _BASIC)
            else:
                self.take(_MULTILINE_LITERAL if triple else _LITERAL)
        else:
            self.take(_SCALAR)

    def array(self, path: KeyPath) -> None:
        self.expect("[")
        index = 0
        while not self.closes("]"):
            element = (*path, index)
            self.lines.setdefault(element, self.line_at(self.offset))
            self.value(element)
            self.separator("]")
            index += 1

    def inline_table(self, path: KeyPath) -> None:
        self.expect("{")
        while not self.closes("}"):
            self.pair(path)
            self.separator("}")

    def closes(self, bracket: str) -> bool:
        self.skip(_SPACE)
        if not self.text.startswith(bracket, self.offset):
            return False
        self.offset += 1
        return True

    def separator(self, bracket: str) -> None:
        self.skip(_SPACE)
        if not self.text.startswith(bracket, self.offset):
            self.expect(",")

    def dotted_key(self) -> tuple[str, ...]:
        parts = [self.simple_key()]
        while True:
            self.skip(_BLANK)
            if not self.text.startswith(".", self.offset):
                return tuple(parts)
            self.offset += 1
            parts.append(self.simple_key())

    def simple_key(self) -> str:
        self.skip(_BLANK)
        if self.text.startswith("'", self.offset):
            return self.take(_LITERAL)[1:-1]
        if self.text.startswith('"', self.offset):
            quoted = self.take(_BASIC)
            try:
                return str(tomllib.loads(f"key = {quoted}")["key"])
            except ValueError:
                raise _LostError from None
        return self.take(_BARE_KEY)

    def skip(self, pattern: re.Pattern[str]) -> None:
        match = pattern.match(self.text, self.offset)
        if match is not None:
            self.offset = match.end()

    def take(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.offset)
        if match is None:
            raise _LostError
        self.offset = match.end()
        return match.group()

    def expect(self, token: str) -> None:
        self.skip(_BLANK)
        if not self.text.startswith(token, self.offset):
            raise _LostError
        self.offset += len(token)

    def line_at(self, offset: int) -> int:
        return bisect_right(self.starts, offset)
