"""Targets under review, and projects whose specs say something else."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from typing import TypeAlias

import pytest

from policygen.project import Project
from policygen.project import load
from policygen.review.section import Section
from policygen.review.subject import Subject
from policygen.review.subject import subject

REPOSITORY = Path(__file__).parents[2]

Edited: TypeAlias = Callable[[str, str, str], Project]


@pytest.fixture(scope="session")
def packaged() -> Project:
    return load(REPOSITORY)


def every_name(project: Project) -> tuple[str, ...]:
    return (*project.spec.algorithms, *project.spec.engine)


@pytest.fixture(scope="session")
def bi100(packaged: Project) -> Subject:
    return subject(packaged, "bi100", every_name(packaged))


@pytest.fixture(scope="session")
def sm_90(packaged: Project) -> Subject:
    return subject(packaged, "sm_90", every_name(packaged))


@pytest.fixture
def edited(tmp_path: Path) -> Edited:
    """A project with the packaged specs, in which a file says something else."""

    def edit(file: str, old: str, new: str) -> Project:
        shutil.copytree(REPOSITORY / "specs", tmp_path / "specs", dirs_exist_ok=True)
        shutil.copy(REPOSITORY / "policygen.toml", tmp_path)
        path = tmp_path / "specs" / file
        text = path.read_text(encoding="utf-8")
        assert text.count(old) == 1
        path.write_text(text.replace(old, new), encoding="utf-8")
        # as in policygen's own repository: the specs of the folder are all there are
        return Project(load(tmp_path).root, packaged=tmp_path / "specs")

    return edit


def rows_of(section: Section | None) -> list[dict[str, Any]]:
    """The rows of a section that has to be there, as data."""
    assert section is not None
    for row in section.rows:
        assert len(row.cells) == len(section.columns)
    return [dict(row.data) for row in section.rows]
