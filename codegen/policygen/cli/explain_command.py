"""`policygen explain`: how a policy came about."""

from __future__ import annotations

import click

from policygen.cli.key_options import KEY
from policygen.cli.key_options import resolve_one
from policygen.cli.key_options import resolver_for
from policygen.cli.session import ALGORITHM
from policygen.cli.session import ASSUME
from policygen.cli.session import TARGET
from policygen.cli.session import Session
from policygen.cli.session import command as make_command


@make_command
@TARGET
@ALGORITHM
@KEY
@ASSUME
def explain(
    session: Session, target: str, algorithm: str, key_parts: tuple[str, ...], assumed: tuple[str, ...]
) -> None:
    """Tell how a policy came about, step by step, with the evidence behind the facts it rests on.

    A line for each kernel says how many blocks of it a multiprocessor holds, what limits them and what is left.

    Exit status 1 if the target has no policy for the key.
    """
    from policygen.prove.resources import KernelUse
    from policygen.resolve.explanation import explanation

    project = session.project.about(algorithm)
    resolver = resolver_for(project, target, algorithm, assumed)
    resolution = resolve_one(resolver, key_parts)
    use = KernelUse(resolver.rules, project.evidence(resolver.rules.target, algorithm))
    told = explanation(project.spec, resolver, resolution, use.of(resolution))
    if session.as_json:
        session.answer(told.as_dict())
        return
    for line in told.lines():
        click.echo(line)


command = explain
