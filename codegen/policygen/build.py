"""Building: from a project to the files of some targets, and a report of what was found on the way."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any
from typing import TypeAlias

from attrs import asdict
from attrs import evolve
from attrs import frozen

from policygen import __version__
from policygen.emit.artifacts import AlgorithmFiles
from policygen.emit.artifacts import TargetFacts
from policygen.emit.artifacts import algorithm_files
from policygen.emit.artifacts import binding_files
from policygen.emit.artifacts import engine_files
from policygen.emit.artifacts import project_files
from policygen.emit.comparison import Artifact
from policygen.emit.python.engine_module import engine_module
from policygen.emit.statements import Program
from policygen.emit.statements import program
from policygen.emit.variants import Variants
from policygen.emit.variants import chip
from policygen.emit.variants import family
from policygen.fold.arch_list import FoldFigures
from policygen.fold.arch_list import fold_figures
from policygen.fold.table import PolicyTable
from policygen.fold.table import policy_table
from policygen.model.problems import Problem
from policygen.model.problems import SpecError
from policygen.model.record import Record
from policygen.project import Project
from policygen.prove.against_models import Held
from policygen.prove.against_models import held_against
from policygen.prove.models import Models
from policygen.resolve.backends import absence
from policygen.resolve.backends import effect_of
from policygen.resolve.instance import TargetInstance
from policygen.resolve.instance import common_facts
from policygen.resolve.instance import family_members
from policygen.resolve.resolver import Resolver
from policygen.resolve.specialise import rules_for
from policygen.resolve.trace import Reported
from policygen.resolve.witness import Finding
from policygen.resolve.witness import problems_of
from policygen.resolve.witness import reachability
from policygen.resolve.witness import reference_reachability
from policygen.resolve.witness import warnings_of
from policygen.review.benchmarks import without_effect
from policygen.review.weights import by_weight
from policygen.spec import RuleSet
from policygen.spec import Target
from policygen.validate.records import policy_address
from policygen.workers import Progress
from policygen.workers import each_done


@frozen
class AlgorithmReport:
    """What the build of one algorithm for one target found.

    Attributes:
        keys: how many common keys have a policy.
        distinct: how many of these policies differ.
        policies: addresses of these policies, by which failed validations are noted.
        files: paths of the algorithm's files, relative to the output folder.
        warnings: keys without a policy and policies that exceed a limit.
        folds: of a family, the kernels that its common keys need.
        evidence: the policies for which there is compiled evidence, where there is any, and of how many.
    """

    algorithm: str
    keys: int
    distinct: int
    policies: tuple[str, ...]
    files: tuple[str, ...]
    warnings: tuple[str, ...]
    folds: FoldFigures | None = None
    evidence: tuple[int, int] | None = None


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
                {
                    "algorithm": a.algorithm,
                    "keys": a.keys,
                    "distinct": a.distinct,
                    "policies": list(a.policies),
                    "files": list(a.files),
                    "warnings": list(a.warnings),
                    "kernels": None if a.folds is None else asdict(a.folds),
                    "evidence": None if a.evidence is None else list(a.evidence),
                }
                for a in self.algorithms
            ],
        }


@frozen
class Build:
    """All files of some targets, not written yet.

    Attributes:
        artifacts: the files; the same in whatever number of processes they were made.
        owners: whose files these are, all of theirs.
        reports: one for each target, in the order in which they were asked for.
        warnings: what is to be said of the specs, whatever the target: points that may be beyond reach.
    """

    artifacts: tuple[Artifact, ...]
    owners: tuple[str, ...]
    reports: tuple[TargetReport, ...]
    warnings: tuple[str, ...]


@frozen
class _Task:
    """A piece of work: one algorithm of one target; or, without a target, the points of all that are built.

    Attributes:
        tables: in place of an algorithm, the tables of the engine that share a module.
    """

    target: str = ""
    algorithm: str = ""
    tables: tuple[str, ...] = ()

    def __str__(self) -> str:
        if not self.target:
            return "points"
        return f"{self.target} {self.algorithm or self.tables[0].partition('.')[0]}"


@frozen
class _Made:
    files: AlgorithmFiles
    report: AlgorithmReport


_Result: TypeAlias = _Made | tuple[Finding, ...] | SpecError


def build(
    project: Project, names: Sequence[str], *, jobs: int | None = None, progress: Progress = lambda *_: None
) -> Build:
    """Makes the files of targets.

    Args:
        project: where the specs are.
        names: targets, in any spelling; one that is named twice is made once.
        jobs: how many processes work; by default as many as there are processors.
        progress: called before the first piece of work and after each; there are `pieces_of_work`.

    Raises:
        SpecError: the specs are wrong, or a point can never be selected: every problem of every target.
        UnknownTarget: a name that is none.
        WorkerLost: one of the processes was killed.
    """
    targets = tuple(dict.fromkeys(project.target_name(name) for name in names))
    tasks = _tasks(project, targets)
    results = dict(each_done(partial(_done, project, targets), tasks, jobs, progress))
    findings: tuple[Finding, ...] = ()
    made: dict[_Task, _Made] = {}
    problems: list[Problem] = []
    for task in tasks:
        match results[task]:
            case SpecError() as error:
                problems += error.problems
            case _Made() as one:
                made[task] = one
            case tuple() as found:
                findings = found
    problems += problems_of(findings)
    if problems:
        raise SpecError(problems)
    artifacts: list[Artifact] = []
    reports: list[TargetReport] = []
    for name in targets:
        own = [made[task] for task in tasks if task.target == name]
        target = _facts(project, name)
        files = [m.files for m in own]
        artifacts += [artifact for f in files for artifact in f.artifacts]
        spec = project.spec
        artifacts += binding_files(target, files, spec.algorithms, spec.vocabulary, project.root.settings)
        conflicts = tuple(f"conflict: {c}" for fact in target.facts.values() for c in fact.conflicts)
        told = sorted((m.report for m in own), key=lambda report: by_weight(report.algorithm))
        reports.append(TargetReport(name, tuple(told), conflicts))
    return Build(
        artifacts=(*artifacts, *project_files(project.root.settings, __version__)),
        owners=(*(owner_of(name) for name in targets), "project"),
        reports=tuple(reports),
        warnings=(*warnings_of(findings), *without_effect(_rule_sets(project, targets))),
    )


def _rule_sets(project: Project, targets: Sequence[str]) -> list[RuleSet]:
    """The rules that some targets read: their own, those of their references, and those of the engine's tables."""
    spec = project.spec
    read = {_target_of(project, name).name: None for name in targets}
    references = dict.fromkeys(spec.targets[name].reference for name in read)
    found = [rules for name in read for rules in spec.targets[name].rules.values()]
    found += [rules for name in references for rules in spec.references.get(name, {}).values()]
    return [*found, *(table.rules for table in spec.engine.values() if table.rules is not None)]


