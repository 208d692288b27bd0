"""What lies at a path of the output folder, judged by content and without following symbolic links."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Collection
from enum import Enum
from pathlib import Path
from pathlib import PurePosixPath

MANIFEST = PurePosixPath("manifest.json")
STAGING = ".policygen-staging"
LOCK = ".policygen-staging.lock"

_RESERVED = frozenset({STAGING, LOCK})


class OutputError(Exception):
    """The output folder cannot be read or written; the message says where and what to do."""


class ObstructedError(Exception):
    """Something that is not a regular file of ours lies where one belongs; the message says what."""


class _Standing(Enum):
    ABSENT = "absent"
    FILE = "file"
    FOLDER = "folder"
    UNDER_FILE = "under a file"
    LINK = "link"
    OTHER = "other"


def digest_of(content: bytes) -> str:
    """The digest by which contents are compared: ``sha256:`` and 64 hexadecimal digits."""
    return "sha256:" + hashlib.sha256(content).hexdigest()


def path_fault(path: PurePosixPath) -> str | None:
    """Why ``path`` cannot name a file of the output folder, or None if it can."""
    if path.is_absolute():
        return "absolute path; give it relative to the output folder"
    if not path.parts:
        return "empty path; name a file"
    if ".." in path.parts:
        return "'..' leaves the output folder; give a path inside it"
    if any(ord(letter) < 32 or letter == "\\" or 0xD800 <= ord(letter) < 0xE000 for letter in str(path)):
        return "backslash, control character or invalid UTF-8 in a path; use '/' and printable names"
    if path.parts[0].casefold() in _RESERVED or str(path).casefold() == str(MANIFEST):
        return "name reserved for policygen's own bookkeeping; choose another"
    return None


def digest_for_writing(root: Path, path: PurePosixPath, leaving: Collection[PurePosixPath]) -> str | None:
    """Digest of the file that a new version of ``path`` would replace.

    Args:
        root: The output folder.
        path: A path inside it.
        leaving: Files that are removed before anything is written; they, and folders that hold nothing else,
            are not in the way.

    Returns:
        The digest, or None if nothing is there.

    Raises:
        ObstructedError: A folder, a symbolic link or another thing is in the way.
    """
    standing, blocker = _probe(root, path)
    match standing:
        case _Standing.FILE:
            return _digest_at(root / path)
        case _Standing.ABSENT:
            return None
        case _Standing.UNDER_FILE if blocker in leaving:
            return None
        case _Standing.FOLDER if _empties(root, path, leaving):
            return None
    raise ObstructedError(_describe(standing, path, blocker))


def digest_for_removal(root: Path, path: PurePosixPath) -> str | None:
    """Digest of the file at ``path`` that is to be removed; None if there is no file to remove.

    Raises:
        ObstructedError: The file is a symbolic link, lies behind one, or is not a regular file.
    """
    standing, blocker = _probe(root, path)
    match standing:
        case _Standing.FILE:
            return _digest_at(root / path)
        case _Standing.ABSENT | _Standing.FOLDER | _Standing.UNDER_FILE:
            return None
    raise ObstructedError(_describe(standing, path, blocker))


def read_or_none(path: Path) -> bytes | None:
    """Content of a regular file, or None if there is nothing at ``path``.

    Raises:
        OutputError: Something is there that cannot be read.
    """
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise OutputError(f"{path}: cannot be read: {error.strerror}") from error


def _probe(root: Path, path: PurePosixPath) -> tuple[_Standing, PurePosixPath]:
    """What is at ``path``, and the part of it that decides so."""
    for depth in range(1, len(path.parts) + 1):
        part = PurePosixPath(*path.parts[:depth])
        try:
            mode = (root / part).lstat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            return _Standing.ABSENT, part
        except OSError as error:
            raise ObstructedError(f"cannot be read: {error.strerror}") from error
        if stat.S_ISLNK(mode):
            return _Standing.LINK, part
        if depth == len(path.parts):
            break
        if not stat.S_ISDIR(mode):
            return _Standing.UNDER_FILE, part
    if stat.S_ISDIR(mode):
        return _Standing.FOLDER, path
    return (_Standing.FILE if stat.S_ISREG(mode) else _Standing.OTHER), path


def _describe(standing: _Standing, path: PurePosixPath, blocker: PurePosixPath) -> str:
    match standing:
        case _Standing.LINK if blocker == path:
            return "a symbolic link is in the way; replace it by the file itself or remove it"
        case _Standing.LINK:
            return f"'{blocker}' is a symbolic link, and nothing is written through one; make it a real folder"
        case _Standing.UNDER_FILE:
            return f"'{blocker}' is a file, but a folder is needed there; move it away"
        case _Standing.FOLDER:
            return "a folder is in the way; move it away"
        case _:
            return "something that is not a regular file is in the way; move it away"


def _empties(root: Path, folder: PurePosixPath, leaving: Collection[PurePosixPath]) -> bool:
    """Whether ``folder`` vanishes once the files of ``leaving`` are removed."""
    going = {path for path in leaving if folder in path.parents}
    emptied = {parent for path in going for parent in path.parents}
    if not going:
        return False
    try:
        for place, folders, files in os.walk(root / folder, onerror=_fail):
            here = PurePosixPath(Path(place).relative_to(root).as_posix())
            if any(here / name not in going for name in files) or any(here / name not in emptied for name in folders):
                return False
    except OSError:
        return False
    return True


def _fail(error: OSError) -> None:
    raise error


def _digest_at(path: Path) -> str:
    try:
        return digest_of(path.read_bytes())
    except OSError as error:
        raise ObstructedError(f"cannot be read: {error.strerror}") from error
