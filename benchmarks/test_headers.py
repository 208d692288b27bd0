"""What a generated header adds to a translation unit, against CUB's own headers; in seconds of processor time."""

from __future__ import annotations

import resource
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from policygen.parity.toolchain import ToolchainMissing
from policygen.parity.toolchain import find_toolchain

ROOT = Path(__file__).parents[1]
INCLUDE = ROOT / "generated" / "include"
ALGORITHMS = ("reduce", "scan", "transform")


def processor_seconds() -> float:
    """What all processes that were started and have ended took: other programs do not count."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def compile_with(benchmark: Any, folder: Path, source: str, command: list[str]) -> None:
    file = folder / "main.cu"
    file.write_text(source, encoding="utf-8")
    done = subprocess.run
    benchmark.pedantic(done, args=([*command, str(file)],), kwargs={"check": True}, rounds=3)


@pytest.mark.parametrize("what", ["cub", "cub-and-standalone", "cub-form", "device", "device-and-form"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_nvcc(benchmark: Any, algorithm: str, what: str, tmp_path: Path) -> None:
    try:
        toolchain = find_toolchain()
    except ToolchainMissing as error:
        pytest.skip(str(error))
    benchmark._timer = processor_seconds
    benchmark.group = f"nvcc {algorithm}"
    own = (
        f"cub/device/device_{algorithm}"
        if what.startswith("device")
        else f"cub/device/dispatch/tuning/tuning_{algorithm}"
    )
    lines = [f"#include <{own}.cuh>"]
    if what == "cub-and-standalone":
        lines.append(f"#include <policygen/sm_90/tuning_{algorithm}.cuh>")
    elif what.endswith("form"):
        lines.append(f"#include <policygen/sm_90/cub_tuning_{algorithm}.cuh>")
    command = [str(toolchain.nvcc), "-std=c++17", "-arch=sm_90", f"-I{INCLUDE}", "-c", "-o", str(tmp_path / "main.o")]
    command += [f"-I{path}" for path in toolchain.includes]
    compile_with(benchmark, tmp_path, "\n".join([*lines, ""]), command)


@pytest.mark.parametrize("what", ["standard", "standalone"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_gxx(benchmark: Any, algorithm: str, what: str, tmp_path: Path) -> None:
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("there is no g++")
    benchmark._timer = processor_seconds
    benchmark.group = f"g++ {algorithm}"
    standard = "#include <cstdint>\n#include <cstdlib>\n#include <type_traits>\n#include <utility>\n"
    source = standard if what == "standard" else f"#include <policygen/sm_90/tuning_{algorithm}.cuh>\n"
    command = [compiler, "-std=c++17", "-x", "c++", f"-I{INCLUDE}", "-c", "-o", str(tmp_path / "main.o")]
    compile_with(benchmark, tmp_path, source, command)
