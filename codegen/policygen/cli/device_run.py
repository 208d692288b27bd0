"""`policygen prove --run`: CUB with a target's policies on a GPU, here or elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from attrs import frozen

from policygen.cli.session import FAILED
from policygen.cli.session import NOT_RUN
from policygen.cli.session import Session
from policygen.cli.session import refuse
from policygen.cli.session import stop

if TYPE_CHECKING:
    from policygen.parity.toolchain import Toolchain
    from policygen.prove.device_build import Prepared
    from policygen.prove.device_report import DeviceReport


@frozen
class RunOptions:
    """What is asked of a run.

    Attributes:
        quick: leave out the sizes above a million.
        jobs: processes that compile.
        cccl: a folder with CCCL, or None.
        prepare: only write the programs into this folder.
        build_only: write and compile them there.
        lines: no run: files with what the programs printed.
        report: the folder that the report is written to.
    """

    quick: bool
    jobs: int | None
    cccl: Path | None
    prepare: Path | None
    build_only: Path | None
    lines: tuple[Path, ...]
    report: Path | None

    @property
    def given(self) -> tuple[str, ...]:
        """The options beside --jobs that were given, as they are spelled."""
        options = {
            "--sizes": self.quick,
            "--cccl": self.cccl,
            "--prepare": self.prepare,
            "--build-only": self.build_only,
            "--lines": self.lines,
            "--report": self.report,
        }
        return tuple(name for name, value in options.items() if value)


def run(session: Session, target: str, asked: tuple[str, ...], options: RunOptions) -> None:
    """Runs, or does one step of it; ends with the status."""
    from policygen.prove.device_build import NotRunnable
    from policygen.resolve.instance import UnknownTarget

    steps = [name for name in ("--prepare", "--build-only", "--lines") if name in options.given]
    if len(steps) > 1:
        refuse([f"{' and '.join(steps)}: expected one of them; each is a step of its own"])
    names = _names(session, asked)
    try:
        if options.lines:
            _report(session, _from_lines(session, target, names, options.lines), options)
        elif options.prepare is not None:
            _prepare(session, target, names, options.prepare)
        elif options.build_only is not None:
            _build(session, _prepared(session, target, names, options.build_only), options)
        else:
            _report(session, _run(session, target, names, options), options)
    except UnknownTarget as error:
        refuse([str(error)])
    except NotRunnable as error:
        stop([str(error)], NOT_RUN)


def _names(session: Session, asked: tuple[str, ...]) -> tuple[str, ...]:
    """The algorithms to run. Ends with status 2 if one is none, or has no program."""
    from policygen.project import UnknownAlgorithm
    from policygen.prove.device_build import runnable_algorithms

    known = runnable_algorithms(session.project)
    problems: list[str] = []
    for name in asked:
        try:
            if session.project.algorithm(name).name not in known:
                problems.append(f"there is no program that runs {name}; there are programs for {', '.join(known)}")
        except UnknownAlgorithm as error:
            problems.append(str(error))
    if problems:
        refuse(problems)
    return tuple(name for name in known if name in asked or not asked)


def _toolchain(session: Session, cccl: Path | None) -> Toolchain:
    from policygen.parity.toolchain import ToolchainMissing
    from policygen.parity.toolchain import find_toolchain

    try:
        found = find_toolchain(cccl)
    except ToolchainMissing as error:
        stop([str(error)], NOT_RUN)
    session.detail(f"CCCL {found.cccl_version} in {found.include}, nvcc {found.nvcc_version}")
    return found


def _prepared(session: Session, target: str, names: tuple[str, ...], folder: Path) -> Prepared:
    from policygen.prove.device_build import prepare

    return prepare(session.project, target, names, folder)


def _prepare(session: Session, target: str, names: tuple[str, ...], folder: Path) -> None:
    prepared = _prepared(session, target, names, folder)
    if session.as_json:
        session.answer({"folder": str(folder), "programs": [program.name for program in prepared.programs]})
    else:
        click.echo(f"{len(prepared.programs)} programs in {folder}; build.sh compiles them there, run.sh runs them")


def _build(session: Session, prepared: Prepared, options: RunOptions) -> None:
    from policygen.cli.progress import progress
    from policygen.prove.device_build import NotCompiled
    from policygen.prove.device_run import compile_all
    from policygen.workers import WorkerLost

    toolchain = _toolchain(session, options.cccl)
    with progress(session, "compiling", len(prepared.programs)) as advance:
        try:
            made = compile_all(prepared, toolchain, options.jobs, advance)
        except WorkerLost as error:
            stop([str(error)], NOT_RUN)
    rejected = {name: found.said for name, found in made.items() if isinstance(found, NotCompiled)}
    built = {name: str(made[name]) for name in sorted(made.keys() - rejected.keys())}
    if session.as_json:
        session.answer({"programs": built, "not_compiled": dict(sorted(rejected.items()))})
    else:
        for path in built.values():
            click.echo(path)
    for name, said in sorted(rejected.items()):
        click.echo(f"error: {name} does not compile: {said}", err=True)
    raise SystemExit(FAILED if rejected else 0)


def _run(session: Session, target: str, names: tuple[str, ...], options: RunOptions) -> DeviceReport:
    from policygen.cli.progress import progress
    from policygen.prove.device_run import NoGpu
    from policygen.prove.device_run import run_on_device
    from policygen.workers import WorkerLost

    project = session.project
    folder = project.root.folder / ".policygen" / "run" / project.target(target).name
    toolchain = _toolchain(session, options.cccl)
    with progress(session, "running", 2 * len(names)) as advance:
        try:
            return run_on_device(
                project, target, names, toolchain, folder, quick=options.quick, jobs=options.jobs, progress=advance
            )
        except (NoGpu, WorkerLost) as error:
            stop([str(error)], NOT_RUN)


def _from_lines(session: Session, target: str, names: tuple[str, ...], files: tuple[Path, ...]) -> DeviceReport:
    from policygen.prove.device_run import report_of

    lines = [line for file in files for line in file.read_text(encoding="utf-8", errors="replace").splitlines()]
    report = report_of(session.project, target, names, lines)
    if not report.all:
        read = ", ".join(map(str, files))
        refuse([f"{read}: expected what the programs for {report.target} print, each ended by a line of kind exit"])
    return report


def _report(session: Session, report: DeviceReport, options: RunOptions) -> None:
    """Gives the report, and ends with its status."""
    from policygen.prove.device_text import as_data
    from policygen.prove.device_text import data_text
    from policygen.prove.device_text import markdown
    from policygen.prove.device_text import summary

    if report.device is None and any(ran.outcome.no_device for ran in report.all):
        stop(["the programs found no GPU to run on"], NOT_RUN)
    if options.report is not None:
        options.report.mkdir(parents=True, exist_ok=True)
        text = "\n".join([*markdown(report), ""])
        (options.report / f"{report.target}.md").write_text(text, encoding="utf-8")
        (options.report / f"{report.target}.json").write_text(data_text(report), encoding="utf-8")
    if session.as_json:
        session.answer(as_data(report))
    else:
        for line in markdown(report) if session.as_markdown else summary(report):
            click.echo(line)
    for fault in report.faults:
        click.echo(f"error: {fault}", err=True)
    raise SystemExit(FAILED if report.faults else 0)
