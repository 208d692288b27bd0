"""The trace: what each pass did to a candidate, kept as data and told as text when somebody asks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from typing import Final
from typing import TypeAlias

from attrs import field
from attrs import frozen

from policygen.scaling import Nominal
from policygen.scaling import Resolved
from policygen.scaling import ScalingRule
from policygen.spec import Constraint
from policygen.spec import Ladder
from policygen.spec import Neutral
from policygen.spec import Point


@frozen
class Unmet:
    """A condition on one value that a key does not meet.

    Attributes:
        subject: what is looked at: `accum_size`; a whole condition where it is about no single value.
        value: what it is; empty for a whole condition.
        wanted: what it would have to be, each a value (`8`) or a comparison (`<= 8`); any of them would do.
    """

    subject: str
    value: str
    wanted: tuple[str, ...]

    def __str__(self) -> str:
        return unmet_text(self.subject, self.value, self.wanted)

    def as_dict(self) -> dict[str, Any]:
        """The condition as data."""
        return {"subject": self.subject, "value": self.value, "wanted": list(self.wanted)}


@frozen
class NotMatched:
    """A point that was tried and does not answer.

    Attributes:
        unmet: the first condition that fails; several where any of them would have done.
        other: why else it does not answer: it is disabled, say. Empty where a condition fails.
    """

    point: Point
    unmet: tuple[Unmet, ...] = ()
    other: str = ""


@frozen
class Tried:
    """select: a ladder whose points were tried, up to the one that matched or to the end.

    Attributes:
        entry: the condition of the ladder itself that fails; its points were not tried then.
        lacks: the feature that the target lacks, and why; empty where that is not the reason.
        points: those that do not match, in order.
    """

    ladder: Ladder
    points: tuple[NotMatched, ...] = ()
    entry: tuple[Unmet, ...] = ()
    lacks: str = ""

    def __str__(self) -> str:
        name = f"{self.ladder.origin}/{self.ladder.id}"
        if self.lacks:
            return f"select: the ladder {name} is not entered: {self.lacks}"
        if self.entry:
            return f"select: the ladder {name} is not entered: {' and '.join(map(str, self.entry))}"
        return f"select: not of {name}: {'; '.join(_folded(self.points))}"


@frozen
class Judged:
    """select: a ladder whose `accept` was judged on the scaled candidate of a point.

    Attributes:
        accept: the condition as text.
        unmet: what of it fails; empty where it holds.
    """

    ladder: Ladder
    point: Point
    accept: str
    unmet: tuple[Unmet, ...]

    def __str__(self) -> str:
        name = f"{self.ladder.origin}/{self.point.id}"
        if not self.unmet:
            return f"select: {name} is accepted once scaled: {self.accept}"
        return (
            f"select: {name} is not accepted once scaled ({self.ladder.location}): "
            f"{' and '.join(map(str, self.unmet))}; the ladder {self.ladder.id} is left"
        )


@frozen
class Matched:
    """select: the first point that matched."""

    ladder: Ladder
    point: Point

    def __str__(self) -> str:
        text = f"select: {self.ladder.origin}/{self.point.id} ({self.point.location})"
        return f"{text}: {self.point.reason}" if self.point.reason else text


@frozen
class NotEntered:
    """select: a ladder whose condition does not hold, or none of whose points matches."""

    ladder: Ladder

    def __str__(self) -> str:
        return f"select: the ladder {self.ladder.origin}/{self.ladder.id} has no point for this key"


@frozen
class Left:
    """select: a ladder that was left because its candidate, once scaled, was not accepted."""

    ladder: Ladder
    point: Point

    def __str__(self) -> str:
        return (
            f"select: the candidate {self.ladder.origin}/{self.point.id} is not accepted once scaled, "
            f"so the ladder {self.ladder.id} is left ({self.ladder.location})"
        )


@frozen
class Used:
    """select: the policy of another algorithm that this one builds on, and how that came about."""

    name: str
    algorithm: str
    point: Point
    steps: tuple[Step, ...] = field(repr=False)

    def __str__(self) -> str:
        return (
            f"select: {self.name} is {self.algorithm}'s policy from its point {self.point.id} ({self.point.location})"
        )


@frozen
class Scaled:
    """scale: counts of one sub-policy before and after."""

    path: str
    rule: ScalingRule
    size: int
    nominal: Nominal
    resolved: Resolved

    def __str__(self) -> str:
        n, r = self.nominal, self.resolved
        return (
            f"scale: {self.path}: {self.rule.value} of nominal {n.threads_per_block} x {n.items_per_thread} "
            f"at {self.size} bytes -> {r.threads_per_block} x {r.items_per_thread}"
        )


@frozen
class Kept:
    """scale: literal counts of one sub-policy."""

    path: str
    threads: int | None
    items: int | None

    def __str__(self) -> str:
        counts = " x ".join(str(c) for c in (self.threads, self.items) if c is not None)
        return f"scale: {self.path}: literal {counts}, never scaled"


@frozen
class Changed:
    """adapt or canonicalise: a field was given another value."""

    stage: str
    path: str
    before: Any
    after: Any
    reason: str

    def __str__(self) -> str:
        return f"{self.stage}: {self.path} {self.before} -> {self.after}: {self.reason}"


@frozen
class Shrunk:
    """constrain: fields were lowered until a constraint held."""

    constraint: Constraint
    changes: tuple[tuple[str, int, int], ...]
    needed: int | None
    need: int | None
    limit: int | None

    def __str__(self) -> str:
        changes = ", ".join(f"{path} {before} -> {after}" for path, before, after in self.changes)
        return f"constrain: {self.constraint.id}: {changes}: {reason_of_shrink(self)}"


@frozen
class Held:
    """constrain: a constraint that held as it was."""

    constraint: Constraint
    need: int | None
    limit: int | None

    def __str__(self) -> str:
        if self.need is None or self.limit is None:
            return f"constrain: {self.constraint.id}: holds"
        unit, margin = self.constraint.unit, self.limit - self.need
        return f"constrain: {self.constraint.id}: {self.need:,} of {self.limit:,} {unit}, margin {margin:,}"


@frozen
class Reported:
    """constrain: a constraint that does not hold, and is reported rather than mended."""

    constraint: Constraint
    need: int | None
    limit: int | None

    def __str__(self) -> str:
        if self.need is None or self.limit is None:
            return f"constrain: {self.constraint.id}: does not hold: {self.constraint.reason or self.constraint.source}"
        unit, reason = self.constraint.unit, self.constraint.reason
        text = f"constrain: {self.constraint.id}: needs {self.need:,} of {self.limit:,} {unit}: reported, not mended"
        return f"{text}: {reason}" if reason else text


@frozen
class Unknown:
    """constrain: a constraint that cannot be judged; it never counts as fitting."""

    constraint: Constraint
    reason: str

    def __str__(self) -> str:
        return f"constrain: {self.constraint.id}: unknown: {self.reason}"


@frozen
class Neutralised:
    """canonicalise: a knob without effect was set to its neutral value."""

    neutral: Neutral
    before: Any
    after: Any

    def __str__(self) -> str:
        return f"canonicalise: {'.'.join(self.neutral.path)} {self.before} -> {self.after}: {self.neutral.proof}"


@frozen
class Follows:
    """derive: fields that follow from the key and the other fields."""

    values: tuple[tuple[str, Any], ...]

    def __str__(self) -> str:
        return f"derive: {', '.join(f'{name} = {value}' for name, value in self.values)}"


Step: TypeAlias = (
    Tried
    | Judged
    | Matched
    | NotEntered
    | Left
    | Used
    | Scaled
    | Kept
    | Changed
    | Shrunk
    | Held
    | Reported
    | Unknown
    | Neutralised
    | Follows
)

_LISTED: Final = 3
"""Points with the same reason are listed up to so many, and counted beyond."""


def unmet_text(subject: str, value: str, wanted: Sequence[str]) -> str:
    """`accum_size = 4, not 1, 2 or 8`."""
    if not value:
        return f"{subject} does not hold"
    *others, last = wanted
    choice = f"{', '.join(others)} or {last}" if others else last
    return f"{subject} = {value}, not {choice}"


def _folded(points: Sequence[NotMatched]) -> list[str]:
    """Points that fail by the same value together: `accum_size = 4, not 1 or 2 (1B, 2B)`."""
    groups: dict[tuple[tuple[str, str], ...] | str, list[NotMatched]] = {}
    for point in points:
        about = point.other or tuple((unmet.subject, unmet.value) for unmet in point.unmet)
        groups.setdefault(about, []).append(point)
    found: list[str] = []
    for about, group in groups.items():
        if isinstance(about, str):
            reason = about
        else:
            wanted = [dict.fromkeys(w for p in group for w in p.unmet[at].wanted) for at in range(len(about))]
            reason = " and ".join(
                unmet_text(subject, value, tuple(w)) for (subject, value), w in zip(about, wanted, strict=True)
            )
        ids = [point.point.id for point in group]
        shown = ", ".join(ids) if len(ids) <= _LISTED else f"{len(ids)} points, {ids[0]} to {ids[-1]}"
        found.append(f"{reason} ({shown})")
    return found


def reason_of_shrink(step: Shrunk) -> str:
    """Why a constraint lowered something: need against limit, or what the check asks for."""
    constraint = step.constraint
    if step.needed is None or step.limit is None:
        return constraint.reason or constraint.source
    return f"{step.needed:,} {constraint.unit} of {step.limit:,} do not fit, {step.need:,} do"
