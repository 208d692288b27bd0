"""`policygen resolve`: the policy for a key, or JSON Lines in and out for many."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import IO
from typing import Any

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
from policygen.resolve.key import InvalidKey
from policygen.resolve.resolver import Resolver


@make_command
@click.option("--target", required=True, metavar="NAME", help="bi100, sm_90 (90, 9.0, sm_90a), or another target.")
@click.option("--algorithm", required=True, metavar="NAME", help="reduce, say; `policygen list algorithms` has all.")
@KEY
@click.option("--keys", type=click.File(), metavar="FILE", help="JSON Lines of keys; - is standard input.")
@ASSUME
def resolve(
    session: Session,
    target: str,
    algorithm: str,
    key_parts: tuple[str, ...],
    keys: IO[str] | None,
    assumed: tuple[str, ...],
) -> None:
    """Give the policy for a key, or for many.

    One key: the policy and its point. With --keys, a line for each line: {"policy": .., "point": ..}, or
    {"error": ".."} in its place and exit status 1 at the end.
    """
    if keys is not None and key_parts:
        refuse(["give either --key or --keys, not both"])
    try:
        resolver = session.project.resolver(target, algorithm, assumptions(assumed))
    except ValueError as error:
        refuse([str(error)])
    if keys is not None:
        failed = False
        for line in _answers(resolver, keys):
            failed |= "error" in line
            click.echo(json.dumps(line, separators=(", ", ": "), ensure_ascii=False))
        raise SystemExit(FAILED if failed else 0)
    try:
        resolution = resolver.resolve(read_key(resolver.rules.algorithm, key_parts))
    except InvalidKey as error:
        refuse(error.reasons)
    except NoPolicy as error:
        click.echo(str(error), err=True)
        raise SystemExit(FAILED) from None
    if session.as_json:
        session.answer(
            {"policy": resolution.policy.as_dict(), "point": resolution.point, "key": resolution.key.as_dict()}
        )
        return
    for name, value in _flat(resolution.policy.as_dict()):
        click.echo(f"{name} = {value}")
    session.say(f"point {resolution.origin}/{resolution.point}")


def _answers(resolver: Resolver, lines: IO[str]) -> Iterator[dict[str, Any]]:
    for line in lines:
        if not line.strip():
            continue
        try:
            key = json.loads(line)
            if not isinstance(key, dict):
                raise InvalidKey(["expected an object with the fields of a key"])
            resolution = resolver.resolve(key)
        except json.JSONDecodeError as error:
            yield {"error": f"not JSON: {error}"}
        except (InvalidKey, NoPolicy) as error:
            yield {"error": str(error)}
        else:
            yield {"policy": resolution.policy.as_dict(), "point": resolution.point}


def _flat(policy: dict[str, Any], at: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in policy.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{at}{name}.")
        else:
            yield f"{at}{name}", str(value).lower() if isinstance(value, bool) else value


command = resolve
