"""Where a toolchain is looked for, with folders that imitate the layouts in use."""

from __future__ import annotations

from pathlib import Path

import pytest

from policygen.parity import toolchain as toolchain_module
from policygen.parity.toolchain import ENVIRONMENT_VARIABLE
from policygen.parity.toolchain import CompilationError
from policygen.parity.toolchain import Toolchain
from policygen.parity.toolchain import ToolchainMissing
from policygen.parity.toolchain import compile_program
from policygen.parity.toolchain import find_toolchain


def executable(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def headers(folder: Path, version: str = "#define CUB_VERSION 300500 // MMMmmmpp\n") -> Path:
    (folder / "cub").mkdir(parents=True)
    (folder / "cub" / "version.cuh").write_text(version, encoding="utf-8")
    return folder


def nvcc(folder: Path, release: str = "13.0") -> Path:
    return executable(folder / "bin" / "nvcc", f"echo 'Cuda compilation tools, release {release}, V{release}.88'")


@pytest.fixture
def environ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """An environment in which nothing but a host compiler is installed."""
    monkeypatch.setattr(toolchain_module, "_installed_packages", list)
    executable(tmp_path / "host" / "g++", "true")
    return {"PATH": str(tmp_path / "host")}


def test_the_interpreters_packages(tmp_path: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    prefix = tmp_path / "nvidia" / "cu13"
    headers(prefix / "include" / "cccl")
    (prefix / "lib").mkdir()
    (prefix / "lib" / "libcudart_static.a").touch()
    monkeypatch.setattr(toolchain_module, "_installed_packages", lambda: [prefix])
    compiler = nvcc(prefix)
    assert find_toolchain(environ=environ) == Toolchain(
        nvcc=compiler,
        includes=(prefix / "include" / "cccl",),
        library=prefix / "lib",
        nvcc_version="13.0",
        cccl_version="3.5.0",
    )


def test_the_toolkit_of_the_nvcc_on_path(tmp_path: Path, environ: dict[str, str]) -> None:
    toolkit = tmp_path / "cuda-12.9"
    nvcc(toolkit, "12.9")
    headers(toolkit / "include", "#define CUB_VERSION 200802\n")
    found = find_toolchain(environ={"PATH": f"{environ['PATH']}:{toolkit / 'bin'}"})
    assert (found.nvcc_version, found.cccl_version, found.include) == ("12.9", "2.8.2", toolkit / "include")


def test_an_nvcc_on_path_that_calls_another(tmp_path: Path, environ: dict[str, str]) -> None:
    toolkit = tmp_path / "cuda-13.0"
    real = executable(toolkit / "bin" / "nvcc", f"echo 'release 13.0'\necho '#$ TOP={toolkit}/bin/..' >&2")
    headers(toolkit / "include" / "cccl")
    executable(tmp_path / "host" / "nvcc", f'exec "{real}" "$@"')
    found = find_toolchain(environ=environ)
    assert (found.nvcc, found.include) == (real, toolkit / "include" / "cccl")


@pytest.mark.parametrize("by", ["argument", "environment"])
def test_a_named_folder_comes_first(tmp_path: Path, environ: dict[str, str], by: str) -> None:
    toolkit, mine = tmp_path / "cuda", headers(tmp_path / "mine", "#define CUB_VERSION 300600\n")
    nvcc(toolkit)
    headers(toolkit / "include")
    environ["PATH"] += f":{toolkit / 'bin'}"
    if by == "environment":
        environ[ENVIRONMENT_VARIABLE] = str(mine)
    found = find_toolchain(mine if by == "argument" else None, environ)
    assert (found.include, found.cccl_version, found.nvcc) == (mine, "3.6.0", toolkit / "bin" / "nvcc")


def test_a_checkout_of_cccl(tmp_path: Path, environ: dict[str, str]) -> None:
    checkout = tmp_path / "cccl"
    headers(checkout / "cub")
    version = checkout / "libcudacxx" / "include" / "cuda" / "std" / "__cccl" / "version.h"
    version.parent.mkdir(parents=True)
    version.write_text("#define CCCL_VERSION 3006000\n", encoding="utf-8")
    environ["PATH"] += f":{nvcc(tmp_path / 'cuda').parent}"
    found = find_toolchain(checkout, environ)
    assert found.includes == (checkout / "cub", checkout / "libcudacxx" / "include", checkout / "thrust")
    assert found.cccl_version == "3.6.0"


def test_nothing_is_installed(environ: dict[str, str]) -> None:
    with pytest.raises(ToolchainMissing, match=r"^nvcc was not found: run `pip install policygen\[cuda\]`"):
        find_toolchain(environ=environ)


def test_nvcc_without_cccl(tmp_path: Path, environ: dict[str, str]) -> None:
    environ["PATH"] += f":{nvcc(tmp_path / 'cuda').parent}"
    with pytest.raises(ToolchainMissing, match=r"^CCCL's headers were not found .*policygen\[cuda\]"):
        find_toolchain(environ=environ)


def test_a_named_folder_without_cccl_is_not_passed_over(tmp_path: Path, environ: dict[str, str]) -> None:
    headers(tmp_path / "cuda" / "include")
    environ["PATH"] += f":{nvcc(tmp_path / 'cuda').parent}"
    with pytest.raises(ToolchainMissing, match=r"^no CCCL in .*empty: expected a CUDA toolkit"):
        find_toolchain(tmp_path / "empty", environ)


def test_an_nvcc_that_does_not_run(tmp_path: Path, environ: dict[str, str]) -> None:
    headers(tmp_path / "cuda" / "include")
    nvcc(tmp_path / "cuda").write_bytes(b"\x7fELF of another machine")
    with pytest.raises(ToolchainMissing, match=r"bin/nvcc does not run \("):
        find_toolchain(tmp_path / "cuda", environ)


def test_no_host_compiler(tmp_path: Path, environ: dict[str, str]) -> None:
    headers(tmp_path / "cuda" / "include")
    environ["PATH"] = str(nvcc(tmp_path / "cuda").parent)
    with pytest.raises(ToolchainMissing, match=r"g\+\+ is not on PATH"):
        find_toolchain(environ=environ)


def test_programs_are_cached_by_all_that_they_are_made_from(tmp_path: Path, environ: dict[str, str]) -> None:
    toolkit = tmp_path / "cuda"
    executable(
        toolkit / "bin" / "nvcc",
        f'[ "$1" = --version ] && echo "release 13.0" && exit\n'
        f'echo run >> "{tmp_path}/runs"\n'
        'while [ "$1" != -o ]; do shift; done\n: > "$2"',
    )
    include = headers(toolkit / "include")
    found = find_toolchain(toolkit, environ)

    def runs() -> int:
        return len((tmp_path / "runs").read_text(encoding="utf-8").splitlines())

    first = compile_program("int main() {}", found, tmp_path / "cache")
    assert compile_program("int main() {}", found, tmp_path / "cache") == first
    assert runs() == 1
    assert compile_program("int main() { }", found, tmp_path / "cache") != first
    (include / "cub" / "more.cuh").write_text("// changed in place\n", encoding="utf-8")
    assert compile_program("int main() {}", found, tmp_path / "cache") != first
    assert runs() == 3
    assert len(list((tmp_path / "cache").iterdir())) == 3


def test_what_the_compiler_said_is_passed_on(tmp_path: Path, environ: dict[str, str]) -> None:
    toolkit = tmp_path / "cuda"
    executable(
        toolkit / "bin" / "nvcc",
        '[ "$1" = --version ] && echo "release 13.0" && exit\necho "error: no such member" >&2\nexit 1',
    )
    headers(toolkit / "include")
    found = find_toolchain(toolkit, environ)
    with pytest.raises(CompilationError, match=r"^nvcc 13\.0 does not compile .* CCCL 3\.5\.0 [\s\S]*no such member"):
        compile_program("int main() {}", found, tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []
