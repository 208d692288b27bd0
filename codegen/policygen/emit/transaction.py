"""A set of changes to the output folder that takes place as a whole, also across a crash.

Note [transaction]
    1. stage   every new content goes to ``.policygen-staging/NNNN`` and to the disk;
    2. journal ``journal.json`` appears there in one rename: from here on the changes will happen;
    3. move    files that leave are removed, then staged files are renamed into place, the manifest last;
    4. clear   the journal is deleted, then the empty staging folder.
A crash before 2 leaves the old output and a staging folder, which is deleted. A crash after 2 leaves a journal,
from which 3 is repeated: each of its steps can be seen to have been made or not by the digest of the file. A staging
folder that is empty says that nothing had been begun or all had been done.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
from contextlib import contextmanager
from contextlib import suppress
from enum import Enum
from pathlib import Path
from pathlib import PurePosixPath

from attrs import field
from attrs import frozen

from policygen.emit import journal
from policygen.emit.journal import Step
from policygen.emit.lock import WAIT_SECONDS
from policygen.emit.lock import exclusive
from policygen.emit.tree import MANIFEST
from policygen.emit.tree import STAGING
from policygen.emit.tree import ObstructedError
from policygen.emit.tree import OutputError
from policygen.emit.tree import digest_for_removal
from policygen.emit.tree import digest_for_writing
from policygen.emit.tree import digest_of
from policygen.emit.tree import read_or_none

_JOURNAL = "journal.json"


class RecoveryStoppedError(OutputError):
    """An interrupted build can be neither finished nor undone without losing somebody's work; nothing was touched."""


class Outcome(Enum):
    """What ``recover`` did."""

    NOTHING = "nothing"
    ROLLED_FORWARD = "rolled forward"
    ROLLED_BACK = "rolled back"


@frozen
class RecoveryReport:
    """What ``recover`` did, and the files that the interrupted build had been about to change (if known)."""

    outcome: Outcome
    paths: tuple[PurePosixPath, ...] = ()


@frozen
class Change:
    """A file to write (``content``) or to remove (None), and the digest of what is there now (None: nothing)."""

    path: PurePosixPath
    before: str | None
    content: bytes | None = field(repr=False)


def pending(root: Path) -> bool:
    """Whether a build of the output folder ``root`` is under way or was interrupted. Reads only."""
    return os.path.lexists(root / STAGING)


def recover(root: Path, *, wait_seconds: float = WAIT_SECONDS) -> RecoveryReport:
    """Finish or undo a build that was interrupted. Without one, nothing is written, not even a lock.

    Args:
        root: The output folder; it need not exist.
        wait_seconds: How long to wait for a build that is still running.

    Raises:
        RecoveryStoppedError: A file was edited after the interruption, or the staging folder is damaged.
        OutputBusyError: A build is still running.
        OutputError: The folder cannot be read or written.
    """
    if not pending(root):
        return RecoveryReport(Outcome.NOTHING)
    with exclusive(root, wait_seconds):
        return recover_held(root)


def recover_held(root: Path) -> RecoveryReport:
    """As ``recover``, for a caller that holds the lock on ``root``."""
    staging = root / STAGING
    if not pending(root):
        return RecoveryReport(Outcome.NOTHING)
    if staging.is_symlink() or not staging.is_dir():
        raise RecoveryStoppedError(f"{staging}: is not a folder of policygen's; move it away")
    with _disk_faults(root):
        if not any(staging.iterdir()):
            staging.rmdir()
            return RecoveryReport(Outcome.NOTHING)
        try:
            steps = journal.parse(read_or_none(staging / _JOURNAL) or b"")
        except journal.TornError:
            _clear(root)
            return RecoveryReport(Outcome.ROLLED_BACK)
        except journal.UnreadableError as error:
            raise RecoveryStoppedError(f"{staging / _JOURNAL}: {error}") from error
        paths = tuple(step.path for step in steps if step.path != MANIFEST)
        open_steps = _outstanding(
            root, steps, f"save your version elsewhere, delete {staging} to give that build up, then build again"
        )
        lost = [step for step in open_steps if step.staged is not None and not _is_staged(staging, step)]
        if lost and len(open_steps) < len(steps):
            raise RecoveryStoppedError(
                f"{staging}: the new content of {', '.join(repr(str(step.path)) for step in lost)} is lost; "
                "delete this folder to give the interrupted build up, then build again"
            )
        if not lost:
            _move(root, steps, open_steps)
        _clear(root)
    return RecoveryReport(Outcome.ROLLED_BACK if lost else Outcome.ROLLED_FORWARD, paths)


