"""What spec files are about, so that a question about one algorithm need not read the files of all."""

from __future__ import annotations

import re
from collections.abc import Iterable
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from typing import Final

from policygen.loading.toml_source import read_toml
from policygen.model.problems import SpecError

_NAMED: Final = re.compile(r"""^(?:name|algorithm)[ \t]*=[ \t]*(["'])([^"'\n]*)\1""", re.MULTILINE)


def subject_of(path: Path) -> str | None:
    """The algorithm, or table of an engine, that a spec file is about: by its place, if its text agrees.

    Args:
        path: the file: `algorithms/reduce.toml`, `references/cccl-3.5/reduce.toml`, `engine/attention/decode.toml`.

    Returns:
        None for a file that is about something else, or that has to be read to know.
    """
    *_, grandparent, parent, file = path.parts
    stem = file.removesuffix(".toml")
    if grandparent == "engine":
        stem = f"{parent}.{stem}"
    elif parent != "algorithms" and grandparent != "references":
        return None
    try:
        named = _NAMED.search(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return None
    return stem if named is not None and named.group(2) == stem else None


def used_algorithms(document: Mapping[str, Any]) -> list[str]:
    """The algorithms that a document of an algorithm or a table builds on: it uses them, or includes them."""
    uses, included = document.get("use", {}), document.get("include", [])
    used = [u.get("algorithm") for u in uses.values() if isinstance(u, dict)] if isinstance(uses, dict) else []
    return [str(name) for name in (*used, *(included if isinstance(included, list) else ()))]


def built_on(name: str, paths: Iterable[Path]) -> frozenset[str] | None:
    """An algorithm, or a table of an engine, with all that it builds on.

    Args:
        name: of it.
        paths: every spec file.

    Returns:
        Their names; None where that takes reading every file: none says that it is about one of them, or one that
        does cannot be read.
    """
    described = {subject: path for path in paths if path.parts[-3] != "references" and (subject := subject_of(path))}
    found: set[str] = set()
    waiting = [name]
    while waiting:
        one = waiting.pop()
        if one in found:
            continue
        if one not in described:
            return None
        found.add(one)
        try:
            waiting += used_algorithms(read_toml(described[one], described[one].name).data)
        except SpecError:
            return None
    return frozenset(found)
