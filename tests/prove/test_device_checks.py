"""The checks of the programs that run on a GPU, tried on the host with a CUB that is written down in loops.

`host/fake_cub.cuh` has the algorithms, and a way to spoil what comes out; the cases and their checks are those that are
shipped. A check that finds nothing wrong with a wrong result would prove nothing on a GPU.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from policygen.loading.package_data import data_dir
from policygen.parity.toolchain import Toolchain
from policygen.parity.toolchain import ToolchainMissing
from policygen.parity.toolchain import find_toolchain
from policygen.prove.device_program import runnable

pytestmark = [pytest.mark.slow, pytest.mark.cuda]

HOST = Path(__file__).parent / "host"

NOTHING_TO_SPOIL = 1
"""Up to this size a result may be empty: a selection of one item, say."""

PROGRAM = """
#include <fake_cub.cuh>
namespace policygen::prove
{
namespace target = ::policygen::fake;
class runner;
void cases(runner& run);
}
#include <NAME.cuh>
int main(int argc, char** argv)
{
  return policygen::prove::runner({"fake", "NAME", false}).main(argc, argv, policygen::prove::cases);
}
"""


@pytest.fixture(scope="module")
def toolchain() -> Toolchain:
    try:
        return find_toolchain()
    except ToolchainMissing as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="module", params=runnable())
def built(request: pytest.FixtureRequest, toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program of an algorithm, for the host."""
    folder = tmp_path_factory.mktemp(request.param)
    source = folder / "program.cpp"
    source.write_text(PROGRAM.replace("NAME", request.param), encoding="utf-8")
    # CCCL's headers want the toolkit's, which lie above them or beside them
    includes = [HOST, data_dir("templates") / "prove" / "run", *toolchain.includes, toolchain.include.parent]
    compiler = shutil.which("g++")
    assert compiler is not None
    command = [compiler, "-std=c++17", "-O1", "-Wall", "-Wextra", *(f"-I{each}" for each in includes)]
    result = subprocess.run(
        [*command, str(source), "-o", str(folder / "program")], capture_output=True, text=True, check=False
    )
    assert (result.returncode, result.stderr) == (0, "")
    return folder / "program"


def runs(program: Path, fault: str = "") -> tuple[int, list[Mapping[str, Any]]]:
    result = subprocess.run(
        [str(program), "--quick"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PROVE_FAULT": fault},
    )
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    return result.returncode, [line for line in lines if line["line"] == "run"]


def test_right_results_pass(built: Path) -> None:
    status, found = runs(built)
    assert [line for line in found if line["status"] == "failed"] == []
    assert status == 0
    assert {line["items"] for line in found if line["status"] == "passed"} >= {1}


def test_one_wrong_item_fails(built: Path) -> None:
    status, found = runs(built, "one_item")
    passed = [line for line in found if line["status"] == "passed" and line["items"] > NOTHING_TO_SPOIL]
    assert passed == []
    assert status == 1
    for line in (line for line in found if line["status"] == "failed"):
        assert line["what"]
        assert line["expected"] != line["got"]


def test_a_tuning_that_gets_lost_fails(built: Path) -> None:
    status, found = runs(built, "ignored")
    passed = [line for line in found if line["status"] == "passed" and line["items"] > 0]
    assert passed == []
    assert status == 1
    assert all("threads" in line["what"] or line["what"] == "launches" for line in found if line["status"] == "failed")
