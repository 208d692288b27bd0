"""What a reference kernel is run for: a policy, the keys that it is for, and the hardware."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from attrs import frozen

from policygen.model.record import Record
from policygen.model.types import RecordType
from policygen.model.types import Role
from policygen.model.types import Struct
from policygen.plan.residency import Residency
from policygen.plan.target_device import residency_from_facts

FEW_BLOCKS = Residency(sm_count=1, occupancy=1, subscription_factor=5)
"""A device so small that a few tiles are more than its blocks: the grid of a plan is an input, not a constant."""


@frozen
class Case:
    """A policy with one class of keys that it is for, on one kind of hardware.

    Attributes:
        target: name of the target.
        kernel: name of the reference kernel.
        algorithm: name of the algorithm whose policy it is.
        given: the common key that represents the others, as people write it.
        keys: the whole keys of the class: they differ in enumerators (types, operators) only.
        policy: the policy.
        struct: the type of the policy.
        point: origin and id of the point that answered.
        warp_size: lanes of a warp.
        capability: compute capability x 10 (90 for 9.0); None for hardware that has none.
        facts: values of the target's facts; None for unknown.
        device: where tensors live, as torch names it: `cpu`, `cuda`.
        unmet: ids of the constraints that the policy does not meet, where that is only reported: CUB takes another way.
    """

    target: str
    kernel: str
    algorithm: str
    given: Mapping[str, Any]
    keys: tuple[Record, ...]
    policy: Record
    struct: Struct
    point: str
    warp_size: int
    capability: int | None
    facts: Mapping[str, int | None]
    device: str = "cpu"
    unmet: frozenset[str] = frozenset()

    @property
    def key(self) -> Record:
        """The whole key that represents the others."""
        return self.keys[0]

    @cached_property
    def residency(self) -> Residency:
        """Blocks that the target keeps resident; those of a very small device where a fact for it is unknown."""
        try:
            return residency_from_facts(self.facts)
        except ValueError:
            return FEW_BLOCKS

    def roles(self, role: Role) -> Iterator[str]:
        """Dotted paths of the policy's fields with a role."""
        yield from _paths(self.struct, role)

    def __str__(self) -> str:
        return f"{self.kernel} {', '.join(f'{name}={value}' for name, value in self.given.items())}"


def _paths(struct: Struct, role: Role) -> Iterator[str]:
    for member in struct.fields:
        if isinstance(member.type, RecordType):
            yield from (f"{member.name}.{path}" for path in _paths(member.type.struct, role))
        elif member.role is role:
            yield member.name
