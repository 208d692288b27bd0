"""Pieces of work in several processes."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
from typing import Any
from typing import TypeAlias
from typing import TypeVar

Progress: TypeAlias = Callable[[int, str], None]
"""Called with how many pieces of work are done, and the name of one that is under way or just done."""

T = TypeVar("T")
R = TypeVar("R")


class WorkerLost(RuntimeError):  # noqa: N818 - it says what happened
    """A process that worked was ended from outside; the message says what to do."""


def available_processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0))


def each_done(
    work: Callable[[T], R], tasks: Sequence[T], jobs: int | None, progress: Progress
) -> Iterator[tuple[T, R]]:
    """Does pieces of work, and yields each with its result as it is done: in any order, where there are processes.

    Args:
        work: what is done with a task; anything it holds is there in every process. Its result is pickled.
        tasks: those that take longest first. `str` of one is its name.
        jobs: how many processes work, and one works in this process; by default as many as there are processors.
        progress: called before the first piece of work and after each.

    Raises:
        WorkerLost: one of the processes was killed.
    """
    workers = min(len(tasks), available_processors() if jobs is None else jobs)
    return _in_processes(work, tasks, workers, progress) if workers > 1 else _here(work, tasks, progress)


def _here(work: Callable[[T], R], tasks: Sequence[T], progress: Progress) -> Iterator[tuple[T, R]]:
    for done, task in enumerate(tasks):
        progress(done, str(task))
        yield task, work(task)


def _in_processes(
    work: Callable[[T], R], tasks: Sequence[T], workers: int, progress: Progress
) -> Iterator[tuple[T, R]]:
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures import as_completed
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context

    # forked, so that the specs are read once; all processes start with the first submit, before any thread does
    executor = ProcessPoolExecutor(workers, get_context("fork"), initializer=_begin, initargs=(work,))
    try:
        running = {executor.submit(_work, task): task for task in tasks}
        progress(0, str(tasks[0]))
        for done, future in enumerate(as_completed(running), start=1):
            yield running[future], future.result()
            progress(done, str(running[future]))
    except BrokenProcessPool as error:
        raise WorkerLost("a process that worked was ended from outside; run it again with --jobs 1") from error
    except BaseException:
        executor.shutdown(wait=False, cancel_futures=True)
        raise
    executor.shutdown()


_worker: Callable[[Any], Any]


def _begin(work: Callable[[Any], Any]) -> None:
    global _worker
    _worker = work
    # an interrupt ends a worker at once; the process that waits for it tells of it
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _work(task: Any) -> Any:
    return _worker(task)
