"""Hardware facts with evidence: readings, and which of them is effective.

A fact is a list of readings from different sources. Nothing is averaged or merged: one reading is effective, by a
reason or by the strength of its evidence, and every other reading that disagrees is reported as a conflict.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable
from collections.abc import Sequence
from enum import Enum
from itertools import groupby

from attrs import field
from attrs import frozen

from policygen.model.dimensions import Dimension
from policygen.model.dimensions import format_value
from policygen.model.problems import Location
from policygen.model.problems import Problem
from policygen.model.problems import SpecError

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class EvidenceKind(Enum):
    """How a number is known, strongest first."""

    MEASURED = "measured"
    """Observed on the device."""
    COMPILED = "compiled"
    """Reported by a compiler."""
    DOCUMENTED = "documented"
    """Stated by the maker or by upstream's sources."""
    DERIVED = "derived"
    """Computed from other facts by a formula."""
    ASSUMED = "assumed"
    """Taken on trust."""
    INADMISSIBLE = "inadmissible"
    """Known to be no evidence; kept so that nobody adds it again, never effective."""

    @property
    def weakness(self) -> int:
        """Rank of the kind: 0 is the strongest evidence."""
        return list(EvidenceKind).index(self)


def weakest(kinds: Iterable[EvidenceKind]) -> EvidenceKind:
    """Returns the weakest of some kinds of evidence (at least one)."""
    return max(kinds, key=lambda kind: kind.weakness)


@frozen
class Reading:
    """One statement about the value of a fact.

    Attributes:
        value: In the unit of the fact's dimension; None for a derived reading that is not recomputed yet or
            whose inputs are unknown.
        kind: How it is known.
        date: When it was read; None for a value set for one run of a command.
        source: Where it comes from, one line.
        location: Where the spec states it.
        conditions: Name and text of what else held (device, driver), sorted by name.
        method: How it was measured.
        formula: For a derived reading, its value in terms of other facts.
        applies: False for a value that is reported but emulated: it is never effective.
        effective: Why this reading is effective though stronger or newer ones exist.
        withdrawn: Why this reading no longer counts.
        cc: For a family of targets, the compute capabilities it holds for, both ends inclusive; None for all.
        basis: For a derived reading that was recomputed, the weakest kind of its inputs.
    """

    value: int | None
    kind: EvidenceKind
    date: datetime.date | None
    source: str
    location: Location = field(default=Location(""), eq=False)
    conditions: tuple[tuple[str, str], ...] = ()
    method: str | None = None
    formula: str | None = None
    applies: bool = True
    effective: str | None = None
    withdrawn: str | None = None
    cc: tuple[int, int] | None = None
    basis: EvidenceKind | None = None

    @property
    def in_force(self) -> bool:
        """True when the reading can be effective and can back a plausible value."""
        admissible = self.kind is not EvidenceKind.INADMISSIBLE
        return admissible and self.applies and self.withdrawn is None and self.value is not None

    @property
    def strength(self) -> EvidenceKind:
        """The kind that counts when readings are compared: for a derived one, the weakest kind of its inputs."""
        return self.basis or self.kind

    def holds_for(self, cc: int | None) -> bool:
        """Tells whether the reading speaks of a capability; one that is restricted says nothing of an unknown one."""
        return self.cc is None or (cc is not None and self.cc[0] <= cc <= self.cc[1])

    def evidence(self) -> str:
        """Returns kind, date and source for people: `measured 2026-08-20, device properties`."""
        kind = self.kind.value if self.basis is None else f"{self.kind.value} from {self.basis.value}"
        dated = kind if self.date is None else f"{kind} {self.date.isoformat()}"
        return ", ".join([dated, *([] if self.applies else ["does not apply"]), self.source])


