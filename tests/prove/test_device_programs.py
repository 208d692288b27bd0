"""The programs that run on a GPU, as far as that shows without one."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from policygen.emit.cpp.expressions import identifier
from policygen.fold.table import policy_table
from policygen.model.record import Record
from policygen.parity.toolchain import Toolchain
from policygen.parity.toolchain import ToolchainMissing
from policygen.parity.toolchain import find_toolchain
from policygen.project import Project
from policygen.project import load
from policygen.prove.device_build import NotCompiled
from policygen.prove.device_build import NotRunnable
from policygen.prove.device_build import Prepared
from policygen.prove.device_build import compiled_program
from policygen.prove.device_build import prepare
from policygen.prove.device_program import runnable
from policygen.prove.device_program import shifted

FEW = ("adjacent_difference", "for", "topk")


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.fixture(scope="module")
def prepared(packaged: Project, tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return prepare(packaged, "h200", FEW, tmp_path_factory.mktemp("run"))


def test_there_is_a_program_for_every_algorithm(packaged: Project) -> None:
    assert set(runnable()) == set(packaged.spec.algorithms)


def test_the_same_specs_give_the_same_files(packaged: Project, prepared: Prepared, tmp_path: Path) -> None:
    again = prepare(packaged, "h200", FEW, tmp_path)
    assert again.programs == prepared.programs
    made = files(prepared.folder)
    assert files(tmp_path) == made
    assert prepare(packaged, "h200", FEW, tmp_path) == again
    assert files(tmp_path) == made


def test_what_is_written(prepared: Prepared) -> None:
    assert prepared.architecture == "sm_90"
    assert [program.name for program in prepared.programs] == [
        *(f"h200_{name}" for name in FEW),
        *(f"h200_shifted_{name}" for name in FEW),
    ]
    made = files(prepared.folder)
    for target in ("h200", "h200_shifted"):
        for name in FEW:
            header = f"policygen/{target}/cub_tuning_{identifier(name)}.cuh"
            assert f"include/{header}" in made
            assert f"#include <{header}>\n" in made[f"{target}_{name}.cu"].decode()
    names = " ".join(program.name for program in prepared.programs)
    assert "-arch=sm_90 " in made["build.sh"].decode()
    assert f"printf '%s\\n' {names} | xargs" in made["build.sh"].decode()
    assert f"for program in {names}; do\n" in made["run.sh"].decode()


def test_an_architecture_has_a_twin_too(packaged: Project, tmp_path: Path) -> None:
    found = prepare(packaged, "8.6", ["for"], tmp_path)
    assert found.architecture == "sm_86"
    assert [program.name for program in found.programs] == ["sm_86_for", "sm_86_shifted_for"]
    assert "threads_per_block = 160" in (tmp_path / "shifted/specs/targets/sm_86_shifted.toml").read_text()


@pytest.mark.parametrize("name", sorted(runnable()))
def test_the_twin_has_other_blocks_for_every_common_key(packaged: Project, twin: Project, name: str) -> None:
    own = policy_table(packaged.resolver("h200", name))
    other = policy_table(twin.resolver("h200_shifted", name))
    assert not other.refused
    for row, changed in zip(own.rows, other.rows, strict=True):
        assert changed.resolution.origin == "h200_shifted"
        usual, blocks = dict(threads(row.policy)), dict(threads(changed.policy))
        assert blocks
        assert all(count % 32 == 0 and count != usual.get(field) for field, count in blocks.items()), row.given


def threads(policy: Record, path: str = "") -> Iterator[tuple[str, int]]:
    """Threads of every pass that a policy has, by the pass."""
    for field, value in policy.items():
        if isinstance(value, Record):
            yield from threads(value, f"{path}{field}.")
        elif field == "threads_per_block" and value:
            assert isinstance(value, int)
            yield path, value


def test_no_gpu_runs_the_policies_of_another_maker(packaged: Project, tmp_path: Path) -> None:
    with pytest.raises(NotRunnable, match="bi100: CUB runs with the policies of NVIDIA's"):
        prepare(packaged, "bi100", ["for"], tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_scripts_for_a_machine_without_policygen(prepared: Prepared, tmp_path: Path) -> None:
    """With a compiler that makes scripts of programs: one that runs, one that fails, all others that do not compile."""
    folder = tmp_path / "programs"
    shutil.copytree(prepared.folder, folder)
    compiler = tmp_path / "nvcc"
    compiler.write_text(COMPILER, encoding="utf-8")
    compiler.chmod(0o755)
    environment = {**os.environ, "NVCC": str(compiler), "CCCL": "/cccl"}
    built = subprocess.run([folder / "build.sh", "2"], env=environment, capture_output=True, text=True, check=True)
    assert "h200_topk does not compile:\nerror: -I/cccl h200_topk.cu\n" in built.stdout
    ran = subprocess.run([folder / "run.sh", "wait", "--quick"], capture_output=True, text=True, check=True)
    found = [json.loads(line) for line in ran.stdout.splitlines()]
    assert found[:3] == [
        {"line": "said", "arguments": "--quick"},
        {"line": "exit", "program": "h200_adjacent_difference", "status": 0},
        {"line": "exit", "program": "h200_for", "status": 1},
    ]
    assert found[3] == {"line": "exit", "program": "h200_topk", "not_compiled": "see h200_topk.log"}
    assert [line["program"] for line in found[1:]] == [program.name for program in prepared.programs]


COMPILER = """#!/bin/sh
for argument in "$@"; do
  case $argument in -I/cccl) include=$argument ;; *.cu) source=$argument ;; *.new) output=$argument ;; esac
done
case $source in
  h200_adjacent_difference.cu) line='echo "{\\"line\\": \\"said\\", \\"arguments\\": \\"$*\\"}"' ;;
  h200_for.cu) line='exit 1' ;;
  *) echo "error: $include $source"; exit 2 ;;
esac
printf '#!/bin/sh\\n%s\\n' "$line" >"$output"
chmod +x "$output"
"""


@pytest.mark.cuda
@pytest.mark.slow
@pytest.mark.parametrize("name", FEW)
def test_programs_compile(prepared: Prepared, toolchain: Toolchain, name: str) -> None:
    # the twin's programs have one type a call
    (program,) = (each for each in prepared.programs if each.name == f"h200_shifted_{name}")
    made = compiled_program(prepared, toolchain, program)
    assert not isinstance(made, NotCompiled), made.said
    assert compiled_program(prepared, toolchain, program) == made
    cases = (prepared.folder / "run" / f"{name}.cuh").read_text(encoding="utf-8")
    named = set(re.findall(r'\{"(\w+)", ', cases))
    assert named
    # a name with its length before it, as in a mangled one
    assert [kernel for kernel in named if f"{len(kernel)}{kernel}".encode() not in made.read_bytes()] == []


@pytest.fixture(scope="module")
def twin(packaged: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    folder = tmp_path_factory.mktemp("twin")
    made = shifted(packaged.target("h200"))
    (folder / "specs" / "targets").mkdir(parents=True)
    (folder / "specs" / "targets" / f"{made.name}.toml").write_text(made.spec, encoding="utf-8")
    (folder / "policygen.toml").write_text(f'[project]\ntargets = ["{made.name}"]\n', encoding="utf-8")
    return load(folder)


@pytest.fixture(scope="module")
def toolchain() -> Toolchain:
    try:
        found = find_toolchain()
    except ToolchainMissing as missing:
        pytest.skip(str(missing))
    if not found.cccl_version.startswith("3.5."):
        pytest.skip(f"the cases are written for CCCL 3.5; found {found.cccl_version}")
    return found
