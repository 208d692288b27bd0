"""Validation notices planted faults: a kernel that is subtly wrong must not pass."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Iterator
from collections.abc import Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest

from policygen.project import load
from policygen.reference.catalogue import has_kernel
from policygen.validate.cases import kernel_names
from policygen.validate.run import run_case
from reference.conftest import CasesOf
from reference.faults import FAULTS
from reference.faults import Fault
from reference.faults_engine import ENGINE_FAULTS
from reference.faults_key import KEY_FAULTS
from reference.faults_segments import SEGMENT_FAULTS
from reference.faults_select import SELECT_FAULTS
from reference.faults_sort import SORT_FAULTS
from reference.faults_topk import TOPK_FAULTS

PACKAGE = "policygen.reference"
KERNELS = [name for name in kernel_names(load(Path(__file__).parents[2])) if has_kernel(name)]

ALL_FAULTS = (*FAULTS, *ENGINE_FAULTS, *KEY_FAULTS, *SEGMENT_FAULTS, *SELECT_FAULTS, *SORT_FAULTS, *TOPK_FAULTS)


class Edited(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module from an edited source, in memory."""

    def __init__(self, name: str, source: str) -> None:
        self._name = name
        self._source = source

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002 - the import system's signature
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> importlib.machinery.ModuleSpec | None:
        return importlib.machinery.ModuleSpec(fullname, self) if fullname == self._name else None

    def exec_module(self, module: ModuleType) -> None:
        exec(compile(self._source, f"<{self._name}>", "exec"), module.__dict__)


def source_of(fault: Fault) -> str:
    found = importlib.util.find_spec(f"{PACKAGE}.{fault.module}")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).read_text(encoding="utf-8")


@contextmanager
def planted(fault: Fault) -> Iterator[None]:
    """The reference kernels with a fault; they are imported anew, and forgotten afterwards.

    What does not change with a kernel (cases, problems' base classes, comparison) stays as it is.
    """
    kept = {name: module for name, module in sys.modules.items() if name.startswith(f"{PACKAGE}.")}
    finder = Edited(f"{PACKAGE}.{fault.module}", source_of(fault).replace(fault.text, fault.instead))
    for name in kept:
        if not name.startswith((f"{PACKAGE}.contract", f"{PACKAGE}.catalogue")):
            del sys.modules[name]
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if name.startswith(f"{PACKAGE}.")]:
            del sys.modules[name]
        sys.modules.update(kept)


@pytest.mark.parametrize("fault", ALL_FAULTS, ids=str)
def test_a_planted_fault_is_noticed(fault: Fault, cases_of: CasesOf) -> None:
    assert source_of(fault).count(fault.text) == 1, f"{fault}: its text has to occur once in {fault.module}"
    cases = [
        case
        for case in cases_of(fault.kernel, fault.target)
        if any(fault.given.items() <= dict(key).items() for key in case.keys)
    ]
    with planted(fault):
        outcomes = (run_case(case, quick=True, seed=0) for case in cases)
        assert any(outcome.failure is not None for outcome in outcomes), f"{fault}: nobody noticed"


@pytest.mark.parametrize("kernel", KERNELS)
def test_every_kernel_has_three_faults(kernel: str) -> None:
    assert sum(fault.kernel == kernel for fault in ALL_FAULTS) >= 3
