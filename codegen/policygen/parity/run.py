"""Compares the references of many algorithms with one CCCL, in several processes."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
from typing import TypeAlias

from attrs import frozen

from policygen.model.capabilities import KNOWN_CAPABILITIES
from policygen.model.problems import Problem
from policygen.model.problems import SpecError
from policygen.parity.compare import PointMismatches
from policygen.parity.compare import compare
from policygen.parity.declared_keys import declared_keys
from policygen.parity.oracle import Oracle
from policygen.parity.oracle import OracleError
from policygen.parity.oracle import UndefinedAnswerError
from policygen.parity.random_keys import random_keys
from policygen.spec import Spec
from policygen.spec import Target

Progress: TypeAlias = Callable[[int, str], None]
"""Called with how many algorithms are done, and the last of them; first with none, when the work has begun."""


class WorkerLost(Exception):  # noqa: N818 - it says what happened
    """A process that compared was ended from outside."""


@frozen
class Compared:
    """What the comparison of one algorithm found.

    Attributes:
        policies: how many were compared: keys times capabilities.
        declared: keys of the systematic cover.
        random: random keys.
        points: the points that differ.
        not_comparable: why it could not be compared; empty if it was.
    """

    algorithm: str
    policies: int
    declared: int
    random: int
    points: tuple[PointMismatches, ...]
    not_comparable: str = ""

    @property
    def equal(self) -> bool:
        """Whether it was compared, and nothing differs."""
        return not self.points and not self.not_comparable


@frozen
class Task:
    """What is asked of a comparison.

    Attributes:
        target: the family whose reference is compared.
        keys: how many random keys an algorithm.
        seed: of the random keys.
    """

    spec: Spec
    target: Target
    oracle: Oracle
    keys: int
    seed: int


def compared(task: Task, algorithm: str) -> Compared:
    """Compares one algorithm over the declared domains and random keys, on all known capabilities.

    Raises:
        SpecError: the reference does not answer every key.
    """
    spec, target = task.spec, task.target
    rules = spec.references[target.reference][algorithm]
    declared = declared_keys(spec, algorithm, target)
    keys = [*declared, *random_keys(spec.algorithms[algorithm], task.keys, task.seed, [rules])]
    try:
        report = compare(spec, algorithm, KNOWN_CAPABILITIES, keys, task.oracle, task.oracle.toolchain.nvcc_version)
    except (OracleError, UndefinedAnswerError) as error:
        return Compared(algorithm, 0, 0, 0, (), str(error))
    return Compared(algorithm, report.compared, len(declared), task.keys, report.by_point())


def compare_all(task: Task, algorithms: Sequence[str], jobs: int, progress: Progress) -> dict[str, Compared]:
    """Compares algorithms.

    Args:
        task: what is asked.
        algorithms: those that the oracle knows.
        jobs: how many processes work.
        progress: called before the first algorithm is compared and after each.

    Returns:
        The results by algorithm, in the order asked for, whatever the number of processes.

    Raises:
        SpecError: a reference does not answer every key: every problem of every algorithm.
        WorkerLost: one of the processes was killed.
    """
    workers = min(jobs, len(algorithms))
    results = dict(
        _in_processes(task, algorithms, workers, progress) if workers > 1 else _here(task, algorithms, progress)
    )
    problems: list[Problem] = []
    found: dict[str, Compared] = {}
    for name in algorithms:
        result = results[name]
        if isinstance(result, SpecError):
            problems += result.problems
        else:
            found[name] = result
    if problems:
        raise SpecError(problems)
    return found


def _here(task: Task, algorithms: Sequence[str], progress: Progress) -> Iterator[tuple[str, Compared | SpecError]]:
    for done, name in enumerate(algorithms):
        progress(done, name)
        yield name, _compared_or_problems(task, name)


def _in_processes(
    task: Task, algorithms: Sequence[str], workers: int, progress: Progress
) -> Iterator[tuple[str, Compared | SpecError]]:
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures import as_completed
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context

    # forked, so that the specs are read once; all processes start with the first submit, before any thread does
    executor = ProcessPoolExecutor(workers, get_context("fork"), initializer=_begin, initargs=(task,))
    try:
        names = {
            executor.submit(_work, name): name for name in sorted(algorithms, key=_weight(task.spec), reverse=True)
        }
        progress(0, "")
        for done, future in enumerate(as_completed(names), start=1):
            yield names[future], future.result()
            progress(done, names[future])
    except BrokenProcessPool as error:
        raise WorkerLost("a process that compared was ended from outside; run it with --jobs 1") from error
    except BaseException:
        executor.shutdown(wait=False, cancel_futures=True)
        raise
    executor.shutdown()


def _weight(spec: Spec) -> Callable[[str], int]:
    """Which algorithms take longest, roughly: those with wide keys and large policies."""

    def weight(name: str) -> int:
        algorithm = spec.algorithms[name]
        return (len(algorithm.key) + 4 * len(algorithm.policy.fields)) * (4 if algorithm.uses else 1)

    return weight


def available_processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0))


_worker_task: Task


def _begin(task: Task) -> None:
    global _worker_task
    _worker_task = task
    # an interrupt ends a worker at once; the process that waits for it tells of it
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _work(name: str) -> Compared | SpecError:
    return _compared_or_problems(_worker_task, name)


def _compared_or_problems(task: Task, name: str) -> Compared | SpecError:
    try:
        return compared(task, name)
    except SpecError as error:
        return error
