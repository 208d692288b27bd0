"""The trace: what each pass did to a candidate, kept as data and told as text when somebody asks."""

from __future__ import annotations

from typing import Any
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
    Matched
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


def reason_of_shrink(step: Shrunk) -> str:
    """Why a constraint lowered something: need against limit, or what the check asks for."""
    constraint = step.constraint
    if step.needed is None or step.limit is None:
        return constraint.reason or constraint.source
    return f"{step.needed:,} {constraint.unit} of {step.limit:,} do not fit, {step.need:,} do"
