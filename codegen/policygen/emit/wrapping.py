"""Lines of bounded width for generated files."""

from __future__ import annotations

import textwrap

WIDTH = 118


def wrapped(text: str, first: str, following: str) -> list[str]:
    """A text broken at blanks, so that no line is wider than `WIDTH` where that is possible."""
    if len(first) + len(text) <= WIDTH:
        return [first + text]
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=following,
        break_long_words=False,
        break_on_hyphens=False,
    )


def wrapped_comment(text: str, pad: str, mark: str) -> list[str]:
    """A remark, every line of it behind the comment mark."""
    return wrapped(text, pad + mark, pad + mark)
