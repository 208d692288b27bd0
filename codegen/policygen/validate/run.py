"""One case run: its problems, one after the other, up to the first that fails."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import torch
from attrs import frozen

from policygen.reference.catalogue import kernel_of
from policygen.reference.contract.case import Case
from policygen.reference.contract.kernel import Problem
from policygen.reference.contract.kernel import ReferenceKernel
from policygen.reference.contract.tile_log import TileLog


@frozen
class Failure:
    """What was wrong.

    Attributes:
        problem: id of the problem.
        reason: the first difference, with index, expected value, found value and bound; or tiles that do not cover
            their input.
    """

    problem: str
    reason: str


@frozen
class Outcome:
    """What became of a case.

    Attributes:
        problems: how many were run.
        failure: the first that failed; None if none did.
    """

    problems: int
    failure: Failure | None


def run_case(case: Case, *, quick: bool, seed: int, only: str = "") -> Outcome:
    """Runs a case.

    Args:
        case: what to run.
        quick: see `ReferenceKernel.problems`.
        seed: of the inputs. Each problem has its own generator, so that one of them alone is run on the same inputs.
        only: id of a problem, if the others are to be left out.
    """
    kernel = kernel_of(case.kernel)
    done = 0
    for problem in kernel.problems(case, quick=quick):
        if only and problem.id != only:
            continue
        done += 1
        reason = fault(kernel, case, problem, seed)
        if reason is not None:
            return Outcome(done, Failure(problem.id, reason))
    if done == 0:
        missing = f"there is no problem {only}" if only else "the reference kernel knows no problem for this key"
        return Outcome(0, Failure(only, missing))
    return Outcome(done, None)


def fault(kernel: ReferenceKernel[Any, Any], case: Case, problem: Problem, seed: int) -> str | None:
    """What is wrong with a kernel's results for a problem; None if nothing is."""
    inputs = kernel.inputs(case, problem, generator(case, problem, seed))
    log = TileLog()
    try:
        outputs = kernel.run(case, problem, inputs, log)
    except (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError) as error:
        return f"raised {type(error).__name__}: {error}"
    expected = kernel.expected(case, problem, inputs)
    return _uncovered(log, kernel.coverage(case, problem)) or _different(outputs, expected)


def generator(case: Case, problem: Problem, seed: int) -> torch.Generator:
    """The generator of a problem's inputs: the same on every device and for every warp size."""
    text = f"{seed}\n{case.kernel}\n{problem.id}"
    made = torch.Generator()
    made.manual_seed(int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]) >> 1)
    return made


def _uncovered(log: TileLog, coverage: Mapping[str, int | range]) -> str | None:
    for name, promised in coverage.items():
        items = promised if isinstance(promised, range) else range(promised)
        found = log.fault(name, items)
        if found is not None:
            return found
    return None


def _different(outputs: Mapping[str, torch.Tensor], expected: Mapping[str, Any]) -> str | None:
    if outputs.keys() != expected.keys():
        return f"outputs are {', '.join(outputs) or 'none'}, expected {', '.join(expected) or 'none'}"
    for name, expectation in expected.items():
        difference = expectation.difference(outputs[name])
        if difference is not None:
            return f"{name} {difference}" if not difference.index else f"{name}{difference}"
    return None
