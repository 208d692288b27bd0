"""Which edits of the specs a changed policy comes from: by what its resolution looked at, on either side."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence

from policygen.model.facts import formula_names
from policygen.project import Project
from policygen.resolve.instance import TargetInstance
from policygen.resolve.instance import UnknownTarget
from policygen.resolve.resolver import Resolution
from policygen.resolve.trace import Used
from policygen.review.spec_edits import SpecEdit
from policygen.spec import Target

_DESCRIBES = frozenset(("title", "doc", "reason", "source", "benchmark", "evidence", "date", "method", "conditions"))
"""Keys that say something to people and decide nothing."""


class Causes:
    """The edits between two revisions, by what they can have changed."""

    def __init__(self, old: Project, new: Project, edits: Sequence[SpecEdit]) -> None:
        self._projects = (old, new)
        self._edits = [(number, edit) for number, edit in enumerate(edits) if edit.path[-1] not in _DESCRIBES]

    def of_algorithm(self, target: str, algorithm: str) -> tuple[int, ...]:
        """Edits that may change a policy of an algorithm on a target."""
        return tuple(number for number, edit in self._edits if self._concerns(edit, target, algorithm))

    def of_policy(self, target: str, algorithm: str, resolutions: Sequence[Resolution]) -> tuple[int, ...]:
        """Edits that one policy can come from, given how it was resolved before and after."""
        points = {(r.origin, r.point) for r in resolutions}
        points |= {("", step.point.id) for r in resolutions for step in r.trace if isinstance(step, Used)}
        return tuple(
            number for number, edit in self._edits if self._concerns(edit, target, algorithm) and _touches(edit, points)
        )

    def _concerns(self, edit: SpecEdit, target: str, algorithm: str) -> bool:
        folder, _, name = edit.file.partition("specs/")[2].partition("/")
        if not name:
            return True  # the vocabulary, which all share
        stem = name.removesuffix(".toml")
        names = self._built_on(algorithm)
        match folder:
            case "algorithms":
                return stem in names
            case "references":
                reference, _, stem = stem.partition("/")
                return stem in names and any(t.reference == reference for t in self._targets(target))
            case "engine":
                engine = any(p.spec.engine.get(algorithm) is not None for p in self._projects)
                return engine and (stem == "model" or stem.replace("/", ".") in names)
            case "targets":
                return stem in self._chain(target) and self._in_target(edit, target, names)
            case _:
                return True

    def _built_on(self, algorithm: str) -> set[str]:
        """The algorithm and all that it uses or includes."""
        found = {algorithm}
        for project in self._projects:
            waiting = [algorithm]
            while waiting:
                name = waiting.pop()
                described = project.spec.algorithms.get(name) or project.spec.engine.get(name)
                uses = () if described is None else tuple(use.algorithm for use in described.uses)
                waiting += [use for use in uses if use not in found]
                found |= set(uses)
        return found

    def _targets(self, name: str) -> Iterator[Target]:
        for project in self._projects:
            try:
                yield project.target(name).target
            except UnknownTarget:
                continue

    def _instances(self, name: str) -> Iterator[TargetInstance]:
        for project in self._projects:
            try:
                yield project.target(name)
            except UnknownTarget:
                continue

    def _chain(self, name: str) -> set[str]:
        """The names of a target's file and of those that it extends."""
        found: set[str] = set()
        for project, target in zip(self._projects, self._targets(name), strict=False):
            own = target.location.file
            while own and own in project.sources:
                stem = own.rpartition("/")[2].removesuffix(".toml")
                found.add(stem)
                parent = project.sources[own].data.get("extends")
                own = "" if parent is None else f"{own.rpartition('/')[0]}/{parent}.toml"
        return found

    def _in_target(self, edit: SpecEdit, target: str, names: set[str]) -> bool:
        match edit.path:
            case ("rules", algorithm, *_):
                return algorithm in names
            case ("fact", fact, *_):
                return any(self._rests_on(name, fact, target) for name in self._facts_used(target, names))
            case _:
                return True

    def _facts_used(self, target: str, names: set[str]) -> set[str]:
        found: set[str] = set()
        for project in self._projects:
            for name in names:
                if name in project.spec.algorithms or name in project.spec.engine:
                    try:
                        found |= set(project.resolver(target, name).rules.facts_used)
                    except UnknownTarget:
                        continue
        return found

    def _rests_on(self, name: str, fact: str, target: str) -> bool:
        """Whether a fact is another one, or derived from it."""
        seen = {name}
        waiting = [name]
        while waiting:
            one = waiting.pop()
            if one == fact:
                return True
            for instance in self._instances(target):
                declared = instance.target.facts.get(one)
                for reading in () if declared is None else declared.readings:
                    more = set(formula_names(reading.formula)) - seen if reading.formula else set()
                    seen |= more
                    waiting += more
        return False


def _touches(edit: SpecEdit, points: set[tuple[str, str]]) -> bool:
    """Whether an edit of a point is of one of these; any other edit may be behind any policy."""
    if "point" not in edit.path:
        return True
    position = edit.path.index("point")
    if position + 1 >= len(edit.path):
        return True
    name = edit.path[position + 1].strip("[]")
    known = {point for _, point in points}
    return name in known or len(edit.path) == position + 2
