"""A project: its specs, read once, and what can be asked of them. The library's front door."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from policygen.load.package_data import data_dir
from policygen.load.project_root import ProjectRoot
from policygen.load.project_root import find_project
from policygen.load.spec_files import SpecFile
from policygen.load.spec_files import load_spec
from policygen.load.spec_files import spec_files
from policygen.model.problems import did_you_mean
from policygen.resolve.instance import TargetInstance
from policygen.resolve.instance import target_instance
from policygen.resolve.resolver import Resolution
from policygen.resolve.resolver import Resolver
from policygen.resolve.specialise import rules_for
from policygen.spec import Spec


class UnknownAlgorithm(ValueError):  # noqa: N818 - it says what the name is
    """No algorithm has that name; the message names the nearest."""


class Project:
    """The specs of a folder with a `policygen.toml`, together with the packaged ones.

    A file of the project hides the packaged file of the same name.
    """

    def __init__(self, root: ProjectRoot) -> None:
        """Reads nothing yet; `spec` does."""
        self.root = root
        self._resolvers: dict[tuple[str, str, tuple[tuple[str, str], ...]], Resolver] = {}

    @cached_property
    def files(self) -> tuple[SpecFile, ...]:
        """The spec files that count."""
        packaged = data_dir("specs")
        own = self.root.specs
        folders = [(own, f"{_shown(own)}/")] if own.is_dir() else []
        if not (own.is_dir() and own.resolve() == packaged.resolve()):
            folders.append((packaged, "policygen/specs/"))
        return spec_files(folders)

    @cached_property
    def spec(self) -> Spec:
        """Everything that the files say. Raises SpecError with every problem found."""
        return load_spec(self.files)

    def target(self, name: str, assumed: Mapping[str, str] | None = None) -> TargetInstance:
        """A target by name. Raises UnknownTarget, or ValueError for an assumed fact that is none."""
        return target_instance(self.spec, name, assumed)

    def resolver(self, target: str, algorithm: str, assumed: Mapping[str, str] | None = None) -> Resolver:
        """The resolver of an algorithm on a target, kept for the next key.

        Raises:
            UnknownTarget, UnknownAlgorithm: with the nearest names.
            SpecError: the specs, or the rules for this target, are wrong.
        """
        if algorithm not in self.spec.algorithms:
            hint = did_you_mean(algorithm, tuple(self.spec.algorithms))
            raise UnknownAlgorithm(f'unknown algorithm "{algorithm}"{hint}')
        asked = (target, algorithm, tuple(sorted((assumed or {}).items())))
        if asked not in self._resolvers:
            self._resolvers[asked] = Resolver(rules_for(self.spec, self.target(target, assumed), algorithm))
        return self._resolvers[asked]

    def resolve(self, target: str, algorithm: str, **key: Any) -> Resolution:
        """Resolves one key.

        Args:
            target: `bi100`, `sm_90` in any spelling, or another target's name.
            algorithm: `reduce`, say.
            key: key fields by name; those with a default may be left out.

        Raises:
            UnknownTarget, UnknownAlgorithm, SpecError: see `resolver`.
            InvalidKey: the key is not of the declared domains.
            NoPolicy: no policy of the target works for the key.
        """
        return self.resolver(target, algorithm).resolve(key)


def load(path: str | Path = ".") -> Project:
    """Opens the project that a folder belongs to. Raises SpecError if there is none, or its settings are wrong."""
    return Project(find_project(Path(path)))


def _shown(folder: Path) -> str:
    here = Path.cwd()
    return (folder.relative_to(here) if folder.is_relative_to(here) else folder).as_posix()
