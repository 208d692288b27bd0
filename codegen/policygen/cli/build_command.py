"""`policygen build`: specs to generated files."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

import click

from policygen.cli.session import FAILED
from policygen.cli.session import NOT_RUN
from policygen.cli.session import Session
from policygen.cli.session import command as make_command
from policygen.cli.session import refuse
from policygen.cli.session import stop
from policygen.emit.build_state import BuildState


@make_command
@click.option(
    "--target",
    "targets",
    multiple=True,
    metavar="NAME",
    help="A target to build, such as bi100 or sm_90; give the option once for each.",
)
@click.option("--all", "all_targets", is_flag=True, help="Build every target that policygen.toml lists.")
@click.option("--strict", is_flag=True, help="Exit with status 1 if there is a warning; files are written all the same.")
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help="Processes that work; by default one for one target, else as many as there are processors.",
)
def build(session: Session, targets: tuple[str, ...], all_targets: bool, strict: bool, jobs: int | None) -> None:
    """Write headers and Python tables for targets.

    Prints for each algorithm how many common keys there are, how many distinct policies they have and what became of
    its files; warnings and conflicts of evidence go to standard error. Only files that change are written, all of
    them or none, and never one that policygen did not write before. --all also removes the files of targets that the
    specs no longer have.
    """
    if bool(targets) == all_targets:
        refuse(["say what to build: either --target NAME, once for each, or --all for the targets of policygen.toml"])
    state = BuildState.nearest(session.project_dir, ("--all",) if all_targets else targets)
    inputs = None if state is None else state.inputs()
    report = None if state is None else state.unchanged(inputs)
    if report is not None:
        session.detail("nothing has changed since the last build")
    else:
        report = _made(session, targets, jobs, state, inputs)
    _print(session, report)
    if strict and _warnings(report):
        raise SystemExit(FAILED)


def _made(
    session: Session, names: Sequence[str], jobs: int | None, state: BuildState | None, inputs: str | None
) -> dict[str, Any]:
    """Builds, writes, keeps the state. The report of the build, for a second one of the same, is what is kept."""
    from policygen.build import build as make
    from policygen.cli.output import output_errors
    from policygen.cli.output import recover_output
    from policygen.cli.progress import progress
    from policygen.emit.writer import apply
    from policygen.emit.writer import plan

    project = session.project
    targets = _canonical(session, names) if names else project.listed_targets
    with output_errors():
        recover_output(session)
        with progress(session, "building", len(targets)) as advance:
            try:
                made = make(project, targets, jobs=jobs, progress=advance)
            except ChildProcessFailed as error:
                stop([f"a process that built a target ended early ({error}); try --jobs 1"], NOT_RUN)
        forgotten = () if names else _forgotten(session)
        written = apply(plan(project.root.output, made.artifacts, (*made.owners, *forgotten)))
    removed = sorted(map(str, written.removed))
    report = {
        "targets": [r.as_dict() for r in made.reports],
        "edited": [f"{path} had been edited by hand and was written anew" for path in written.edited],
        "files": dict.fromkeys((str(path) for path in (*written.written, *written.unchanged)), "unchanged"),
    }
    digests = {str(artifact.path): artifact.digest for artifact in made.artifacts}
    if state is not None:
        state.keep(inputs, project.root.settings.output, digests, {**report, "edited": []})
    files = {**report["files"], **dict.fromkeys(map(str, written.written), "written"), **dict.fromkeys(removed, "removed")}
    return {**report, "files": files}
