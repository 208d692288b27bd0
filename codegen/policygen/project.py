"""A project: its specs, read once, and what can be asked of them. The library's front door."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any
from typing import TypeAlias

from policygen.loading.about import built_on
from policygen.loading.package_data import data_dir
from policygen.loading.project_root import ProjectRoot
from policygen.loading.project_root import find_project
from policygen.loading.spec_files import SpecFile
from policygen.loading.spec_files import load_spec
from policygen.loading.spec_files import spec_files
from policygen.loading.toml_source import TomlSource
from policygen.loading.toml_source import read_toml
from policygen.model.problems import Problem
from policygen.model.problems import SpecError
from policygen.model.problems import did_you_mean
from policygen.prove.evidence import Evidence
from policygen.prove.evidence import evidence_path
from policygen.prove.evidence import read_evidence
from policygen.resolve.instance import TargetInstance
from policygen.resolve.instance import UnknownTarget
from policygen.resolve.instance import target_instance
from policygen.resolve.resolver import Resolution
from policygen.resolve.resolver import Resolver
from policygen.resolve.specialise import rules_for
from policygen.spec import Algorithm
from policygen.spec import Spec

_Assumed: TypeAlias = tuple[tuple[str, str], ...]


class UnknownAlgorithm(ValueError):  # noqa: N818 - it says what the name is
    """No algorithm has that name; the message names the nearest."""


class Project:
    """The specs of a folder with a `policygen.toml`, together with the packaged ones.

    A file of the project hides the packaged file of the same name. Specs are read once, when they are first needed;
    open the project again to see what has changed since.

    Attributes:
        root: the project's folder and settings.
    """

    def __init__(
        self,
        root: ProjectRoot,
        *,
        shown_specs: str | None = None,
        packaged: Path | None = None,
        only: frozenset[str] | None = None,
    ) -> None:
        """Opens a project; `load` finds the root.

        Args:
            root: the project's folder and settings.
            shown_specs: how people see the folder of its specs; by default from where they are.
            packaged: the folder of the specs that count where the project has none of its own; the installed ones by
                default.
            only: the algorithms and tables of an engine that are asked about; None for all.
        """
        self.root = root
        self._only = only
        self._shown_specs = shown_specs
        self._packaged = packaged
        self._instances: dict[tuple[str, _Assumed], TargetInstance] = {}
        self._resolvers: dict[tuple[str, str, _Assumed], Resolver] = {}
        self._evidence: dict[tuple[str, str], Evidence | None] = {}

    @cached_property
    def files(self) -> tuple[SpecFile, ...]:
        """The spec files that count."""
        packaged = self.packaged_specs
        own = self.root.specs
        folders = [(own, f"{self._shown_specs or _shown(own)}/")] if own.is_dir() else []
        if not (own.is_dir() and own.resolve() == packaged.resolve()):
            folders.append((packaged, "policygen/specs/"))
        return spec_files(folders)

    @property
    def packaged_specs(self) -> Path:
        """The folder of the specs that count where the project has none of its own."""
        return data_dir("specs") if self._packaged is None else self._packaged

    def in_place_of(self, project: Project) -> Project:
        """This project, at another revision of one that lies elsewhere: messages name the files of that one.

        Where that project's own specs are the packaged ones, as in policygen's repository, this one's are its own.
        """
        whole = project.root.specs.resolve() == project.packaged_specs.resolve()
        packaged = self.root.specs if whole else project.packaged_specs
        return Project(self.root, shown_specs=_shown(project.root.specs), packaged=packaged)

    def about(self, algorithm: str) -> Project:
        """This project for questions about one algorithm, or table of an engine, alone.

        Its specs hold that one, what it builds on, and every target: they are read in a fraction of the time. Problems
        of other files are not found. A project whose specs are read, and one where that takes reading all, stays as
        it is.

        Args:
            algorithm: its name.
        """
        only = None if "spec" in self.__dict__ else built_on(algorithm, [file.path for file in self.files])
        if only is None:
            return self
        return Project(self.root, shown_specs=self._shown_specs, packaged=self._packaged, only=only)

    @cached_property
    def sources(self) -> Mapping[str, TomlSource]:
        """The spec files as they were read, by the names that people see. Raises SpecError."""
        return {file.name: read_toml(file.path, file.name) for file in self.files}

    @cached_property
    def spec(self) -> Spec:
        """Everything that the files say, of a project about one algorithm what it needs.

        Raises:
            SpecError: with every problem found.
        """
        return load_spec(self.files) if self._only is None else load_spec(self.files, self._only)

    def evidence(self, target: str, algorithm: str) -> Evidence | None:
        """What the compiler said of an algorithm's policies on a target: the project's file, else the packaged one.

        Args:
            target: name of the target, as its folder of generated files is called.
            algorithm: name of the algorithm.

        Returns:
            None where nothing was compiled.

        Raises:
            SpecError: the file is not what `policygen prove` writes.
        """
        asked = (target, algorithm)
        if asked not in self._evidence:
            own, packaged = self.root.specs, self.packaged_specs
            found = read_evidence(evidence_path(own, target, algorithm), _shown(evidence_path(own, target, algorithm)))
            if found is None and own.resolve() != packaged.resolve():
                path = evidence_path(packaged, target, algorithm)
                found = read_evidence(path, f"policygen/specs/{path.relative_to(packaged).as_posix()}")
            self._evidence[asked] = found
        return self._evidence[asked]

    @cached_property
    def listed_targets(self) -> tuple[str, ...]:
        """The targets that `policygen.toml` lists, by the names of their folders, each once.

        Raises:
            SpecError: the specs are wrong, or a name is no target's: with its line, and the nearest name.
        """
        found: dict[str, None] = {}
        problems: list[Problem] = []
        for index, name in enumerate(self.root.settings.targets):
            try:
                found[self.target_name(name)] = None
            except UnknownTarget as error:
                problems.append(self.root.source.problem(("project", "targets", index), str(error)))
        if problems:
            raise SpecError(problems)
        return tuple(found)

    @cached_property
    def built_algorithms(self) -> tuple[str, ...]:
        """The algorithms that are built: those that `policygen.toml` lists, or all.

        Raises:
            SpecError: the specs are wrong, or a name is no algorithm's: with its line, and the nearest name.
        """
        listed = self.root.settings.algorithms
        problems: list[Problem] = []
        for index, name in enumerate(listed):
            if name not in self.spec.algorithms and name not in self.spec.engine:
                hint = did_you_mean(name, (*self.spec.algorithms, *self.spec.engine))
                path = ("project", "algorithms", index)
                problems.append(self.root.source.problem(path, f'unknown algorithm "{name}"{hint}'))
        if problems:
            raise SpecError(problems)
        return tuple(name for name in self.spec.algorithms if not listed or name in listed)

    def engine_tables(self, target: str) -> tuple[str, ...]:
        """The tables of the engine that are built for a target: all for a device, none for an architecture.

        How many multiprocessors there are decides grids, and only a device has a number of them. A project that lists
        algorithms builds no others, and lists tables by their names.

        Args:
            target: name of the target, as its folder of generated files is called.

        Raises:
            UnknownTarget, SpecError: see `target`.
        """
        found = self.spec.targets.get(target)
        if found is not None and found.architectures:
            return ()
        sm_count = self.target(target).facts.get("sm_count")
        if sm_count is None or sm_count.value is None:
            return ()
        listed = self.root.settings.algorithms
        return tuple(name for name in self.spec.engine if not listed or name in listed)

    def target(self, name: str, assumed: Mapping[str, str] | None = None) -> TargetInstance:
        """Finds a target by name.

        Args:
            name: `bi100`, say; an NVIDIA architecture in any spelling (`sm_90`, `90`, `9.0`, `sm_90a`).
            assumed: hardware facts to take instead of the specs', such as {"nvcc": "13.4"}.

        Raises:
            UnknownTarget: with the nearest names.
            ValueError: an assumed fact that is none, or whose value cannot be read.
            SpecError: the specs are wrong.
        """
        asked = (name, _sorted(assumed))
        if asked not in self._instances:
            self._instances[asked] = target_instance(self.spec, name, assumed)
        return self._instances[asked]

    def target_name(self, name: str) -> str:
        """The name of the folder of a target's files. Raises as `target`; but a family of architectures has one too."""
        found = self.spec.targets.get(name)
        return name if found is not None and found.architectures else self.target(name).name

    def algorithm(self, name: str) -> Algorithm:
        """Finds an algorithm, or a table of the engine. Raises UnknownAlgorithm, with the nearest, or SpecError."""
        try:
            return self.spec.described(name)
        except KeyError:
            hint = did_you_mean(name, (*self.spec.algorithms, *self.spec.engine))
            raise UnknownAlgorithm(f'unknown algorithm "{name}"{hint}') from None

    def resolver(self, target: str, algorithm: str, assumed: Mapping[str, str] | None = None) -> Resolver:
        """The resolver of an algorithm on a target, kept for the next key.

        Args:
            target: as `target` takes it.
            algorithm: `reduce`, say.
            assumed: as `target` takes it.

        Raises:
            UnknownTarget, UnknownAlgorithm: with the nearest names.
            ValueError: an assumed fact that is none, or whose value cannot be read.
            SpecError: the specs, or the rules for this target, are wrong.
        """
        self.algorithm(algorithm)
        instance = self.target(target, assumed)
        asked = (instance.name, algorithm, _sorted(assumed))
        if asked not in self._resolvers:
            self._resolvers[asked] = Resolver(rules_for(self.spec, instance, algorithm))
        return self._resolvers[asked]

    def resolve(self, target: str, algorithm: str, **key: Any) -> Resolution:
        """Resolves one key.

        Args:
            target: `bi100`, `sm_90` in any spelling, or another target's name.
            algorithm: `reduce`, say.
            key: key fields by name; those with a default may be left out. Enumerators are names, records are
                dictionaries, lists are sequences of them.

        Returns:
            The policy, its point and the trace of how it came about.

        Raises:
            UnknownTarget, UnknownAlgorithm, SpecError: see `resolver`.
            InvalidKey: the key is not of the declared domains.
            NoPolicy: no policy of the target works for the key.
        """
        return self.resolver(target, algorithm).resolve(key)


def load(path: str | os.PathLike[str] = ".") -> Project:
    """Opens the project that a folder belongs to.

    Args:
        path: a folder; it and the folders above it are searched for a `policygen.toml`, and the nearest counts.

    Raises:
        SpecError: there is no such folder or no project, or its `policygen.toml` is wrong. The specs themselves are
            read, and their problems raised, when they are first needed.
    """
    try:
        return Project(find_project(Path(path)))
    except RuntimeError as error:  # what pathlib answers to links that lead to each other
        problem = Problem(os.fspath(path), None, "", "cannot be followed: its links lead in a circle")
        raise SpecError([problem]) from error


def _sorted(assumed: Mapping[str, str] | None) -> _Assumed:
    return tuple(sorted((assumed or {}).items()))


def _shown(folder: Path) -> str:
    here = Path.cwd()
    return (folder.relative_to(here) if folder.is_relative_to(here) else folder).as_posix()
