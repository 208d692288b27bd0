"""Building, resolving, and what a header costs a translation unit."""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from policygen.project import load

ROOT = Path(__file__).parents[1]


def run(*arguments: str) -> None:
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "specs", tmp_path / "specs")
    shutil.copy(ROOT / "policygen.toml", tmp_path)
    return tmp_path


@pytest.mark.benchmark(group="build")
def test_cold(benchmark: Any, project: Path) -> None:
    def cold() -> None:
        for folder in ("generated", ".policygen"):
            shutil.rmtree(project / folder, ignore_errors=True)
        run("-m", "policygen.cli.main", "build", "--target", "bi100", "--project", str(project))

    benchmark.pedantic(cold, rounds=5, warmup_rounds=1)


@pytest.mark.benchmark(group="build")
def test_unchanged(benchmark: Any, project: Path) -> None:
    command = ("-m", "policygen.cli.main", "build", "--target", "bi100", "--project", str(project))
    run(*command)
    benchmark.pedantic(run, args=command, rounds=5, warmup_rounds=1)


@pytest.mark.benchmark(group="build")
def test_all_cold(benchmark: Any, project: Path) -> None:
    def cold() -> None:
        for folder in ("generated", ".policygen"):
            shutil.rmtree(project / folder, ignore_errors=True)
        run("-m", "policygen.cli.main", "build", "--all", "--project", str(project))

    benchmark.pedantic(cold, rounds=5, warmup_rounds=1)
    # kilobytes on Linux: the largest process of the build
    benchmark.extra_info["peak_memory_mb"] = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


@pytest.mark.benchmark(group="build")
def test_all_unchanged(benchmark: Any, project: Path) -> None:
    command = ("-m", "policygen.cli.main", "build", "--all", "--project", str(project))
    run(*command)
    benchmark.pedantic(run, args=command, rounds=5, warmup_rounds=1)


@pytest.mark.benchmark(group="build")
def test_python_with_its_command_line_library(benchmark: Any) -> None:
    benchmark.pedantic(run, args=("-c", "import click, attrs"), rounds=5, warmup_rounds=1)


KEYS: dict[str, dict[str, Any]] = {
    "reduce": {"accum_t": "float32", "operation_t": "plus", "offset_size": 4},
    "scan": {"input_type": "float32", "operation_t": "plus", "offset_size": 4},
    "transform": {"inputs": [{"value_type_size": 4}], "output": {"value_type_size": 4}},
}


@pytest.mark.benchmark(group="resolve")
@pytest.mark.parametrize("algorithm", KEYS)
def test_resolve(benchmark: Any, algorithm: str) -> None:
    resolver = load(ROOT).resolver("bi100", algorithm)
    benchmark(resolver.resolve, KEYS[algorithm])


@pytest.mark.benchmark(group="include")
@pytest.mark.parametrize("header", ["standard", "reduce", "scan", "transform"])
def test_include(benchmark: Any, header: str, tmp_path: Path) -> None:
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("there is no g++")
    source = tmp_path / "main.cpp"
    standard = "#include <cstdint>\n#include <cstdlib>\n#include <type_traits>\n#include <utility>\n"
    source.write_text(standard if header == "standard" else f"#include <policygen/bi100/tuning_{header}.cuh>\n")
    command = [compiler, "-std=c++17", f"-I{ROOT / 'generated' / 'include'}", "-fsyntax-only", str(source)]
    benchmark.pedantic(subprocess.run, args=(command,), kwargs={"check": True}, rounds=5, warmup_rounds=1)
