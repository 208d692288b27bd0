"""`policygen check`: whether the generated files are what the specs say, and whether the gates pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from policygen.cli.session import BAD_INPUT
from policygen.cli.session import FAILED
from policygen.cli.session import NOT_RUN
from policygen.cli.session import Session
from policygen.cli.session import command as make_command
from policygen.cli.session import stop

if TYPE_CHECKING:
    from policygen.build import Build
    from policygen.emit.drift import PolicyChange
    from policygen.emit.writer import Drift
    from policygen.review.gates import Failure


@make_command
@click.option(
    "--base",
    metavar="REV",
    help="An earlier revision, or a folder with a policygen.toml: pinned fields that changed since need a reason.",
)
def check(session: Session, base: str | None) -> None:
    """Say whether the generated files are what the specs say, and whether the gates of policygen.toml pass.

    Compares the files of the targets that policygen.toml lists and of any other that was built. Exit status 1 if a
    file is missing, stale, edited by hand or no longer produced, or if something else is in its way: names the files,
    and shows which policies of common keys change, from what is there to what the specs say. Exit status 1 as well
    for each thing that does not pass a gate (docs/review.md).
    """
    from policygen.build import build
    from policygen.build import owner_of
    from policygen.build import pieces_of_work
    from policygen.cli.output import built_targets
    from policygen.cli.output import output_errors
    from policygen.cli.output import recover_output
    from policygen.cli.progress import progress
    from policygen.emit.drift import policy_changes
    from policygen.emit.writer import check as compare
    from policygen.model.problems import SpecError
    from policygen.review.gates import gate_failures
    from policygen.review.gates import setting_problems
    from policygen.workers import WorkerLost

    project = session.project
    problems = setting_problems(project)
    if problems:
        raise SpecError(problems)
    listed = project.listed_targets
    with output_errors():
        recover_output(session)
        found = built_targets(session)
        targets = tuple(dict.fromkeys((*listed, *found.known)))
        with progress(session, "checking", pieces_of_work(session.project, targets)) as advance:
            try:
                made = build(project, targets, progress=advance)
            except WorkerLost as error:
                stop([str(error)], NOT_RUN)
        drift = compare(project.root.output, made.artifacts, (*made.owners, *map(owner_of, found.forgotten)))
    changes = policy_changes(project.root.output, made.artifacts, {*drift.stale, *drift.edited})
    failures = (*gate_failures(project, made), *_pinned(session, base))
    _print(session, drift, changes, failures)
    if drift:
        if not changes:
            session.say("no policy of a common key differs; rules for other keys, evidence or comments may")
        session.say(f"run {_remedy(made, drift, listed)}, and commit what it writes")
    else:
        session.say(f"{len(made.artifacts)} generated files are what the specs say")
    if drift or failures:
        raise SystemExit(FAILED)


def _pinned(session: Session, base: str | None) -> tuple[Failure, ...]:
    """Pinned fields that changed since a revision without a reason."""
    from policygen.loading.gate_settings import ANY
    from policygen.review.gates import pinned_failures
    from policygen.review.policy_diff import policy_diff
    from policygen.review.revisions import NoGit
    from policygen.review.revisions import NoRevision
    from policygen.review.revisions import project_at

    project = session.project
    pins = project.root.gates.pinned
    if base is None or not pins:
        if pins:
            session.say("pinned fields are not compared; name an earlier revision with --base REV")
        return ()
    targets, algorithms = (
        () if ANY in names else names for names in ([pin.target for pin in pins], [pin.algorithm for pin in pins])
    )
    try:
        with project_at(project, base) as old:
            diff = policy_diff(
                old,
                project,
                names=(base, "the project"),
                targets=tuple(dict.fromkeys(targets)),
                algorithms=tuple(dict.fromkeys(algorithms)),
            )
            return tuple(pinned_failures(old, project, diff))
    except NoRevision as error:
        stop([str(error)], NOT_RUN if isinstance(error, NoGit) else BAD_INPUT)


def _print(session: Session, drift: Drift, changes: list[PolicyChange], failures: tuple[Failure, ...]) -> None:
    kinds = {"missing": drift.missing, "stale": drift.stale, "edited": drift.edited, "orphaned": drift.orphaned}
    if session.as_json:
        session.answer(
            {
                **{kind: [str(path) for path in paths] for kind, paths in kinds.items()},
                "blocked": [{"path": str(refusal.path), "reason": refusal.reason} for refusal in drift.blocked],
                "manifest_is_stale": drift.manifest_is_stale,
                "policies": [change.as_dict() for change in changes],
                "gates": [failure.as_dict() for failure in failures],
            }
        )
        return
    for kind, paths in kinds.items():
        for path in paths:
            click.echo(f"{kind}: {path}")
    for refusal in drift.blocked:
        click.echo(f"blocked: {refusal.path}: {refusal.reason}")
    if drift.manifest_is_stale and not any(kinds.values()):
        click.echo("stale: manifest.json")
    for change in changes:
        click.echo(f"policy: {change}")
    for failure in failures:
        click.echo(f"gate: {failure}")


def _remedy(made: Build, drift: Drift, listed: tuple[str, ...]) -> str:
    """What to run; a target that policygen.toml does not list is not among `--all`."""
    from policygen.build import target_of

    wrong = {*drift.missing, *drift.stale, *drift.edited}
    targets = {target_of(artifact.owner) for artifact in made.artifacts if artifact.path in wrong}
    others = sorted(target for target in targets if target is not None and target not in listed)
    commands = ["policygen build --all"]
    if others:
        commands.append(f"policygen build {' '.join(f'--target {target}' for target in others)}")
    return " and ".join(f"`{command}`" for command in commands)


command = check
