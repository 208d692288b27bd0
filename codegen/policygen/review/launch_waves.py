"""Waves against problem size: the rounds of resident blocks that the launch of a policy takes."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from typing import Final

from attrs import AttrsInstance
from attrs import frozen

from policygen.plan.counts import ceil_div
from policygen.plan.device import Device
from policygen.plan.occupancy import Occupancy
from policygen.plan.planners import PLANNERS
from policygen.plan.planners import Planner
from policygen.plan.target_device import device_from_facts
from policygen.resolve.resolver import Resolution
from policygen.resolve.specialise import Rules

PROBLEM_SIZES: Final = tuple(2**power for power in range(10, 31, 2))
"""Items of the problems for which waves are told."""

_CHOSEN: Final[Mapping[str, Mapping[str, int]]] = {"topk": {"k": 1}}
"""What a plan asks for beside the key; the grid of a top-k is the same for any k."""


@frozen
class LaunchWaves:
    """The waves of one policy.

    Attributes:
        per_sm: blocks that a multiprocessor is taken to hold.
        basis: how that is known, for people.
        waves: for each of PROBLEM_SIZES; None where the dispatcher refuses the size.
    """

    per_sm: int
    basis: str
    waves: tuple[int | None, ...]


class WaveCounter:
    """Counts the waves of the policies of one algorithm on one target.

    Where the dispatcher has a plan (`policygen plan`), the grid is the one that it launches; else every block takes one
    tile.
    """

    def __init__(self, rules: Rules) -> None:
        self._facts = {name: fact.value for name, fact in rules.instance.facts.items()}
        self._capability = rules.instance.capability
        name = rules.algorithm.name
        self._planner = next((p for p in PLANNERS.values() if p.algorithm == name), None)
        self._chosen = _CHOSEN.get(name, {})

    @property
    def planned(self) -> bool:
        """Whether the grid is the dispatcher's."""
        return self._planner is not None

    @property
    def counted(self) -> str:
        """What a problem size counts: items, segments, buffers to copy."""
        return "items" if self._planner is None else self._planner.items_doc.partition(",")[0].rstrip(".")

    def of(self, resolution: Resolution, tile: int | None, kernels: Sequence[Occupancy]) -> LaunchWaves | None:
        """The waves of a policy; None where there is no tile, or a fact that a grid needs is not known.

        Args:
            resolution: gives the policy and its key.
            tile: items of a block, for a launch without a plan.
            kernels: how many blocks of each kernel a multiprocessor holds.
        """
        per_sm, basis = self._per_sm(kernels)
        if per_sm is None or (tile is None and self._planner is None):
            return None
        try:
            device = device_from_facts(self._facts, capability=self._capability, occupancy=per_sm)
        except ValueError:
            return None
        return LaunchWaves(per_sm, basis, tuple(self._waves(size, resolution, tile, device) for size in PROBLEM_SIZES))

    def _per_sm(self, kernels: Sequence[Occupancy]) -> tuple[int | None, str]:
        """The fewest resident blocks of any kernel: as computed, else as the target says, else as far as is known."""
        known = [found.blocks for found in kernels if found.blocks]
        if known and all(found.blocks and not found.at_most and not found.at_least for found in kernels):
            return min(known), "as computed"
        stated = self._facts.get("blocks_per_sm")
        if stated is not None:
            return stated, "the target's blocks_per_sm"
        return (min(known), "a bound: see the occupancy") if known else (None, "")

    def _waves(self, size: int, resolution: Resolution, tile: int | None, device: Device) -> int | None:
        if self._planner is None:
            assert tile is not None
            return device.residency.waves(ceil_div(size, tile)).waves
        try:
            return _waves_of(_launch(self._planner, resolution, size, device, self._chosen))
        except ValueError:
            return None


def _launch(
    planner: Planner, resolution: Resolution, size: int, device: Device, chosen: Mapping[str, int]
) -> AttrsInstance:
    return planner.launch(resolution.policy, resolution.key, num_items=size, device=device, **chosen)


def _waves_of(plan: Any) -> int | None:
    """The waves of a plan, or of the part of it that has a grid."""
    for part in (plan, *(getattr(plan, name, None) for name in ("lookback", "lookahead", "plan"))):
        if (waves := getattr(part, "waves", None)) is not None:
            return int(waves.waves)
    return None
