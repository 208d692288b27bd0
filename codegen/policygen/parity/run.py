"""Compares the references of many algorithms with one CCCL, in several processes."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
from functools import partial

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
from policygen.workers import Progress
from policygen.workers import each_done


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


def compare_all(task: Task, algorithms: Sequence[str], jobs: int | None, progress: Progress) -> dict[str, Compared]:
    """Compares algorithms.

    Args:
        task: what is asked.
        algorithms: those that the oracle knows.
        jobs: how many processes work; by default as many as there are processors.
        progress: called before the first algorithm is compared and after each.

    Returns:
        The results by algorithm, in the order asked for, whatever the number of processes.

    Raises:
        SpecError: a reference does not answer every key: every problem of every algorithm.
        WorkerLost: one of the processes was killed.
    """
    longest_first = sorted(algorithms, key=_weight(task.spec), reverse=True)
    results = dict(each_done(partial(_compared_or_problems, task), longest_first, jobs, progress))
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


def _weight(spec: Spec) -> Callable[[str], int]:
    """Which algorithms take longest, roughly: those with wide keys and large policies."""

    def weight(name: str) -> int:
        algorithm = spec.algorithms[name]
        return (len(algorithm.key) + 4 * len(algorithm.policy.fields)) * (4 if algorithm.uses else 1)

    return weight


def _compared_or_problems(task: Task, name: str) -> Compared | SpecError:
    try:
        return compared(task, name)
    except SpecError as error:
        return error
