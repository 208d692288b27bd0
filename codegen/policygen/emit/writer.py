"""The output folder: make it what it should be, as a whole or not at all.

This is the whole surface that commands use: ``plan`` and ``check`` compare, ``apply`` writes, ``recover`` finishes or
undoes what was interrupted.
"""

from __future__ import annotations

from pathlib import PurePosixPath

from attrs import frozen

from policygen.emit.comparison import Artifact
from policygen.emit.comparison import Drift
from policygen.emit.comparison import Plan
from policygen.emit.comparison import Refusal
from policygen.emit.comparison import WriteRefused
from policygen.emit.comparison import check
from policygen.emit.comparison import plan
from policygen.emit.lock import WAIT_SECONDS
from policygen.emit.lock import OutputBusyError
from policygen.emit.lock import exclusive
from policygen.emit.manifest import ManifestError
from policygen.emit.transaction import Outcome
from policygen.emit.transaction import RecoveryReport
from policygen.emit.transaction import RecoveryStoppedError
from policygen.emit.transaction import execute
from policygen.emit.transaction import pending
from policygen.emit.transaction import recover
from policygen.emit.transaction import recover_held
from policygen.emit.tree import OutputError

__all__ = [
    "Artifact",
    "Drift",
    "ManifestError",
    "Outcome",
    "OutputBusyError",
    "OutputError",
    "Plan",
    "RecoveryReport",
    "RecoveryStoppedError",
    "Refusal",
    "WriteRefused",
    "WriteReport",
    "apply",
    "check",
    "plan",
    "recover",
]


@frozen
class WriteReport:
    """What ``apply`` did; ``edited`` are those of the written and removed files that had been edited by hand."""

    written: tuple[PurePosixPath, ...]
    unchanged: tuple[PurePosixPath, ...]
    removed: tuple[PurePosixPath, ...]
    edited: tuple[PurePosixPath, ...]


def apply(planned: Plan, *, wait_seconds: float = WAIT_SECONDS) -> WriteReport:
    """Make the output as planned, as a whole or not at all. If it is right already, the disk is not touched.

    An interrupted build is finished or undone first. The plan is made anew once this process has the folder for
    itself, so that of two builds the later one starts from what the earlier one left.

    Args:
        planned: From ``plan``.
        wait_seconds: How long to wait for another build in the same folder.

    Raises:
        WriteRefused: Something is in the way; nothing was written.
        RecoveryStoppedError: An interrupted build can be neither finished nor undone, or a file changed meanwhile.
        OutputBusyError: Another build did not finish in time.
        OutputError: The folder cannot be written.
    """
    root = planned.root
    if planned.problems and not pending(root):
        # What was in the way may have been another build's half-way state.
        planned = plan(root, planned.artifacts, planned.owners)
        if planned.problems:
            raise WriteRefused(root, planned.problems)
    if not planned.changes and not pending(root):
        return _report(planned)
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{root}: cannot be made: {error.strerror}") from error
    with exclusive(root, wait_seconds):
        recover_held(root)
        current = plan(root, planned.artifacts, planned.owners)
        if current.problems:
            raise WriteRefused(root, current.problems)
        if current.changes:
            execute(root, current.changes)
    return _report(current)


def _report(done: Plan) -> WriteReport:
    return WriteReport(done.write, done.unchanged, done.remove, done.edited)
