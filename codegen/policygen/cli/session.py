"""What commands share: the options that all have, forms of the answer, and errors as exit statuses.

Imported by every command, so it imports little itself: `--help` and an unchanged build wait for it.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any
from typing import NoReturn

import click

if TYPE_CHECKING:
    from policygen.project import Project

FAILED, BAD_INPUT, NOT_RUN, INTERRUPTED, READER_GONE = 1, 2, 3, 130, 141
"""Exit statuses beside 0; see the help of `policygen`."""


class AnswerUnwritten(Exception):  # noqa: N818 - it says what the answer is
    """Standard output does not take the answer."""

    def __init__(self, cause: OSError) -> None:
        super().__init__(str(cause))
        self.cause = cause


class Session:
    """The options that every command has.

    Attributes:
        project_dir: a folder of the project.
        output_format: form of the answer.
        as_json: whether the answer is JSON.
        as_markdown: whether it is Markdown, for commands that offer it.
        quiet: whether remarks and warnings are left out.
        verbose: whether there are more of them.
    """

    def __init__(self, project_dir: Path, output_format: str, quiet: bool, verbose: bool) -> None:
        self.project_dir = project_dir
        self.output_format = output_format
        self.as_json = output_format == "json"
        self.as_markdown = output_format == "markdown"
        self.quiet = quiet
        self.verbose = verbose

    @functools.cached_property
    def project(self) -> Project:
        """The project of the folder. Raises SpecError."""
        from policygen.project import load

        return load(self.project_dir)

    def say(self, text: str) -> None:
        """A remark on standard error, unless it is to be quiet."""
        if not self.quiet:
            click.echo(one_line(text), err=True)

    def detail(self, text: str) -> None:
        """A remark on standard error for those who asked for more."""
        if self.verbose:
            self.say(text)

    def answer(self, value: Any) -> None:
        """The answer as JSON on standard output: ASCII, keys in a fixed order."""
        click.echo(json.dumps(value, indent=2))


def command(function: Callable[..., None], formats: Sequence[str] = ("text", "json")) -> click.Command:
    """Makes a command of a function that takes a `Session` first; the rest are its own options.

    Args:
        function: what the command does.
        formats: the forms of its answer; the first is the default.
    """

    @functools.wraps(function)
    def run(project_dir: Path, output_format: str, quiet: bool, verbose: bool, **options: Any) -> None:
        try:
            function(Session(project_dir, output_format, quiet, verbose), **options)
        except RecursionError:
            refuse(["something in the input is nested too deeply; write it flatter"])
        except OSError as error:
            if error.filename is not None:
                refuse([f"{error.filename}: cannot be read: {error.strerror}"])
            if isinstance(error, FileNotFoundError):
                stop([str(error) if error.errno is None else "the folder that you are in no longer exists"], NOT_RUN)
            # what is left has no name: standard output; click would turn some of it into status 1
            raise AnswerUnwritten(error) from error
        except Exception as error:
            from policygen.model.problems import SpecError

            if not isinstance(error, SpecError):
                raise
            refuse(map(str, error.problems))

    name = function.__module__.rpartition(".")[2].removesuffix("_command").replace("_", "-")
    made = click.command(name)(run)
    made.params += [
        click.Option(
            ["--project", "project_dir"],
            type=click.Path(path_type=Path),
            default=Path(),
            help="A folder of the project; the nearest policygen.toml upwards counts. By default where you are.",
            metavar="DIR",
        ),
        click.Option(
            ["--format", "output_format"],
            type=click.Choice(formats),
            default=formats[0],
            show_default=True,
            help="Form of the answer.",
        ),
        click.Option(["-q", "--quiet"], is_flag=True, help="Nothing on standard error but errors."),
        click.Option(["-v", "--verbose"], is_flag=True, help="More on standard error; --quiet wins over it."),
    ]
    return made


def refuse(reasons: Iterable[str]) -> NoReturn:
    """Ends with status 2, one line a reason."""
    stop(reasons, BAD_INPUT)


def stop(reasons: Iterable[str], status: int) -> NoReturn:
    """Ends with a status, one line a reason."""
    for reason in reasons:
        click.echo(one_line(reason), err=True)
    raise SystemExit(status)


def one_line(text: str) -> str:
    """A message without line breaks, control characters or the parts of a very long value that nobody reads."""
    line = " ".join(text.split())
    line = "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in line)
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..."


_LONGEST = 2000

ASSUME = click.option(
    "--set",
    "assumed",
    multiple=True,
    metavar="FACT=VALUE",
    help="Take another value for a hardware fact of the target, such as nvcc=13.4; give it once a fact.",
)
TARGET = click.option(
    "--target",
    required=True,
    metavar="NAME",
    help="bi100; an NVIDIA architecture as sm_90, 90, 9.0, sm_90a or compute_90; `policygen list targets` has all.",
)
ALGORITHM = click.option(
    "--algorithm", required=True, metavar="NAME", help="reduce, say; `policygen list algorithms` has all."
)


def assumptions(texts: tuple[str, ...]) -> dict[str, str]:
    """The facts given with --set. Ends with status 2 if one has no value or two."""
    found: dict[str, str] = {}
    problems: list[str] = []
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not value or not name:
            problems.append(f"--set {text}: expected FACT=VALUE, such as nvcc=13.4")
        elif name in found:
            problems.append(f"--set {text}: {name} is given twice")
        found[name] = value
    if problems:
        refuse(problems)
    return found
