"""A-8: front ends that crash or disagree on generated comparisons, and headers that nobody compiled.

Every header is compiled by the host compilers that are promised (g++ 11 and 12, clang++ 14 and 16), in C++17 and C++20,
without and with optimisation. gcc 8, on which upstream's comparison of neighbouring truth values crashed, is not among
them: that generated comparisons do not have its form is looked up in their text. nvcc compiles all headers for device
code; it knows no architecture below 7.5, and the headers of older ones are covered by the host compilers.
"""

from __future__ import annotations

import re
import subprocess
from functools import cache
from itertools import pairwise
from itertools import product
from pathlib import Path

import pytest

from cases.small_specs import SmallSpecs
from compilers import WARNINGS
from compilers import HostCompiler
from compilers import default_compiler
from compilers import host_compilers
from policygen.emit.cpp.expressions import identifier
from policygen.parity.toolchain import ToolchainMissing
from policygen.parity.toolchain import find_toolchain
from policygen.project import load

ROOT = Path(__file__).parents[2]
INCLUDE = ROOT / "generated" / "include"
TARGETS = tuple(sorted(folder.name for folder in (INCLUDE / "policygen").iterdir() if folder.is_dir()))
HEADERS = tuple(sorted(path.relative_to(INCLUDE).as_posix() for path in (INCLUDE / "policygen").rglob("tuning*.cuh")))
"""The standalone ones; those for CUB are compiled with it in tests/cub_form."""


@cache
def everything() -> str:
    """All headers of all targets, and for each policy that it equals itself, and not another one."""
    lines = [f"#include <policygen/{target}/tuning.cuh>" for target in TARGETS]
    for target, algorithm in product(TARGETS, load(ROOT).spec.algorithms.values()):
        space = f"policygen::{target}::{identifier(algorithm.name)}"
        name = f"{target}_{algorithm.name}"
        lines += [
            f"constexpr {space}::policy {name}{{}};",
            f'static_assert({name} == {name}, "");',
            f'static_assert(!({name} != {name}), "");',
            f"bool same_{name}(const {space}::policy& a, const {space}::policy& b) {{ return a == b; }}",
        ]
        if algorithm.name == "merge":
            lines += [
                f"constexpr {space}::policy one_{name} = [] {{ {space}::policy p{{}};"
                " p.use_bulk_copy_for_keys = true; return p; }();",
                f"constexpr {space}::policy two_{name} = [] {{ {space}::policy p{{}};"
                " p.use_bulk_copy_for_values = true; return p; }();",
                f'static_assert(one_{name} == one_{name} && one_{name} != two_{name} && one_{name} != {name}, "");',
            ]
    return "\n".join([*lines, ""])


def compiled(command: list[str], source: Path, text: str) -> None:
    source.write_text(text, encoding="utf-8")
    done = subprocess.run([*command, str(source)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.slow
@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("standard", ["c++17", "c++20"])
@pytest.mark.parametrize("compiler", host_compilers(), ids=lambda compiler: compiler.name)
def test_all_headers_compile(compiler: HostCompiler, standard: str, level: str, tmp_path: Path) -> None:
    """A-8: one translation unit, with `p == p` on policies that have neighbouring truth values (merge)."""
    command = [str(compiler.path), f"-std={standard}", level, *WARNINGS, f"-I{INCLUDE}", "-c", "-o", "/dev/null"]
    compiled(command, tmp_path / "all.cpp", everything())


@pytest.mark.parametrize("header", HEADERS)
def test_each_header_compiles_alone(header: str, tmp_path: Path) -> None:
    """A-8: none leans on what another one includes, and each may be included twice."""
    compiler = default_compiler()
    if compiler is None:
        pytest.skip("there is no C++ compiler")
    command = [str(compiler.path), "-std=c++17", *WARNINGS, f"-I{INCLUDE}", "-fsyntax-only"]
    compiled(command, tmp_path / "alone.cpp", f"#include <{header}>\n#include <{header}>\n")


@pytest.mark.slow
@pytest.mark.cuda
def test_all_headers_compile_in_device_code(tmp_path: Path) -> None:
    try:
        toolchain = find_toolchain()
    except ToolchainMissing as error:
        pytest.skip(str(error))
    command = [str(toolchain.nvcc), "-std=c++17", "-arch=sm_90", "-Werror", "all-warnings", f"-I{INCLUDE}", "-cubin"]
    compiled([*command, "-o", str(tmp_path / "all.cubin")], tmp_path / "all.cu", everything())


COMPARISON = re.compile(r"bool operator==\(.*?\n  \{(.*?)\n  \}", re.DOTALL)


def chains(text: str) -> list[list[str]]:
    """The fields that each statement of generated comparisons compares, in order."""
    found = []
    for body in COMPARISON.findall(text):
        statements = re.split(r"[;{}]", body)
        found += [re.findall(r"\ba\.(\w+)\s*==", statement) for statement in statements]
    return [chain for chain in found if chain]


@pytest.mark.parametrize("header", HEADERS)
def test_no_statement_compares_neighbouring_truth_values(header: str) -> None:
    """A-8: what gcc 8 crashes on; a statement of its own between them is what helps."""
    text = (INCLUDE / header).read_text(encoding="utf-8")
    truth_values = set(re.findall(r"^  bool (\w+)\b(?! *\()", text, re.MULTILINE))
    for chain in chains(text):
        assert not any(a in truth_values and b in truth_values for a, b in pairwise(chain)), chain


FLAGS = """
name  = "flags"
title = "Flags"
[struct.FlagsPolicy]
threads_per_block = { type = "int32", role = "threads" }
a = "bool"
b = "bool"
c = "bool"
modifier = "CacheLoadModifier"
d = "bool"
[policy]
struct = "FlagsPolicy"
[key.size]
type = "int32"
range = [1, 16]
[common]
size = [1, 2, 4]
"""


def test_truth_values_are_compared_one_statement_each(specs: SmallSpecs, tmp_path: Path) -> None:
    specs.algorithm(FLAGS, "flags")
    specs.ladder(
        '[[ladder.point]]\nid = "any"\nliteral = { threads_per_block = 128 }\n'
        'a = true\nb = "size > 2"\nc = false\nmodifier = "LOAD_CA"\nd = true\n',
        "flags",
    )
    output = specs.generate("sm_90")
    header = output / "include" / "policygen" / "sm_90" / "tuning_flags.cuh"
    assert chains(header.read_text()) == [["threads_per_block", "a"], ["b"], ["c", "modifier", "d"]]
    fields = ("a", "b", "c", "d")
    text = "#include <policygen/sm_90/tuning_flags.cuh>\nusing P = policygen::sm_90::flags::policy;\n"
    text += "constexpr P with(int i) { P p{}; p.a = i & 1; p.b = i & 2; p.c = i & 4; p.d = i & 8; return p; }\n"
    text += "".join(
        f'static_assert((with({i}) == with({j})) == {str(i == j).lower()}, "");\n'
        for i, j in product(range(2 ** len(fields)), repeat=2)
    )
    for compiler in host_compilers():
        for standard, level in product(("c++17", "c++20"), ("-O0", "-O2")):
            command = [
                str(compiler.path),
                f"-std={standard}",
                level,
                f"-I{output / 'include'}",
                "-c",
                "-o",
                "/dev/null",
            ]
            compiled(command, tmp_path / "flags.cpp", text)
