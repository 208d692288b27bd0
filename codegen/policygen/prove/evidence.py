"""Evidence of kind `compiled`: what the compiler said of exactly these policies, kept in the specs and reviewed."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any
from typing import Final

from attrs import frozen

from policygen.loading.structuring import structure
from policygen.loading.toml_source import read_toml
from policygen.model.problems import Problem
from policygen.model.problems import SpecError
from policygen.prove.compiler_report import Resources

COLUMNS: Final = ("registers", "shared", "stack", "spill_stores", "spill_loads")
"""The numbers of a kernel, in the order of a row."""

_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")


@frozen
class PolicyDocument:
    """`[[policy]]` of an evidence file."""

    id: str
    point: str
    key: dict[str, Any]
    kernels: dict[str, list[int]]


@frozen
class EvidenceDocument:
    """A whole evidence file."""

    target: str
    algorithm: str
    architecture: str
    nvcc: str
    cccl: str
    date: datetime.date
    columns: list[str]
    policy: list[PolicyDocument]


@frozen
class PolicyEvidence:
    """What the compiler said of the kernels of one policy.

    Attributes:
        id: identifies policy and sizes (`PolicyCase.id`).
        point: where the policy comes from, for people.
        key: the common key that represents the others.
        kernels: figures by the kernel's name.
    """

    id: str
    point: str
    key: Mapping[str, Any]
    kernels: Mapping[str, Resources]


@frozen
class Evidence:
    """What the compiler said of one algorithm's policies on one target.

    Attributes:
        architecture: what it was compiled for; a proxy for a chip that no compiler knows.
        nvcc, cccl: versions.
        date: when these figures were first found.
        policies: in the order of the common keys.
    """

    target: str
    algorithm: str
    architecture: str
    nvcc: str
    cccl: str
    date: datetime.date
    policies: tuple[PolicyEvidence, ...]

    @cached_property
    def _by_id(self) -> Mapping[str, PolicyEvidence]:
        return {policy.id: policy for policy in self.policies}

    def of(self, policy_id: str, kernel: str) -> Resources | None:
        """The figures of a kernel; None where there are none for exactly this policy."""
        policy = self._by_id.get(policy_id)
        return None if policy is None else policy.kernels.get(kernel)

    @property
    def source(self) -> str:
        """For people: compiled, by what, for what, and when."""
        return f"compiled {self.date.isoformat()}, nvcc {self.nvcc} for {self.architecture}, CCCL {self.cccl}"


def evidence_path(specs: Path, target: str, algorithm: str) -> Path:
    """Where the evidence of an algorithm lies in a folder of specs."""
    return specs / "evidence" / target / f"{algorithm}.toml"


def read_evidence(path: Path, shown: str) -> Evidence | None:
    """Reads an evidence file.

    Args:
        path: the file; None is returned where there is none.
        shown: its name in messages.

    Raises:
        SpecError: the file is not what prove writes, with every problem found.
    """
    if not path.is_file():
        return None
    source = read_toml(path, shown)
    document = structure(source, (), source.data, EvidenceDocument)
    if isinstance(document, list):
        raise SpecError(document)
    problems: list[Problem] = []
    if tuple(document.columns) != COLUMNS:
        problems.append(source.problem(("columns",), f"expected {json.dumps(COLUMNS)}: run `policygen prove` again"))
    for index, policy in enumerate(document.policy):
        for name, row in policy.kernels.items():
            if len(row) != len(COLUMNS):
                at = ("policy", index, "kernels", name)
                problems.append(source.problem(at, f"expected {len(COLUMNS)} numbers, one a column"))
    if problems:
        raise SpecError(problems)
    policies = tuple(
        PolicyEvidence(p.id, p.point, p.key, {name: Resources(*row) for name, row in p.kernels.items()})
        for p in document.policy
    )
    head = document
    return Evidence(head.target, head.algorithm, head.architecture, head.nvcc, head.cccl, head.date, policies)


def evidence_text(evidence: Evidence) -> str:
    """The text of an evidence file; the same for the same evidence."""
    return "\n".join([*_lines(evidence), ""])


def _lines(evidence: Evidence) -> Iterator[str]:
    yield f"# What the compiler says of the policies of {evidence.algorithm} on {evidence.target}."
    yield f"# Written by `policygen prove --target {evidence.target}`: not edited by hand, and reviewed like a spec."
    for name in ("target", "algorithm", "architecture", "nvcc", "cccl"):
        yield f"{name} = {_toml(getattr(evidence, name))}"
    yield f"date = {evidence.date.isoformat()}"
    yield f"columns = {_toml(COLUMNS)}"
    for policy in evidence.policies:
        yield ""
        yield "[[policy]]"
        yield f"id = {_toml(policy.id)}"
        yield f"point = {_toml(policy.point)}"
        yield f"key = {_toml(policy.key)}"
        yield "[policy.kernels]"
        for name, found in policy.kernels.items():
            yield f"{_toml_key(name)} = {_toml([getattr(found, column) for column in COLUMNS])}"


def _toml_key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _toml(name)


def _toml(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return json.dumps(value)
        case Mapping():
            inside = ", ".join(f"{name} = {_toml(each)}" for name, each in value.items())
            return f"{{ {inside} }}" if inside else "{}"
        case Sequence():
            return f"[{', '.join(map(_toml, value))}]"
        case _:
            return str(value)
