"""What commands share: the project option, output formats, and errors as exit statuses."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any
from typing import NoReturn
from typing import TypeVar

import click
from attrs import frozen

from policygen.model.problems import SpecError

if TYPE_CHECKING:
    from policygen.project import Project

FAILED, BAD_INPUT, NOT_RUN = 1, 2, 3
"""Exit statuses beside 0; see the help of `policygen`."""

_Function = TypeVar("_Function", bound=Callable[..., Any])


@frozen
class Session:
    """The options that every command has."""

    project_dir: Path
    as_json: bool
    quiet: bool
    verbose: bool

    @functools.cached_property
    def project(self) -> Project:
        """The project of the folder. Raises SpecError."""
        from policygen.project import load

        return load(self.project_dir)

    def say(self, text: str) -> None:
        """A remark on standard error, unless it is to be quiet."""
        if not self.quiet:
            click.echo(text, err=True)

    def answer(self, value: Any) -> None:
        """The answer as JSON on standard output."""
        click.echo(json.dumps(value, indent=2, ensure_ascii=False))


def command(function: _Function) -> click.Command:
    """Makes a command of a function that takes a `Session` first; the rest are its own options."""

    @functools.wraps(function)
    def run(project_dir: Path, output_format: str, quiet: bool, verbose: bool, **options: Any) -> None:
        session = Session(project_dir, output_format == "json", quiet, verbose)
        try:
            function(session, **options)
        except SpecError as error:
            refuse(str(problem) for problem in error.problems)

    name = function.__module__.rpartition(".")[2].removesuffix("_command")
    made = click.command(name)(run)
    made.params += [
        click.Option(
            ["--project", "project_dir"],
            type=click.Path(path_type=Path),
            default=Path(),
            help="Folder of the project; the current one by default, or the nearest above it.",
            metavar="DIR",
        ),
        click.Option(
            ["--format", "output_format"],
            type=click.Choice(["text", "json"]),
            default="text",
            help="Form of the answer.",
        ),
        click.Option(["-q", "--quiet"], is_flag=True, help="Nothing on standard error but errors."),
        click.Option(["-v", "--verbose"], is_flag=True, help="More on standard error."),
    ]
    return made


def refuse(reasons: Any) -> NoReturn:
    """Ends with status 2, one line a reason."""
    for reason in reasons:
        click.echo(reason, err=True)
    raise SystemExit(BAD_INPUT)


ASSUME = click.option(
    "--set",
    "assumed",
    multiple=True,
    metavar="FACT=VALUE",
    help="Take another value for a hardware fact, such as nvcc=13.4.",
)


def assumptions(texts: tuple[str, ...]) -> dict[str, str]:
    """The facts given with --set. Ends with status 2 if one has no value."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not value:
            refuse([f"--set {text}: expected FACT=VALUE, such as nvcc=13.4"])
        found[name.strip()] = value.strip()
    return found
