"""`policygen diff`: which policies differ between two revisions, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from policygen.cli.session import BAD_INPUT
from policygen.cli.session import FAILED
from policygen.cli.session import NOT_RUN
from policygen.cli.session import Session
from policygen.cli.session import command as make_command
from policygen.cli.session import refuse
from policygen.cli.session import stop

if TYPE_CHECKING:
    from policygen.review.policy_diff import PolicyDiff


@click.argument("revisions", nargs=-1, metavar="[OLD [NEW]]")
@click.option("--base", metavar="REV", help="The earlier revision; the later one is the project as it is.")
@click.option("--target", "targets", multiple=True, metavar="NAME", help="This target; give it once for each.")
@click.option(
    "--algorithm", "algorithms", multiple=True, metavar="NAME", help="This algorithm, or table of the engine."
)
@click.option("--exit-code", is_flag=True, help="Exit status 1 if a policy differs.")
def diff(
    session: Session,
    revisions: tuple[str, ...],
    base: str | None,
    targets: tuple[str, ...],
    algorithms: tuple[str, ...],
    exit_code: bool,
) -> None:
    """Say which policies of common keys differ between two revisions, and which edit of the specs led to it.

    OLD and NEW are revisions of git (main, HEAD~3) or folders with a policygen.toml; NEW is the project as it is where
    it is left out. New violations come first, then each cause with the policies that changed by it, folded into
    ranges of keys, and what that does to tiles, shared memory, registers, resident blocks, grids and waves.
    """
    from policygen.project import UnknownAlgorithm
    from policygen.resolve.instance import UnknownTarget
    from policygen.review.policy_diff import policy_diff
    from policygen.review.revisions import NoGit
    from policygen.review.revisions import NoRevision
    from policygen.review.revisions import project_at

    if (base is not None) == bool(revisions) or len(revisions) > 2:
        refuse(["expected OLD and NEW, OLD alone, or --base REV: `policygen diff --base main`"])
    old_name = base if base is not None else revisions[0]
    new_name = revisions[1] if len(revisions) == 2 else None
    project = session.project
    try:
        for target in targets:
            project.target(target)
        for algorithm in algorithms:
            project.algorithm(algorithm)
    except (UnknownTarget, UnknownAlgorithm) as error:
        refuse([str(error)])
    names = tuple(project.target(target).name for target in targets)
    try:
        with project_at(project, old_name) as old:
            if new_name is None:
                found = policy_diff(old, project, names=(old_name, "the project"), targets=names, algorithms=algorithms)
            else:
                with project_at(project, new_name) as new:
                    found = policy_diff(old, new, names=(old_name, new_name), targets=names, algorithms=algorithms)
    except NoRevision as error:
        stop([str(error)], NOT_RUN if isinstance(error, NoGit) else BAD_INPUT)
    show(session, found)
    if exit_code and found:
        raise SystemExit(FAILED)


def show(session: Session, found: PolicyDiff) -> None:
    """Prints a difference in the form that was asked for."""
    from policygen.review.diff_text import markdown_lines
    from policygen.review.diff_text import text_lines

    if session.as_json:
        session.answer(found.as_dict())
        return
    for line in markdown_lines(found) if session.as_markdown else text_lines(found):
        click.echo(line)


command = make_command(diff, ("text", "json", "markdown"))
