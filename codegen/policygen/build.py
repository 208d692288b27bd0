"""Building: from a project to the files of some targets, and a report of what was found on the way."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
from typing import Any

from attrs import frozen

from policygen import __version__
from policygen.emit.artifacts import TargetFiles
from policygen.emit.artifacts import project_files
from policygen.emit.artifacts import target_files
from policygen.emit.comparison import Artifact
from policygen.fold.table import PolicyTable
from policygen.project import Project
from policygen.resolve.instance import TargetInstance
from policygen.resolve.trace import Reported

Progress = Callable[[str], None]


@frozen
class AlgorithmReport:
    """What the build of one algorithm for one target found."""

    algorithm: str
    keys: int
    distinct: int
    warnings: tuple[str, ...]


@frozen
class TargetReport:
    """What the build of one target found. Warnings here are about the target, each once."""

    target: str
    algorithms: tuple[AlgorithmReport, ...]
    warnings: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """The report as data."""
        return {
            "target": self.target,
            "warnings": list(self.warnings),
            "algorithms": [
                {"algorithm": a.algorithm, "keys": a.keys, "distinct": a.distinct, "warnings": list(a.warnings)}
                for a in self.algorithms
            ],
        }


@frozen
class Build:
    """All files of some targets, not written yet."""

    artifacts: tuple[Artifact, ...]
    owners: tuple[str, ...]
    reports: tuple[TargetReport, ...]


def build(project: Project, names: Sequence[str], progress: Progress = lambda _: None) -> Build:
    """Makes the files of targets.

    Args:
        project: where the specs are.
        names: targets, in any spelling.
        progress: called with the name of each target before it is made.

    Raises:
        SpecError: the specs are wrong, or a point can never be selected.
        UnknownTarget: a name that is none.
    """
    settings = project.root.settings
    made: list[TargetFiles] = []
    reports: list[TargetReport] = []
    for instance in dict.fromkeys(project.target(name).name for name in names):
        progress(instance)
        target = project.target(instance)
        resolvers = [project.resolver(instance, algorithm) for algorithm in project.spec.algorithms]
        files = target_files(target, resolvers, project.spec.vocabulary, settings)
        made.append(files)
        reports.append(_report(target, files))
    artifacts = [artifact for files in made for artifact in files.artifacts]
    return Build(
        artifacts=(*artifacts, *project_files(settings, __version__)),
        owners=(*(f"target/{files.instance.name}" for files in made), "project"),
        reports=tuple(reports),
    )


def _report(target: TargetInstance, files: TargetFiles) -> TargetReport:
    conflicts = [f"conflict: {c}" for fact in target.facts.values() for c in fact.conflicts]
    return TargetReport(target.name, tuple(map(_algorithm_report, files.tables)), tuple(conflicts))


def _algorithm_report(table: PolicyTable) -> AlgorithmReport:
    warnings = [f"{_key(given)}: no policy: {reason}" for given, reason in table.refused]
    misfits: dict[str, list[str]] = {}
    for row in table.rows:
        for step in row.resolution.trace:
            if isinstance(step, Reported):
                text = f"{row.resolution.origin}/{row.resolution.point}: {str(step).removeprefix('constrain: ')}"
                misfits.setdefault(text, []).append(_key(row.given))
    warnings += [f"{text} ({len(keys)} keys, {keys[0]} first)" for text, keys in misfits.items()]
    return AlgorithmReport(table.algorithm, len(table.rows), len(table.distinct), tuple(warnings))


def _key(given: Any) -> str:
    return ", ".join(f"{name}={value}" for name, value in given.items())
