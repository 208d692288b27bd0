"""A project of a test's own: the packaged specs, with files that hide or add to them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from policygen.build import Build
from policygen.build import build
from policygen.model.problems import SpecError
from policygen.project import Project
from policygen.project import load

SPECS = Path(__file__).parents[2] / "specs"


def packaged_text(name: str) -> str:
    """A packaged spec file, `engine/attention/decode.toml` say."""
    return (SPECS / name).read_text(encoding="utf-8")


def project(folder: Path, *, target: str = "bi100", tables: Sequence[str] = (), **files: str) -> Project:
    """A project that builds one target.

    Args:
        folder: an empty one.
        target: its name.
        tables: the algorithms and tables to build; all by default.
        files: text by path below specs/, with `__` for a slash: `engine__model` for specs/engine/model.toml.
    """
    listed = f"algorithms = {list(tables)!r}\n" if tables else ""
    (folder / "policygen.toml").write_text(f'[project]\ntargets = ["{target}"]\n{listed}', encoding="utf-8")
    for name, text in files.items():
        path = folder / "specs" / f"{name.replace('__', '/')}.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return load(folder)


def built(made: Project) -> Build:
    """All files of its targets."""
    return build(made, made.listed_targets, jobs=1)


def problems(made: Project) -> list[str]:
    """What a build of it complains of; empty where it complains of nothing."""
    try:
        built(made)
    except SpecError as error:
        return [str(problem).removeprefix(f"{made.root.folder}/") for problem in error.problems]
    return []
