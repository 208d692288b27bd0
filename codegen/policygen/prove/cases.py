"""What is to be proved for a target: its policies, each with representative types, and the kernels they are for."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from functools import cached_property
from typing import Any
from typing import Final

from attrs import evolve
from attrs import field
from attrs import frozen

from policygen.fold.key_classes import key_classes
from policygen.fold.table import Row
from policygen.fold.table import policy_table
from policygen.kernels import Kernel
from policygen.lang.evaluate import LazyNames
from policygen.lang.evaluate import compiled
from policygen.model.record import Record
from policygen.model.types import RecordType
from policygen.model.types import Struct
from policygen.prove.cpp_types import CppArgument
from policygen.prove.cpp_types import CppTypes
from policygen.prove.cpp_types import constant
from policygen.resolve.candidate import Overlay
from policygen.resolve.instance import TargetInstance
from policygen.resolve.passes import evaluators
from policygen.resolve.resolver import Resolver
from policygen.resolve.specialise import Rules
from policygen.spec import Algorithm

_PREFERRED: Final = ("float32", "int32", "float64", "int64")
"""Types that represent others of their size, best first."""


@frozen
class KernelCase:
    """One kernel of a policy.

    Attributes:
        kernel: which.
        instance: its C++; `{policy}` is left for the selector's name.
        threads: threads of a block.
        dynamic: bytes of dynamic shared memory, at the least.
    """

    kernel: Kernel
    instance: str
    threads: int
    dynamic: int


@frozen
class PolicyCase:
    """A policy with the types that represent the keys it is for.

    Attributes:
        algorithm: whose policy.
        given: the common key that represents them.
        row: its resolution.
        keys: how many common keys it stands for.
        shape: what storages depend on, by C++ parameter.
        kernels: the kernels that are launched for it.
    """

    algorithm: Algorithm
    row: Row
    keys: int
    shape: tuple[tuple[str, tuple[Any, ...]], ...]
    kernels: tuple[KernelCase, ...]

    @property
    def policy(self) -> Record:
        """The policy."""
        return self.row.policy

    @property
    def given(self) -> Mapping[str, Any]:
        """The common key that represents the others."""
        return self.row.given

    @cached_property
    def id(self) -> str:
        """Identifies policy and sizes: evidence with this id is evidence for exactly that policy."""
        text = f"{self.algorithm.name}\n{policy_text(self.algorithm, self.policy)}\n{self.shape!r}"
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    @property
    def point(self) -> str:
        """Origin and id of the point that answered."""
        return f"{self.row.resolution.origin}/{self.row.resolution.point}"

    def __str__(self) -> str:
        return f"{self.algorithm.name} {self.point} ({told(self.given)})"


@frozen
class Unproved:
    """A common key that no kernel is compiled for, and why."""

    algorithm: str
    given: Mapping[str, Any]
    reason: str


@frozen
class Cases:
    """What is to be proved of one algorithm on one target."""

    policies: tuple[PolicyCase, ...]
    unproved: tuple[Unproved, ...] = field(default=())


def cases(resolver: Resolver) -> Cases:
    """The distinct policies of the common keys of an algorithm, each with the kernels that are launched for it.

    Keys with one policy and elements of the same sizes are one case: float32 stands for all 4-byte elements, plus for
    all operators.
    """
    algorithm = resolver.rules.algorithm
    maker = CaseMaker(resolver.rules)
    table = policy_table(resolver)
    rows: list[tuple[Row, tuple[tuple[Any, ...], ...]]] = []
    unproved = [Unproved(algorithm.name, given, reason) for given, reason in table.refused]
    for row in table.rows:
        try:
            arguments = maker.arguments(row)
        except ValueError as error:
            unproved.append(Unproved(algorithm.name, row.given, str(error)))
            continue
        rows.append((row, tuple(a.shape for a in arguments)))
    found: list[PolicyCase] = []
    for alike in key_classes(rows):
        row = min(alike.rows, key=_rank)
        try:
            found.append(maker.case(row, maker.arguments(row), len(alike.rows)))
        except ValueError as error:
            unproved += [Unproved(algorithm.name, each.given, str(error)) for each in alike.rows]
    return Cases(tuple(case for case in found if case.kernels), tuple(unproved))


class CaseMaker:
    """Makes the cases of one algorithm on one target."""

    def __init__(self, rules: Rules) -> None:
        self._algorithm = rules.algorithm
        self._lets = evaluators(rules)
        self._target = _of_target(rules.instance)
        self._types = CppTypes(self._algorithm.cpp)
        self._kernels = tuple(
            (kernel, compiled(kernel.when), compiled(kernel.threads), compiled(kernel.dynamic))
            for kernel in self._algorithm.kernels
        )

    def arguments(self, row: Row) -> tuple[CppArgument, ...]:
        """The C++ that a row's key stands for. Raises ValueError where there is none."""
        return self._types.arguments(LazyNames(row.resolution.key, self._lets))

    def case(self, row: Row, arguments: Sequence[CppArgument], keys: int) -> PolicyCase:
        """The policy of a row, with the kernels that are launched for it.

        Raises ValueError where that depends on a fact which the target does not know.
        """
        names = Overlay(LazyNames({**row.resolution.key, **self._target}, self._lets), row.policy)
        made = tuple(
            KernelCase(kernel, instance(kernel.instance, arguments), int(threads(names)), int(dynamic(names)))
            for kernel, when, threads, dynamic in self._kernels
            if when(names)
        )
        return PolicyCase(self._algorithm, row, keys, tuple((a.name, a.shape) for a in arguments), made)

    def variant(self, case: PolicyCase, policy: Record) -> PolicyCase:
        """A case with another policy for the same key."""
        row = evolve(case.row, resolution=evolve(case.row.resolution, policy=policy))
        return self.case(row, self.arguments(row), case.keys)


