"""The project that proofs are made of."""

from __future__ import annotations

from pathlib import Path

import pytest

from policygen.project import Project
from policygen.project import load


@pytest.fixture(scope="session")
def packaged() -> Project:
    """The project of this repository."""
    return load(Path(__file__).parents[2])
