"""Blocks that are resident at once, and the waves that a grid takes."""

from __future__ import annotations

from typing import Final

from attrs import frozen

from policygen.plan.counts import INT32_MAX
from policygen.plan.counts import ceil_div
from policygen.plan.counts import checked

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
        utilisation: blocks of the grid over places for blocks in its waves: 0 to 1, and 0 for an empty grid.
    """

    blocks: int
    resident_blocks: int
    waves: int
    tail_blocks: int
    utilisation: float


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
        utilisation = blocks / (waves * self.resident_blocks) if waves else 0.0
        return Waves(blocks, self.resident_blocks, waves, tail, utilisation)
