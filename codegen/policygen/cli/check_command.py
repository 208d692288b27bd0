"""`policygen check`: whether the generated files are what the specs say."""

from __future__ import annotations

import click

from policygen.cli.session import BAD_INPUT
from policygen.cli.session import FAILED
from policygen.cli.session import Session
from policygen.cli.session import command as make_command
from policygen.cli.session import refuse


@make_command
def check(session: Session) -> None:
    """Say whether the generated files are what the specs say.

    Compares the targets that policygen.toml lists. Exit status 1 if a file is missing, stale, edited or no longer
    produced; the policies that differ are shown.
    """
    from policygen.build import build
    from policygen.cli.progress import progress
    from policygen.emit.drift import policy_changes
    from policygen.emit.writer import OutputError
    from policygen.emit.writer import check as compare
    from policygen.emit.writer import recover

    root = session.project.root
    names = root.settings.targets
    try:
        recover(root.output)
        with progress(session, "checking", len(names)) as advance:
            made = build(session.project, names, advance)
        drift = compare(root.output, made.artifacts, made.owners)
    except ValueError as error:
        refuse([str(error)])
    except OutputError as error:
        click.echo(str(error), err=True)
        raise SystemExit(BAD_INPUT) from None
    kinds = {"missing": drift.missing, "stale": drift.stale, "edited": drift.edited, "orphaned": drift.orphaned}
    changes = policy_changes(root.output, made.artifacts, [*drift.stale, *drift.edited])
    if session.as_json:
        session.answer(
            {
                **{kind: [str(path) for path in paths] for kind, paths in kinds.items()},
                "manifest_is_stale": drift.manifest_is_stale,
                "blocked": [str(refusal) for refusal in drift.blocked],
                "policies": changes,
            }
        )
    else:
        for kind, paths in kinds.items():
            for path in paths:
                click.echo(f"{kind}: {path}")
        for refusal in drift.blocked:
            click.echo(str(refusal))
        if drift.manifest_is_stale and not any(kinds.values()):
            click.echo("stale: manifest.json")
        for change in changes:
            click.echo(f"policy: {change}")
    if drift:
        session.say("run `policygen build --all` and commit what it writes")
        raise SystemExit(FAILED)
    session.say(f"{len(made.artifacts)} generated files are what the specs say")


command = check
