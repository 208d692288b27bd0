"""A progress bar that appears only where work takes longer than a second."""

from __future__ import annotations

import time
from collections.abc import Callable
from collections.abc import Iterator
from contextlib import contextmanager

from policygen.cli.session import Session

DELAY_SECONDS = 1.0


@contextmanager
def progress(session: Session, what: str, total: int) -> Iterator[Callable[[str], None]]:
    """Yields a function to call with the name of each piece of work before it begins."""
    import sys

    if session.quiet or not sys.stderr.isatty():
        yield lambda _: None
        return
    started = time.monotonic()
    bar = None
    task = None
    begun = 0

    def advance(name: str) -> None:
        nonlocal bar, task, begun
        if bar is None and time.monotonic() - started > DELAY_SECONDS:
            from rich.console import Console
            from rich.progress import Progress

            bar = Progress(console=Console(stderr=True), transient=True)
            bar.start()
            task = bar.add_task(what, total=total, completed=begun)
        if bar is not None and task is not None:
            bar.update(task, completed=begun, description=f"{what} {name}")
        begun += 1

    try:
        yield advance
    finally:
        if bar is not None:
            bar.stop()
