"""Tables on the terminal and in Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence

from policygen.cli.session import one_line


def columns(rows: Sequence[Sequence[str]], right: Sequence[bool] = ()) -> list[str]:
    """Rows as lines, each column as wide as its widest value.

    Args:
        rows: of one length.
        right: whether a column stands to the right; all stand to the left by default.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    sides = right or [False] * len(widths)
    return [
        "  ".join(
            value.rjust(width) if to_right else value.ljust(width)
            for value, width, to_right in zip(row, widths, sides, strict=True)
        ).rstrip()
        for row in rows
    ]


def markdown_table(heads: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool]) -> Iterator[str]:
    """A table of Markdown, a line each."""
    yield _markdown_row(heads)
    yield f"|{'|'.join('---:' if to_right else '---' for to_right in right)}|"
    for row in rows:
        yield _markdown_row(row)


def _markdown_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(markdown_cell, cells))} |"


def markdown_cell(text: str) -> str:
    """A text inside a table of Markdown; spaces stay as they are."""
    return (text if text.isprintable() else one_line(text)).replace("|", "\\|")
