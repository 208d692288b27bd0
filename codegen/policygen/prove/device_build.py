"""Writes the programs of a target with all that they include, and compiles them."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from collections.abc import Iterator
from collections.abc import Sequence
from pathlib import Path

from attrs import frozen

from policygen.build import build
from policygen.emit.cpp.tune_header import FEATURE
from policygen.loading.package_data import data_dir
from policygen.loading.project_root import PROJECT_FILE
from policygen.loading.targets import present
from policygen.parity.toolchain import Toolchain
from policygen.parity.toolchain import fingerprint
from policygen.project import Project
from policygen.project import load
from policygen.prove.compiler_report import first_error
from policygen.prove.device_program import Program
from policygen.prove.device_program import compile_command
from policygen.prove.device_program import compile_flags
from policygen.prove.device_program import runnable
from policygen.prove.device_program import scripts
from policygen.prove.device_program import shared_files
from policygen.prove.device_program import shifted


class NotRunnable(Exception):  # noqa: N818 - it says what the target is
    """CUB does not run with the policies of a target on any GPU; the message says why."""


@frozen
class Prepared:
    """Programs in a folder, with all that they include.

    Attributes:
        folder: where they lie.
        target: whose policies they use.
        architecture: what they are compiled for, "sm_90".
        programs: with the target's policies first, then with those of its shifted twin.
    """

    folder: Path
    target: str
    architecture: str
    programs: tuple[Program, ...]


@frozen
class NotCompiled:
    """What the compiler says of a program that it rejects, in one line."""

    said: str


def runnable_algorithms(project: Project) -> tuple[str, ...]:
    """The algorithms of a project that can be run: those that there are programs for."""
    known = runnable()
    return tuple(name for name in project.built_algorithms if name in known)


def prepare(project: Project, name: str, algorithms: Sequence[str], folder: Path) -> Prepared:
    """Writes the programs of a target.

    The same specs give the same files.

    Args:
        project: where the specs are.
        name: a chip or an architecture of NVIDIA's, in any spelling.
        algorithms: by name; there is a program for each.
        folder: where to; made if needed. Files of the same names are replaced.

    Raises:
        UnknownTarget, SpecError: see `Project.target`.
        NotRunnable: the target is no NVIDIA GPU, or has no form for CUB.
    """
    instance = project.target(name)
    if instance.target.proxy is not None or not present(instance.target, FEATURE, instance.cc):
        raise NotRunnable(f"{instance.name}: CUB runs with the policies of NVIDIA's chips and architectures alone")
    twin = shifted(instance)
    programs = (
        *(Program(instance.name, algorithm, brief=False) for algorithm in algorithms),
        *(Program(twin.name, algorithm, brief=True) for algorithm in algorithms),
    )
    architecture = f"sm_{instance.cc}"
    files = dict(_headers(project, instance.name, algorithms))
    files |= dict(_headers(_twin_project(project, twin.name, twin.spec, algorithms, folder), twin.name, algorithms))
    files |= {path.as_posix(): content for path, content in shared_files()}
    files |= {f"{program.name}.cu": program.text.encode() for program in programs}
    files |= {name: text.encode() for name, text in scripts(instance.name, programs, architecture)}
    for path, content in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.is_file() or file.read_bytes() != content:
            file.write_bytes(content)
        if file.suffix == ".sh":
            file.chmod(0o755)
    return Prepared(folder, instance.name, architecture, programs)


def compiled_program(prepared: Prepared, toolchain: Toolchain, program: Program) -> Path | NotCompiled:
    """Compiles a program, or gives the one that was made before of the same files with the same compiler."""
    built = prepared.folder / f"{program.name}-{_digest(prepared, toolchain, program)}"
    if built.is_file():
        return built
    staged = built.with_suffix(".new")
    command = compile_command(program, toolchain, prepared.architecture, staged.name)
    result = subprocess.run(command, cwd=prepared.folder, capture_output=True, text=True, errors="replace", check=False)
    if result.returncode != 0:
        return NotCompiled(first_error(result.stderr + result.stdout))
    staged.replace(built)
    return built


def _headers(project: Project, target: str, algorithms: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """The generated headers of some algorithms, by their paths below the folder of programs."""
    made = build(project, [target], jobs=1)
    wanted = {path for report in made.reports[0].algorithms if report.algorithm in algorithms for path in report.files}
    for artifact in made.artifacts:
        path = artifact.path.as_posix()
        if path in wanted and path.startswith("include/"):
            yield path, artifact.content


def _twin_project(project: Project, name: str, spec: str, algorithms: Sequence[str], folder: Path) -> Project:
    """The project's specs and one more, in a folder of its own."""
    root = folder / "shifted"
    shutil.rmtree(root, ignore_errors=True)
    own = project.root.specs
    if own.is_dir() and own.resolve() != data_dir("specs").resolve():
        shutil.copytree(own, root / "specs", ignore=shutil.ignore_patterns("evidence"))
    file = root / "specs" / "targets" / f"{name}.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(spec, encoding="utf-8")
    listed = ", ".join(f'"{algorithm}"' for algorithm in algorithms)
    text = f'[project]\ntargets = ["{name}"]\nalgorithms = [{listed}]\n'
    (root / PROJECT_FILE).write_text(text, encoding="utf-8")
    return load(root)


def _digest(prepared: Prepared, toolchain: Toolchain, program: Program) -> str:
    digest = hashlib.sha256()
    for part in (program.text, *compile_flags(prepared.architecture), fingerprint(toolchain)):
        digest.update(part.encode() + b"\0")
    for folder in ("include", "run"):
        for file in sorted((prepared.folder / folder).rglob("*.cuh")):
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]
