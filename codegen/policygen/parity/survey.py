"""What of a CCCL can be compared: which selectors it has as the specs describe them, and which the specs lack."""

from __future__ import annotations

import re
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from pathlib import PurePosixPath
from typing import Final

from attrs import frozen

from policygen.parity.host_program import foundation_program
from policygen.parity.oracle import Oracle
from policygen.parity.oracle import OracleError
from policygen.parity.shape import SelectorShape
from policygen.parity.spec_shapes import selector_shape
from policygen.parity.toolchain import CompilationError
from policygen.parity.toolchain import Toolchain
from policygen.parity.toolchain import compile_program
from policygen.spec import Algorithm
from policygen.spec import Spec

_TUNINGS: Final = "cub/device/dispatch/tuning"
_TELLING: Final = re.compile(r"has no member|has a member|has another length")
_SELECTOR: Final = re.compile(r"\bpolicy_selector\b")


@frozen
class Survey:
    """The selectors of one CCCL.

    Attributes:
        oracle: those that are as the specs describe them; None where there is none.
        not_comparable: why another one is not, by algorithm.
        unknown_headers: headers of selectors that no spec describes.
    """

    oracle: Oracle | None
    not_comparable: Mapping[str, str]
    unknown_headers: tuple[str, ...]


def survey(spec: Spec, algorithms: Iterable[str], toolchain: Toolchain, cache: Path) -> Survey:
    """Compiles the selectors that can be, and says why the others cannot.

    All are compiled as one program. Where that fails, those in which the compiler finds errors are left out, until what
    is left compiles; if it does not say whose errors they are, each is compiled by itself first.

    Args:
        spec: the specs.
        algorithms: those asked for; they have a `cub`.
        toolchain: the compiler and CCCL.
        cache: the folder that keeps compiled programs.

    Raises:
        CompilationError: not even what every host program needs compiles.
        OracleError: the program does not run.
    """
    reasons: dict[str, str] = {}
    shapes: list[SelectorShape] = []
    for name in algorithms:
        shape = _shape(spec.algorithms[name], toolchain)
        if isinstance(shape, str):
            reasons[name] = shape
        else:
            shapes.append(shape)
    oracle = _oracle(shapes, toolchain, cache, reasons)
    if oracle is None:
        compile_program(foundation_program(), toolchain, cache)
    return Survey(oracle, dict(sorted(reasons.items())), _unknown_headers(spec, toolchain))


def _shape(algorithm: Algorithm, toolchain: Toolchain) -> SelectorShape | str:
    """What an algorithm's selector should be, or why that cannot be asked."""
    try:
        shape = selector_shape(algorithm)
    except ValueError as error:
        return str(error)
    if not any((folder / shape.header).is_file() for folder in toolchain.includes):
        return f"CCCL {toolchain.cccl_version} has no {shape.header}"
    return shape


def _oracle(
    shapes: Sequence[SelectorShape], toolchain: Toolchain, cache: Path, reasons: dict[str, str]
) -> Oracle | None:
    """Compiles what compiles; notes why the rest does not."""
    left = list(shapes)
    alone = False
    while left:
        try:
            return Oracle.build(left, toolchain, cache)
        except CompilationError as error:
            wrong = _wrong(left, error)
            if not wrong:
                if alone:
                    raise OracleError(f"selectors compile one by one, but not together: {error}") from None
                wrong, alone = _wrong_alone(left, toolchain, cache), True
            reasons.update(wrong)
            left = [shape for shape in left if shape.algorithm not in wrong]
    return None


def _wrong(shapes: Sequence[SelectorShape], error: CompilationError) -> dict[str, str]:
    """What is wrong with which of some selectors, by the most telling of the compiler's errors in each."""
    names = {shape.algorithm for shape in shapes}
    headers = {PurePosixPath(shape.header).name: shape.algorithm for shape in shapes}
    errors: dict[str, list[str]] = {}
    for file, said in error.errors:
        name = file if file in names else headers.get(PurePosixPath(file).name)
        if name is not None:
            errors.setdefault(name, []).append(_readable(said))
    return {name: next(filter(_TELLING.search, said), said[0]) for name, said in errors.items()}


def _wrong_alone(shapes: Sequence[SelectorShape], toolchain: Toolchain, cache: Path) -> dict[str, str]:
    wrong: dict[str, str] = {}
    for shape in shapes:
        try:
            Oracle.build([shape], toolchain, cache)
        except CompilationError as error:
            lines = [line for line in str(error).splitlines() if "error" in line]
            wrong[shape.algorithm] = _readable(lines[0] if lines else str(error).splitlines()[-1])
    return wrong


def _readable(said: str) -> str:
    """A compiler's message without the inline namespaces of CUB's versions."""
    text = re.sub(r"\b(_V|CUB)_\d+(_\w+)?::|::(_V|CUB)_\d+(_\w+)?(?=\")|<unnamed>::", "", said).strip()
    for asserted, meaning in (("unknown member", "a member that the spec does not know"), ("another length",) * 2):
        found = re.search(asserted + r": ([\w.\[\]]+)", text)
        if found is not None:
            return f"{found[1]} has {meaning}"
    return text


def _unknown_headers(spec: Spec, toolchain: Toolchain) -> tuple[str, ...]:
    """The headers with a selector that no spec names."""
    known = {algorithm.cub.header for algorithm in spec.algorithms.values() if algorithm.cub is not None}
    found: set[str] = set()
    for folder in (include / _TUNINGS for include in toolchain.includes):
        for header in folder.glob("tuning_*.cuh"):
            name = f"{_TUNINGS}/{header.name}"
            if name not in known and _SELECTOR.search(header.read_text(encoding="utf-8", errors="replace")):
                found.add(name)
    return tuple(sorted(found))
