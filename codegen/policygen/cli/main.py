"""The command line: `policygen COMMAND`. Commands are imported when they are called."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import click

from policygen import __version__

COMMANDS = {
    "build": "Write headers and Python tables for targets.",
    "check": "Say whether the generated files are what the specs say.",
    "explain": "Tell how a policy came about, step by step.",
    "list": "List targets, algorithms, points, or where headers are.",
    "resolve": "Give the policy for a key, or for many.",
}


class _Commands(click.Group):
    """Finds a command in the module of its name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"policygen.cli.{cmd_name}_command")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        # without importing every command for its help
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS:
            from policygen.model.problems import did_you_mean

            raise click.UsageError(f"unknown command {args[0]}{did_you_mean(args[0], tuple(COMMANDS))}", ctx)
        return super().resolve_command(ctx, args)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="policygen")
def cli() -> None:
    """Compile GPU kernel tuning policies: specs in, CUDA headers and Python tables out.

    The answer goes to standard output, everything else to standard error. Exit status: 0 done; 1 the check that the
    command makes failed; 2 bad usage, a bad key or a bad spec; 3 the check could not run.
    """


def main(arguments: list[str] | None = None) -> Any:
    """Runs a command and exits. Bad input is told in a line each, never as a traceback."""
    try:
        return cli.main(args=arguments, prog_name="policygen")
    except BrokenPipeError:
        # the reader of the answer has seen enough
        sys.stderr.close()
        sys.exit(0)


if __name__ == "__main__":
    main()
