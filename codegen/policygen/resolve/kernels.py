"""The kernels behind a policy and what a block of each takes, as far as constraints say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policygen.model.types import RecordType
from policygen.model.types import Role
from policygen.plan.kernel_resources import KernelResources
from policygen.resolve.candidate import value_at
from policygen.resolve.resolver import Resolution
from policygen.resolve.specialise import Rules
from policygen.resolve.specialise import roles_of
from policygen.resolve.trace import Held
from policygen.resolve.trace import Reported
from policygen.resolve.trace import Shrunk
from policygen.resolve.trace import Unknown
from policygen.spec import Algorithm
from policygen.spec import Path

_MEMORY, _THREADS = "shared-memory", "threads-per-block"


def kernels_of(rules: Rules, resolution: Resolution) -> tuple[KernelResources, ...]:
    """The kernels whose shared memory a constraint models.

    A constraint `shared-memory` is about the one kernel of an algorithm; `shared-memory of PATH` and
    `shared-memory-NAME` are about the kernel that a sub-policy is for. One whose threads cannot be told from the policy
    is left out. The registers of a kernel are not known before it is compiled.

    Args:
        rules: those that gave the resolution.
        resolution: a policy with its trace.
    """
    needs: dict[str, int | None] = {}
    for step in resolution.trace:
        if isinstance(step, Held | Reported | Shrunk):
            needs[step.constraint.id] = step.need
        elif isinstance(step, Unknown):
            needs[step.constraint.id] = None
    found: list[KernelResources] = []
    for constraint, need in needs.items():
        if not constraint.startswith(_MEMORY):
            continue
        subject = _subject(constraint)
        threads = _threads(rules.algorithm, resolution, subject, needs)
        if threads:
            name = ".".join(subject) or rules.algorithm.name
            found.append(KernelResources(kernel=name, threads=threads, static_smem=need))
    return tuple(found)


def _subject(constraint: str) -> Path:
    """The sub-policy that a constraint is about; empty for the algorithm's one kernel."""
    name, _, path = constraint.partition(" of ")
    if path:
        return tuple(path.split("."))
    name = name.removeprefix(_MEMORY).removeprefix("-").replace("-", "_")
    return (name,) if name else ()


def _threads(
    algorithm: Algorithm, resolution: Resolution, subject: Path, needs: Mapping[str, int | None]
) -> int | None:
    if not subject:
        (launch,) = (c for c in algorithm.constraints if c.id == _THREADS)
        # several terms are several kernels
        return needs.get(_THREADS) if len(launch.terms) == 1 else None
    struct = algorithm.policy
    for name in subject:
        kind = struct.by_name[name].type if name in struct.by_name else None
        if not isinstance(kind, RecordType):
            return None
        struct = kind.struct
    threads = roles_of(struct).get(Role.THREADS)
    policy: Mapping[str, Any] = resolution.policy.as_dict()
    return None if threads is None else int(value_at(policy, (*subject, threads)))
