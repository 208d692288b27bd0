"""The generated tables of this repository, as an engine imports them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

TABLES = Path(__file__).parents[2] / "generated" / "python"


@pytest.fixture(scope="session")
def tables() -> Iterator[Any]:
    """`policygen_tables.bi100`."""
    sys.path.insert(0, str(TABLES))
    yield import_module("policygen_tables.bi100")
    sys.path.remove(str(TABLES))


@pytest.fixture
def attention(tables: ModuleType) -> Any:
    """Its module of that name."""
    return tables.attention
