"""The project of this repository, and the cases of its reference kernels."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
import torch

from policygen.project import Project
from policygen.project import load
from policygen.reference.contract.case import Case
from policygen.validate.cases import plan

REPOSITORY = Path(__file__).parents[2]

CasesOf = Callable[[str, str], tuple[Case, ...]]


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def packaged() -> Project:
    return load(REPOSITORY)


@pytest.fixture(scope="session")
def cases_of(packaged: Project) -> CasesOf:
    """The cases of a kernel on a target, as `validate --quick` runs them."""

    @cache
    def found(kernel: str, target: str) -> tuple[Case, ...]:
        return plan(packaged, target, [kernel], quick=True).cases

    return found
