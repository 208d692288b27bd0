"""Keys on the command line: `--key name=value`, with values as people write them, and keys as JSON."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING
from typing import Any

import click

from policygen.cli.session import FAILED
from policygen.cli.session import assumptions
from policygen.cli.session import refuse
from policygen.cli.session import stop

if TYPE_CHECKING:
    from policygen.model.types import Type
    from policygen.project import Project
    from policygen.resolve.resolver import Resolution
    from policygen.resolve.resolver import Resolver
    from policygen.spec import Algorithm

KEY = click.option(
    "--key",
    "key_parts",
    multiple=True,
    metavar="NAME=VALUE",
    help="A field of the key; give the option once for each field. Lists and records are JSON.",
)

_TRUTH = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
_INTEGER = re.compile(r"[+-]?[0-9]{1,20}")
_MOST_DIGITS = 40
"""More than any domain needs, and few enough to be shown in a message."""


def resolver_for(project: Project, target: str, algorithm: str, assumed: tuple[str, ...]) -> Resolver:
    """The resolver that the options name. Ends with status 2 for names that are none, each with the nearest."""
    from policygen.project import UnknownAlgorithm

    facts = assumptions(assumed)
    problems: list[str] = []
    try:
        project.target(target, facts)
    except ValueError as error:
        problems.append(str(error))
    try:
        project.algorithm(algorithm)
    except UnknownAlgorithm as error:
        problems.append(str(error))
    if problems:
        refuse(problems)
    return project.resolver(target, algorithm, facts)


def resolve_one(resolver: Resolver, key_parts: tuple[str, ...]) -> Resolution:
    """Resolves the key that `--key` options say. Ends with status 2 for a bad key, with 1 if there is no policy."""
    from policygen.resolve.candidate import NoPolicy
    from policygen.resolve.key import InvalidKey

    try:
        return resolver.resolve(read_key(resolver.rules.algorithm, key_parts))
    except InvalidKey as error:
        refuse(error.reasons)
    except NoPolicy as error:
        stop([str(error)], FAILED)


def read_key(algorithm: Algorithm, parts: tuple[str, ...]) -> dict[str, Any]:
    """The key that some `--key` options say. Ends with status 2 if one cannot be read."""
    key: dict[str, Any] = {}
    problems: list[str] = []
    for part in parts:
        name, equals, text = (piece.strip() for piece in part.partition("="))
        if not equals or not name:
            problems.append(f"--key {part}: expected NAME=VALUE")
        elif name in key:
            problems.append(f"--key {part}: {name} is given twice")
        else:
            field = algorithm.key_field(name)
            try:
                key[name] = text if field is None else _value(field.type, text)
            except ValueError as error:
                problems.append(f"--key {part}: {error}")
                key[name] = None
    if problems:
        refuse(problems)
    return key


def strict_json(text: str) -> Any:
    """A JSON value, without what Python's reader lets pass: keys that occur twice, NaN and infinities.

    Raises:
        ValueError: what is wrong, in one line.
    """
    try:
        return json.loads(
            text, object_pairs_hook=_each_once, parse_constant=_no_constant, parse_int=_integer, parse_float=_number
        )
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error.msg} (column {error.colno})") from None
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"{name} is given twice")
        found[name] = value
    return found


def _no_constant(text: str) -> Any:
    raise ValueError(f"not JSON: {text} is no JSON number")


def _integer(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise ValueError(f"an integer of {len(text)} digits is outside every domain")
    return int(text)


def _number(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"{text[:_MOST_DIGITS]} is outside every domain")
    return value


def _value(kind: Type, text: str) -> Any:
    from policygen.model.types import BoolType
    from policygen.model.types import EnumType
    from policygen.model.types import IntType

    match kind:
        case EnumType():
            return text
        case BoolType():
            if text.lower() not in _TRUTH:
                raise ValueError("expected true or false")
            return _TRUTH[text.lower()]
        case IntType():
            if _INTEGER.fullmatch(text) is None:
                raise ValueError("expected an integer of at most 20 digits")
            return int(text)
        case _:
            try:
                return strict_json(text)
            except ValueError as error:
                raise ValueError(f'{error}; expected JSON, such as [{{"value_type_size": 4}}]') from None
