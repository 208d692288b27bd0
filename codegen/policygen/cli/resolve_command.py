"""`policygen resolve`: the policy for a key, or JSON Lines in and out for many."""

from __future__ import annotations

import json
from collections.abc import Iterable
from collections.abc import Iterator
from typing import IO
from typing import TYPE_CHECKING
from typing import Any

import click

from policygen.cli.key_options import KEY
from policygen.cli.key_options import resolve_one
from policygen.cli.key_options import resolver_for
from policygen.cli.key_options import strict_json
from policygen.cli.session import ALGORITHM
from policygen.cli.session import ASSUME
from policygen.cli.session import FAILED
from policygen.cli.session import TARGET
from policygen.cli.session import Session
from policygen.cli.session import command as make_command
from policygen.cli.session import one_line
from policygen.cli.session import refuse

if TYPE_CHECKING:
    from policygen.resolve.resolver import Resolver


@make_command
@TARGET
@ALGORITHM
@KEY
@click.option("--keys", type=click.File("rb"), metavar="FILE", help="JSON Lines of keys; - is standard input.")
@ASSUME
def resolve(
    session: Session,
    target: str,
    algorithm: str,
    key_parts: tuple[str, ...],
    keys: IO[bytes] | None,
    assumed: tuple[str, ...],
) -> None:
    """Give the policy for a key, or for many.

    One key: the policy and its point, or exit status 1 if the target has no policy for it. With --keys, a line of
    JSON for each line, in order and at once: {"policy": .., "point": ..}, or {"error": ".."} in its place and exit
    status 1 at the end.
    """
    if keys is not None and key_parts:
        refuse(["give either --key or --keys, not both"])
    resolver = resolver_for(session.project, target, algorithm, assumed)
    if keys is not None:
        failed = False
        for line in _answers(resolver, keys):
            failed |= "error" in line
            click.echo(json.dumps(line))
        raise SystemExit(FAILED if failed else 0)
    resolution = resolve_one(resolver, key_parts)
    if session.as_json:
        session.answer({"policy": resolution.policy.as_dict(), "point": resolution.point})
        return
    for name, value in _flat(resolution.policy.as_dict()):
        click.echo(f"{name} = {value}")
    click.echo(f"point = {resolution.origin}/{resolution.point}")


def _answers(resolver: Resolver, lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    from policygen.resolve.candidate import NoPolicy
    from policygen.resolve.key import InvalidKey

    for line in lines:
        try:
            resolution = resolver.resolve(_key(line))
        except UnicodeDecodeError as error:
            yield {"error": f"not UTF-8 at byte {error.start}"}
        except RecursionError:
            yield {"error": "nested too deeply"}
        except (_NoKeyError, InvalidKey, NoPolicy) as error:
            yield {"error": one_line(str(error))}
        else:
            yield {"policy": resolution.policy.as_dict(), "point": resolution.point}


class _NoKeyError(Exception):
    """A line that is no key."""


def _key(line: bytes) -> dict[str, Any]:
    text = line.decode("utf-8").strip()
    if not text:
        raise _NoKeyError("an empty line; expected an object with the fields of a key")
    try:
        key = strict_json(text)
    except ValueError as error:
        raise _NoKeyError(str(error)) from None
    if not isinstance(key, dict):
        raise _NoKeyError("expected an object with the fields of a key")
    return key


def _flat(policy: dict[str, Any], at: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in policy.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{at}{name}.")
        else:
            yield f"{at}{name}", str(value).lower() if isinstance(value, bool) else value


command = resolve
