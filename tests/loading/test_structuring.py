from __future__ import annotations

import datetime
from enum import Enum
from typing import Any

from attrs import Factory
from attrs import frozen

from policygen.loading.structuring import structure
from policygen.loading.toml_source import parse_toml
from policygen.model.problems import SpecError


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@frozen
class Part:
    size: int
    name: str | None = None


@frozen
class Document:
    title: str
    colour: Colour
    on: bool = False
    ratio: float = 0.0
    day: datetime.date | None = None
    parts: list[Part] = Factory(list)
    pair: tuple[int, ...] = ()
    words: dict[str, str] = Factory(dict)
    table: dict[str, list[Part]] = Factory(dict)
    anything: Any = None


def structured(text: str) -> Document | list[str]:
    source = parse_toml(text.encode(), "a.toml")
    result = structure(source, ("top",), source.data["top"], Document)
    return result if isinstance(result, Document) else str(SpecError(result)).splitlines()


def test_good_document() -> None:
    assert structured(
        """
        [top]
        title = "t"
        colour = "blue"
        ratio = 1
        day = 2026-08-20
        pair = [1, 2]
        words = { a = "b" }
        anything = [1, "x"]
        [[top.parts]]
        size = 1
        [[top.table.x]]
        size = 2
        name = "n"
        """
    ) == Document(
        title="t",
        colour=Colour.BLUE,
        ratio=1,
        day=datetime.date(2026, 8, 20),
        parts=[Part(1)],
        pair=(1, 2),
        words={"a": "b"},
        table={"x": [Part(2, "n")]},
        anything=[1, "x"],
    )


def test_every_error_has_its_line_and_nothing_is_converted() -> None:
    problems = structured(
        """\
[top]
colour = "bleu"
on = 1
ratio = "2"
day = "2026-08-20"
pair = [1, true, "3"]
words = { a = 1 }
titel = "x"
[[top.parts]]
size = "1"
[[top.parts]]
name = [ ]
sise = 3
[top.table]
x = "letters"
"""
    )
    assert problems == [
        "a.toml:1: top.title: this key is missing",
        'a.toml:2: top.colour: expected one of "red", "blue", not "bleu"',
        "a.toml:3: top.on: expected true or false, not 1",
        'a.toml:4: top.ratio: expected a number, not "2"',
        'a.toml:5: top.day: expected a date such as 2026-08-20 without quotes, not "2026-08-20"',
        "a.toml:6: top.pair[1]: expected a whole number, not true",
        'a.toml:6: top.pair[2]: expected a whole number, not "3"',
        "a.toml:7: top.words.a: expected a text in quotes, not 1",
        'a.toml:8: top.titel: unknown key; did you mean "title"?',
        'a.toml:10: top.parts[0].size: expected a whole number, not "1"',
        "a.toml:11: top.parts[1].size: this key is missing",
        "a.toml:12: top.parts[1].name: expected a text in quotes, not an array",
        'a.toml:13: top.parts[1].sise: unknown key; did you mean "size"?',
        'a.toml:15: top.table.x: expected an array, not "letters"',
    ]


def test_a_table_is_asked_for() -> None:
    assert structured("top = 3\n") == ["a.toml:1: top: expected a table, not 3"]
    assert structured("[[top]]\ntitle = 'x'\n") == ["a.toml:1: top: expected a table, not an array"]


def test_a_time_is_no_date() -> None:
    problems = structured("[top]\ntitle = 't'\ncolour = 'red'\nday = 2026-08-20T10:00:00\n")
    assert problems == ["a.toml:4: top.day: expected a date such as 2026-08-20 without quotes, not 2026-08-20 10:00:00"]
