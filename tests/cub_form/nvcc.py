"""nvcc and CCCL for the tests of CUB forms."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from attrs import frozen

from policygen.parity.toolchain import Toolchain
from policygen.parity.toolchain import ToolchainMissing
from policygen.parity.toolchain import find_toolchain

STRICT = ("-Werror", "all-warnings", "-Xcompiler", "-Wall,-Wextra,-Wconversion,-Werror")


@frozen
class Compiled:
    """What became of a source.

    Attributes:
        output: the file that was asked for.
        said: the compiler's messages.
    """

    accepted: bool
    output: Path
    said: str


def toolchain_or_skip() -> Toolchain:
    """The toolchain of the `cuda` extra."""
    try:
        return find_toolchain()
    except ToolchainMissing as error:
        pytest.skip(str(error))


def compile_cuda(folder: Path, source: str, include: Path, *arguments: str, std: int = 17) -> Compiled:
    """Compiles a source against generated headers, with every warning an error."""
    toolchain = toolchain_or_skip()
    file, output = folder / "source.cu", folder / "output"
    file.write_text(source, encoding="utf-8")
    command = [str(toolchain.nvcc), f"-std=c++{std}", *STRICT, f"-I{include}"]
    command += [f"-I{path}" for path in toolchain.includes]
    command += [f"-L{toolchain.library}"] if toolchain.library else []
    done = subprocess.run(
        [*command, *arguments, str(file), "-o", str(output)], capture_output=True, text=True, check=False
    )
    return Compiled(done.returncode == 0, output, done.stderr + done.stdout)
