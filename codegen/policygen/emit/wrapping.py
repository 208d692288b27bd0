"""Lines of bounded width for generated files."""

from __future__ import annotations

WIDTH = 118


def wrapped(text: str, first: str, following: str) -> list[str]:
    """A text broken at blanks, so that no line is wider than `WIDTH` where that is possible."""
    if len(first) + len(text) <= WIDTH:
        return [first + text]
    lines: list[str] = []
    line = first
    for word in text.split(" "):
        if len(line) + len(word) > WIDTH and line.strip() and line not in (first, following):
            lines.append(line.rstrip())
            line = following
        line += f"{word} "
    return [*lines, line.rstrip()]


def wrapped_comment(text: str, pad: str, mark: str) -> list[str]:
    """A remark, every line of it behind the comment mark."""
    return wrapped(text, pad + mark, pad + mark)
