"""`policygen explain`: how a policy came about."""

from __future__ import annotations

import click

from policygen.cli.key_options import KEY
from policygen.cli.key_options import read_key
from policygen.cli.session import ASSUME
from policygen.cli.session import FAILED
from policygen.cli.session import Session
from policygen.cli.session import assumptions
from policygen.cli.session import command as make_command
from policygen.cli.session import refuse
from policygen.resolve.candidate import NoPolicy
from policygen.resolve.explanation import explanation
from policygen.resolve.key import InvalidKey


@make_command
@click.option("--target", required=True, metavar="NAME", help="bi100, sm_90 (90, 9.0, sm_90a), or another target.")
@click.option("--algorithm", required=True, metavar="NAME", help="reduce, say; `policygen list algorithms` has all.")
@KEY
@ASSUME
def explain(
    session: Session, target: str, algorithm: str, key_parts: tuple[str, ...], assumed: tuple[str, ...]
) -> None:
    """Tell how a policy came about, step by step, with the evidence behind the facts it rests on."""
    try:
        resolver = session.project.resolver(target, algorithm, assumptions(assumed))
    except ValueError as error:
        refuse([str(error)])
    try:
        resolution = resolver.resolve(read_key(resolver.rules.algorithm, key_parts))
    except InvalidKey as error:
        refuse(error.reasons)
    except NoPolicy as error:
        click.echo(str(error), err=True)
        raise SystemExit(FAILED) from None
    told = explanation(resolver.rules, resolution)
    if session.as_json:
        session.answer(told.as_dict())
        return
    for line in told.lines():
        click.echo(line)


command = explain
