"""Keys on the command line: `--key name=value`, with values as people write them."""

from __future__ import annotations

import json
from typing import Any

import click

from policygen.cli.session import refuse
from policygen.model.types import BoolType
from policygen.model.types import EnumType
from policygen.model.types import IntType
from policygen.model.types import Type
from policygen.spec import Algorithm

KEY = click.option(
    "--key",
    "key_parts",
    multiple=True,
    metavar="NAME=VALUE",
    help="A field of the key; give it once a field. Lists and records are JSON.",
)

_TRUTH = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


def read_key(algorithm: Algorithm, parts: tuple[str, ...]) -> dict[str, Any]:
    """The key that some `--key` options say. Ends with status 2 if one cannot be read."""
    key: dict[str, Any] = {}
    problems: list[str] = []
    for part in parts:
        name, equals, text = part.partition("=")
        name = name.strip()
        if not equals:
            problems.append(f"--key {part}: expected NAME=VALUE")
        elif name in key:
            problems.append(f"--key {part}: {name} is given twice")
        else:
            field = algorithm.key_field(name)
            try:
                key[name] = text.strip() if field is None else _value(field.type, text.strip())
            except ValueError as error:
                problems.append(f"--key {part}: {error}")
    if problems:
        refuse(problems)
    return key


def _value(kind: Type, text: str) -> Any:
    match kind:
        case EnumType():
            return text
        case BoolType():
            if text.lower() not in _TRUTH:
                raise ValueError("expected true or false")
            return _TRUTH[text.lower()]
        case IntType():
            try:
                return int(text)
            except ValueError:
                raise ValueError("expected an integer") from None
        case _:
            try:
                return json.loads(text)
            except ValueError:
                raise ValueError('expected JSON, such as [{"value_type_size": 4}]') from None