@frozen
class Withdrawal:
    """A target's statement that readings of the target it extends no longer count.

    Attributes:
        value: Value of the readings.
        reason: Why they no longer count.
        kind: Kind of the readings, or None for any.
        date: Date of the readings, or None for any.
        source: Source of the readings, or None for any.
        location: Where the spec states it.
    """

    value: int
    reason: str
    kind: EvidenceKind | None = None
    date: datetime.date | None = None
    source: str | None = None
    location: Location = field(default=Location(""), eq=False)

    def names(self, reading: Reading) -> bool:
        """Tells whether a reading is one of those withdrawn."""
        wanted = (self.value, self.kind or reading.kind, self.date or reading.date, self.source or reading.source)
        return wanted == (reading.value, reading.kind, reading.date, reading.source)


@frozen
class Fact:
    """A hardware fact of a target.

    Attributes:
        name: One of `policygen.model.fact_names.FACT_NAMES`.
        dimension: What the value counts.
        readings: Every statement about it, in the order of the specs.
        plausible: Values that constraints must hold for as well; empty for the effective one alone.
        unknown: Why the value is unknown, where the spec says that it is.
        withdrawals: Readings of the extended target that no longer count; empty once targets are joined.
        location: Where the spec states it.
    """

    name: str
    dimension: Dimension
    readings: tuple[Reading, ...]
    plausible: tuple[int, ...] = ()
    unknown: str | None = None
    withdrawals: tuple[Withdrawal, ...] = ()
    location: Location = field(default=Location(""), eq=False)

    @property
    def key(self) -> str:
        """Dotted key of the fact in its spec."""
        return f"fact.{self.name}"


@frozen
class Conflict:
    """Two readings of one fact that differ; printed as one line.

    Attributes:
        fact: Name of the fact.
        dimension: What the values count.
        used: The effective reading.
        other: The strongest reading with the other value.
    """

    fact: str
    dimension: Dimension
    used: Reading
    other: Reading

    def __str__(self) -> str:
        reason = f"; {self.used.effective}" if self.used.effective else ""
        return f"{self.fact}: {self._shown(self.used)} is used, not {self._shown(self.other)}{reason}"

    def _shown(self, reading: Reading) -> str:
        value = "unknown" if reading.value is None else format_value(self.dimension, reading.value)
        return f"{value} ({reading.evidence()})"


@frozen
class EffectiveFact:
    """What a target goes by.

    Attributes:
        name: Name of the fact.
        dimension: What the value counts.
        value: The value; None means unknown, which is never zero and never fits.
        kind: Kind of evidence; for a derived value the weakest kind of its inputs. None when unknown.
        reading: The reading it comes from; None when unknown.
        plausible: Every value that constraints must hold for, ascending; the effective one is among them.
        conflicts: Readings that disagree with the effective one, one a value.
        unknown: Why the value is unknown; None when it is known.
    """

    name: str
    dimension: Dimension
    value: int | None
    kind: EvidenceKind | None
    reading: Reading | None
    plausible: tuple[int, ...]
    conflicts: tuple[Conflict, ...]
    unknown: str | None = None

    def __str__(self) -> str:
        if self.value is None or self.reading is None:
            return f"{self.name}: unknown ({self.unknown})"
        return f"{self.name}: {format_value(self.dimension, self.value)} ({self.reading.evidence()})"


def formula_names(formula: str) -> tuple[str, ...]:
    """Returns the names in a formula, each once, in the order of the text."""
    return tuple(dict.fromkeys(_NAME.findall(formula)))


