from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policygen.loading.toml_positions import KeyPath
from policygen.loading.toml_positions import scan_positions
from policygen.loading.toml_source import TomlSource
from policygen.loading.toml_source import dotted_key
from policygen.loading.toml_source import parse_toml
from policygen.loading.toml_source import read_toml
from policygen.model.problems import SpecError


def paths(value: object, path: KeyPath = ()) -> Iterator[KeyPath]:
    items: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for part, item in items:
        yield (*path, part)
        yield from paths(item, (*path, part))


def problems(text: str | bytes) -> str:
    content = text.encode() if isinstance(text, str) else text
    with pytest.raises(SpecError) as caught:
        parse_toml(content, "a.toml")
    return str(caught.value)


NASTY = """\
title = "x"  # [not.a.table]

"quoted.key" = 1
'literal key' = 2
"esc\\u0061ped" . b . 'c' = 3

text = \"\"\"
[not.a.header]
fake = 1 \\"\"\" still
\"\"\"
ends_in_quotes = \"\"\"a\"\"\"\"\"
empty = ""
empty_multi = ''''''
literal = '''
other = "
'''
array = [
  1, # comment ]
  [2,
   3],
  { a = 1, b = [ 4,
    5 ], c.d = "]}" },
  "[x]",
]
when = 1979-05-27 07:32:00
point = { x = 1, y = { z = 2 } }

[ladder.base]   # implicit parent
a = 1
[[ladder.point]]
id = "first"
multi_tile = { nominal = { threads = 512 } }
[ladder.point.scale]
by = "size"
[[ladder.point.inner]]
v = 1
[[ladder.point.inner]]
v = 2
[[ladder.point]]
id = "second"
scale.rule = "mem"
scale.by = "size"
[ladder.point.deep.er]
q = 1
[ladder]
late = true
[ "a b" . 'c' ]
z=1
"""

NASTY_LINES: dict[KeyPath, int] = {
    ("title",): 1,
    ("quoted.key",): 3,
    ("literal key",): 4,
    ("escaped",): 5,
    ("escaped", "b", "c"): 5,
    ("text",): 7,
    ("ends_in_quotes",): 11,
    ("empty",): 12,
    ("empty_multi",): 13,
    ("literal",): 14,
    ("array",): 17,
    ("array", 0): 18,
    ("array", 1): 19,
    ("array", 1, 0): 19,
    ("array", 1, 1): 20,
    ("array", 2): 21,
    ("array", 2, "a"): 21,
    ("array", 2, "b"): 21,
    ("array", 2, "b", 0): 21,
    ("array", 2, "b", 1): 22,
    ("array", 2, "c"): 22,
    ("array", 2, "c", "d"): 22,
    ("array", 3): 23,
    ("when",): 25,
    ("point", "x"): 26,
    ("point", "y", "z"): 26,
    ("ladder",): 44,
    ("ladder", "base"): 28,
    ("ladder", "base", "a"): 29,
    ("ladder", "point"): 30,
    ("ladder", "point", 0): 30,
    ("ladder", "point", 0, "id"): 31,
    ("ladder", "point", 0, "multi_tile", "nominal", "threads"): 32,
    ("ladder", "point", 0, "scale"): 33,
    ("ladder", "point", 0, "scale", "by"): 34,
    ("ladder", "point", 0, "inner"): 35,
    ("ladder", "point", 0, "inner", 0, "v"): 36,
    ("ladder", "point", 0, "inner", 1): 37,
    ("ladder", "point", 0, "inner", 1, "v"): 38,
    ("ladder", "point", 1): 39,
    ("ladder", "point", 1, "id"): 40,
    ("ladder", "point", 1, "scale"): 41,
    ("ladder", "point", 1, "scale", "by"): 42,
    ("ladder", "point", 1, "deep"): 43,
    ("ladder", "point", 1, "deep", "er", "q"): 44,
    ("ladder", "late"): 46,
    ("a b", "c"): 47,
    ("a b", "c", "z"): 48,
}
NASTY_LINES[("ladder",)] = 45


@pytest.mark.parametrize("text", [NASTY, NASTY.replace("\n", "\r\n")], ids=["lf", "crlf"])
def test_nasty_text_has_the_line_of_every_key(text: str) -> None:
    source = parse_toml(text.encode(), "a.toml")
    assert set(paths(source.data)) == set(source.lines)
    assert {path: source.line_of(path) for path in NASTY_LINES} == NASTY_LINES


