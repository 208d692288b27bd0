"""`policygen what-if`: which policies would change if a fact were another."""

from __future__ import annotations

import click

from policygen.cli.diff_command import show
from policygen.cli.session import ASSUME
from policygen.cli.session import FAILED
from policygen.cli.session import TARGET
from policygen.cli.session import Session
from policygen.cli.session import assumptions
from policygen.cli.session import command as make_command
from policygen.cli.session import refuse


@TARGET
@ASSUME
@click.option(
    "--algorithm", "algorithms", multiple=True, metavar="NAME", help="This algorithm, or table of the engine."
)
@click.option("--exit-code", is_flag=True, help="Exit status 1 if a policy would change.")
def what_if(
    session: Session, target: str, assumed: tuple[str, ...], algorithms: tuple[str, ...], exit_code: bool
) -> None:
    """Say which policies of common keys a target would have if some of its facts were others. Writes nothing.

    The answer is that of `policygen diff`: `policygen what-if --target bi100 --set sm_count=50`.
    """
    from policygen.project import UnknownAlgorithm
    from policygen.resolve.instance import UnknownTarget
    from policygen.review.policy_diff import policy_diff

    facts = assumptions(assumed)
    if not facts:
        refuse(["expected --set FACT=VALUE, such as --set sm_count=50"])
    project = session.project
    try:
        name = project.target(target).name
        project.target(target, facts)
        for algorithm in algorithms:
            project.algorithm(algorithm)
    except (UnknownTarget, UnknownAlgorithm, ValueError) as error:
        refuse([str(error)])
    told = ", ".join(f"{fact}={value}" for fact, value in facts.items())
    found = policy_diff(
        project, project, names=("the specs", f"with {told}"), targets=[name], algorithms=algorithms, assumed=facts
    )
    show(session, found)
    if exit_code and found:
        raise SystemExit(FAILED)


command = make_command(what_if, ("text", "json", "markdown"))
