"""The support functions of headers: each stands in a header only where it is used, and once in a translation unit."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from attrs import frozen

from policygen.loading.package_data import data_dir


@frozen
class SupportFunction:
    """A support function: its name, what it calls, its text."""

    name: str
    needs: tuple[str, ...]
    lines: tuple[str, ...]


STANDALONE = "support.cuh"
"""The template of what needs the standard library alone."""

CUB = "cub_support.cuh"
"""The template of what CUB forms need."""


@lru_cache(maxsize=2)
def support_functions(template: str = STANDALONE) -> dict[str, SupportFunction]:
    """All support functions in the order of a template: what one needs stands before it."""
    found: dict[str, SupportFunction] = {}
    text = (data_dir("templates") / "cuda" / template).read_text(encoding="utf-8")
    for block in text.split("//@ ")[1:]:
        head, _, body = block.partition("\n")
        name, *needs = head.split()
        found[name] = SupportFunction(name, tuple(needs), tuple(body.rstrip("\n").split("\n")))
    return found


def with_needs(names: Iterable[str]) -> tuple[SupportFunction, ...]:
    """The named functions and all that they call, in order of definition."""
    functions = support_functions()
    needed: set[str] = set()
    open_names = list(names)
    while open_names:
        name = open_names.pop()
        if name not in needed:
            needed.add(name)
            open_names += functions[name].needs
    return tuple(f for f in functions.values() if f.name in needed)
