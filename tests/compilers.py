"""The C++ compilers of this machine that the tests compile generated headers with."""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path

from attrs import frozen

WARNINGS = ("-Wall", "-Wextra", "-Wconversion", "-Werror")

_COMMANDS = ("g++-11", "g++-12", "clang++-14", "clang++-16")
_FALLBACK = "g++"


@frozen
class HostCompiler:
    """A C++ compiler: the command it was found by, and where it lies."""

    name: str
    path: Path


@cache
def host_compilers() -> tuple[HostCompiler, ...]:
    """Every compiler that the headers are promised to compile with and that is here; else plain `g++`, if any."""
    found = tuple(compiler for name in _COMMANDS if (compiler := _find(name)) is not None)
    if found:
        return found
    fallback = _find(_FALLBACK)
    return () if fallback is None else (fallback,)


def default_compiler() -> HostCompiler | None:
    """The compiler for tests that need just one: `g++`, else the first of the others."""
    return _find(_FALLBACK) or next(iter(host_compilers()), None)


def missing_compilers() -> tuple[str, ...]:
    """The commands that were not found, for the reason of a skipped test."""
    return tuple(name for name in _COMMANDS if _find(name) is None)


@cache
def _find(name: str) -> HostCompiler | None:
    path = shutil.which(name)
    return None if path is None else HostCompiler(name=name, path=Path(path))