def pieces_of_work(project: Project, targets: Sequence[str]) -> int:
    """How many pieces of work the build of some targets is. Raises SpecError."""
    return len(_tasks(project, targets))


def _tasks(project: Project, targets: Sequence[str]) -> list[_Task]:
    # the largest piece first
    found = [_Task()]
    for name in targets:
        found += (_Task(name, algorithm) for algorithm in project.built_algorithms)
        modules: dict[str, list[str]] = {}
        for table in project.engine_tables(name):
            modules.setdefault(table.partition(".")[0], []).append(table)
        found += (_Task(name, tables=tuple(tables)) for tables in modules.values())
    return found


def _reachability(project: Project, targets: Sequence[str]) -> tuple[Finding, ...]:
    """Whether every point can be selected: those of the targets, and those of the references that they read."""
    spec = project.spec
    tables = dict.fromkeys(table for name in targets for table in project.engine_tables(name))
    algorithms = (*project.built_algorithms, *tables)
    read = list(dict.fromkeys(_target_of(project, name).name for name in targets))
    findings: list[Finding] = []
    for target in (spec.targets[name] for name in read):
        findings += reachability(spec, target, algorithms)
    families = [target for target in spec.targets.values() if target.is_family and not target.architectures]
    for reference in dict.fromkeys(spec.targets[name].reference for name in read):
        for target in families:
            if target.reference == reference:
                findings += reference_reachability(spec, reference, target, algorithms)
    return tuple(findings)


def _target_of(project: Project, name: str) -> Target:
    found = project.spec.targets.get(name)
    return found if found is not None else project.target(name).target


def owner_of(target: str) -> str:
    """Under which name the manifest lists the files of a target."""
    return f"target/{target}"


def target_of(owner: str) -> str | None:
    """The target whose files an owner in the manifest has; None for any other owner."""
    return owner.removeprefix("target/") if owner.startswith("target/") else None


def _done(project: Project, targets: Sequence[str], task: _Task) -> _Result:
    try:
        if not task.target:
            return _reachability(project, targets)
        if task.tables:
            return _engine_made(project, task)
        variants = _variants(project, task)
        held = _held(project, task)
    except SpecError as error:
        return error
    files = algorithm_files(_facts(project, task.target), variants, project.spec.vocabulary, project.root.settings)
    report = _algorithm_report(variants, files.artifacts)
    if held is not None:
        counts = (held.compiled, held.policies)
        report = evolve(report, warnings=(*report.warnings, *held.warnings), evidence=counts)
    return _Made(files, report)


