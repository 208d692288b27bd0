"""All files of a target: headers, Python modules, and what binds them together."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import PurePosixPath

from attrs import field
from attrs import frozen

from policygen.emit.comparison import Artifact
from policygen.emit.cpp.expressions import identifier as cpp_identifier
from policygen.emit.cpp.header import CppHeader
from policygen.emit.cpp.header import cpp_header
from policygen.emit.cpp.tune_header import TuneHeader
from policygen.emit.cpp.tune_header import tune_header
from policygen.emit.python.module import PythonModule
from policygen.emit.python.module import python_module
from policygen.emit.python.plan_module import SUMMARY
from policygen.emit.python.plan_module import plan_module
from policygen.emit.templates import template
from policygen.emit.variants import Variants
from policygen.emit.wrapping import wrapped
from policygen.loading.project_root import ProjectSettings
from policygen.model.dimensions import format_value
from policygen.model.facts import Conflict
from policygen.model.facts import EffectiveFact
from policygen.spec import Algorithm
from policygen.spec import Vocabulary

FORMAT = 1
"""Version of the layout of generated files; it changes when the same specs give other text."""


@frozen
class TargetFacts:
    """What the files of a target say of it.

    Attributes:
        name: name of the target and of its folder.
        title: for people.
        facts: its effective facts; of a family those on which its architectures agree.
        devices: the names under which drivers report it.
        backends: what runs with tables of the engine, by name, and why it does not; empty where it does.
        capability: the packed compute capability that kernels are compiled for; None for a family of several, and for
            hardware that has none.
    """

    name: str
    title: str
    facts: Mapping[str, EffectiveFact]
    devices: tuple[str, ...] = ()
    backends: Mapping[str, str] = field(factory=dict)
    capability: int | None = None


@frozen
class AlgorithmFiles:
    """Headers and module of one algorithm, and what the target's other files say of them.

    Attributes:
        algorithm: its name in the specs; of a module of the engine's tables the module's.
        by_capability: whether a compute capability is part of what the module is asked.
        header: name of the header, as include lines have it; empty for a module of the engine's tables, which has none.

        module: name of the module.
        spec_hash: hash of all that decides the policies.
        artifacts: the files.
    """

    algorithm: str
    by_capability: bool
    header: str
    module: str
    spec_hash: str
    artifacts: tuple[Artifact, ...]


def algorithm_files(
    target: TargetFacts, variants: Variants, vocabulary: Vocabulary, settings: ProjectSettings
) -> AlgorithmFiles:
    """Makes the headers and the module of an algorithm; nothing is written.

    Args:
        target: whose files they are.
        variants: the algorithm's programs.
        vocabulary: definitions that headers share.
        settings: gives the name of the Python package.
    """
    return _TargetEmitter(target, vocabulary, settings).algorithm(variants)


def engine_files(
    target: TargetFacts,
    module: PythonModule,
    tables: Sequence[Variants],
    vocabulary: Vocabulary,
    settings: ProjectSettings,
) -> AlgorithmFiles:
    """Makes the file of a module of the engine's tables; nothing is written.

    Args:
        target: whose file it is.
        module: the module.
        tables: the programs in it, for the facts that they use.
        vocabulary: definitions that files share.
        settings: gives the name of the Python package.
    """
    return _TargetEmitter(target, vocabulary, settings).engine(module, tables)


def binding_files(
    target: TargetFacts,
    files: Sequence[AlgorithmFiles],
    algorithms: Mapping[str, Algorithm],
    vocabulary: Vocabulary,
    settings: ProjectSettings,
) -> tuple[Artifact, ...]:
    """Makes the files of a target that bind those of its algorithms together; nothing is written.

    Args:
        target: whose files they are.
        files: what was made of the algorithms.
        algorithms: all that the specs have, by name.
        vocabulary: definitions that modules share.
        settings: gives the name of the Python package.
    """
    return _TargetEmitter(target, vocabulary, settings).binding(files, algorithms)


def project_files(settings: ProjectSettings, version: str) -> tuple[Artifact, ...]:
    """The files that no target owns: what makes the Python tables a distribution."""
    text = template("python/pyproject.toml.j2").render(
        banner=_banner("all targets", "the distribution of the Python tables", "policygen build --all", ""),
        distribution=settings.tables_distribution,
        package=settings.tables_package,
        version=version,
    )
    return (Artifact(PurePosixPath("python/pyproject.toml"), text.encode(), "project"),)


class _TargetEmitter:
    def __init__(self, target: TargetFacts, vocabulary: Vocabulary, settings: ProjectSettings) -> None:
        self._target = target
        self._vocabulary = vocabulary
        self._settings = settings
        self._owner = f"target/{target.name}"
        self._command = f"policygen build --target {target.name}"
        self._folder = cpp_identifier(target.name)

    def algorithm(self, variants: Variants) -> AlgorithmFiles:
        module = python_module(variants)
        header = cpp_header(variants, self._vocabulary)
        artifacts = [
            self._header(header, variants, module.spec_hash),
            self._module(module, variants.algorithm.title, [variants]),
        ]
        form = tune_header(variants, self._vocabulary)
        if form is not None:
            artifacts.append(self._tune_header(form, variants, module.spec_hash))
        return AlgorithmFiles(
            algorithm=variants.algorithm.name,
            by_capability=variants.is_family,
            header=header.name,
            module=module.name,
            spec_hash=module.spec_hash,
            artifacts=tuple(artifacts),
        )

    def engine(self, module: PythonModule, tables: Sequence[Variants]) -> AlgorithmFiles:
        title = f"what an engine reads for {module.name}"
        artifact = self._module(module, title, tables)
        return AlgorithmFiles(
            algorithm=module.name,
            by_capability=False,
            header="",
            module=module.name,
            spec_hash=module.spec_hash,
            artifacts=(artifact,),
        )

    def binding(self, files: Sequence[AlgorithmFiles], algorithms: Mapping[str, Algorithm]) -> tuple[Artifact, ...]:
        # only the engine's tables have units, which tell what may stand for what
        of_engine = any(not one.header for one in files)
        return (
            self._umbrella(files),
            self._package(files),
            self._plan(files, algorithms),
            self._runtime(),
            *((self._install(),) if of_engine else ()),
            self._typed(),
        )

    def _artifact(self, path: str, text: str) -> Artifact:
        return Artifact(PurePosixPath(path), text.encode(), self._owner)

    def _header(self, header: CppHeader, variants: Variants, spec_hash: str) -> Artifact:
        text = template("cuda/tuning.cuh.j2").render(
            banner=[
                *_banner(self._target.name, variants.algorithm.title, self._command, spec_hash),
                *self._notes([variants]),
            ],
            header=header,
            guard=header.guard,
            definitions=header.definitions,
            namespace=header.namespace,
            inline_namespace=header.inline_namespace,
            spec_hash=spec_hash,
            body=header.body,
        )
        return self._artifact(f"include/policygen/{self._folder}/tuning_{header.name}.cuh", text)

    def _tune_header(self, form: TuneHeader, variants: Variants, spec_hash: str) -> Artifact:
        text = template("cuda/cub_tuning.cuh.j2").render(
            banner=[*_banner(self._target.name, variants.algorithm.title, self._command, spec_hash), *form.notes],
            header=form,
            definitions=form.definitions,
        )
        return self._artifact(f"include/policygen/{self._folder}/cub_tuning_{form.name}.cuh", text)

    def _umbrella(self, algorithms: Sequence[AlgorithmFiles]) -> Artifact:
        conflicts = [c for fact in self._target.facts.values() for c in fact.conflicts]
        text = template("cuda/umbrella.cuh.j2").render(
            banner=[*_banner(self._target.name, "all tunings", self._command, ""), *_conflict_lines(conflicts)],
            guard=f"POLICYGEN_{self._folder}_TUNING_CUH".upper(),
            names=[files.header for files in algorithms if files.header],
        )
        return self._artifact(f"include/policygen/{self._folder}/tuning.cuh", text)

    def _module(self, module: PythonModule, title: str, tables: Sequence[Variants]) -> Artifact:
        banner = [
            *_banner(self._target.name, title, self._command, module.spec_hash),
            *self._notes(tables),
        ]
        lines = [f"# {line}".rstrip() for line in banner]
        # long lines and one name an import line are what a generated table is
        text = "\n".join([*lines, "# ruff: noqa", *module.lines]) + "\n"
        return self._artifact(f"{self._python}/{module.name}.py", text)

    @property
    def _python(self) -> str:
        return f"python/{self._settings.tables_package}/{self._folder}"

    def _package(self, algorithms: Sequence[AlgorithmFiles]) -> Artifact:
        hardware = [
            (fact.name, fact.value, format_value(fact.dimension, fact.value), str(fact.kind.value))
            for fact in self._target.facts.values()
            if fact.value is not None and fact.kind is not None
        ]
        hashes = {files.module: files.spec_hash for files in algorithms}
        unknown = [(f.name, f.unknown or "not known") for f in self._target.facts.values() if f.value is None]
        text = template("python/__init__.py.j2").render(
            banner=_banner(self._target.name, "the package of all tables", self._command, ""),
            title=self._target.title,
            target=self._target.name,
            hashes=hashes,
            spec_hash=hashlib.sha256("\n".join(f"{n} {h}" for n, h in hashes.items()).encode()).hexdigest()[:16],
            devices=self._target.devices,
            backends=self._target.backends,
            hardware=hardware,
            unknown=unknown,
        )
        return self._artifact(f"{self._python}/__init__.py", text)

    def _plan(self, files: Sequence[AlgorithmFiles], algorithms: Mapping[str, Algorithm]) -> Artifact:
        by_capability = any(one.by_capability for one in files)
        module = plan_module(
            {one.algorithm: algorithms[one.algorithm] for one in files if one.header},
            capability=self._target.capability,
            by_capability=by_capability,
        )
        text = template("python/plan.py.j2").render(
            banner=_banner(self._target.name, "launch plans", self._command, ""),
            title=self._target.title,
            summary=SUMMARY,
            by_capability=by_capability,
            built_in=module.source.built_in,
            abstract=module.source.abstract,
            records=module.records,
            typing=module.source.typing,
            lines=(*module.source.runtime, *module.lines),
        )
        return self._artifact(f"{self._python}/plan.py", text)

    def _runtime(self) -> Artifact:
        table = self._vocabulary.scope.tables["element"]
        elements = [(str(keys[0]), values[0], values[1]) for keys, values in table.rows]
        text = template("python/_runtime.py.j2").render(
            banner=_banner(self._target.name, "what all tables share", self._command, ""), elements=elements
        )
        return self._artifact(f"{self._python}/_runtime.py", text)

    def _install(self) -> Artifact:
        text = template("python/install.py.j2").render(
            banner=_banner(self._target.name, "numbers of the tables in an engine's module", self._command, ""),
            package=self._settings.tables_package,
            folder=self._folder,
        )
        return self._artifact(f"{self._python}/install.py", text)

    def _typed(self) -> Artifact:
        return self._artifact(f"{self._python}/py.typed", "")

    def _notes(self, tables: Sequence[Variants]) -> list[str]:
        """The facts behind a file with their evidence, and what is in conflict or not known."""
        programs = [variant.program.rules for variants in tables for variant in variants.variants]
        names = sorted({name for rules in programs for name in rules.facts_used})
        facts = [self._target.facts[name] for name in names if name in self._target.facts]
        lines: list[str] = []
        for fact in facts:
            if fact.value is not None and fact.kind is not None:
                plausible = ", ".join(format_value(fact.dimension, v) for v in fact.plausible)
                also = f"; must hold for {plausible}" if len(fact.plausible) > 1 else ""
                lines.append(f"uses {fact.name} = {format_value(fact.dimension, fact.value)} ({fact.kind.value}{also})")
        unknown = dict.fromkeys(f"unknown: {c.id} needs {fact}" for rules in programs for c, fact in rules.unknown)
        lines += unknown if not any(variants.is_family for variants in tables) else ()
        return [part for line in lines for part in wrapped(line, "", "  ")] + _conflict_lines(
            [c for fact in facts for c in fact.conflicts]
        )


def _conflict_lines(conflicts: Sequence[Conflict]) -> list[str]:
    return [part for conflict in conflicts for part in wrapped(f"conflict: {conflict}", "", "  ")]


def _banner(target: str, title: str, command: str, spec_hash: str) -> list[str]:
    # the title comes third: in the first two lines of a Python file "coding:" would mean something
    return [
        f"Generated by policygen for {target}. Do not edit: change the specs, then run `{command}`.",
        f"Format {FORMAT}{f', spec hash {spec_hash}' if spec_hash else ''}.",
        title,
    ]
