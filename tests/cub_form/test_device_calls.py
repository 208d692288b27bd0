"""Public calls of CUB run kernels of the selectors that a user names, and deduce the same types without them."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from cub_form.device_calls import DEVICE_CALLS
from cub_form.device_calls import device_program
from cub_form.nvcc import compile_cuda
from policygen.emit.cpp.expressions import identifier
from policygen.project import Project
from policygen.project import load

ROOT = Path(__file__).parents[2]
INCLUDE = ROOT / "generated" / "include"

pytestmark = [pytest.mark.cuda, pytest.mark.slow]


@pytest.fixture(scope="module")
def project() -> Project:
    return load(ROOT)


def kernels(folder: Path, *, tuned: bool) -> set[str]:
    """The kernels of all calls, as C++ writes them; not optimised, since only their names are read."""
    filt = shutil.which("c++filt")
    if filt is None:
        pytest.skip("there is no c++filt")
    folder.mkdir()
    source = device_program("sm_90", DEVICE_CALLS, tuned)
    done = compile_cuda(folder, source, INCLUDE, "-arch=sm_90", "-ptx", "-Xcicc", "-O0", std=20)
    assert done.accepted, done.said
    entries = re.findall(r"\.entry (\w+)", done.output.read_text(encoding="utf-8"))
    names = subprocess.run([filt], input="\n".join(entries), capture_output=True, text=True, check=True).stdout
    # CUB's namespace names the architectures that are compiled for; a reference to a selector is that selector
    names = re.sub(r"cub::_V_\w+::", "cub::", names).replace(" const&", "").replace("> >", ">>")
    return set(names.splitlines())


def test_tuned_calls_run_the_kernels_of_our_selectors(project: Project, tmp_path: Path) -> None:
    own = kernels(tmp_path / "own", tuned=False)
    tuned = kernels(tmp_path / "tuned", tuned=True)
    replaced = tuned
    for algorithm in project.spec.algorithms.values():
        assert algorithm.cub is not None
        assert algorithm.tune is not None
        theirs = f"{algorithm.cub.namespace}::{algorithm.tune.upstream}"
        forms = ["selector", *(form.name for form in algorithm.tune.forms)]
        for form in forms:
            ours = f"policygen::sm_90::{identifier(algorithm.name)}::{form}"
            pattern = re.compile(rf"\b{ours}\b")
            assert any(pattern.search(kernel) for kernel in tuned), f"no kernel of {ours}"
            replaced = {pattern.sub(theirs, kernel) for kernel in replaced}
    # with CUB's selector in the place of ours they are the same: every type was deduced as CUB deduces it
    assert replaced == own


def test_every_shorthand_is_called(project: Project) -> None:
    declared = {
        (algorithm.name, call.name)
        for algorithm in project.spec.algorithms.values()
        if algorithm.tune is not None
        for call in algorithm.tune.calls
    }
    called = {(call.algorithm, call.selector.partition("<")[0]) for call in DEVICE_CALLS}
    assert called == declared
