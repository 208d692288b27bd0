"""`policygen build`: specs to generated files."""

from __future__ import annotations

from collections.abc import Iterable
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
from policygen.emit.build_state import validation_folder


@make_command
@click.option(
    "--target",
    "targets",
    multiple=True,
    metavar="NAME",
    help="A target to build, such as bi100 or sm_90; give the option once for each.",
)
@click.option("--all", "all_targets", is_flag=True, help="Build every target that policygen.toml lists.")
@click.option(
    "--strict",
    is_flag=True,
    help="Exit with status 1 if there is a warning, or a policy whose validation failed; files are written anyway.",
)
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
    failed = [] if state is None else _failed_validations(state, report)
    for line in failed:
        session.say(f"warning: {line}")
    if strict and (failed or _warnings(report)):
        raise SystemExit(FAILED)


def _made(
    session: Session, names: Sequence[str], jobs: int | None, state: BuildState | None, inputs: str | None
) -> dict[str, Any]:
    """Builds, writes, and keeps the report for a build of the same that finds nothing changed."""
    from policygen.build import build as make
    from policygen.build import owner_of
    from policygen.build import pieces_of_work
    from policygen.cli.output import built_targets
    from policygen.cli.output import output_errors
    from policygen.cli.output import recover_output
    from policygen.cli.progress import progress
    from policygen.emit.writer import apply
    from policygen.emit.writer import plan
    from policygen.workers import WorkerLost

    project = session.project
    targets = _canonical(session, names) if names else project.listed_targets
    with output_errors():
        recover_output(session)
        with progress(session, "building", pieces_of_work(project, targets)) as advance:
            try:
                made = make(project, targets, jobs=jobs, progress=advance)
            except WorkerLost as error:
                stop([str(error)], NOT_RUN)
        forgotten = () if names else built_targets(session).forgotten
        written = apply(plan(project.root.output, made.artifacts, (*made.owners, *map(owner_of, forgotten))))
    report: dict[str, Any] = {
        "targets": [target.as_dict() for target in made.reports],
        "warnings": list(made.warnings),
        "edited": [],
        "files": dict.fromkeys(sorted(str(artifact.path) for artifact in made.artifacts), "unchanged"),
    }
    if state is not None:
        digests = {str(artifact.path): artifact.digest for artifact in made.artifacts}
        state.keep(inputs, project.root.settings.output, digests, report)
    files = report["files"] | dict.fromkeys(map(str, written.written), "written")
    files |= dict.fromkeys(map(str, written.removed), "removed")
    return report | {"edited": [str(path) for path in written.edited], "files": dict(sorted(files.items()))}


def _failed_validations(state: BuildState, report: Mapping[str, Any]) -> list[str]:
    """Policies of this build that `validate` found to fail, with the command that shows it."""
    folder = validation_folder(state.folder)
    if not folder.is_dir():
        return []
    from policygen.validate.records import failures

    built = [a["policies"] for target in report["targets"] for a in target["algorithms"]]
    return [str(record) for record in failures(folder, (address for own in built for address in own))]


def _canonical(session: Session, names: Sequence[str]) -> list[str]:
    """Targets by the names of their folders. Ends with status 2 if there is one that is none."""
    from policygen.resolve.instance import UnknownTarget

    found: list[str] = []
    problems: list[str] = []
    for name in names:
        try:
            found.append(session.project.target_name(name))
        except UnknownTarget as error:
            problems.append(str(error))
    if problems:
        refuse(problems)
    return list(dict.fromkeys(found))


def _print(session: Session, report: Mapping[str, Any]) -> None:
    files: Mapping[str, str] = report["files"]
    for warning in _warnings(report):
        session.say(f"warning: {warning}")
    for path, status in files.items():
        if status != "unchanged":
            session.detail(f"{status} {path}")
    if session.as_json:
        session.answer(_data(report))
        return
    width = max((len(a["algorithm"]) for t in report["targets"] for a in t["algorithms"]), default=0)
    for target in report["targets"]:
        for algorithm in target["algorithms"]:
            policies = "policy" if algorithm["distinct"] == 1 else "policies"
            click.echo(
                f"{target['target']}  {algorithm['algorithm']:<{width}}  {algorithm['keys']:>3} keys, "
                f"{algorithm['distinct']:>3} distinct {policies}, {_kernels(algorithm['kernels'])}"
                f"{_evidence(algorithm['evidence'])}"
                f"{_counts(files[path] for path in algorithm['files'])}"
            )
    click.echo(_counts(files.values(), always=("written", "unchanged")))


def _kernels(figures: Mapping[str, Any] | None) -> str:
    """How many kernels the common keys of a family need."""
    if figures is None:
        return ""
    return f"{figures['contiguous']} kernels under the C++17 rule and {figures['by_value']} under the C++20 rule, "


def _evidence(counts: Sequence[int] | None) -> str:
    """For how many policies the compiler's figures are known; policies with elements of other sizes count apart."""
    return "" if counts is None else f"compiled evidence for {counts[0]} of {counts[1]}, "


def _counts(statuses: Iterable[str], always: Sequence[str] = ()) -> str:
    """`0 files written, 11 unchanged`."""
    found = list(statuses)
    counts = [(found.count(status), status) for status in ("written", "unchanged", "removed")]
    told = [(number, status) for number, status in counts if number or status in always]
    (first, status), *others = told
    files = "file" if first == 1 else "files"
    return ", ".join((f"{first} {files} {status}", *(f"{number} {status}" for number, status in others)))


def _data(report: Mapping[str, Any]) -> dict[str, Any]:
    """The report for programs: each algorithm's files with what became of them."""
    files: Mapping[str, str] = report["files"]
    statuses = list(files.values())
    targets = [
        target | {"algorithms": [_algorithm_data(algorithm, files) for algorithm in target["algorithms"]]}
        for target in report["targets"]
    ]
    counts = {status: statuses.count(status) for status in ("written", "unchanged", "removed")}
    return {
        "targets": targets,
        "warnings": report["warnings"],
        **counts,
        "edited": report["edited"],
        "files": dict(files),
    }


def _algorithm_data(algorithm: Mapping[str, Any], files: Mapping[str, str]) -> dict[str, Any]:
    """An algorithm's report without the addresses of its policies, which are for `validate` alone."""
    told = {name: value for name, value in algorithm.items() if name != "policies"}
    return told | {"files": {path: files[path] for path in algorithm["files"]}}


def _warnings(report: Mapping[str, Any]) -> list[str]:
    found: list[str] = list(report["warnings"])
    for target in report["targets"]:
        found += [f"{target['target']}: {line}" for line in target["warnings"]]
        for algorithm in target["algorithms"]:
            found += [f"{target['target']}: {algorithm['algorithm']}: {line}" for line in algorithm["warnings"]]
    files: Mapping[str, str] = report["files"]
    return found + [f"{path} had been edited by hand and was {files[path]}" for path in report["edited"]]


command = build
