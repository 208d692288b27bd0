"""Which policies of common keys differ between two revisions of a project, what caused it and what it changes."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from attrs import evolve
from attrs import frozen

from policygen.fold.table import PolicyTable
from policygen.fold.table import policy_table
from policygen.model.dimensions import format_value
from policygen.model.record import Record
from policygen.project import Project
from policygen.prove.resources import KernelUse
from policygen.resolve.instance import TargetInstance
from policygen.resolve.instance import UnknownTarget
from policygen.resolve.resolver import Resolution
from policygen.resolve.resolver import Resolver
from policygen.resolve.telling import as_given
from policygen.resolve.trace import Reported
from policygen.review.causes import Causes
from policygen.review.consequences import Consequence
from policygen.review.consequences import consequences
from policygen.review.key_ranges import Given
from policygen.review.key_ranges import KeyRange
from policygen.review.key_ranges import given_text
from policygen.review.key_ranges import key_ranges
from policygen.review.spec_edits import SpecEdit
from policygen.review.spec_edits import spec_edits


@frozen
class FactChange:
    """A fact of a target that goes by another value."""

    target: str
    fact: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.target}: {self.fact} {self.before} -> {self.after}"


@frozen
class PolicyChange:
    """Keys whose policies changed alike.

    Attributes:
        target: name of the target.
        algorithm: name of the algorithm, or of the table of the engine.
        kind: changed; added (these keys had no policy, or there were no such keys) or removed.
        fields: dotted field, value before, value after; of the whole policy where it is added or removed.
        points: point before and after, each as `origin/id`; empty where there was or is none.
        ranges: the keys.
        causes: what in the specs led to it: places in `PolicyDiff.edits`.
        consequences: what it does to the kernels, for the first of the keys.
    """

    target: str
    algorithm: str
    kind: str
    fields: tuple[tuple[str, str, str], ...]
    points: tuple[str, str]
    ranges: tuple[KeyRange, ...]
    causes: tuple[int, ...]
    consequences: tuple[Consequence, ...]

    @property
    def keys(self) -> int:
        """How many keys these are."""
        return sum(found.keys for found in self.ranges)

    def as_dict(self) -> dict[str, Any]:
        """The change as data."""
        return {
            "target": self.target,
            "algorithm": self.algorithm,
            "kind": self.kind,
            "fields": {name: {"before": before, "after": after} for name, before, after in self.fields},
            "points": {"before": self.points[0], "after": self.points[1]},
            "keys": self.keys,
            "ranges": [{name: list(values) for name, values in found.fields} for found in self.ranges],
            "causes": list(self.causes),
            "consequences": [found.as_dict() for found in self.consequences],
        }


@frozen
class PolicyDiff:
    """The difference between two revisions.

    Attributes:
        old: name of the earlier revision.
        new: name of the later one.
        edits: values of spec files that differ and that changed a policy, each once.
        other_edits: those that changed no policy of a common key.
        facts: facts that go by another value.
        violations: constraints that hold no more, and keys that have no policy any more; each once.
        mended: those of before that are none any more.
        changes: in the order of targets and algorithms.
    """

    old: str
    new: str
    edits: tuple[SpecEdit, ...]
    other_edits: tuple[SpecEdit, ...]
    facts: tuple[FactChange, ...]
    violations: tuple[str, ...]
    mended: tuple[str, ...]
    changes: tuple[PolicyChange, ...]

    def __bool__(self) -> bool:
        return bool(self.changes or self.violations or self.mended)

    def as_dict(self) -> dict[str, Any]:
        """The difference as data."""
        return {
            "old": self.old,
            "new": self.new,
            "edits": [edit.as_dict() for edit in self.edits],
            "other_edits": [edit.as_dict() for edit in self.other_edits],
            "facts": [{"target": f.target, "fact": f.fact, "before": f.before, "after": f.after} for f in self.facts],
            "violations": list(self.violations),
            "mended": list(self.mended),
            "changes": [change.as_dict() for change in self.changes],
        }


def policy_diff(
    old: Project,
    new: Project,
    *,
    names: tuple[str, str],
    targets: Sequence[str] = (),
    algorithms: Sequence[str] = (),
    assumed: Mapping[str, str] | None = None,
) -> PolicyDiff:
    """Compares two revisions of a project, or one with itself under assumed facts.

    Args:
        old: the earlier one.
        new: the later one.
        names: what people call them.
        targets: names of targets; by default those that either lists.
        algorithms: names of algorithms and tables; all by default.
        assumed: facts to take instead of the specs' in the later one, such as {"warp_size": "32"}.

    Raises:
        SpecError: the specs of one of them are wrong.
        ValueError: a name that neither has, or an assumed fact that is none.
    """
    return _Comparison(old, new, targets, algorithms, assumed).run(names)


class _Comparison:
    def __init__(
        self,
        old: Project,
        new: Project,
        targets: Sequence[str],
        algorithms: Sequence[str],
        assumed: Mapping[str, str] | None,
    ) -> None:
        self._old = old
        self._new = new
        self._assumed = assumed
        self._targets = tuple(targets) or tuple(dict.fromkeys((*members(new), *members(old))))
        self._algorithms = tuple(algorithms)
        self._edits = () if old is new else spec_edits(old.sources, new.sources)
        self._causes = Causes(old, new, self._edits)

    def run(self, names: tuple[str, str]) -> PolicyDiff:
        facts: list[FactChange] = []
        changes: list[PolicyChange] = []
        before: dict[str, None] = {}
        after: dict[str, None] = {}
        for target in self._targets:
            sides = _instance(self._old, target, None), _instance(self._new, target, self._assumed)
            facts += _fact_changes(target, *sides)
            for algorithm in self._compared(target, sides):
                pair = _Pair(self, target, algorithm)
                changes += pair.changes()
                before |= dict.fromkeys(pair.complaints(0))
                after |= dict.fromkeys(pair.complaints(1))
        used = sorted({number for change in changes for number in change.causes})
        renumbered = {number: position for position, number in enumerate(used)}
        return PolicyDiff(
            old=names[0],
            new=names[1],
            edits=tuple(self._edits[number] for number in used),
            other_edits=tuple(e for number, e in enumerate(self._edits) if number not in renumbered),
            facts=tuple(facts),
            violations=tuple(line for line in after if line not in before),
            mended=tuple(line for line in before if line not in after),
            changes=tuple(_renumbered(change, renumbered) for change in changes),
        )

    def _compared(self, target: str, sides: tuple[TargetInstance | None, TargetInstance | None]) -> Iterator[str]:
        """The algorithms whose policies an edit, or an assumed fact, may have changed."""
        named = [
            tables_of(p, target) if side is not None else ()
            for p, side in zip((self._old, self._new), sides, strict=True)
        ]
        for algorithm in dict.fromkeys((*named[1], *named[0])):
            if self._algorithms and algorithm not in self._algorithms:
                continue
            if (
                None in sides
                or self._causes.of_algorithm(target, algorithm)
                or self._assumed_matters(target, algorithm)
            ):
                yield algorithm

    def _assumed_matters(self, target: str, algorithm: str) -> bool:
        """Whether the rules of an algorithm look at a fact that goes by another value under the assumed ones."""
        if not self._assumed:
            return False
        before, after = self._new.target(target), self._new.target(target, self._assumed)
        changed = {name for name, fact in after.facts.items() if fact != before.facts.get(name)}
        return bool(changed & set(self._new.resolver(target, algorithm).rules.facts_used))

    def table(self, side: int, target: str, algorithm: str) -> tuple[Resolver, PolicyTable] | None:
        """The common keys of one side; None where it has no such target or algorithm."""
        project, assumed = ((self._old, None), (self._new, self._assumed))[side]
        if _instance(project, target, assumed) is None or algorithm not in tables_of(project, target):
            return None
        resolver = project.resolver(target, algorithm, assumed)
        return resolver, policy_table(resolver)

    def causes(self, target: str, algorithm: str, resolutions: Iterable[Resolution]) -> tuple[int, ...]:
        return self._causes.of_policy(target, algorithm, tuple(resolutions))

    def use(self, side: int, target: str, algorithm: str, resolver: Resolver) -> KernelUse:
        project = (self._old, self._new)[side]
        return KernelUse(resolver.rules, project.evidence(target, algorithm))


class _Pair:
    """The common keys of one algorithm on one target, on both sides."""

    def __init__(self, comparison: _Comparison, target: str, algorithm: str) -> None:
        self._comparison = comparison
        self._target = target
        self._algorithm = algorithm
        self._sides = [comparison.table(side, target, algorithm) for side in (0, 1)]
        self._rows: list[dict[Given, Resolution]] = [
            {} if side is None else {given_text(row.given): row.resolution for row in side[1].rows}
            for side in self._sides
        ]

    def changes(self) -> list[PolicyChange]:
        old, new = self._rows
        groups: dict[tuple[Any, ...], list[Given]] = {}
        for key in dict.fromkeys((*new, *old)):
            before, after = old.get(key), new.get(key)
            fields = _differences(before, after)
            if fields:
                causes = self._comparison.causes(self._target, self._algorithm, [r for r in (before, after) if r])
                points = (_point(before), _point(after))
                groups.setdefault((fields, points, causes), []).append(key)
        return [self._change(fields, points, causes, keys) for (fields, points, causes), keys in groups.items()]

    def _change(
        self,
        fields: tuple[tuple[str, str, str], ...],
        points: tuple[str, str],
        causes: tuple[int, ...],
        keys: list[Given],
    ) -> PolicyChange:
        pair = tuple(rows.get(keys[0]) for rows in self._rows)
        kind = "changed" if None not in pair else "added" if pair[0] is None else "removed"
        return PolicyChange(
            target=self._target,
            algorithm=self._algorithm,
            kind=kind,
            fields=fields,
            points=points,
            ranges=key_ranges(keys),
            causes=causes,
            consequences=self._consequences(pair[0], pair[1]),
        )

    def _consequences(self, before: Resolution | None, after: Resolution | None) -> tuple[Consequence, ...]:
        old, new = self._sides
        if before is None or after is None or old is None or new is None:
            return ()
        uses = [
            self._comparison.use(number, self._target, self._algorithm, side[0])
            for number, side in enumerate((old, new))
        ]
        return consequences((old[0].rules, uses[0], before), (new[0].rules, uses[1], after))

    def complaints(self, side: int) -> Iterator[str]:
        """Constraints that are reported, and keys without a policy, told without their numbers of keys."""
        found = self._sides[side]
        if found is None:
            return
        where = f"{self._target} {self._algorithm}"
        for given, reason in found[1].refused:
            key = ", ".join(f"{name}={value}" for name, value in given_text(given))
            yield f"{where} {key}: no policy: {reason}"
        for row in found[1].rows:
            for step in row.resolution.trace:
                if isinstance(step, Reported):
                    point = _point(row.resolution)
                    yield f"{where} {point}: {str(step).removeprefix('constrain: ')}"


def members(project: Project) -> tuple[str, ...]:
    """The targets that a project lists; of a family with files of its own its architectures."""
    found: list[str] = []
    for name in project.listed_targets:
        target = project.spec.targets.get(name)
        if target is not None and target.architectures:
            found += (f"sm_{cc}" for cc in target.architectures)
        else:
            found.append(name)
    return tuple(found)


def tables_of(project: Project, target: str) -> tuple[str, ...]:
    """The algorithms and tables of the engine that are built for a target."""
    return (*project.built_algorithms, *project.engine_tables(target))


def _instance(project: Project, target: str, assumed: Mapping[str, str] | None) -> TargetInstance | None:
    try:
        return project.target(target, assumed)
    except UnknownTarget:
        return None


def _fact_changes(target: str, old: TargetInstance | None, new: TargetInstance | None) -> Iterator[FactChange]:
    if old is None or new is None:
        return
    for name in sorted({*old.facts, *new.facts}):
        pair = old.facts.get(name), new.facts.get(name)
        told = [
            "unknown" if fact is None or fact.value is None else format_value(fact.dimension, fact.value)
            for fact in pair
        ]
        plausible = ["" if fact is None else ", ".join(map(str, fact.plausible)) for fact in pair]
        if told[0] != told[1]:
            yield FactChange(target, name, told[0], told[1])
        elif plausible[0] != plausible[1]:
            yield FactChange(target, f"plausible values of {name}", plausible[0] or "none", plausible[1] or "none")


def _differences(before: Resolution | None, after: Resolution | None) -> tuple[tuple[str, str, str], ...]:
    old = {} if before is None else dict(_flat(before.policy))
    new = {} if after is None else dict(_flat(after.policy))
    names = dict.fromkeys((*new, *old))
    return tuple(
        (name, old.get(name, "none"), new.get(name, "none")) for name in names if old.get(name) != new.get(name)
    )


def _flat(policy: Record, at: str = "") -> Iterator[tuple[str, str]]:
    for name, value in policy.items():
        path = f"{at}.{name}" if at else name
        if isinstance(value, Record):
            yield from _flat(value, path)
        else:
            yield path, as_given(value)


def _point(resolution: Resolution | None) -> str:
    return "" if resolution is None else f"{resolution.origin}/{resolution.point}"


def _renumbered(change: PolicyChange, numbers: Mapping[int, int]) -> PolicyChange:
    return evolve(change, causes=tuple(numbers[number] for number in change.causes))
