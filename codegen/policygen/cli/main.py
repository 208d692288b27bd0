"""The command line: `policygen COMMAND`. Commands are imported when they are called."""

from __future__ import annotations

import codecs
import errno
import gc
import importlib
import io
import os
import sys
from collections.abc import Callable
from collections.abc import Sequence
from functools import partial
from typing import Any
from typing import NoReturn

import click

from policygen import __version__
from policygen.cli.session import BAD_INPUT
from policygen.cli.session import INTERRUPTED
from policygen.cli.session import NOT_RUN
from policygen.cli.session import READER_GONE
from policygen.cli.session import AnswerUnwritten
from policygen.cli.session import one_line

COMMANDS = {
    "audit": "Show what is known of a target and its policies, table by table.",
    "build": "Write headers and Python tables for targets.",
    "check": "Say whether the generated files are what the specs say, and whether the gates pass.",
    "diff": "Say which policies differ between two revisions, and why.",
    "explain": "Tell how a policy came about, step by step.",
    "list": "List targets, algorithms, points, or where headers are.",
    "parity": "Compare the reference points with CCCL's own selectors.",
    "plan": "Give the launch of an algorithm for a problem size: tiles, grid, temporary bytes, waves.",
    "prove": "Compile CUB's kernels with the policies, and hold the models against the compiler's figures.",
    "report": "Write a page of charts that shows a target.",
    "resolve": "Give the policy for a key, or for many.",
    "validate": "Execute a target's policies with reference kernels.",
    "what-if": "Say which policies would change if a fact were another.",
}

_EXAMPLES = """\b
Examples:
  policygen build --target bi100
  policygen resolve --target 90 --algorithm reduce --key accum_t=float32 --key operation_t=plus --key offset_size=4
  policygen plan radix_sort --target bi100 --num-items 2^20 --key key_type=uint32 --key offset_size=4
  policygen list points --algorithm scan
"""


class _Commands(click.Group):
    """Finds a command in the module of its name."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"policygen.cli.{cmd_name.replace('-', '_')}_command")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        # without importing every command for its help
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from policygen.model.problems import did_you_mean

            raise click.UsageError(f'unknown command "{args[0]}"{did_you_mean(args[0], tuple(COMMANDS))}', ctx)
        return super().resolve_command(ctx, args)

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Bad input is told in a line each, never as a traceback; every end has its exit status."""
        run = partial(super().main, args, prog_name, complete_var, False, windows_expand_args, **extra)
        if not standalone_mode:
            return run()
        _say_utf8()
        sys.exit(_status(run))


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
    epilog=_EXAMPLES,
)
@click.version_option(__version__, prog_name="policygen")
def cli() -> None:
    """Compile GPU kernel tuning policies: specs in, CUDA headers and Python tables out.

    The answer goes to standard output, everything else to standard error.

    Exit status: 0 done; 1 the check that the command makes failed; 2 bad usage, a bad key or a bad spec; 3 the check
    could not run. 130 and 141 say, as for any program, that it was interrupted, and that nobody read the answer.
    """


def main() -> NoReturn:
    """Runs the command that the process's arguments say, and exits with its status."""
    # a command is over before cycles matter, and looking for them costs a tenth of its time
    gc.set_threshold(50_000, 20, 20)
    cli.main(prog_name="policygen")
    raise AssertionError("a command exits")


def _status(run: Callable[[], Any]) -> int:
    try:
        try:
            result = run()
        except click.ClickException as error:
            error.show()
            return BAD_INPUT
        except click.Abort:
            click.echo("interrupted", err=True)
            return INTERRUPTED
        except SystemExit as exit_:
            result = exit_.code
        if sys.stdout is not None:
            sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except OSError as error:
        return _unwritten(error)
    except AnswerUnwritten as error:
        return _unwritten(error.cause)


def _unwritten(error: OSError) -> int:
    _discard_output()
    if error.errno == errno.EPIPE:
        return READER_GONE
    click.echo(one_line(f"the answer cannot be written: {error.strerror or error}"), err=True)
    return NOT_RUN


def _say_utf8() -> None:
    """Makes output the same bytes in every locale: a file's name as it is on the disk, escapes for what UTF-8 lacks."""
    codecs.register_error("policygen", _bytes_or_escape)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="policygen")


def _bytes_or_escape(error: UnicodeError) -> tuple[str | bytes, int]:
    try:
        return codecs.lookup_error("surrogateescape")(error)
    except UnicodeError:
        return codecs.lookup_error("backslashreplace")(error)


def _discard_output() -> None:
    """Keeps the interpreter from trying, and complaining, once more at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError, AttributeError):
                os.dup2(nowhere, 1 if stream is sys.stdout else 2)
    finally:
        os.close(nowhere)


if __name__ == "__main__":
    main()
