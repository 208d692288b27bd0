"""The programs that run CUB's algorithms with the policies of a target: one for each algorithm.

What a program does with its algorithm (the call, the input, the check) is C++ in `templates/prove/run/ALGORITHM.cuh`;
a new algorithm is one more file there. `templates/prove/run/harness` holds what all of them share.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Final

from attrs import frozen

from policygen.emit.cpp.expressions import identifier
from policygen.emit.templates import template
from policygen.loading.package_data import data_dir
from policygen.parity.toolchain import Toolchain
from policygen.resolve.instance import TargetInstance

LIMIT_SECONDS: Final = 300
"""What a program may take before it counts as hung."""

_FLAGS: Final = ("-std=c++17", "-O3", "--extended-lambda")

_FOLDER: Final = "prove/run"


@frozen
class Program:
    """A program that runs one algorithm.

    Attributes:
        target: whose policies it uses.
        algorithm: by name.
        brief: whether it runs one type a call, and no more than a million items.
    """

    target: str
    algorithm: str
    brief: bool

    @property
    def name(self) -> str:
        """The name of its file."""
        return f"{identifier(self.target)}_{self.algorithm}"

    @property
    def text(self) -> str:
        """Its C++: the same for the same program."""
        return template(f"{_FOLDER}/program.cu.j2").render(
            target=self.target,
            algorithm=self.algorithm,
            brief=self.brief,
            folder=identifier(self.target),
            header=identifier(self.algorithm),
            cases=f"{self.algorithm}.cuh",
        )

    def __str__(self) -> str:
        return self.name


def runnable() -> tuple[str, ...]:
    """The algorithms that there are programs for, by name."""
    return tuple(sorted(file.stem for file in (data_dir("templates") / _FOLDER).glob("*.cuh")))


def shared_files() -> Iterator[tuple[PurePosixPath, bytes]]:
    """Yields the C++ that programs include, by its path beside them."""
    folder = data_dir("templates") / _FOLDER
    for file in sorted(folder.rglob("*.cuh")):
        yield PurePosixPath("run", file.relative_to(folder).as_posix()), file.read_bytes()


def compile_flags(architecture: str) -> tuple[str, ...]:
    """What nvcc is told for every program.

    Args:
        architecture: the real architecture, "sm_90".
    """
    return (*_FLAGS, f"-arch={architecture}")


def compile_command(program: Program, toolchain: Toolchain, architecture: str, output: str) -> list[str]:
    """The command that compiles a program, to be run where its file lies."""
    command = [str(toolchain.nvcc), *compile_flags(architecture)]
    command += [f"-I{include}" for include in toolchain.includes]
    command += ["-Iinclude", "-Irun"]
    command += [f"-L{toolchain.library}"] if toolchain.library else []
    return [*command, f"{program.name}.cu", "-o", output]


def scripts(target: str, programs: Sequence[Program], architecture: str) -> Iterator[tuple[str, str]]:
    """Yields scripts that compile and run programs where there is no policygen, by name."""
    for name in ("build.sh", "run.sh"):
        yield (
            name,
            template(f"{_FOLDER}/{name}.j2").render(
                target=target,
                flags=" ".join(compile_flags(architecture)),
                limit=LIMIT_SECONDS,
                programs=[program.name for program in programs],
            ),
        )


@frozen
class Shifted:
    """A target like another one, but with blocks of its own for every algorithm.

    Attributes:
        name: its name.
        spec: the text of its spec.
    """

    name: str
    spec: str


def shifted(instance: TargetInstance) -> Shifted:
    """The target by which it shows whether CUB takes the tuning that it is given.

    Most policies for an NVIDIA architecture equal CUB's own, and a kernel that runs with their blocks proves little.
    """
    target = instance.target
    is_chip = target.reference_cc is not None
    name = f"{instance.name}_shifted"
    text = template(f"{_FOLDER}/shifted.toml.j2").render(
        target=instance.name,
        name=name,
        family=target.name,
        reference=target.reference,
        architecture="" if is_chip else f"{instance.cc // 10}.{instance.cc % 10}",
    )
    return Shifted(name, text)
