"""Gates: what a repository asks of a change in `[gates]` of policygen.toml, and what does not pass.

Each gate is a function of what it is about; `check` prints what they return.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from fractions import Fraction
from typing import Any
from typing import TypeAlias

from attrs import field
from attrs import frozen

from policygen.build import Build
from policygen.fold.table import policy_table
from policygen.loading.gate_settings import ANY
from policygen.loading.gate_settings import UTILISED_UNITS
from policygen.loading.gate_settings import GateSettings
from policygen.loading.gate_settings import Pin
from policygen.model.problems import Problem
from policygen.model.problems import did_you_mean
from policygen.model.types import RecordType
from policygen.model.types import Struct
from policygen.project import Project
from policygen.resolve.instance import UnknownTarget
from policygen.resolve.trace import Held
from policygen.resolve.trace import Reported
from policygen.resolve.trace import Shrunk
from policygen.review.key_ranges import given_text
from policygen.review.policy_diff import PolicyChange
from policygen.review.policy_diff import PolicyDiff
from policygen.review.policy_diff import members
from policygen.review.policy_diff import tables_of
from policygen.review.reasons import reasoned
from policygen.spec import Point
from policygen.spec import RuleSet
from policygen.spec import Status
from policygen.spec import SubPolicy

_About: TypeAlias = tuple[str, str, str]
"""Target, algorithm and constraint."""


@frozen
class Failure:
    """What does not pass a gate.

    Attributes:
        gate: key of `[gates]`.
        text: what it is, where, and what would let it pass; one line.
        data: the same for programs.
    """

    gate: str
    text: str
    data: Mapping[str, Any] = field(factory=dict, hash=False)

    def __str__(self) -> str:
        return f"{self.gate}: {self.text}"

    def as_dict(self) -> dict[str, Any]:
        """The failure as data."""
        return {"gate": self.gate, "text": self.text, **self.data}


def setting_problems(project: Project) -> list[Problem]:
    """What of `[gates]` is about nothing that there is: targets, algorithms, fields and constraints. Raises SpecError.

    A target is one that policygen.toml lists; of a family, one of its architectures.
    """
    targets, gates = members(project), project.root.gates
    algorithms = {name: None for target in targets for name in tables_of(project, target)}
    problems: list[Problem] = []

    def unknown(path: Any, kind: str, name: str, known: Sequence[str]) -> None:
        problems.append(project.root.source.problem(path, f'unknown {kind} "{name}"{did_you_mean(name, known)}'))

    for pin in gates.pinned:
        if pin.target not in (ANY, *targets):
            unknown(pin.path, "target", pin.target, targets)
        if pin.algorithm not in (ANY, *algorithms):
            unknown(pin.path, "algorithm", pin.algorithm, tuple(algorithms))
            continue
        pinned = list(algorithms) if pin.algorithm == ANY else [pin.algorithm]
        known = [path for name in pinned for path in _fields(project.spec.described(name).policy, "")]
        if pin.field not in known:
            unknown(pin.path, "field", pin.field, known)
    constraints = {c.id.partition(" of ")[0]: None for n in algorithms for c in project.spec.described(n).constraints}
    ids = {c.id: None for n in algorithms for c in project.spec.described(n).constraints}
    for most in gates.max_utilisation:
        if most.target not in (ANY, *targets):
            unknown(most.path, "target", most.target, targets)
        if most.constraint not in (ANY, *constraints, *ids):
            unknown(most.path, "constraint", most.constraint, tuple(constraints))
    return problems


def _fields(struct: Struct, at: str) -> Iterator[str]:
    for member in struct.fields:
        yield f"{at}{member.name}"
        if isinstance(member.type, RecordType):
            yield from _fields(member.type.struct, f"{at}{member.name}.")


def pinned_failures(old: Project, new: Project, diff: PolicyDiff) -> Iterator[Failure]:
    """Pinned fields that changed without a reason.

    A change passes if the point that answers now, or what led to the change (a point, a reading of a fact, a
    constraint), has a reason that is new or was changed with it. A key that had no policy before has nothing pinned.

    Args:
        old: the earlier revision.
        new: the later one; its `[gates]` count.
        diff: what differs between the two.
    """
    pins = new.root.gates.pinned
    for change in diff.changes:
        if change.kind == "added":
            continue
        for name, before, after in change.fields:
            pin = next((p for p in pins if p.covers(change.target, change.algorithm, name)), None)
            if pin is not None and not _change_is_reasoned(old, new, diff, change):
                yield _unreasoned(diff, change, pin, (name, before, after))


def _change_is_reasoned(old: Project, new: Project, diff: PolicyDiff, change: PolicyChange) -> bool:
    before, after = (_answering(project, change, name) for project, name in zip((old, new), change.points, strict=True))
    # a point that goes by another name and keeps its reason has no new one
    known = "" if before is None else before.reason
    if after is not None and after.reason not in ("", known):
        return True
    return any(reasoned(old, new, diff.edits[number], known) for number in change.causes)


def _answering(project: Project, change: PolicyChange, name: str) -> Point | None:
    """The point of a change on one side, `origin/id`."""
    origin, _, wanted = name.rpartition("/")
    for rules in _rule_sets(project, change.target, change.algorithm):
        for ladder in rules.ladders:
            for point in ladder.points:
                if (ladder.origin, point.id) == (origin, wanted):
                    return point
    return None


def _rule_sets(project: Project, target: str, algorithm: str) -> list[RuleSet]:
    try:
        chip = project.target(target).target
        described = project.spec.described(algorithm)
    except (UnknownTarget, KeyError):
        return []
    reference = project.spec.references.get(chip.reference, {}).get(algorithm)
    return [rules for rules in (chip.rules.get(algorithm), described.rules, reference) if rules is not None]


def _unreasoned(diff: PolicyDiff, change: PolicyChange, pin: Pin, values: tuple[str, str, str]) -> Failure:
    name, before, after = values
    causes = [str(diff.edits[number]) for number in change.causes]
    keys = "; ".join(map(str, change.ranges))
    led = f"because of {'; '.join(causes)}" if causes else "by no edit of the specs"
    text = (
        f"{change.target} {change.algorithm} {name} {before} -> {after} for {_counted(change.keys, 'key')} ({keys}), "
        f"{led}: say why with a new `reason`, of {change.points[1] or change.points[0]} or beside the edit"
    )
    data = {
        "pin": str(pin),
        "target": change.target,
        "algorithm": change.algorithm,
        "field": name,
        "before": before,
        "after": after,
        "keys": change.keys,
        "ranges": [str(found) for found in change.ranges],
        "causes": causes,
    }
    return Failure("pinned", text, data)


def evidence_failures(project: Project) -> Iterator[Failure]:
    """A target's own points that have counts of an asked kind, and neither a source nor evidence.

    Points that a target has from the one that it extends are that one's.
    """
    asked = project.root.gates.evidence
    for name in dict.fromkeys(project.target(member).target.name for member in members(project)):
        for algorithm, rules in project.spec.targets[name].rules.items():
            for ladder in rules.ladders:
                for point in ladder.points if ladder.origin == name else ():
                    kinds = [kind for kind in asked if kind in _counts(point.policy)]
                    if kinds and point.status is Status.ACTIVE and not point.source and not point.evidence:
                        yield _unfounded(name, algorithm, point, kinds[0])


def _unfounded(target: str, algorithm: str, point: Point, kind: str) -> Failure:
    place = str(point.location)
    text = (
        f"{place}: {target}/{algorithm}/{point.id} has {kind} counts: "
        "say with `source` or `evidence` where they are from"
    )
    data = {"location": place, "target": target, "algorithm": algorithm, "point": point.id, "counts": kind}
    return Failure("evidence", text, data)


def _counts(policy: SubPolicy) -> set[str]:
    """How the counts of a point and its sub-policies are meant."""
    inner = (_counts(value) for _, value in policy.fields if isinstance(value, SubPolicy))
    return {policy.counts.value}.union(*inner)


@frozen
class _Use:
    """What the policy of one common key needs of a limit."""

    need: int
    limit: int
    key: str
    point: str


def utilisation_failures(project: Project) -> Iterator[Failure]:
    """Constraints in bytes or registers that take more of their limit than they may; the greatest of their keys."""
    gates = project.root.gates
    if not gates.max_utilisation:
        return
    for target in members(project):
        for algorithm in tables_of(project, target):
            for (constraint, unit), uses in _uses(project, gates, target, algorithm).items():
                yield _overused(gates, (target, algorithm, constraint), unit, uses)


def _uses(project: Project, gates: GateSettings, target: str, algorithm: str) -> dict[tuple[str, str], list[_Use]]:
    """The uses beyond what a target allows, by constraint."""
    found: dict[tuple[str, str], list[_Use]] = {}
    for row in policy_table(project.resolver(target, algorithm)).rows:
        for step in row.resolution.trace:
            if not isinstance(step, Held | Shrunk | Reported) or step.constraint.unit not in UTILISED_UNITS:
                continue
            most = gates.share_of(target, step.constraint.id)
            if most is None or step.need is None or step.limit is None or step.need <= most * step.limit:
                continue
            key = ", ".join(f"{name}={value}" for name, value in given_text(row.given))
            use = _Use(step.need, step.limit, key, f"{row.resolution.origin}/{row.resolution.point}")
            uses = found.setdefault((step.constraint.id, step.constraint.unit), [])
            if not any(other.key == key for other in uses):
                uses.append(use)
    return found


def _overused(gates: GateSettings, about: _About, unit: str, uses: Sequence[_Use]) -> Failure:
    target, algorithm, constraint = about
    most = gates.share_of(target, constraint)
    assert most is not None
    worst = max(uses, key=lambda use: Fraction(use.need, use.limit))
    text = (
        f"{target} {algorithm} {constraint}: {worst.need:,} of {worst.limit:,} {unit} are "
        f"{worst.need / worst.limit:.1%}, more than {float(most):.1%}, of {worst.point} for {worst.key} "
        f"({_counted(len(uses), 'key')})"
    )
    data = {
        "target": target,
        "algorithm": algorithm,
        "constraint": constraint,
        "unit": unit,
        "need": worst.need,
        "limit": worst.limit,
        "most": float(most),
        "point": worst.point,
        "key": worst.key,
        "keys": len(uses),
    }
    return Failure("max_utilisation", text, data)


def forbidden_failures(gates: GateSettings, build: Build) -> Iterator[Failure]:
    """Warnings of a build that match a pattern, each once."""
    for warning in dict.fromkeys(warnings_of(build)):
        pattern = next((text for text in gates.forbidden if re.search(text, warning)), None)
        if pattern is not None:
            yield Failure("forbidden", f"{warning} (matches {pattern!r})", {"warning": warning, "pattern": pattern})


def warnings_of(build: Build) -> Iterator[str]:
    """The warnings of a build as `policygen build` prints them."""
    yield from build.warnings
    for target in build.reports:
        yield from (f"{target.target}: {line}" for line in target.warnings)
        for algorithm in target.algorithms:
            yield from (f"{target.target}: {algorithm.algorithm}: {line}" for line in algorithm.warnings)


def gate_failures(project: Project, build: Build) -> tuple[Failure, ...]:
    """What does not pass the gates that ask nothing of an earlier revision."""
    return (
        *evidence_failures(project),
        *utilisation_failures(project),
        *forbidden_failures(project.root.gates, build),
    )


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
