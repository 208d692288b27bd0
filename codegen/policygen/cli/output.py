"""Errors of the output folder, as exit statuses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from policygen.cli.session import BAD_INPUT
from policygen.cli.session import NOT_RUN
from policygen.cli.session import Session
from policygen.cli.session import stop
from policygen.emit.writer import ManifestError
from policygen.emit.writer import Outcome
from policygen.emit.writer import OutputError
from policygen.emit.writer import RecoveryStoppedError
from policygen.emit.writer import WriteRefused
from policygen.emit.writer import recover


@contextmanager
def output_errors() -> Iterator[None]:
    """Ends a command that the output folder stops: with 2 if something in it has to be mended, else (a write-protected
    folder, another build under way) with 3."""
    try:
        yield
    except OutputError as error:
        mendable = isinstance(error, ManifestError | RecoveryStoppedError | WriteRefused)
        stop(str(error).splitlines(), BAD_INPUT if mendable else NOT_RUN)


def recover_output(session: Session) -> None:
    """Finishes or undoes an interrupted build, and says so."""
    found = recover(session.project.root.output)
    match found.outcome:
        case Outcome.ROLLED_FORWARD:
            session.say("an interrupted build was found and finished")
        case Outcome.ROLLED_BACK:
            session.say("an interrupted build was found and undone")
        case Outcome.NOTHING:
            pass
