"""The files of a family of architectures: one header and one module, the capability chosen where they are used."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from compilers import WARNINGS
from compilers import HostCompiler
from compilers import host_compilers
from emit.host_main import encoded_key
from emit.host_main import encoded_policy
from emit.host_main import host_main
from policygen.build import build
from policygen.emit.writer import apply
from policygen.emit.writer import plan
from policygen.parity.random_keys import random_keys
from policygen.project import Project
from policygen.project import load

ROOT = Path(__file__).parents[2]
ALGORITHMS = ("reduce", "scan", "segmented_reduce", "transform", "radix_sort")
KEYS = 60
# 5.2, 8.7 and 11.0 are not listed: they have the policies of 5.0, 8.6 and 10.3
CAPABILITIES = {50: 50, 52: 50, 60: 60, 75: 75, 80: 80, 86: 86, 87: 86, 90: 90, 100: 100, 103: 103, 110: 103, 121: 121}


@pytest.fixture(scope="module")
def project() -> Project:
    return load(ROOT)


@pytest.fixture(scope="module")
def output(project: Project, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the family `cuda`, built."""
    folder = tmp_path_factory.mktemp("family")
    made = build(project, ["cuda"])
    apply(plan(folder, made.artifacts, made.owners))
    return folder


def answers(project: Project, algorithm: str) -> list[tuple[int, dict[str, Any], Any, str]]:
    found = []
    for cc, listed in CAPABILITIES.items():
        resolver = project.resolver(str(listed), algorithm)
        for key in random_keys(resolver.rules.algorithm, KEYS, seed=cc):
            candidate = resolver.selected(key)
            found.append((cc, key, candidate.policy, candidate.point.id))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("compiler", host_compilers(), ids=lambda compiler: compiler.name)
def test_header_answers_as_each_architecture(
    compiler: HostCompiler, project: Project, output: Path, tmp_path: Path
) -> None:
    algorithms = [project.spec.algorithms[name] for name in ALGORITHMS]
    source, program = tmp_path / "main.cpp", tmp_path / "main"
    source.write_text(host_main("cuda", algorithms, family=True))
    command = [str(compiler.path), "-std=c++17", *WARNINGS, f"-I{output / 'include'}", str(source), "-o", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    lines, expected = [], []
    for number, algorithm in enumerate(algorithms):
        for cc, key, policy, point in answers(project, algorithm.name):
            lines.append(encoded_key(number, algorithm, key, cc))
            expected.append(encoded_policy(algorithm, policy, point))
    printed = subprocess.run([str(program)], input="\n".join(lines), capture_output=True, text=True, check=True).stdout
    assert printed.splitlines() == expected


def test_module_answers_as_each_architecture(project: Project, output: Path) -> None:
    code = (
        "import json, sys\nfrom importlib import import_module\n"
        "for line in sys.stdin:\n"
        "    algorithm, cc, key = json.loads(line)\n"
        "    module = import_module('policygen_tables.cuda.' + algorithm)\n"
        "    print(json.dumps([module.policy(cc=cc, **key).as_dict(), module.point(cc=cc, **key)]))\n"
    )
    asked = [(name, *answer) for name in ALGORITHMS for answer in answers(project, name)]
    done = subprocess.run(
        [sys.executable, "-B", "-W", "error", "-c", code],
        input="\n".join(json.dumps([name, cc, key]) for name, cc, key, _, _ in asked),
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(output / "python")},
    )
    assert done.returncode == 0, done.stderr
    expected = [json.loads(json.dumps([policy, point])) for _, _, _, policy, point in asked]
    assert [json.loads(line) for line in done.stdout.splitlines()] == expected


def compiled(output: Path, folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("there is no g++")
    source = folder / "main.cpp"
    source.write_text(f"#include <policygen/cuda/tuning_reduce.cuh>\nusing namespace policygen;\n{text}\n")
    command = [compiler, "-std=c++17", *WARNINGS, f"-I{output / 'include'}", "-fsyntax-only", str(source)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_capability_is_an_explicit_type(output: Path, tmp_path: Path) -> None:
    good = (
        "static_assert(cuda::reduce::select_for<float, int, plus>(compute_capability{100}).multi_tile.vec_size == 2);"
    )
    assert compiled(output, tmp_path, good).returncode == 0
    for wrong, message in (
        (good.replace("compute_capability{100}", "100"), "compute_capability"),
        (good.replace("100}", "900}"), "a compute capability is major * 10 + minor, such as 90"),
        (good.replace("100}", "35}"), "the architecture is below 5.0, the lowest of this header"),
    ):
        done = compiled(output, tmp_path, wrong)
        assert done.returncode != 0
        assert message in done.stderr


def test_the_namespace_names_the_architectures(output: Path) -> None:
    text = (output / "include/policygen/cuda/tuning_reduce.cuh").read_text()
    assert "inline namespace archs_50_60_61_62_70_75_80_86_89_90_100_103_120_121" in text


def test_the_build_says_how_many_kernels_the_keys_need(project: Project) -> None:
    (report,) = build(project, ["cuda"]).reports
    figures = {a.algorithm: a.folds for a in report.algorithms}
    scan = figures["scan"]
    assert scan is not None
    # 7.5, 8.0 and 8.6 have default, tuned, default for an int32 sum: C++17 folds neighbours alone
    assert scan.by_value < scan.contiguous < scan.unfolded
    assert all(f is not None and f.keys <= f.by_value <= f.contiguous <= f.unfolded for f in figures.values())
