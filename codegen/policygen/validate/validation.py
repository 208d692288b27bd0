"""A validation: all cases of a plan, in several processes."""

from __future__ import annotations

import json
import shlex
from functools import partial
from pathlib import Path

import torch
from attrs import frozen

from policygen.reference.catalogue import source_digest
from policygen.reference.contract.case import Case
from policygen.validate.cases import Plan
from policygen.validate.records import FailureRecord
from policygen.validate.records import forget
from policygen.validate.records import note
from policygen.validate.records import policy_address
from policygen.validate.run import Failure
from policygen.validate.run import Outcome
from policygen.validate.run import run_case
from policygen.workers import Progress
from policygen.workers import each_done

DEFAULT_JOBS = 2


@frozen
class Judged:
    """A case and what became of it.

    Attributes:
        reproduce: the command that runs the failed problem alone; empty if there is none.
    """

    case: Case
    outcome: Outcome
    reproduce: str = ""

    @property
    def failure(self) -> Failure | None:
        """What was wrong; None if nothing was."""
        return self.outcome.failure


@frozen
class Validation:
    """What became of all cases, in the order of the plan."""

    plan: Plan
    judged: tuple[Judged, ...]

    @property
    def target(self) -> str:
        """Name of the target."""
        return self.plan.target

    @property
    def device(self) -> str:
        """Where it ran."""
        return self.plan.device

    @property
    def failed(self) -> tuple[Judged, ...]:
        """The cases that failed."""
        return tuple(one for one in self.judged if one.failure is not None)


@frozen
class _Task:
    number: int
    kernel: str

    def __str__(self) -> str:
        return self.kernel


@frozen
class _Work:
    cases: tuple[Case, ...]
    quick: bool
    seed: int
    only: str

    def __call__(self, task: _Task) -> Outcome:
        # a process is a worker: more threads than workers only get in each other's way
        torch.set_num_threads(1)
        return run_case(self.cases[task.number], quick=self.quick, seed=self.seed, only=self.only)


def validate(
    made: Plan,
    *,
    quick: bool,
    seed: int,
    only: str = "",
    jobs: int | None = None,
    progress: Progress = lambda *_: None,
) -> Validation:
    """Runs the cases of a plan.

    Args:
        made: the plan.
        quick: fewer problems a case.
        seed: of the inputs.
        only: id of a problem, if the others are to be left out.
        jobs: how many processes work; two by default.
        progress: called before the first case and after each.

    Raises:
        WorkerLost: one of the processes was killed.
    """
    tasks = [_Task(number, case.kernel) for number, case in enumerate(made.cases)]
    work = _Work(made.cases, quick, seed, only)
    found = dict(each_done(work, tasks, DEFAULT_JOBS if jobs is None else jobs, progress))
    tell = partial(_judged, quick=quick, seed=seed)
    return Validation(made, tuple(tell(case, found[task]) for case, task in zip(made.cases, tasks, strict=True)))


def keep_records(found: Validation, folder: Path, *, quick: bool, seed: int, only: str) -> None:
    """Notes the cases that failed, and forgets records of what was run again and passed."""
    for one in found.judged:
        case, failure = one.case, one.failure
        record = FailureRecord(
            policy=policy_address(case.target, case.algorithm, case.policy),
            kernel=case.kernel,
            source=source_digest(case.kernel),
            key=", ".join(f"{name}={value}" for name, value in case.given.items()),
            warp_size=case.warp_size,
            problem=only if failure is None else failure.problem,
            seed=seed,
            quick=quick,
            reason="" if failure is None else failure.reason,
            reproduce=one.reproduce,
        )
        if failure is None:
            forget(folder, record)
        else:
            note(folder, record)


def _judged(case: Case, outcome: Outcome, *, quick: bool, seed: int) -> Judged:
    if outcome.failure is None:
        return Judged(case, outcome)
    return Judged(case, outcome, reproduction(case, outcome.failure.problem, quick=quick, seed=seed))


def reproduction(case: Case, problem: str, *, quick: bool, seed: int) -> str:
    """The command that runs one problem of a case alone."""
    words = ["policygen", "validate", "--target", case.target, "--algorithm", case.kernel]
    for name, value in case.given.items():
        words += ["--key", f"{name}={key_text(value)}"]
    words += ["--warp-size", str(case.warp_size), "--problem", problem, "--seed", str(seed)]
    words += ["--quick"] if quick else []
    words += ["--device", case.device] if case.device != "cpu" else []
    return shlex.join(words)


def key_text(value: object) -> str:
    """A value of a key as `--key` takes it."""
    return value if isinstance(value, str) else json.dumps(value)