def test_unknown_path_falls_back_to_its_nearest_parent() -> None:
    source = parse_toml(b"a = 1\n[b.c]\nd = 2\n", "a.toml")
    assert source.line_of(("b", "c", "missing", 3)) == 2
    assert source.line_of(("missing",)) is None
    assert source.line_of(()) is None
    assert str(source.problem(("b", "c", "x"), "this key is missing")) == "a.toml:2: b.c.x: this key is missing"


def test_dotted_key_quotes_odd_names_and_shows_indices() -> None:
    assert dotted_key(("ladder", 0, "point", 2, "multi_tile")) == "ladder[0].point[2].multi_tile"
    assert dotted_key(("a b", 'c"d', "e.f")) == '"a b"."c\\"d"."e.f"'


@st.composite
def documents(draw: st.DrawFn) -> tuple[str, dict[str, int]]:
    """A TOML text in which every key and scalar is a new word, and the line of every word."""
    rows: list[str] = []
    lines: dict[str, int] = {}
    count = 0
    current = ""

    def word() -> str:
        nonlocal count
        count += 1
        name = f"w{count}w"
        lines[name] = len(rows) + 1
        return name

    def put(text: str) -> None:
        """Appends to the open line; a line feed in the text opens new ones."""
        nonlocal current
        *full, last = text.split("\n")
        for part in full:
            rows.append(current + part)
            current = ""
        current += last

    breaks = st.sampled_from(["", " ", "\n", " # ] } = [x]\n  "])

    def key() -> None:
        quote = draw(st.sampled_from(["", '"', "'"]))
        put(f"{quote}{word()}{quote}")
        if draw(st.integers(0, 3)) == 0:
            put(draw(st.sampled_from([".", " . "])) + word())

    def value(depth: int) -> None:
        kind = draw(st.integers(0, 5 if depth < 3 else 2))
        if kind == 0:
            put(f'"{word()} [a] = \\" #"')
        elif kind == 1:
            name = word()
            put(f'"""\n[{name}]\nx = 1\n""\\""""')
        elif kind == 2:
            put(f"'''{word()} \\ ''\n=\n'''")
        elif kind in (3, 4):
            put("[")
            for _ in range(draw(st.integers(0, 3))):
                put(draw(breaks))
                value(depth + 1)
                put(draw(breaks) + ",")
            put(draw(breaks) + "]")
        else:
            put("{ ")
            for index in range(draw(st.integers(0, 3))):
                put(", " if index else "")
                key()
                put(" = ")
                value(depth + 1)
            put(" }")

    def pairs() -> None:
        for _ in range(draw(st.integers(0, 3))):
            put(draw(st.sampled_from(["", "\n", "# a = 1\n", "\t"])))
            key()
            put("=")
            value(0)
            put("\n")

    pairs()
    arrays: list[str] = []
    for _ in range(draw(st.integers(0, 4))):
        kind = draw(st.integers(0, 2))
        if arrays and kind == 0:
            put(f"[[{draw(st.sampled_from(arrays))}]]\n")
        elif kind == 1:
            arrays.append(word())
            put(f"[[ {arrays[-1]} ]]\n")
        else:
            put("[")
            key()
            put("]\n")
        pairs()
    put("\n")
    return "\n".join(rows), lines


@given(documents())
def test_every_key_of_a_made_up_text_has_its_line(document: tuple[str, dict[str, int]]) -> None:
    text, lines = document
    data = tomllib.loads(text)
    found = scan_positions(text).lines
    assert set(found) == set(paths(data))
    for path, line in found.items():
        if isinstance(path[-1], str):
            assert line == lines[path[-1]], path
        value: Any = data
        for part in path:
            value = value[part]
        if isinstance(path[-1], int) and isinstance(value, str):
            name = value.strip("[").split("]")[0].split(" ")[0].split("\n")[0]
            assert line == lines[name], path


