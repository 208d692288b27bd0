"""Specs that a case writes itself, and the packaged ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from cases.small_specs import SmallSpecs
from policygen.project import Project
from policygen.project import load

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def specs(tmp_path: Path) -> SmallSpecs:
    return SmallSpecs(tmp_path)


@pytest.fixture(scope="session")
def packaged() -> Project:
    """The project of this repository."""
    return load(REPOSITORY)
