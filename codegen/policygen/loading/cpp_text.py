"""C++ that stands in a spec as text: it is not parsed, but misspelt names and lost brackets are found."""

from __future__ import annotations

import re
from collections.abc import Iterable

from policygen.loading.collector import Collector
from policygen.loading.toml_positions import KeyPath
from policygen.model.problems import did_you_mean

NAMESPACES = ("cub", "cuda", "thrust")
"""Where names of C++ may come from; text names them from there on."""

SUPPORT = ("classified", "of_cub")
"""What a CUB form defines for texts: CUB's classification of a type, and CUB's enumerators and records as ours."""

_WORDS = (
    *("alignof", "bool", "char", "class", "const", "decltype", "double", "false", "float", "int", "long", "short"),
    *("signed", "sizeof", "static_cast", "true", "typename", "unsigned", "void"),
)
_NAME = re.compile(r"(?<![\w:.])([A-Za-z_]\w*)((?:::\w+)*)")
_IDENTIFIER = re.compile(r"[A-Za-z]\w*")
_CLOSING = {")": "(", "]": "[", "}": "{"}


def checked_text(collector: Collector, path: KeyPath, text: str, known: Iterable[str]) -> str:
    """A text as it is; what is wrong with it is reported.

    Args:
        collector: takes the problems.
        path: where the text stands.
        text: C++, on one line.
        known: names that it may use beside those of CUB and of the language.
    """
    names = (*known, *SUPPORT)
    if not text.strip() or "\n" in text:
        collector.report(path, "expected C++ on one line")
    elif (bracket := _stray_bracket(text)) is not None:
        collector.report(path, f"`{bracket}` has no partner")
    for first, rest in _NAME.findall(text):
        if first in NAMESPACES and not rest:
            collector.report(path, f"`{first}` is a namespace: write {first}:: and a name")
        elif first not in (*names, *NAMESPACES, *_WORDS):
            hint = did_you_mean(first, names)
            collector.report(path, f"unknown name `{first}`{hint}; names of CUB begin with cub::, cuda:: or thrust::")
    return text


def checked_name(collector: Collector, path: KeyPath, name: str) -> str:
    """A name that C++ takes; else it is reported."""
    if not _IDENTIFIER.fullmatch(name) or name in _WORDS or name in NAMESPACES:
        collector.report(path, f'"{name}" is no name in C++: use letters, digits and _, a letter first')
    return name


def _stray_bracket(text: str) -> str | None:
    """A bracket without a partner; < and > compare, too, and are not looked at."""
    open_ones: list[str] = []
    for letter in text:
        if letter in _CLOSING.values():
            open_ones.append(letter)
        elif letter in _CLOSING and (not open_ones or open_ones.pop() != _CLOSING[letter]):
            return letter
    return open_ones[-1] if open_ones else None
