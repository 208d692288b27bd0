"""A progress bar that appears only where work takes longer than a second and somebody watches."""

from __future__ import annotations

import sys
from collections.abc import Callable
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from threading import Timer
from typing import TYPE_CHECKING

from policygen.cli.session import Session

if TYPE_CHECKING:
    from rich.progress import Progress
    from rich.progress import TaskID

DELAY_SECONDS = 1.0


@contextmanager
def progress(session: Session, what: str, total: int) -> Iterator[Callable[[int, str], None]]:
    """Yields a function to call with how much is done and what is under way; the first call begins the second."""
    if session.quiet or sys.stderr is None or not sys.stderr.isatty():
        yield lambda *_: None
        return
    bar = _Bar(what, total)
    try:
        yield bar.advance
    finally:
        bar.stop()


class _Bar:
    def __init__(self, what: str, total: int) -> None:
        self._what = what
        self._total = total
        self._done = 0
        self._under_way = ""
        self._timer: Timer | None = None
        self._shown: tuple[Progress, TaskID] | None = None
        self._lock = Lock()

    def advance(self, done: int, under_way: str) -> None:
        if self._timer is None:
            # not before the first call: by then worker processes, which must not inherit a thread, have started
            self._timer = Timer(DELAY_SECONDS, self._show)
            self._timer.daemon = True
            self._timer.start()
        with self._lock:
            self._done, self._under_way = done, under_way
            self._update()

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer.join()
        if self._shown is not None:
            self._shown[0].stop()

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import Progress

        bar = Progress(console=Console(stderr=True), transient=True)
        with self._lock:
            self._shown = (bar, bar.add_task(self._what, total=self._total))
            self._update()
        bar.start()

    def _update(self) -> None:
        if self._shown is not None:
            bar, task = self._shown
            bar.update(task, completed=self._done, description=f"{self._what} {self._under_way}")