def effective(fact: Fact, cc: int | None = None) -> EffectiveFact:
    """Chooses the reading that a target goes by.

    The reading marked `effective` is it; else the strongest kind, then the newest, then one that is stated rather
    than derived. Inadmissible, withdrawn and inapplicable readings are never effective. Derived readings are
    taken as they are: `policygen.resolve.facts` recomputes them first.

    Args:
        fact: The fact.
        cc: Compute capability as major * 10 + minor; readings restricted to others say nothing.

    Raises:
        SpecError: Readings of one kind and date differ and none is marked; two are marked; a plausible value has no
            reading behind it; or the fact is said to be unknown though a reading is in force.
    """
    heard = [reading for reading in fact.readings if reading.holds_for(cc)]
    in_force = sorted((reading for reading in heard if reading.in_force), key=_rank)
    problems = [*_choice_problems(fact, in_force), *_plausible_problems(fact), *_withdrawal_problems(fact)]
    if problems:
        raise SpecError(problems)
    if not in_force:
        reason = fact.unknown or _why_unknown(heard)
        return EffectiveFact(fact.name, fact.dimension, None, None, None, (), (), reason)
    used = next((reading for reading in in_force if reading.effective), in_force[0])
    backed = {reading.value for reading in in_force} & set(fact.plausible)
    plausible = sorted(value for value in backed | {used.value} if value is not None)
    conflicts = _conflicts(fact, used, heard)
    return EffectiveFact(fact.name, fact.dimension, used.value, used.strength, used, tuple(plausible), conflicts)


def _rank(reading: Reading) -> tuple[int, int, bool]:
    newness = 0 if reading.date is None else -reading.date.toordinal()
    return (reading.strength.weakness, newness, reading.formula is not None)


def _why_unknown(heard: Sequence[Reading]) -> str:
    if any(reading.formula and reading.withdrawn is None for reading in heard):
        return "an input of its formula is unknown"
    return "no reading of it is in force" if heard else "no reading speaks of it"


def _choice_problems(fact: Fact, in_force: Sequence[Reading]) -> list[Problem]:
    marked = [reading for reading in in_force if reading.effective]
    if len(marked) > 1:
        places = ", ".join(str(reading.location) for reading in marked)
        return [Problem.at(marked[1].location, fact.key, f"more than one reading is marked effective: {places}")]
    problems = [
        Problem.at(reading.location, fact.key, f"unknown is said ({fact.unknown}) but a reading is in force; drop one")
        for reading in in_force[:1]
        if fact.unknown
    ]
    if marked:
        return problems
    for _, group in groupby(sorted(in_force, key=_same), key=_same):
        first, *others = group
        problems += [_ambiguity(fact, first, other) for other in others if other.value != first.value]
    return problems


def _same(reading: Reading) -> tuple[int, int]:
    return (reading.kind.weakness, 0 if reading.date is None else reading.date.toordinal())


def _ambiguity(fact: Fact, first: Reading, other: Reading) -> Problem:
    assert first.value is not None
    assert other.value is not None
    values = f"{format_value(fact.dimension, first.value)} and {format_value(fact.dimension, other.value)}"
    same = f"are both {other.kind.value}, {other.date}"
    hint = 'mark one with effective = "why", or withdraw one'
    return Problem.at(other.location, fact.key, f"{values} {same}: {hint}")


def _plausible_problems(fact: Fact) -> list[Problem]:
    backed = {reading.value for reading in fact.readings if reading.in_force or reading.withdrawn is not None}
    return [
        Problem.at(
            fact.location,
            f"{fact.key}.plausible",
            f"{format_value(fact.dimension, value)} has no reading in force behind it: add one, or leave it out",
        )
        for value in fact.plausible
        if value not in backed
    ]


def _withdrawal_problems(fact: Fact) -> list[Problem]:
    reason = (
        "withdraws a reading of the target that this one extends, but it extends none; "
        "a reading of this file is withdrawn where it stands"
    )
    return [Problem.at(item.location, f"{fact.key}.withdraw", reason) for item in fact.withdrawals]


def _conflicts(fact: Fact, used: Reading, heard: Sequence[Reading]) -> tuple[Conflict, ...]:
    strongest: dict[int, Reading] = {}
    for reading in sorted(heard, key=lambda reading: (not reading.in_force, _rank(reading))):
        if reading.withdrawn is None and reading.value is not None and reading.value != used.value:
            strongest.setdefault(reading.value, reading)
    return tuple(Conflict(fact.name, fact.dimension, used, reading) for reading in strongest.values())
