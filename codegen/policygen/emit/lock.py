"""One writer at a time in an output folder."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from policygen.emit.tree import LOCK
from policygen.emit.tree import OutputError

WAIT_SECONDS = 30.0

_POLL_SECONDS = 0.02


class OutputBusyError(OutputError):
    """Another process is writing to the output folder and did not finish in time."""


@contextmanager
def exclusive(root: Path, wait_seconds: float = WAIT_SECONDS) -> Iterator[None]:
    """Hold the existing output folder ``root`` for this process alone.

    The lock is the kernel's, on an open file: a process that dies releases it, and the file that it leaves behind
    locks nobody out.

    Raises:
        OutputBusyError: Another process kept the lock for ``wait_seconds``.
        OutputError: The lock file cannot be made.
    """
    deadline = time.monotonic() + wait_seconds
    descriptor = _acquire(root, deadline, wait_seconds)
    try:
        yield
    finally:
        try:
            (root / LOCK).unlink(missing_ok=True)
        finally:
            os.close(descriptor)


def _acquire(root: Path, deadline: float, wait_seconds: float) -> int:
    place = root / LOCK
    while True:
        try:
            descriptor = os.open(place, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
        except OSError as error:
            raise OutputError(f"{root}: cannot be written: {error.strerror}") from error
        held = False
        try:
            held = _try_lock(descriptor, place)
        finally:
            if not held:
                os.close(descriptor)
        if held:
            return descriptor
        if time.monotonic() >= deadline:
            raise OutputBusyError(
                f"{root}: another policygen is writing here and did not finish within {wait_seconds:g} s; "
                "wait for it, then run this command again"
            )
        time.sleep(_POLL_SECONDS)


def _try_lock(descriptor: int, place: Path) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise OutputError(f"{place}: cannot be locked: {error.strerror}") from error
    # The last holder deletes the file; a lock on a deleted file keeps nobody out.
    try:
        there = place.stat(follow_symlinks=False)
    except FileNotFoundError:
        return False
    return os.path.samestat(there, os.fstat(descriptor))
