"""The journal of a transaction on the output folder: its steps, and their text on the disk."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Any

from attrs import asdict
from attrs import frozen

from policygen.emit.manifest import DIGEST
from policygen.emit.tree import MANIFEST
from policygen.emit.tree import digest_of
from policygen.emit.tree import path_fault

FORMAT = 1


class TornError(Exception):
    """The text was not written to its end."""


class UnreadableError(Exception):
    """The text is whole, but not a journal that this version can carry out; the message says why."""


@frozen
class Step:
    """One file to write or to remove.

    Attributes:
        path: Relative to the output folder.
        before: Digest of the content that goes, None if there is none.
        after: Digest of the content that comes, None for a removal.
        staged: File name of the new content in the staging folder, None for a removal.
    """

    path: PurePosixPath
    before: str | None
    after: str | None
    staged: str | None


def render(steps: Iterable[Step]) -> bytes:
    """The journal's text, sealed with a digest of the steps."""
    listed = [{**asdict(step), "path": str(step.path)} for step in steps]
    return json.dumps({"format": FORMAT, "seal": _seal_of(listed), "steps": listed}, indent=1).encode("ascii") + b"\n"


def parse(text: bytes) -> tuple[Step, ...]:
    """Read a journal's text.

    Raises:
        TornError: The text was not written to its end.
        UnreadableError: The text is whole, but of another format or with steps that lead out of the output folder.
    """
    try:
        document: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise TornError from error
    if not isinstance(document, dict) or document.get("seal") != _seal_of(document.get("steps")):
        raise TornError
    if document.get("format") != FORMAT:
        raise UnreadableError("left by another version of policygen; run any command of that version")
    try:
        return tuple(_step(**listed) for listed in document["steps"])
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise UnreadableError(f"not a journal of policygen's ({error}); delete its folder and build again") from error


def _step(path: str, before: str | None, after: str | None, staged: str | None) -> Step:
    # A journal decides what is overwritten and removed: it is believed only where it stays inside the folder.
    place = PurePosixPath(path)
    fault = None if place == MANIFEST else path_fault(place)
    if fault is not None:
        raise ValueError(f"{path!r}: {fault}")
    if any(digest is not None and not DIGEST.fullmatch(digest) for digest in (before, after)):
        raise ValueError(f"{path!r}: expected a digest 'sha256:...'")
    if (after is None) != (staged is None) or not (staged is None or staged.isdigit()):
        raise ValueError(f"{path!r}: expected a staged file for each new content and for nothing else")
    return Step(place, before, after, staged)


def _seal_of(listed: object) -> str:
    return digest_of(json.dumps(listed, sort_keys=True).encode("ascii"))
