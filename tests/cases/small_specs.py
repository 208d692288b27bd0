"""Small specs for a case: the packaged vocabulary and NVIDIA family, and an algorithm and targets of the test's own."""

from __future__ import annotations

import shutil
from functools import cached_property
from pathlib import Path
from typing import Any

from policygen.build import build
from policygen.loading.project_root import find_project
from policygen.loading.spec_files import SpecFile
from policygen.loading.spec_files import load_spec
from policygen.loading.spec_files import spec_files
from policygen.model.problems import SpecError
from policygen.model.record import Record
from policygen.project import Project
from policygen.resolve.instance import target_instance
from policygen.resolve.resolver import Resolution
from policygen.resolve.resolver import Resolver
from policygen.resolve.specialise import rules_for
from policygen.resolve.witness import problems_of
from policygen.resolve.witness import reachability
from policygen.resolve.witness import reference_reachability
from policygen.spec import Spec

SPECS = Path(__file__).parents[2] / "specs"

COPY = """
name  = "copy"
title = "Copy"
[struct.CopyPolicy]
threads_per_block = { type = "int32", role = "threads" }
items_per_thread  = { type = "int32", role = "items" }
vec_size          = { type = "int32", role = "vector", default = 1 }
load_modifier     = { type = "CacheLoadModifier", default = "LOAD_DEFAULT" }
[policy]
struct = "CopyPolicy"
[key.element_t]
type = "type_t"
[key.size]
type = "int32"
range = [1, 65536]
default = "element(element_t).size"
[key.offset_size]
type = "int32"
values = [4, 8]
default = "4"
[common]
element_t = ["int8", "int16", "int32", "int64"]
offset_size = [4, 8]
"""
"""An algorithm with a flat policy."""


class SmallSpecs:
    """A folder of specs that a test writes file by file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "specs"
        self.folder.mkdir(parents=True)
        shutil.copy(SPECS / "vocabulary.toml", self.folder)
        self.write("targets/sm.toml", (SPECS / "targets" / "sm.toml").read_text(encoding="utf-8"))

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def algorithm(self, text: str, name: str = "copy") -> None:
        self.write(f"algorithms/{name}.toml", text)

    def ladder(self, points: str, name: str = "copy", base: str = "") -> None:
        """The reference's one ladder for an algorithm."""
        head = f'algorithm = "{name}"\n[[ladder]]\nid = "rungs"\n'
        self.write(
            f"references/cccl-3.5/{name}.toml", f"{head}{f'[ladder.base]{chr(10)}{base}' if base else ''}{points}"
        )

    def chip(self, name: str, facts: dict[str, Any], rest: str = "", cc: str = "9.0") -> None:
        """A target of its own with every pass, which reads the reference as a capability."""
        lines = [f'name = "{name}"', f'reference = {{ name = "cccl-3.5", cc = "{cc}" }}', rest, "[features]"]
        lines += [f"{feature} = true" for feature in load_spec_features(self.folder)]
        for fact, value in facts.items():
            lines += [f"[fact.{fact}]", f"[[fact.{fact}.reading]]", f"value = {value!r}".replace("'", '"')]
            lines += ['kind = "documented"', "date = 2026-01-01", 'source = "data sheet"']
        self.write(f"targets/{name}.toml", "\n".join(lines) + "\n")

    def load(self) -> Spec:
        return load_spec(spec_files([(self.folder, "specs/")]))

    def problems(self) -> list[str]:
        """What loading finds, or else what the search for witnesses does: a line each."""
        try:
            spec = self.load()
        except SpecError as error:
            return [str(problem) for problem in error.problems]
        findings = list(reference_reachability(spec, "cccl-3.5", spec.targets["sm"]))
        for target in spec.targets.values():
            findings += reachability(spec, target)
        return [str(problem) for problem in problems_of(findings)]

    def resolver(self, target: str, algorithm: str = "copy") -> Resolver:
        spec = self.load()
        return Resolver(rules_for(spec, target_instance(spec, target), algorithm))

    def resolve(self, target: str, algorithm: str = "copy", **key: Any) -> Resolution:
        return self.resolver(target, algorithm).resolve(key)

    def policy(self, target: str, algorithm: str = "copy", **key: Any) -> Record:
        return self.resolve(target, algorithm, **key).policy

    @property
    def project(self) -> Project:
        """The folder as a project, without the packaged specs."""
        (self.folder.parent / "policygen.toml").write_text(
            '[project]\ntargets = ["sm_90"]\ntables_package = "tables"\n'
        )
        return _SmallProject(find_project(self.folder.parent))

    def files(self, *targets: str) -> dict[str, str]:
        """The generated files of targets by path."""
        return {str(artifact.path): artifact.content.decode() for artifact in build(self.project, targets).artifacts}

    def generate(self, *targets: str) -> Path:
        """Writes the generated files of targets; returns their folder."""
        output = self.folder.parent / "generated"
        for name, text in self.files(*targets).items():
            path = output / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return output


class _SmallProject(Project):
    @cached_property
    def files(self) -> tuple[SpecFile, ...]:
        return spec_files([(self.root.specs, "specs/")])


def load_spec_features(folder: Path) -> tuple[str, ...]:
    """The features that a vocabulary names."""
    return tuple(load_spec(spec_files([(folder, "specs/")])).vocabulary.features)


def told(resolution: Resolution) -> list[str]:
    """The trace as text."""
    return [str(step) for step in resolution.trace]
