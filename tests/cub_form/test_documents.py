"""What documents and the example say of CUB headers is compiled as it stands there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cub_form.nvcc import compile_cuda
from cub_form.nvcc import toolchain_or_skip
from policygen.build import build
from policygen.emit.writer import apply
from policygen.emit.writer import plan
from policygen.project import load

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "cub"

pytestmark = [pytest.mark.cuda, pytest.mark.slow]


def blocks(document: str, language: str) -> list[str]:
    text = (ROOT / document).read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def test_programs_in_the_documents_compile(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "specs", tmp_path / "specs")
    (own,) = blocks("docs/cub-headers.md", "toml")
    (tmp_path / "specs/targets/mychip.toml").write_text(own, encoding="utf-8")
    settings = '[project]\ntargets = ["mychip"]\nalgorithms = ["reduce"]\n'
    (tmp_path / "policygen.toml").write_text(settings, encoding="utf-8")
    made = build(load(tmp_path), ["sm_90", "h200", "a100", "mychip"], jobs=1)
    apply(plan(tmp_path / "generated", made.artifacts, made.owners))
    first, several = blocks("docs/cub-headers.md", "cpp")
    (readme,) = (block for block in blocks("README.md", "cpp") if "cuda::execution::tune" in block)
    source = f"""{first}{readme}
#include <policygen/a100/cub_tuning_reduce.cuh>
#include <policygen/mychip/cub_tuning_reduce.cuh>
{several}
using Plus = cuda::std::plus<>;
constexpr auto of_both = both<float, unsigned, Plus>{{}}(cuda::compute_capability{{8, 0}});
static_assert(of_both == policygen::a100::reduce::selector<float, unsigned, Plus>{{}}(cuda::compute_capability{{80}}));
constexpr auto own = policygen::mychip::reduce::selector<__half, unsigned, Plus>{{}}(cuda::compute_capability{{90}});
static_assert(own.multi_tile.threads_per_block == 512);
"""
    include = tmp_path / "generated" / "include"
    done = compile_cuda(tmp_path, source, include, "-arch=sm_90", "-ptx")
    assert done.accepted, done.said


def test_the_example_compiles_with_the_command_of_its_readme(tmp_path: Path) -> None:
    toolchain = toolchain_or_skip()
    text = (EXAMPLE / "README.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"^    (nvcc .+)$", text, re.MULTILINE)
    shutil.copy(EXAMPLE / "moments.cu", tmp_path)
    (tmp_path / "bin").mkdir()
    policygen = tmp_path / "bin" / "policygen"
    policygen.write_text(f'#!/bin/sh\nexec {sys.executable} -m policygen.cli.main "$@" --project {ROOT}\n')
    policygen.chmod(0o755)
    flags = [f"-I{path}" for path in toolchain.includes] + [f"-L{toolchain.library}"] * bool(toolchain.library)
    environment = {
        **os.environ,
        "PATH": f"{tmp_path / 'bin'}:{toolchain.nvcc.parent}:{os.environ['PATH']}",
        "NVCC_PREPEND_FLAGS": " ".join(flags),
    }
    done = subprocess.run(
        command, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert b"policygen5sm_906reduce8selector" in (tmp_path / "moments").read_bytes()
