"""The limits of a multiprocessor and of a block, among a target's facts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from attrs import fields_dict
from attrs import frozen


@frozen(kw_only=True)
class Limits:
    """What a multiprocessor and a block have, each field the fact of its name; None where it is not known."""

    warp_size: int | None = None
    max_threads_per_block: int | None = None
    max_threads_per_sm: int | None = None
    max_blocks_per_sm: int | None = None
    max_registers_per_thread: int | None = None
    max_registers_per_block: int | None = None
    registers_per_sm: int | None = None
    register_allocation_unit: int | None = None
    warp_allocation_unit: int | None = None
    sm_partitions: int | None = None
    max_smem_per_block: int | None = None
    max_smem_per_block_optin: int | None = None
    smem_per_sm: int | None = None
    reserved_smem_per_block: int | None = None
    smem_allocation_unit: int | None = None

    def unknown(self, *names: str) -> tuple[str, ...]:
        """Those of some limits that are not known."""
        return tuple(name for name in names if getattr(self, name) is None)


LIMIT_NAMES: Final[tuple[str, ...]] = tuple(fields_dict(Limits))
"""The facts that decide occupancy."""


def limits_from_facts(facts: Mapping[str, int | None]) -> Limits:
    """The limits among a target's facts: effective values by name, None or absent for unknown."""
    return Limits(**{name: facts.get(name) for name in LIMIT_NAMES})