@given(st.text(alphabet="[]{}=.,'\"\\\n #ab1", max_size=40))
def test_scanner_survives_any_text(text: str) -> None:
    found = set(scan_positions(text).lines)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    assert found == set(paths(data))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "a.toml: the file is empty: it holds no key"),
        ("# only a comment\n\n", "a.toml: the file is empty: it holds no key"),
        (b"a = 1\nb = '\xff'\n", "a.toml:2: not UTF-8 at byte 11"),
        ("\ufeffa = 1\n", "a.toml:1: starts with a byte order mark; save it as UTF-8 without one"),
        ("a = 1\nb = 2\na = 3\n", "a.toml:3: a: written twice: it stands on line 1 already"),
        ("a = 1\na = [\n 2,\n]\n", "a.toml:2: a: written twice: it stands on line 1 already"),
        ("a = 1\na = { a = 3 }\n", "a.toml:2: a: written twice: it stands on line 1 already"),
        ("[t]\n[u]\n[t]\n", "a.toml:3: t: written twice: it stands on line 1 already"),
        ("[t]\nx.y = 1\nx.y = 2\n", "a.toml:3: t.x.y: written twice: it stands on line 2 already"),
        ("[[t]]\na = 1\n[[t]]\na = 1\na = 2\n", "a.toml:5: t[1].a: written twice: it stands on line 4 already"),
        ("a = { b = 1, b = 2 }\n", "a.toml:1: a.b: written twice: it stands on line 1 already"),
        ("a = 1\n\n[a.b]\n", 'a.toml:3: a.b: cannot be added: "a" is complete on line 1'),
        ("a = { b = 1 }\na.c = 2\n", 'a.toml:2: a.c: cannot be added: "a" is complete on line 1'),
        (
            "a = 1\nkind = measured\n",
            "a.toml:2: kind: not TOML: expected a value after the key; text needs quotes (column 8)",
        ),
        ("a\n", 'a.toml:1: a: not TOML: expected "=" after the key (column 2)'),
        (
            "a = 1 2\n",
            "a.toml:1: a: not TOML: expected the end of the line after the value (column 7)",
        ),
        ("a = 'x\n", "a.toml:1: a: not TOML: a string is not closed on its line (column 7)"),
        ("a = 1\nb = [1,\n", "a.toml:2: b: not TOML: expected a value after the key; text needs quotes (column 8)"),
        ("[a\nb = 1\n", 'a.toml:1: not TOML: expected "]" after the name of the table (column 3)'),
        ("a = 2026-02-30\n", "a.toml:1: a: not TOML: no such date or time (column 5)"),
        (
            "[t]\nn = 9223372036854775808\nok = 9223372036854775807\n",
            "a.toml:2: t.n: huge integer 9223372036854775808: expected one in int64, -2^63 to 2^63 - 1",
        ),
        (
            "a = [1,\n -9223372036854775809]\n",
            "a.toml:2: a[1]: huge integer -9223372036854775809: expected one in int64, -2^63 to 2^63 - 1",
        ),
        (
            "a = 0x1" + "0" * 200 + "\n",
            "a.toml:1: a: huge integer of 801 bits: expected one in int64, -2^63 to 2^63 - 1",
        ),
        (
            "a = 1\nb = " + "9" * 5000 + "\n",
            "a.toml:2: huge integer: expected one in int64, -2^63 to 2^63 - 1",
        ),
        ("a = " + "[" * 100_000 + "]" * 100_000, "a.toml: values are nested too deeply"),
    ],
)
def test_bad_text_gives_one_clear_line(text: str | bytes, expected: str) -> None:
    assert problems(text) == expected


def test_every_huge_integer_is_reported() -> None:
    huge = 2**63
    assert len(problems(f"a = {huge}\nb = [{huge}]\n[c]\nd.e = {-huge - 1}\n").splitlines()) == 3


def test_floats_and_the_ends_of_int64_pass() -> None:
    source = parse_toml(b"a = 1e300\nb = inf\nlow = -9223372036854775808\nhigh = 9223372036854775807\n", "a.toml")
    assert (source.data["low"], source.data["high"]) == (-(2**63), 2**63 - 1)


def test_read_toml_shows_the_name_it_is_given(tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    file.write_bytes(b"a = 1\r\nb = 2\r\n")
    source = read_toml(file, "specs/x.toml")
    assert isinstance(source, TomlSource)
    assert (source.file, source.data, source.line_of(("b",))) == ("specs/x.toml", {"a": 1, "b": 2}, 2)
    with pytest.raises(SpecError, match=r"^specs/y\.toml: cannot be read: No such file or directory$"):
        read_toml(tmp_path / "y.toml", "specs/y.toml")