def _engine_made(project: Project, task: _Task) -> _Made:
    """A module of the engine's tables. Raises SpecError where a common key has no policy: a contract is broken."""
    instance = project.target(task.target)
    target = instance.target
    tables = [project.spec.engine[name] for name in task.tables]
    made: dict[str, Variants] = {}
    problems: list[Problem] = []
    for table in tables:
        if not effect_of(table, instance).applicable:
            own = target.rules.get(table.name)
            if own is not None:
                reason = f"{task.target} does not have the backend of {table.name}: no policy of it could take effect"
                problems.append(Problem.at(own.location, f"rules.{table.name}", reason))
            continue
        try:
            variants = _variants(project, _Task(task.target, table.name))
        except SpecError as error:
            problems += error.problems
            continue
        for given, reason in (refused for v in variants.variants for refused in v.table.refused):
            problems.append(Problem.at(table.location, table.name, f"{task.target}, {_key(given)}: {reason}"))
        made[table.name] = variants
    if problems:
        raise SpecError(problems)
    module = engine_module(tables[0].name.partition(".")[0], instance, tables, made)
    files = engine_files(
        _facts(project, task.target), module, tuple(made.values()), project.spec.vocabulary, project.root.settings
    )
    rows = [row for variants in made.values() for variant in variants.variants for row in variant.table.rows]
    paths = tuple(sorted(str(artifact.path) for artifact in files.artifacts))
    distinct = len({(row.resolution.point_rule.location, row.policy) for row in rows})
    return _Made(files, AlgorithmReport(module.name, len(rows), distinct, (), paths, ()))


def _held(project: Project, task: _Task) -> Held | None:
    """The policies of a chip against the evidence that there is; None where there is none."""
    target = project.spec.targets.get(task.target)
    if target is not None and target.architectures:
        return None
    evidence = project.evidence(task.target, task.algorithm)
    if evidence is None:
        return None
    instance = project.target(task.target)
    proxy = instance.target.proxy
    compiled_as = instance if proxy is None else project.target(proxy.target)
    models = Models(rules_for(project.spec, compiled_as, task.algorithm))
    return held_against(project.resolver(task.target, task.algorithm), models, evidence)


def _members(project: Project, name: str) -> tuple[TargetInstance, ...]:
    """A target as it is on each architecture that its files answer for; one for a chip."""
    target = project.spec.targets.get(name)
    return family_members(target) if target is not None and target.architectures else (project.target(name),)


def _facts(project: Project, name: str) -> TargetFacts:
    members = _members(project, name)
    facts = members[0].facts if len(members) == 1 else common_facts(members)
    target = members[0].target
    tables = [project.spec.engine[table] for table in project.engine_tables(name)]
    backends = {
        t.engine.backend: absence(t.engine.backend, members[0]) for t in tables if t.engine and t.engine.backend
    }
    capability = members[0].capability if len(members) == 1 else None
    return TargetFacts(name, target.title, facts, target.devices, dict(sorted(backends.items())), capability)


def _variants(project: Project, task: _Task) -> Variants:
    """The programs of an algorithm with their common keys."""
    name, members = task.target, _members(project, task.target)
    programs = [(member.cc, program(rules_for(project.spec, member, task.algorithm))) for member in members]

    def table_of(made: Program) -> PolicyTable:
        return policy_table(Resolver(made.rules))

    return family(name, programs, table_of) if len(programs) > 1 else chip(programs[0][1], table_of(programs[0][1]))


def _algorithm_report(variants: Variants, artifacts: Sequence[Artifact]) -> AlgorithmReport:
    tables = [variant.table for variant in variants.variants]
    warnings = [f"{_key(given)}: no policy: {reason}" for table in tables for given, reason in table.refused]
    misfits: dict[str, dict[str, None]] = {}
    for row in (row for table in tables for row in table.rows):
        for step in row.resolution.trace:
            if isinstance(step, Reported):
                text = f"{row.resolution.origin}/{row.resolution.point}: {str(step).removeprefix('constrain: ')}"
                misfits.setdefault(text, {})[_key(row.given)] = None
    for text, keys in misfits.items():
        warnings.append(f"{text} ({_counted(len(keys), 'key')}, {next(iter(keys))} first)")
    name = variants.algorithm.name
    files = tuple(sorted(str(artifact.path) for artifact in artifacts))
    policies = dict.fromkeys(row.policy for table in tables for row in table.rows)
    addresses = tuple(policy_address(tables[0].target, name, policy) for policy in policies)
    told = tuple(dict.fromkeys(warnings))
    return AlgorithmReport(name, len(tables[0].rows), len(policies), addresses, files, told, _folds(variants))


def _folds(variants: Variants) -> FoldFigures | None:
    """How many kernels the common keys of a family need; None for a chip."""
    if not variants.is_family:
        return None
    policies: dict[str, dict[int, Record]] = {}
    for variant in variants.variants:
        for row in variant.table.rows:
            by_capability = policies.setdefault(_key(row.given), {})
            by_capability.update(dict.fromkeys(variant.covers, row.policy))
    answered = [p for p in policies.values() if len(p) == len(variants.architectures)]
    return fold_figures(variants.algorithm.name, variants.architectures, answered)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _key(given: Any) -> str:
    return ", ".join(f"{name}={value}" for name, value in given.items())
