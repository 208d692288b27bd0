"""Compiles kernels for an architecture and keeps what came of it, by content."""

from __future__ import annotations

import hashlib
import json
import subprocess
import tempfile
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any
from typing import Final

from attrs import asdict
from attrs import frozen

from policygen.parity.toolchain import Toolchain
from policygen.parity.toolchain import fingerprint
from policygen.prove.cases import PolicyCase
from policygen.prove.cases import policy_text
from policygen.prove.compiler_report import Outcome
from policygen.prove.compiler_report import Overflow
from policygen.prove.compiler_report import Rejected
from policygen.prove.compiler_report import Resources
from policygen.prove.compiler_report import first_error
from policygen.prove.compiler_report import outcomes
from policygen.prove.cpp_types import PROLOGUE
from policygen.prove.translation_unit import Instance
from policygen.prove.translation_unit import cub_policy
from policygen.prove.translation_unit import translation_unit
from policygen.workers import Progress
from policygen.workers import each_done

FLAGS: Final = ("-std=c++17", "-cubin", "-Xptxas=-v")

# Including CUB costs 1.5 s a unit and a kernel 0.2 s: more of them in a unit save little, and make the last unit long.
_KERNELS_A_UNIT: Final = 40


@frozen
class Compiler:
    """What kernels are compiled with.

    Attributes:
        toolchain: nvcc and CCCL.
        architecture: the real architecture, "sm_90".
        cache: the folder that keeps outcomes; created if needed, safe to share between processes.
    """

    toolchain: Toolchain
    architecture: str
    cache: Path


@frozen
class Compiled:
    """Outcomes of some instances.

    Attributes:
        outcomes: one for each instance, in their order.
        from_cache: how many of them were there before.
    """

    outcomes: tuple[Outcome, ...]
    from_cache: int


@frozen
class _Unit:
    """Instances that are compiled together; their positions in the whole."""

    name: str
    numbers: tuple[int, ...]

    def __str__(self) -> str:
        return self.name


def pieces_of_work(instances: Sequence[Instance], compiler: Compiler) -> int:
    """How many translation units there are to compile."""
    kept = _Kept(compiler)
    return len(_units(instances, [n for n, each in enumerate(instances) if kept.read(each) is None]))


def compile_all(
    instances: Sequence[Instance],
    compiler: Compiler,
    *,
    jobs: int | None = None,
    progress: Progress = lambda *_: None,
) -> Compiled:
    """Compiles kernels, or says what came of them before.

    Args:
        instances: what to compile.
        compiler: with what, for what.
        jobs: how many processes work; by default as many as there are processors.
        progress: called before the first unit and after each; there are `pieces_of_work`.

    Raises:
        WorkerLost: one of the processes was killed.
    """
    kept = _Kept(compiler)
    found = {number: known for number, each in enumerate(instances) if (known := kept.read(each)) is not None}
    from_cache = len(found)
    units = _units(instances, [number for number in range(len(instances)) if number not in found])
    if units:
        for unit, results in each_done(partial(_compiled, instances, compiler), units, jobs, progress):
            found.update(zip(unit.numbers, results, strict=True))
    return Compiled(tuple(found[number] for number in range(len(instances))), from_cache)


def _units(instances: Sequence[Instance], numbers: Sequence[int]) -> list[_Unit]:
    """Kernels of one algorithm together, as their headers are; the largest algorithm first."""
    by_algorithm: dict[str, list[int]] = {}
    for number in numbers:
        by_algorithm.setdefault(instances[number].policy.algorithm.name, []).append(number)
    return [
        _Unit(name, tuple(own[start : start + _KERNELS_A_UNIT]))
        for name, own in sorted(by_algorithm.items(), key=lambda item: (-len(item[1]), item[0]))
        for start in range(0, len(own), _KERNELS_A_UNIT)
    ]


def _compiled(instances: Sequence[Instance], compiler: Compiler, unit: _Unit) -> tuple[Outcome, ...]:
    own = [instances[number] for number in unit.numbers]
    found = _outcomes(own, compiler)
    kept = _Kept(compiler)
    for each, outcome in zip(own, found, strict=True):
        kept.write(each, outcome)
    return found


def _outcomes(own: Sequence[Instance], compiler: Compiler) -> tuple[Outcome, ...]:
    """Compiles a unit; where nobody knows which kernel it fails for, its halves."""
    returned, said = _nvcc(translation_unit(own), compiler)
    spoken_of = outcomes(said)
    if returned == 0:
        return tuple(spoken_of.get(n, Rejected("ptxas does not speak of it")) for n in range(len(own)))
    over = {n: outcome for n, outcome in spoken_of.items() if isinstance(outcome, Overflow)}
    if len(own) == 1:
        return (over.get(0, Rejected(first_error(said))),)
    if over:  # ptxas stops at the end, and need not speak of all others
        rest = [n for n in range(len(own)) if n not in over]
        others = dict(zip(rest, _outcomes([own[n] for n in rest], compiler), strict=True)) if rest else {}
        return tuple(over[n] if n in over else others[n] for n in range(len(own)))
    middle = len(own) // 2
    return (*_outcomes(own[:middle], compiler), *_outcomes(own[middle:], compiler))


def _nvcc(text: str, compiler: Compiler) -> tuple[int, str]:
    tools = compiler.toolchain
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "kernels.cu")
        source.write_text(text, encoding="utf-8")
        command = [str(tools.nvcc), *FLAGS, f"-arch={compiler.architecture}"]
        command += [f"-I{include}" for include in tools.includes]
        result = subprocess.run(
            [*command, str(source), "-o", str(Path(folder, "kernels.cubin"))],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    return result.returncode, result.stdout + result.stderr


class _Kept:
    """Outcomes of kernels that were compiled before: by their text, the architecture, the compiler and CCCL."""

    def __init__(self, compiler: Compiler) -> None:
        self._folder = compiler.cache
        self._common = "\n".join((fingerprint(compiler.toolchain), compiler.architecture, *FLAGS, PROLOGUE))

    def read(self, each: Instance) -> Outcome | None:
        try:
            data = json.loads(self._path(each).read_text(encoding="utf-8"))
            return _from_data(data)
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def write(self, each: Instance, outcome: Outcome) -> None:
        if isinstance(outcome, Rejected):
            return  # it may have been the machine's fault
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._path(each)
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=self._folder, delete=False) as file:
            json.dump({"kind": type(outcome).__name__, **asdict(outcome)}, file)
        Path(file.name).replace(path)

    def _path(self, each: Instance) -> Path:
        policy = policy_text(each.policy.algorithm, each.policy.policy)
        parts = (self._common, cub_policy(each), policy, each.kernel.instance, *each.kernel.kernel.headers)
        return self._folder / f"{hashlib.sha256(chr(10).join(parts).encode()).hexdigest()[:32]}.json"


def _from_data(data: Mapping[str, Any]) -> Outcome:
    values = {name: value for name, value in data.items() if name != "kind"}
    return Overflow(**values) if data["kind"] == Overflow.__name__ else Resources(**values)


def instances_of(cases: Sequence[PolicyCase]) -> Iterator[Instance]:
    """Every kernel of some policies, in order."""
    for case in cases:
        for kernel in case.kernels:
            yield Instance(case, kernel)
