"""What a changed policy does to its kernels: threads, shared memory, registers, resident blocks, grids and waves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from typing import Final
from typing import TypeAlias

from attrs import frozen

from policygen.model.types import RecordType
from policygen.model.types import Role
from policygen.model.types import Struct
from policygen.plan.counts import ceil_div
from policygen.plan.kernel_resources import KernelResources
from policygen.plan.occupancy import occupancy
from policygen.prove.resources import KernelUse
from policygen.resolve.occupancy import limits_of
from policygen.resolve.resolver import Resolution
from policygen.resolve.specialise import Rules

PROBLEM_SIZES: Final = (2**16, 2**20, 2**24)
"""Items of the problems for which grids and waves are told."""

Side: TypeAlias = tuple[Rules, KernelUse, Resolution]


@frozen
class Consequence:
    """A number that a change of a policy leads to.

    Attributes:
        what: of which part or kernel, and what it is.
        before: as text; `unknown` where it is not known.
        after: likewise.
    """

    what: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.what} {self.before} -> {self.after}"

    def as_dict(self) -> dict[str, Any]:
        """The consequence as data."""
        return {"what": self.what, "before": self.before, "after": self.after}


def consequences(old: Side, new: Side) -> tuple[Consequence, ...]:
    """The numbers that differ: items of a tile, what the kernels take, resident blocks, grids and waves.

    Args:
        old: rules, what kernels take, and the resolution of one key, before.
        new: the same, after.
    """
    before, after = dict(_numbers(*old)), dict(_numbers(*new))
    return tuple(
        Consequence(what, before.get(what, "none"), after.get(what, "none"))
        for what in dict.fromkeys((*after, *before))
        if before.get(what) != after.get(what)
    )


def _numbers(rules: Rules, use: KernelUse, resolution: Resolution) -> Iterator[tuple[str, str]]:
    tiles = dict(_tiles(rules.algorithm.policy, resolution.policy.as_dict(), ""))
    for path, items in tiles.items():
        yield f"{path}tile items", f"{items:,}"
    limits = limits_of(rules.instance)
    kernels = use.of(resolution)
    resident: int | None = None
    for kernel in kernels:
        found = occupancy(limits, kernel)
        yield f"{kernel.kernel}: threads", f"{kernel.threads:,}"
        yield f"{kernel.kernel}: registers a thread", _registers(kernel)
        yield f"{kernel.kernel}: shared memory bytes", _number(kernel.shared_memory)
        bound = "<= " if found.at_most else ">= " if found.at_least else ""
        yield f"{kernel.kernel}: blocks a SM", f"{bound}{_number(found.blocks)}"
        if found.blocks and not found.at_most and not found.at_least:
            resident = found.blocks if resident is None else min(resident, found.blocks)
    yield from _grids(rules, tiles, resident)


def _grids(rules: Rules, tiles: dict[str, int], resident: int | None) -> Iterator[tuple[str, str]]:
    """Blocks, a tile each, and the waves that they take; the blocks of a bounded grid are dealt the rest."""
    facts = {name: fact.value for name, fact in rules.instance.facts.items()}
    sm_count = facts.get("sm_count")
    blocks_per_sm = resident if resident is not None else facts.get("blocks_per_sm")
    if not tiles or rules.algorithm.engine is not None:
        return
    path, items = next(iter(tiles.items()))
    for size in PROBLEM_SIZES:
        blocks = ceil_div(size, items)
        text = f"{blocks:,} tiles"
        if sm_count and blocks_per_sm:
            waves = ceil_div(blocks, sm_count * blocks_per_sm)
            text += f" in {waves:,} {'wave' if waves == 1 else 'waves'} of {sm_count * blocks_per_sm:,}"
        yield f"{path}2^{size.bit_length() - 1} items", text


def _tiles(struct: Struct, policy: dict[str, Any], at: str) -> Iterator[tuple[str, int]]:
    threads = items = None
    for field in struct.fields:
        value = policy[field.name]
        if isinstance(field.type, RecordType):
            yield from _tiles(field.type.struct, value, f"{at}{field.name} ")
        elif field.role is Role.THREADS:
            threads = value
        elif field.role is Role.ITEMS:
            items = value
    if threads and items:
        yield at, threads * items


def _registers(kernel: KernelResources) -> str:
    if kernel.registers is None:
        return "unknown"
    return f"{'' if kernel.registers_are is None else f'{kernel.registers_are.value} '}{kernel.registers}"


def _number(value: int | None) -> str:
    return "unknown" if value is None else f"{value:,}"
