"""What the engine's tests share: the examples on the path, and tables of a chip and of an NVIDIA device."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from policygen.build import build
from policygen.project import load

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "engine"

# Triton looks at it when it is imported: its own functions are compiled or interpreted, too.
os.environ["TRITON_INTERPRET"] = "1"
sys.path += [str(EXAMPLES), str(ROOT / "generated" / "python")]


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)  # the tensors are small, and other tests run beside these
    yield
    torch.set_num_threads(before)


def built_tables(folder: Path, target: str, tables: Sequence[str]) -> Path:
    """Builds tables of a target with the project in a folder, and returns where to import `policygen_tables` from."""
    listed = ", ".join(f'"{name}"' for name in tables)
    (folder / "policygen.toml").write_text(f'[project]\ntargets = ["{target}"]\nalgorithms = [{listed}]\n')
    for artifact in build(load(folder), [target], jobs=1).artifacts:
        path = folder / artifact.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(artifact.content)
    return folder / "python"


@pytest.fixture(scope="session")
def device_tables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder to import `policygen_tables.h200` from, built of the specs; it is on the path."""
    found = built_tables(tmp_path_factory.mktemp("h200"), "h200", load(ROOT).engine_tables("h200"))
    sys.path.append(str(found))
    yield found
    sys.path.remove(str(found))


@pytest.fixture(scope="session", params=["bi100", "h200"])
def target(request: pytest.FixtureRequest, device_tables: Path) -> ModuleType:
    """The tables of a target."""
    assert device_tables.is_dir()
    return import_module(f"policygen_tables.{request.param}")


@pytest.fixture(scope="session")
def tables() -> Any:
    """`policygen_tables.bi100`, as it is checked in."""
    return import_module("policygen_tables.bi100")


@pytest.fixture
def attention(tables: Any) -> Any:
    """Its module of that name."""
    return tables.attention
