"""What a target holds of a policy's kernels, told: a line for each, and as data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from policygen.model.facts import EvidenceKind
from policygen.plan.kernel_resources import KernelResources
from policygen.plan.limits import LIMIT_NAMES
from policygen.plan.limits import Limits
from policygen.plan.limits import limits_from_facts
from policygen.plan.occupancy import Occupancy
from policygen.plan.occupancy import Resource
from policygen.plan.occupancy import Room
from policygen.resolve.instance import TargetInstance

_BOUND = {(False, False): "", (True, False): "at most ", (False, True): "at least ", (True, True): "about "}
"""What a number of blocks is where there may be fewer, and where there may be more."""


def limits_of(instance: TargetInstance) -> Limits:
    """The limits that a target goes by; of a fact with several plausible values the effective one."""
    return limits_from_facts({name: fact.value for name, fact in instance.facts.items()})


def occupancy_line(found: Occupancy, *, tell_unknown: bool = True) -> str:
    """The occupancy of one kernel in one line; with the limits that are not known, unless they are told elsewhere.

    `sum: 6 blocks a SM (48 of 64 warps), limited by registers; registers 33 (compiled), margin 7; shared memory 44
    bytes, margin 37,844; one more block with 1 register a thread less`
    """
    return f"{found.kernel.kernel}: {'; '.join(_parts(found, tell_unknown))}"


def _parts(found: Occupancy, tell_unknown: bool) -> Iterator[str]:
    limiting = limiting_text(found)
    if found.blocks == 0:
        yield f"{'by the model ' if found.at_least else ''}no block fits, for want of {limiting}"
    else:
        warps = "" if found.warps is None or found.max_warps is None else f" ({found.warps} of {found.max_warps} warps)"
        yield f"{blocks_text(found)} a SM{warps}" + (f", limited by {limiting}" if limiting else "")
    yield f"registers {registers_text(found.kernel)}{_registers_margin(found)}"
    yield f"shared memory {shared_memory_text(found.kernel)}{_memory_margin(found)}"
    facts = unknown_limits(found)
    if facts:
        yield from [f"not known of the target: {', '.join(facts)}"] if tell_unknown else []
    elif found.one_more is not None:
        yield f"{'one more block' if found.blocks else 'one block'} with {_saving(found.kernel, found.one_more)}"


def unknown_limits(found: Occupancy) -> list[str]:
    """The limits of the target that bear on the blocks and are not known."""
    return [name for name in found.unknown if name in LIMIT_NAMES]


def blocks_text(found: Occupancy) -> str:
    """`8 blocks`, `at most 8 blocks`, `at least 8 blocks`, or that the number is unknown."""
    if found.blocks is None:
        return "an unknown number of blocks"
    return f"{_BOUND[found.at_most, found.at_least]}{_counted(found.blocks, 'block')}"


def limiting_text(found: Occupancy) -> str:
    """The limiting resources: `threads and registers`."""
    return " and ".join(resource.value for resource in found.limited_by)


def registers_text(kernel: KernelResources) -> str:
    """Registers a thread and how they are known: `32 (compiled)`."""
    if kernel.registers is None:
        return "unknown"
    match kernel.registers_are:
        case None:
            return f"{kernel.registers}"
        case EvidenceKind.DERIVED:
            return f"{kernel.registers} at most (derived from the model)"
        case kind:
            return f"{kernel.registers} ({kind.value})"


def shared_memory_text(kernel: KernelResources) -> str:
    """Bytes a block: `44 bytes`, `44 static and 4,096 dynamic bytes`."""
    if kernel.static_smem is None:
        return f"unknown, {kernel.dynamic_smem:,} dynamic bytes" if kernel.dynamic_smem else "unknown"
    if kernel.dynamic_smem:
        return f"{kernel.static_smem:,} static and {kernel.dynamic_smem:,} dynamic bytes"
    return _counted(kernel.static_smem, "byte")


def _registers_margin(found: Occupancy) -> str:
    if found.keeps is None or found.keeps.registers is None:
        return ""
    if found.spare_registers is None:
        return f", up to {found.keeps.registers} a thread allow as many"
    return f", margin {_at_most(found, Resource.REGISTERS)}{found.spare_registers}"


def _memory_margin(found: Occupancy) -> str:
    if found.spare_shared_memory is None:
        return ", margin unknown" if found.keeps is not None and found.kernel.static_smem is not None else ""
    return f", margin {_at_most(found, Resource.SHARED_MEMORY)}{found.spare_shared_memory:,}"


def _at_most(found: Occupancy, resource: Resource) -> str:
    return "at most " if found.bounds[resource].unknown else ""


def _saving(kernel: KernelResources, room: Room) -> str:
    parts: list[str] = []
    if room.registers is not None:
        if kernel.registers is None:
            parts.append(f"at most {_counted(room.registers, 'register')} a thread")
        elif kernel.registers > room.registers:
            parts.append(f"{_counted(kernel.registers - room.registers, 'register')} a thread less")
    used = kernel.shared_memory
    if used is not None and room.shared_memory is not None and used > room.shared_memory:
        parts.append(f"{_counted(used - room.shared_memory, 'byte')} less")
    return " and ".join(parts)


def occupancy_data(found: Occupancy) -> dict[str, Any]:
    """The occupancy of one kernel as data; None for what is not known."""
    kernel = found.kernel
    return {
        "kernel": kernel.kernel,
        "threads": kernel.threads,
        "registers": kernel.registers,
        "registers_are": None if kernel.registers_are is None else kernel.registers_are.value,
        "static_smem": kernel.static_smem,
        "dynamic_smem": kernel.dynamic_smem,
        "blocks": found.blocks,
        "at_most": found.at_most,
        "at_least": found.at_least,
        "warps": found.warps,
        "max_warps": found.max_warps,
        "limited_by": [resource.value for resource in found.limited_by],
        "bounds": {resource.value: bound.blocks for resource, bound in found.bounds.items()},
        "margin": {"registers": found.spare_registers, "shared_memory": found.spare_shared_memory},
        "keeps": _room_data(found.keeps),
        "one_more": _room_data(found.one_more),
        "unknown": list(found.unknown),
    }


def _room_data(room: Room | None) -> dict[str, int | None] | None:
    return None if room is None else {"registers": room.registers, "shared_memory": room.shared_memory}


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
