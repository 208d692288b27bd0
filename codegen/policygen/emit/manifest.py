"""The manifest of the output folder: which files are ours, with the digest and the owner of each."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from pathlib import PurePosixPath

from attrs import field
from attrs import frozen

from policygen.emit.tree import MANIFEST
from policygen.emit.tree import OutputError
from policygen.emit.tree import path_fault
from policygen.emit.tree import read_or_none

FORMAT = 1

DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


class ManifestError(OutputError):
    """The manifest exists but cannot be trusted; nothing is written or removed on its word."""


@frozen
class Entry:
    """One file of ours: its path relative to the output folder, its content's digest, and who produces it."""

    path: PurePosixPath
    digest: str
    owner: str


def _by_path(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    return tuple(sorted(entries, key=lambda entry: str(entry.path)))


@frozen
class Manifest:
    """All files of ours, sorted by path."""

    entries: tuple[Entry, ...] = field(default=(), converter=_by_path)

    def render(self) -> bytes:
        """The manifest's text: the same bytes for the same entries, in whatever order they came."""
        files = {str(entry.path): {"digest": entry.digest, "owner": entry.owner} for entry in self.entries}
        text = json.dumps({"files": files, "format": FORMAT}, indent=1, sort_keys=True, ensure_ascii=True)
        return text.encode("ascii") + b"\n"


def read(root: Path) -> tuple[Manifest, bytes | None]:
    """The manifest of the output folder ``root`` and its text; an empty one and None if there is none.

    Raises:
        ManifestError: The file is not a manifest that this version can read.
        OutputError: The file cannot be read.
    """
    place = root / MANIFEST
    if place.is_symlink():
        raise ManifestError(f"{place}: is a symbolic link; make it a regular file")
    text = read_or_none(place)
    return (Manifest() if text is None else parse(text, str(place))), text


def parse(text: bytes, place: str) -> Manifest:
    """Read a manifest's text; ``place`` names it in messages.

    Raises:
        ManifestError: The text is not a manifest that this version can read.
    """
    try:
        document = json.loads(text.decode("utf-8"), object_pairs_hook=_without_duplicates)
    except json.JSONDecodeError as error:
        raise _refused(f"{place}:{error.lineno}", f"not JSON ({error.msg})") from error
    except (ValueError, RecursionError) as error:
        raise _refused(place, f"not a manifest ({error})") from error
    if not isinstance(document, dict) or set(document) != {"files", "format"}:
        raise _refused(place, "not a manifest: expected exactly the keys 'files' and 'format'")
    if document["format"] != FORMAT:
        raise ManifestError(
            f"{place}: format {document['format']!r}, but this version of policygen reads format {FORMAT}; "
            "use the version that wrote it"
        )
    if not isinstance(document["files"], dict):
        raise _refused(place, "'files' must map each path to its digest and owner")
    return Manifest(tuple(_entry(place, path, value) for path, value in document["files"].items()))


def _entry(place: str, name: str, value: object) -> Entry:
    path = PurePosixPath(name)
    fault = path_fault(path) or (None if str(path) == name else f"write it as '{path}'")
    if fault is not None:
        raise _refused(place, f"{name!r}: {fault}")
    match value:
        case {"digest": str(digest), "owner": str(owner), **others} if owner and not others:
            if DIGEST.fullmatch(digest):
                return Entry(path, digest, owner)
    raise _refused(place, f"{name!r}: expected a digest 'sha256:...' and an owner")


def _without_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"{key!r} occurs twice")
        found[key] = value
    return found


def _refused(place: str, reason: str) -> ManifestError:
    return ManifestError(
        f"{place}: {reason}; restore it from version control, "
        "or delete it and build again (files whose content is right are adopted)"
    )
