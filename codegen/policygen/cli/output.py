"""The output folder as commands see it: whose files lie there, and its errors as exit statuses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from attrs import frozen

from policygen.build import target_of
from policygen.cli.session import BAD_INPUT
from policygen.cli.session import NOT_RUN
from policygen.cli.session import Session
from policygen.cli.session import stop
from policygen.emit import manifest
from policygen.emit.writer import ManifestError
from policygen.emit.writer import Outcome
from policygen.emit.writer import OutputError
from policygen.emit.writer import RecoveryStoppedError
from policygen.emit.writer import WriteRefused
from policygen.emit.writer import recover
from policygen.resolve.instance import UnknownTarget


@contextmanager
def output_errors() -> Iterator[None]:
    """Ends a command that the output folder stops.

    With status 2 if something in it has to be mended, else (a write-protected folder, another build under way) with 3.
    """
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


@frozen
class BuiltTargets:
    """The targets whose files the manifest lists: those that the specs have, and those that they have no more."""

    known: tuple[str, ...]
    forgotten: tuple[str, ...]


def built_targets(session: Session) -> BuiltTargets:
    """Reads the manifest. Raises OutputError if it cannot be trusted."""
    recorded, _ = manifest.read(session.project.root.output)
    owners = dict.fromkeys(entry.owner for entry in recorded.entries)
    targets = sorted(target for owner in owners if (target := target_of(owner)) is not None)
    known = tuple(target for target in targets if _is_known(session, target))
    return BuiltTargets(known, tuple(target for target in targets if target not in known))


def _is_known(session: Session, target: str) -> bool:
    try:
        return session.project.target(target).name == target
    except UnknownTarget:
        return False
