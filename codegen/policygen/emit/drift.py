"""Drift in policy terms: which rows of a generated table say something else than the specs."""

from __future__ import annotations

import re
from collections.abc import Collection
from collections.abc import Sequence
from pathlib import Path
from pathlib import PurePosixPath

from policygen.emit.comparison import Artifact

_ROW = re.compile(r"^    (\(.*?\)): (\w+\(.*\)),$")


def policy_changes(root: Path, artifacts: Sequence[Artifact], paths: Collection[PurePosixPath]) -> list[str]:
    """The rows that differ between Python tables on disk and as they should be, a line each."""
    found: list[str] = []
    for artifact in artifacts:
        if artifact.path in paths and artifact.path.suffix == ".py":
            try:
                text = (root / artifact.path).read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError):
                continue
            name = f"{artifact.path.parent.name}/{artifact.path.stem}"
            found += [f"{name} {line}" for line in _differences(_rows(text), _rows(artifact.content.decode()))]
    return found


def _rows(text: str) -> dict[str, str]:
    return {match[1]: match[2] for line in text.splitlines() if (match := _ROW.match(line))}


def _differences(old: dict[str, str], new: dict[str, str]) -> list[str]:
    found: list[str] = []
    for key in dict.fromkeys((*old, *new)):
        if key not in new:
            found.append(f"{key}: removed")
        elif key not in old:
            found.append(f"{key}: added")
        elif old[key] != new[key]:
            fields = [f"{a} -> {b.rpartition('=')[2]}" for a, b in _pairs(old[key], new[key]) if a != b]
            found.append(f"{key}: {'; '.join(fields)}")
    return found


def _pairs(old: str, new: str) -> list[tuple[str, str]]:
    first, second = re.findall(r"[^(),]+", old), re.findall(r"[^(),]+", new)
    return [(a.strip(), b.strip()) for a, b in zip(first, second, strict=False)]
