"""Runs CUB with a target's policies on the GPU of this machine."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Iterator
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from policygen.parity.toolchain import Toolchain
from policygen.plan.limits import LIMIT_NAMES
from policygen.plan.limits import Limits
from policygen.plan.limits import limits_from_facts
from policygen.project import Project
from policygen.prove.device_build import NotCompiled
from policygen.prove.device_build import Prepared
from policygen.prove.device_build import compiled_program
from policygen.prove.device_build import prepare
from policygen.prove.device_build import runnable_algorithms
from policygen.prove.device_lines import exit_line
from policygen.prove.device_lines import not_compiled_line
from policygen.prove.device_lines import outcomes
from policygen.prove.device_program import LIMIT_SECONDS
from policygen.prove.device_program import shifted
from policygen.prove.device_report import DeviceReport
from policygen.prove.device_report import device_report
from policygen.workers import Progress
from policygen.workers import each_done

_STOPPED = 124
"""What `timeout` ends with, too."""


class NoGpu(Exception):  # noqa: N818 - nothing failed; something is absent
    """There is no GPU to run on; the message says so."""


def run_on_device(
    project: Project,
    target: str,
    algorithms: Sequence[str],
    toolchain: Toolchain,
    folder: Path,
    *,
    quick: bool = False,
    jobs: int | None = None,
    progress: Progress = lambda *_: None,
) -> DeviceReport:
    """Compiles the programs of a target, runs each as soon as it is there, and reports.

    Args:
        project: where the specs are.
        target: a chip or an architecture of NVIDIA's, in any spelling.
        algorithms: by name, such as `runnable_algorithms` gives.
        toolchain: what to compile with.
        folder: where the programs lie; made if needed. What was compiled before is not compiled again.
        quick: leave out the sizes above a million.
        jobs: how many processes compile; by default as many as there are processors. The GPU has one program at a time.
        progress: called before the first program and after each; there are two an algorithm.

    Raises:
        NoGpu: this machine has none.
        UnknownTarget, SpecError, NotRunnable, WorkerLost: see `prepare` and `each_done`.
    """
    if not gpu_is_there():
        raise NoGpu("there is no GPU here that CUDA can use: --build-only makes programs to run on another machine")
    prepared = prepare(project, target, algorithms, folder)
    lines = list(_lines(prepared, toolchain, quick, jobs, progress))
    return report_of(project, target, algorithms, lines)


def compile_all(
    prepared: Prepared, toolchain: Toolchain, jobs: int | None, progress: Progress
) -> dict[str, Path | NotCompiled]:
    """Compiles programs, and gives what came of each by its name. Raises WorkerLost."""
    work = partial(compiled_program, prepared, toolchain)
    return {program.name: made for program, made in each_done(work, prepared.programs, jobs, progress)}


def report_of(project: Project, target: str, algorithms: Sequence[str], lines: Sequence[str]) -> DeviceReport:
    """The report of what the programs of a target printed, here or on another machine.

    Args:
        project: where the specs are.
        target: whose policies they use.
        algorithms: what was to be run; a program without lines is a fault.
        lines: what was printed.

    Raises:
        UnknownTarget, SpecError: see `Project.target`.
    """
    instance = project.target(target)
    known = runnable_algorithms(project)
    missing = [name for name in project.built_algorithms if name not in known]
    twin = shifted(instance).name
    return device_report(instance.name, twin, outcomes(lines), _limits(project, target), algorithms, missing)


def gpu_is_there() -> bool:
    """Whether the driver is installed and finds a GPU."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    count = ctypes.c_int(0)
    return driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0


def _lines(
    prepared: Prepared, toolchain: Toolchain, quick: bool, jobs: int | None, progress: Progress
) -> Iterator[str]:
    work = partial(compiled_program, prepared, toolchain)
    for program, made in each_done(work, prepared.programs, jobs, progress):
        if isinstance(made, NotCompiled):
            yield not_compiled_line(program.name, made.said)
        else:
            yield from _printed(program.name, made, quick)


def _printed(name: str, program: Path, quick: bool) -> Iterator[str]:
    """What a program prints, and how it ended."""
    command = [str(program), *(["--quick"] if quick else [])]
    try:
        result = subprocess.run(
            command, stdout=subprocess.PIPE, text=True, errors="replace", check=False, timeout=LIMIT_SECONDS
        )
    except subprocess.TimeoutExpired as stopped:
        said = stopped.stdout or b""
        yield from (said if isinstance(said, str) else said.decode(errors="replace")).splitlines()
        yield exit_line(name, _STOPPED)
    else:
        yield from result.stdout.splitlines()
        yield exit_line(name, result.returncode)


def _limits(project: Project, target: str) -> Limits:
    facts = project.target(target).facts
    values = {name: facts[name].value for name in LIMIT_NAMES if name in facts}
    return limits_from_facts({name: value if isinstance(value, int) else None for name, value in values.items()})
