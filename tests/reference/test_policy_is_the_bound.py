"""The policy bounds the loops of every reference kernel: one thread or item more, and the tiles lie elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from policygen.model.record import Record
from policygen.model.types import Role
from policygen.project import load
from policygen.reference.catalogue import has_kernel
from policygen.reference.catalogue import kernel_of
from policygen.reference.contract.case import Case
from policygen.reference.contract.kernel import Problem
from policygen.reference.contract.tile_log import TileLog
from policygen.validate.cases import kernel_names
from policygen.validate.run import generator
from reference.conftest import CasesOf

KERNELS = [name for name in kernel_names(load(Path(__file__).parents[2])) if has_kernel(name)]
TARGETS = ("bi100", "sm_75", "sm_80", "sm_100")


def field_of(policy: Any, path: str) -> int:
    for name in path.split("."):
        policy = policy[name]
    return int(policy)


def changed(policy: Record, values: dict[str, int]) -> Record:
    """A policy with other values at some dotted paths."""
    made = policy.as_dict()
    for path, value in values.items():
        *owners, name = path.split(".")
        record = made
        for owner in owners:
            record = record[owner]
        record[name] = value
    return Record(made)


def one_more(case: Case, path: str) -> Case:
    """A case with one thread or item more, or as many as count; vectors that do not divide the items are given up."""
    values = {path: field_of(case.policy, path) + kernel_of(case.kernel).grain(case, path)}
    if path in case.roles(Role.ITEMS):
        values |= {vector: 1 for vector in case.roles(Role.VECTOR) if field_of(case.policy, vector) > 0}
    return evolve(case, policy=changed(case.policy, values))


def bounds(case: Case) -> Iterator[str]:
    """The fields that have to bound a loop: threads and items in use, but for those that the kernel excuses."""
    excused = kernel_of(case.kernel).unbound(case)
    for path in (*case.roles(Role.THREADS), *case.roles(Role.ITEMS)):
        excuse = any(path == name or path.startswith(f"{name}.") for name in excused)
        if field_of(case.policy, path) > 0 and not excuse:
            yield path


def log_of(case: Case, problem: Problem) -> TileLog:
    kernel = kernel_of(case.kernel)
    log = TileLog()
    kernel.run(case, problem, kernel.inputs(case, problem, generator(case, problem, 0)), log)
    return log


def moves(case: Case, path: str) -> bool:
    """Whether some problem's tiles lie elsewhere with one thread or item more."""
    kernel, other = kernel_of(case.kernel), one_more(case, path)
    return any(
        not log_of(case, problem).same_as(log_of(other, problem))
        for problem in kernel.problems(case, quick=True)
        if log_of(case, problem).kernels
    )


@pytest.mark.parametrize("kernel", KERNELS)
def test_one_more_moves_the_tiles(kernel: str, cases_of: CasesOf) -> None:
    tried: dict[tuple[str, str], None] = {}
    for target in TARGETS:
        for case in cases_of(kernel, target):
            for path in bounds(case):
                if (target, path) not in tried:
                    tried[target, path] = None
                    assert moves(case, path), f"{case} on {target}: nothing depends on {path}"
    assert tried, f"{kernel}: no field of its policy bounds anything"


@pytest.mark.parametrize("kernel", KERNELS)
def test_some_tiles_have_to_cover_their_input(kernel: str, cases_of: CasesOf) -> None:
    case = cases_of(kernel, "bi100")[0]
    promised = [kernel_of(kernel).coverage(case, problem) for problem in kernel_of(kernel).problems(case, quick=True)]
    assert any(items not in (0, range(0)) for coverage in promised for items in coverage.values())
