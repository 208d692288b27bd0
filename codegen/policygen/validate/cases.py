"""What is to be validated for a target: its policies, each with a class of keys, on each plausible warp size."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from collections.abc import Set
from typing import Any

from attrs import field
from attrs import frozen

from policygen.fold.key_classes import key_classes
from policygen.fold.table import Row
from policygen.fold.table import policy_table
from policygen.model.record import Record
from policygen.project import Project
from policygen.reference.catalogue import engine_kernels
from policygen.reference.catalogue import has_kernel
from policygen.reference.catalogue import kernel_of
from policygen.reference.contract.case import Case
from policygen.resolve.candidate import NoPolicy
from policygen.resolve.instance import TargetInstance
from policygen.resolve.key import InvalidKey
from policygen.resolve.resolver import Resolver
from policygen.resolve.trace import Reported
from policygen.review.weights import by_weight


@frozen
class Plan:
    """What is to be validated.

    Attributes:
        target: name of the target.
        device: where to run.
        cases: one for each policy, class of keys and warp size; kernels in their order.
        refused: common keys that the target refuses: no policy, nothing to run.
        without_kernel: algorithms that have no reference kernel.
    """

    target: str
    device: str
    cases: tuple[Case, ...]
    refused: int
    without_kernel: tuple[str, ...] = field(default=())


def kernel_names(project: Project) -> tuple[str, ...]:
    """Everything that can be validated, algorithms that are built and kernels of the engine, the decode path first."""
    return tuple(sorted((*project.built_algorithms, *engine_kernels()), key=by_weight))


def plan(
    project: Project,
    target: str,
    names: Sequence[str],
    *,
    quick: bool,
    device: str = "cpu",
    given: Mapping[str, Any] | None = None,
    warp_size: int | None = None,
) -> Plan:
    """Says what is to be validated.

    Args:
        project: where the specs are.
        target: a chip or an architecture, in any spelling.
        names: algorithms and kernels of the engine.
        quick: each case on one of the plausible warp sizes, in turn, else on all of them.
        device: where to run, as torch names it.
        given: a key, if only the class of keys that it belongs to is to be validated.
        warp_size: lanes of a warp, if it is to be only this one.

    Raises:
        UnknownTarget, SpecError: see `Project.target`.
        InvalidKey, NoPolicy: see `Resolver.resolve`.
    """
    instance = project.target(target)
    found: list[Case] = []
    refused = 0
    for name in names:
        if has_kernel(name):
            cases, without = _cases(project, instance, name, device, given)
            warps = instance.facts["warp_size"].plausible if warp_size is None else (warp_size,)
            for number, case in enumerate(cases):
                chosen = warps[number % len(warps) :][:1] if quick else warps
                found += [case(warp) for warp in chosen]
            refused += without
    return Plan(instance.name, device, tuple(found), refused, tuple(name for name in names if not has_kernel(name)))


class _Maker:
    """A case but for its warp size."""

    def __init__(
        self, instance: TargetInstance, name: str, resolver: Resolver, rows: Sequence[Row], device: str
    ) -> None:
        self._instance = instance
        self._name = name
        self._algorithm = resolver.rules.algorithm
        self._rows = rows
        self._device = device

    def __call__(self, warp_size: int) -> Case:
        first = self._rows[0]
        facts = {name: fact.value for name, fact in self._instance.facts.items()}
        return Case(
            target=self._instance.name,
            kernel=self._name,
            algorithm=self._algorithm.name,
            given=first.given,
            keys=tuple(row.resolution.key for row in self._rows),
            policy=first.policy,
            struct=self._algorithm.policy,
            point=f"{first.resolution.origin}/{first.resolution.point}",
            warp_size=warp_size,
            capability=self._instance.capability,
            facts={**facts, "warp_size": warp_size},
            device=self._device,
            unmet=frozenset(step.constraint.id for step in first.resolution.trace if isinstance(step, Reported)),
        )


def _cases(
    project: Project, instance: TargetInstance, name: str, device: str, given: Mapping[str, Any] | None
) -> tuple[list[_Maker], int]:
    kernel = kernel_of(name)
    resolver = project.resolver(instance.name, kernel.policy_of or name)
    table = policy_table(resolver)
    known = {Record(row.given): row for row in table.rows}
    rows: list[tuple[Row, Record]] = []
    refused = len(table.refused)
    common = {field for field, _ in resolver.rules.algorithm.common}
    for asked in kernel.keys([row.given for row in table.rows]):
        try:
            row = known.get(Record(asked)) or Row(asked, resolver.resolve(asked))
        except (NoPolicy, InvalidKey):
            refused += 1
        else:
            rows.append((row, _trait(row.resolution.key, asked.keys() - common)))
    classes = [found.rows for found in key_classes(rows)]
    if given is not None:
        row = Row(given, resolver.resolve(given))
        key = row.resolution.key
        classes = [found for found in classes if any(key == one.resolution.key for one in found)] or [(row,)]
    return [_Maker(instance, name, resolver, found, device) for found in classes], refused


def _trait(key: Record, chosen: Set[str]) -> Record:
    """What keys of a class have in common: all but enumerators, and those too that the kernel chose itself."""
    return Record({name: value for name, value in key.items() if name in chosen or not isinstance(value, str)})