def execute(root: Path, changes: Sequence[Change]) -> None:
    """Make all ``changes`` or none; see Note [transaction]. The caller holds the lock and has called ``recover_held``.

    Args:
        root: The existing output folder.
        changes: Any order; the manifest, if it is among them, is written last.

    Raises:
        RecoveryStoppedError: A file changed on the disk since ``changes`` were computed; nothing was touched.
        OutputError: The folder cannot be written. If that happened after the journal was complete, ``recover``
            finishes the work.
    """
    with _disk_faults(root):
        try:
            _require_writable(root, changes)
            steps = _stage(root, changes)
            open_steps = _outstanding(root, steps, "build again")
            _seal(root, steps)
        except BaseException:
            with suppress(OSError):
                _clear(root)
            raise
        _move(root, steps, open_steps)
        _clear(root)


@contextmanager
def _disk_faults(root: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        left = "the next command finishes or undoes this build" if pending(root) else "nothing was changed"
        raise OutputError(f"{error.filename or root}: cannot be written: {error.strerror}; {left}") from error


def _require_writable(root: Path, changes: Iterable[Change]) -> None:
    """Notice a write-protected folder while nothing has been changed."""
    for folder in sorted({root / parent for change in changes for parent in change.path.parents}):
        if folder.is_dir() and not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))


def _stage(root: Path, changes: Sequence[Change]) -> tuple[Step, ...]:
    staging = root / STAGING
    staging.mkdir()
    steps = []
    # Removals come first, so that a file may give way to a folder of its name and the reverse.
    ordered = sorted(changes, key=_order)
    for number, change in enumerate(ordered):
        if change.content is None:
            steps.append(Step(change.path, change.before, None, None))
            continue
        name = f"{number:04}"
        _create(staging / name, change.content)
        steps.append(Step(change.path, change.before, digest_of(change.content), name))
    # A second round: the first sync then writes most of them in one go.
    for step in steps:
        if step.staged is not None:
            _sync(staging / step.staged)
    return tuple(steps)


def _order(change: Change) -> tuple[bool, bool, str]:
    return change.path == MANIFEST, change.content is not None, str(change.path)


def _seal(root: Path, steps: Sequence[Step]) -> None:
    staging = root / STAGING
    partial = staging / f"{_JOURNAL}.partial"
    _create(partial, journal.render(steps))
    _sync(partial)
    _sync(staging)
    _sync(root)
    partial.replace(staging / _JOURNAL)
    _sync(staging)


def _outstanding(root: Path, steps: Sequence[Step], remedy: str) -> tuple[Step, ...]:
    """The steps still to be made; ``remedy`` ends the message if there is something else on the disk.

    Raises:
        RecoveryStoppedError: A file is neither as before its step nor as after it.
    """
    leaving = {step.path for step in steps if step.after is None}
    found, faults = [], []
    for step in steps:
        try:
            now = (
                digest_for_removal(root, step.path)
                if step.after is None
                else digest_for_writing(root, step.path, leaving)
            )
        except ObstructedError as error:
            faults.append(f"{root / step.path}: {error}")
            continue
        if now == step.after:
            continue
        if now != step.before:
            faults.append(
                f"{root / step.path}: changed while a build was under way: neither the old nor the new version; "
                f"{remedy}"
            )
        found.append(step)
    if faults:
        raise RecoveryStoppedError("\n".join(faults))
    return tuple(found)


def _move(root: Path, steps: Sequence[Step], open_steps: Iterable[Step]) -> None:
    """Make ``open_steps``, and clear away the folders that all removals of ``steps`` left empty."""
    folders_in_use = {parent for step in steps if step.after is not None for parent in step.path.parents}
    todo = set(open_steps)
    for step in steps:
        if step.after is None:
            if step in todo:
                (root / step.path).unlink(missing_ok=True)
            _prune(root, step.path, folders_in_use)
    for step in steps:
        if step.staged is None or step not in todo:
            continue
        if step.path == MANIFEST:
            _sync_folders(root, steps)
        target = root / step.path
        target.parent.mkdir(parents=True, exist_ok=True)
        (root / STAGING / step.staged).replace(target)
    _sync_folders(root, steps)


def _prune(root: Path, removed: PurePosixPath, folders_in_use: set[PurePosixPath]) -> None:
    for folder in removed.parents[:-1]:
        if folder in folders_in_use:
            return
        try:
            (root / folder).rmdir()
        except FileNotFoundError:
            continue
        except OSError:
            return  # not empty: it holds other files


def _clear(root: Path) -> None:
    """Delete the staging folder, by name, so that the journal outlives the staged files.

    Where work is given up, what is left then still says that no step was made, and it is given up again.
    """
    staging = root / STAGING
    if not staging.is_dir():
        return
    for left in sorted(staging.iterdir()):
        left.unlink()
    staging.rmdir()


def _is_staged(staging: Path, step: Step) -> bool:
    content = read_or_none(staging / str(step.staged))
    return content is not None and digest_of(content) == step.after


def _create(path: Path, content: bytes) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "wb") as file:
        file.write(content)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync_folders(root: Path, steps: Iterable[Step]) -> None:
    folders = {root / parent for step in steps for parent in step.path.parents}
    for folder in sorted(folders):
        if folder.is_dir():
            _sync(folder)
