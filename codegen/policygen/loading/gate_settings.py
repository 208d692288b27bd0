"""The `[gates]` table of `policygen.toml`: what a repository asks of a change before `check` passes."""

from __future__ import annotations

import re
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from fractions import Fraction
from typing import Final
from typing import NoReturn

from attrs import frozen

from policygen.loading.toml_positions import KeyPath
from policygen.model.problems import did_you_mean

ANY: Final = "*"
"""In a pin: every target, or every algorithm."""

JUDGED_COUNTS: Final = ("literal", "nominal")
"""Points whose counts are of these kinds can be asked for evidence."""

UTILISED_UNITS: Final = ("bytes", "registers")
"""The constraints that `max_utilisation` is about: those of shared memory and of registers."""

_WORD: Final = re.compile(r"\*|[A-Za-z0-9][A-Za-z0-9_.-]*")
_FIELD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")


class SettingError(ValueError):
    """A setting is wrong.

    Attributes:
        path: where, below the key that was read.
    """

    def __init__(self, path: KeyPath, reason: str) -> None:
        super().__init__(reason)
        self.path = path


@frozen
class Pin:
    """A field that needs a reason to change.

    Attributes:
        target: name of the target, or `*` for all.
        algorithm: name of the algorithm or of the table of an engine, or `*` for all.
        field: dotted field of the policy; a sub-policy stands for all of its fields.
        path: where policygen.toml says it.
    """

    target: str
    algorithm: str
    field: str
    path: KeyPath

    def __str__(self) -> str:
        return f"{self.target} {self.algorithm} {self.field}"

    def covers(self, target: str, algorithm: str, field: str) -> bool:
        """Whether a field of a policy is one that this is about."""
        return (
            self.target in (ANY, target)
            and self.algorithm in (ANY, algorithm)
            and (field == self.field or field.startswith(f"{self.field}."))
        )


@frozen
class MostOf:
    """How much of a limit a policy may need.

    Attributes:
        target: name of the target; `*` for all that have no entry of their own.
        constraint: id of the constraint, without the sub-policy that it is about; `*` for all in bytes or registers
            that have no entry of their own.
        share: of the limit, more than 0 and at most 1.
        path: where policygen.toml says it.
    """

    target: str
    constraint: str
    share: Fraction
    path: KeyPath


@frozen
class GateSettings:
    """The `[gates]` table.

    Attributes:
        pinned: fields that change only with a reason.
        evidence: kinds of counts; a target's own points that have such need a source or evidence.
        max_utilisation: what policies may need of shared memory and registers.
        forbidden: patterns of warnings that a build must not give.
    """

    pinned: tuple[Pin, ...] = ()
    evidence: tuple[str, ...] = ()
    max_utilisation: tuple[MostOf, ...] = ()
    forbidden: tuple[str, ...] = ()

    def share_of(self, target: str, constraint: str) -> Fraction | None:
        """The share of its limit that a constraint may need on a target; None where nothing is said."""
        kind = constraint.partition(" of ")[0]
        said = {(most.target, most.constraint): most.share for most in self.max_utilisation}
        asked = ((target, constraint), (target, kind), (target, ANY), (ANY, constraint), (ANY, kind), (ANY, ANY))
        return next((said[one] for one in asked if one in said), None)


def read_pinned(value: object, _: object) -> tuple[Pin, ...]:
    """Reads `pinned = ["bi100 reduce multi_tile.items_per_thread"]`."""
    example = '["bi100 reduce multi_tile.items_per_thread"]'
    found: list[Pin] = []
    for position, text in _texts(value, example):
        words = text.split()
        if len(words) != 3 or not all(map(_WORD.fullmatch, words[:2])) or not _FIELD.fullmatch(words[2]):
            _refuse((position,), f'expected "target algorithm field", such as {example[1:-1]}, not "{text}"')
        target, algorithm, field = words
        pin = Pin(target, algorithm, field, ("gates", "pinned", position))
        if any(str(pin) == str(other) for other in found):
            _refuse((position,), f'"{pin}" is pinned twice')
        found.append(pin)
    return tuple(found)


def read_evidence(value: object, _: object) -> tuple[str, ...]:
    """Reads `evidence = ["literal"]`."""
    found: list[str] = []
    for position, text in _texts(value, '["literal"]'):
        if text not in JUDGED_COUNTS:
            expected = " or ".join(f'"{kind}"' for kind in JUDGED_COUNTS)
            _refuse((position,), f'expected {expected}, not "{text}"{did_you_mean(text, JUDGED_COUNTS)}')
        found.append(text)
    return tuple(dict.fromkeys(found))


def read_max_utilisation(value: object, _: object) -> tuple[MostOf, ...]:
    """Reads a share of every limit, or a table of shares: by target, by constraint, or by constraint within a target.

    `0.95`, `{ bi100 = 0.95 }`, `{ "*" = { shared-memory = 0.95 } }`, `{ bi100 = { registers-per-thread = 0.9 } }`.
    """
    at: KeyPath = ("gates", "max_utilisation")
    if not isinstance(value, dict):
        return (MostOf(ANY, ANY, _share(value, ()), at),)
    return tuple(_by_target(value, at))


def _by_target(table: Mapping[str, object], at: KeyPath) -> Iterator[MostOf]:
    for target, given in table.items():
        if not isinstance(given, dict):
            yield MostOf(target, ANY, _share(given, (target,)), (*at, target))
            continue
        for constraint, share in given.items():
            yield MostOf(target, constraint, _share(share, (target, constraint)), (*at, target, constraint))


def read_forbidden(value: object, _: object) -> tuple[str, ...]:
    """Reads `forbidden = ["no policy", "^conflict: warp_size"]`: regular expressions, found anywhere in a warning."""
    found: list[str] = []
    for position, text in _texts(value, '["no policy"]'):
        try:
            re.compile(text)
        except re.error as error:
            _refuse((position,), f'"{text}" is no regular expression: {error}')
        found.append(text)
    return tuple(dict.fromkeys(found))


READERS: Final[Mapping[str, Callable[[object, object], object]]] = {
    "pinned": read_pinned,
    "evidence": read_evidence,
    "max_utilisation": read_max_utilisation,
    "forbidden": read_forbidden,
}
"""How the keys of the table are read."""


def _texts(value: object, example: str) -> Iterator[tuple[int, str]]:
    if not isinstance(value, list):
        _refuse((), f"expected a list such as {example}")
    for position, text in enumerate(value):
        if not isinstance(text, str) or not text.strip():
            _refuse((position,), f"expected text in quotes, as in {example}")
        yield position, text


def _share(value: object, path: KeyPath) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
        _refuse(path, "expected a share of the limit, more than 0 and at most 1, such as 0.95")
    # as it was written: 0.29 of 100 bytes are 29, and no float is exactly 0.29
    return Fraction(str(value))


def _refuse(path: KeyPath, reason: str) -> NoReturn:
    raise SettingError(path, reason)
