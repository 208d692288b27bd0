"""Case E-1: tables are found by the whole name of a device, and what is missing is said once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from engine.engine_project import packaged_text
from engine.engine_project import problems
from engine.engine_project import project
from policygen.build import build

FIND = """
import sys, warnings
sys.path.insert(0, sys.argv[1])
from policygen_tables import bi100
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    print(bi100.tables_for(sys.argv[2]).__name__, len(caught))
    for warning in caught:
        print(warning.message)
"""


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables of several devices beside each other."""
    folder = tmp_path_factory.mktemp("devices")
    made = project(folder, tables=["topk"])
    for artifact in build(made, ["bi100", "h200", "t4", "sm_90"], jobs=1).artifacts:
        path = folder / artifact.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(artifact.content)
    return folder / "python"


def find(packages: Path, name: str) -> list[str]:
    command = [sys.executable, "-I", "-S", "-c", FIND, str(packages), name]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.mark.parametrize(
    ("name", "package"), [("NVIDIA H200", "h200"), ("Tesla T4", "t4"), ("Iluvatar BI-V100", "bi100")]
)
def test_the_whole_name_decides(packages: Path, name: str, package: str) -> None:
    assert find(packages, name) == [f"policygen_tables.{package} 0"]


@pytest.mark.parametrize(
    "name",
    [
        *("NVIDIA H200 NVL", "NVIDIA H20-3e", "NVIDIA H20", "NVIDIA H2000", "nvidia h200"),
        *("Orin (nvgpu)", "Intel(R) Arc(TM) Pro B60 Graphics", "AMD Instinct MI300X", "Tesla T40", ""),
    ],
)
def test_a_name_that_no_table_has_is_said_with_all_that_were_looked_at(packages: Path, name: str) -> None:
    package, warning = find(packages, name)
    assert package == "policygen_tables.bi100 1"
    assert warning == (
        f"no tables for {name!r}: those of bi100 are taken. Looked at policygen_tables.bi100 (Iluvatar BI-V100); "
        "policygen_tables.h200 (NVIDIA H200); policygen_tables.sm_90 (no device); policygen_tables.t4 (Tesla T4). "
        "Build a target whose `devices` have this name."
    )


def test_two_targets_cannot_have_one_device(tmp_path: Path) -> None:
    own = packaged_text("targets/t4.toml").replace("Tesla T4", "NVIDIA H200")
    found = problems(project(tmp_path, tables=["topk"], targets__t4=own))
    assert [line for line in found if 'devices[0]: "NVIDIA H200" is a device of h200 already' in line]
