"""Asks CCCL's own selectors for policies."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Final

from attrs import field
from attrs import frozen

from policygen.parity.host_program import host_program
from policygen.parity.protocol import UNDEFINED
from policygen.parity.protocol import VERSION
from policygen.parity.protocol import KeyEncoder
from policygen.parity.protocol import decode_policy
from policygen.parity.protocol import instances_of
from policygen.parity.shape import SelectorShape
from policygen.parity.shape import Value
from policygen.parity.toolchain import Toolchain
from policygen.parity.toolchain import compile_program

# Bounds the memory that the text of requests and answers takes; one run of the program costs a few milliseconds.
_ANSWERS_PER_RUN: Final = 500_000


class OracleError(Exception):
    """The host program did not answer, or it is not the program that these shapes need."""


class UndefinedAnswerError(Exception):
    """CCCL's selector divides by zero or overflows for this key; such keys belong outside of the domain."""


@frozen
class Oracle:
    """CCCL's selectors, compiled for the host.

    Attributes:
        shapes: the selectors that it knows.
        toolchain: what it was compiled with.
        program: the compiled host program.
        ptx_isa: CCCL's `__cccl_ptx_isa` in the host pass, on which the scan's selector depends: 900 for PTX ISA 9.0.
    """

    shapes: tuple[SelectorShape, ...]
    toolchain: Toolchain
    program: Path
    ptx_isa: int
    _encoders: Mapping[str, KeyEncoder] = field(repr=False, eq=False)

    @classmethod
    def build(cls, shapes: Sequence[SelectorShape], toolchain: Toolchain, cache_dir: Path) -> Oracle:
        """Compiles the selectors, unless the cache has them.

        Args:
            shapes: the selectors; at least one.
            toolchain: the compiler and CCCL.
            cache_dir: the folder that keeps the compiled program.

        Raises:
            CompilationError: CCCL does not have a selector, a member or an enumerator that a shape names.
            OracleError: the program does not run.
            ValueError: there is no shape, or two have the same algorithm.
        """
        program = compile_program(host_program(shapes), toolchain, cache_dir)
        expected = f"{VERSION} {toolchain.nvcc_version} {toolchain.cccl_version}"
        greeting = _run(program, "")[0]
        introduced, _, ptx_isa = greeting.rpartition(" ")
        if introduced != expected:
            raise OracleError(f"{program} introduces itself as '{introduced}'; expected '{expected}': delete it")
        first: dict[str, int] = {}
        for number, instance in enumerate(instances_of(shapes)):
            first.setdefault(instance.shape.algorithm, number)
        encoders = {shape.algorithm: KeyEncoder(shape, first[shape.algorithm]) for shape in shapes}
        return cls(tuple(shapes), toolchain, program, int(ptx_isa), encoders)

    def evaluate(
        self, algorithm: str, keys: Iterable[Mapping[str, Value]], ccs: Sequence[int]
    ) -> list[list[dict[str, Value]]]:
        """Evaluates a selector.

        Args:
            algorithm: one of the shapes' algorithms.
            keys: every field of each key by neutral name; enumerators by neutral name.
            ccs: compute capabilities, as 10 * major + minor.

        Returns:
            For every key, in order, the policy on each capability, nested as CCCL's struct, arrays as tuples. Equal
            policies may be one and the same object: they are for reading.

        Raises:
            OracleError: the program failed, or answered what the shape does not know.
            UndefinedAnswerError: CCCL's selector has no defined answer for a key.
            ValueError: the algorithm or a key does not fit the shapes.
        """
        shape = next((shape for shape in self.shapes if shape.algorithm == algorithm), None)
        if shape is None:
            known = ", ".join(shape.algorithm for shape in self.shapes)
            raise ValueError(f"unknown algorithm '{algorithm}': this oracle has {known}")
        encoder = self._encoders[algorithm]
        policies: dict[str, dict[str, Value]] = {}
        answers: list[list[dict[str, Value]]] = []
        remaining = iter(keys)
        while chunk := list(islice(remaining, max(1, _ANSWERS_PER_RUN // max(1, len(ccs))))):
            requests = "".join(" ".join(map(str, encoder.encode(key, ccs))) + "\n" for key in chunk)
            lines = iter(_run(self.program, requests)[1:])
            for key in chunk:
                row = list(islice(lines, len(ccs)))
                if len(row) < len(ccs):
                    raise OracleError(f"{algorithm}: {self.program} stopped before it answered {dict(key)}")
                for cc, line in zip(ccs, row, strict=True):
                    if line not in policies:
                        policies[line] = _policy(shape, line, key, cc)
                answers.append([policies[line] for line in row])
        return answers


def _policy(shape: SelectorShape, line: str, key: Mapping[str, Value], cc: int) -> dict[str, Value]:
    if line == UNDEFINED:
        raise UndefinedAnswerError(
            f"{shape.algorithm}: CCCL's selector divides by zero or overflows on {cc // 10}.{cc % 10} for {dict(key)}"
        )
    try:
        return decode_policy(shape, line)
    except ValueError as error:
        raise OracleError(str(error)) from None


def _run(program: Path, requests: str) -> list[str]:
    result = subprocess.run([str(program)], input=requests, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        reason = result.stderr.strip() or f"exit status {result.returncode}"
        raise OracleError(f"{program} failed: {reason}")
    return result.stdout.splitlines()
