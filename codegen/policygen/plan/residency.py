"""Blocks that are resident at once, and the waves that a grid takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from attrs import frozen

from policygen.plan.counts import INT32_MAX
from policygen.plan.counts import ceil_div
from policygen.plan.counts import checked
from policygen.plan.occupancy import Occupancy

SUBSCRIPTION_FACTOR: Final = 5
"""Blocks of a grid a resident block (`cub::detail::subscription_factor`)."""


@frozen
class Waves:
    """How a grid runs, if blocks take equally long.

    Attributes:
        blocks: blocks of the grid.
        resident_blocks: blocks that run at once.
        waves: rounds that the grid takes.
        tail_blocks: blocks of the last round; 0 only for an empty grid.
    """

    blocks: int
    resident_blocks: int
    waves: int
    tail_blocks: int

    @property
    def utilisation(self) -> float:
        """Blocks of the grid over places for blocks in its waves: 0 to 1, and 0 for an empty grid."""
        return self.blocks / (self.waves * self.resident_blocks) if self.waves else 0.0


@frozen(kw_only=True)
class Residency:
    """Blocks of one kernel on a device.

    Attributes:
        sm_count: multiprocessors.
        occupancy: resident blocks a multiprocessor. A property of the kernel (`MaxSmOccupancy`), never of the device.
        subscription_factor: blocks of a grid a resident block.
    """

    sm_count: int
    occupancy: int
    subscription_factor: int = SUBSCRIPTION_FACTOR

    def __attrs_post_init__(self) -> None:
        checked("sm_count", self.sm_count, 1)
        checked("occupancy", self.occupancy, 1)
        checked("subscription_factor", self.subscription_factor, 1)
        checked("occupancy x sm_count x subscription_factor", self.max_blocks, 1, INT32_MAX)

    @property
    def resident_blocks(self) -> int:
        """Blocks that run at once."""
        return self.occupancy * self.sm_count

    @property
    def max_blocks(self) -> int:
        """The most blocks that a bounded grid launches: occupancy x sm_count x subscription_factor."""
        return self.resident_blocks * self.subscription_factor

    def waves(self, blocks: int) -> Waves:
        """How a grid of that many blocks runs. Raises ValueError for a negative number."""
        checked("blocks", blocks, 0)
        waves = ceil_div(blocks, self.resident_blocks)
        tail = blocks - (waves - 1) * self.resident_blocks if waves else 0
        return Waves(blocks, self.resident_blocks, waves, tail)


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
