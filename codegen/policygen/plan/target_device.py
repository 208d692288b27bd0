"""The device that a target's facts describe."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import fields_dict

from policygen.plan.device import Device
from policygen.plan.occupancy import Occupancy
from policygen.plan.residency import Residency


def residency_from_facts(facts: Mapping[str, int | None], occupancy: int | Occupancy | None = None) -> Residency:
    """The residency that a target's facts describe.

    Args:
        facts: effective values by fact name; None for unknown.
        occupancy: resident blocks a multiprocessor where the kernel's own is known, as a number or as computed; the
            fact `blocks_per_sm` else.

    Raises:
        ValueError: a fact that is needed is unknown; or of the computed occupancy no more is known than a bound, or
            not even one block fits.
    """
    return Residency(
        sm_count=_known(facts, "sm_count"),
        occupancy=_blocks(facts, occupancy),
        subscription_factor=_known(facts, "subscription_factor"),
    )


def device_from_facts(
    facts: Mapping[str, int | None], *, capability: int | None, occupancy: int | Occupancy | None = None
) -> Device:
    """The device that a target's facts describe.

    Args:
        facts: effective values by fact name; None for unknown.
        capability: major x 10 + minor that kernels are compiled for; None for hardware that has none.
        occupancy: as of `residency_from_facts`.

    Raises:
        ValueError: as of `residency_from_facts`.
    """
    given = ("residency", "compute_capability")
    return Device(
        residency=residency_from_facts(facts, occupancy),
        compute_capability=capability,
        **{name: facts.get(name) for name in fields_dict(Device) if name not in given},
    )


def _blocks(facts: Mapping[str, int | None], occupancy: int | Occupancy | None) -> int:
    if occupancy is None:
        return _known(facts, "blocks_per_sm")
    if not isinstance(occupancy, Occupancy):
        return occupancy
    name = occupancy.kernel.kernel
    if occupancy.blocks is None or occupancy.at_most or occupancy.at_least:
        missing = ", ".join(occupancy.unknown) or "registers that are the compiler's and not a model's"
        raise ValueError(f"the occupancy of {name} is not known for want of {missing}; give it as a number")
    if occupancy.blocks == 0:
        limiting = " and ".join(resource.value for resource in occupancy.limited_by)
        raise ValueError(f"{name} does not run: not one block of it fits a multiprocessor, for its {limiting}")
    return occupancy.blocks


def _known(facts: Mapping[str, int | None], name: str) -> int:
    value = facts.get(name)
    if value is None:
        hint = "; give the occupancy of the kernel" if name == "blocks_per_sm" else ""
        raise ValueError(f"the target does not know {name}, which a plan needs{hint}")
    return value