class _Facts(dict[str, int]):
    """The facts that are known; asking for another one is an error in one line."""

    def __missing__(self, name: str) -> int:
        raise ValueError(f"a kernel depends on {name}, which the target does not know")


def _of_target(instance: TargetInstance) -> dict[str, Any]:
    """What expressions may say of a target beside key and policy."""
    known = {name: fact.value for name, fact in instance.facts.items() if fact.value is not None}
    return {"target": _Facts(known), "cc": instance.cc, "nvcc": known.get("nvcc")}


def _rank(row: Row) -> tuple[int, ...]:
    """Orders the keys of a case: the best known types first, and otherwise the order of the table."""
    values = [value for value in row.given.values() if isinstance(value, str)]
    return tuple(_PREFERRED.index(value) if value in _PREFERRED else len(_PREFERRED) for value in values)


def instance(text: str, arguments: Sequence[CppArgument]) -> str:
    """Fills the C++ of a kernel; a list without records leaves no comma behind."""
    for argument in arguments:
        for star in ("", "*"):
            place = f"{{{argument.name}{star}}}"
            if argument.is_list and not argument.texts:
                text = text.replace(f", {place}", "")
            text = text.replace(place, ", ".join(f"{t}{star}" for t in argument.texts))
    return text


def policy_text(algorithm: Algorithm, policy: Record) -> str:
    """The C++ statements that fill CUB's policy struct, a line each, for an object `p`."""
    return "\n".join(_assignments(algorithm.policy, policy, "p"))


def _assignments(struct: Struct, record: Mapping[str, Any], owner: str) -> Iterator[str]:
    for member in struct.fields:
        path = f"{owner}.{member.name}"
        if not isinstance(member.type, RecordType):
            yield f"{path} = {constant(record[member.name], member.type)};"
        elif member.array:
            for index, element in enumerate(member.type.struct.fields):
                assert isinstance(element.type, RecordType)
                yield from _assignments(element.type.struct, record[member.name][element.name], f"{path}[{index}]")
        else:
            yield from _assignments(member.type.struct, record[member.name], path)


def told(given: Mapping[str, Any]) -> str:
    """A key as people write it."""
    return ", ".join(f"{name}={value}" for name, value in given.items())
