"""What CUB itself selects, at any capability: the reference's points, scaled, and nothing of a target's."""

from __future__ import annotations

from typing import Any
from typing import Final

from attrs import frozen

from policygen.project import Project
from policygen.resolve.resolver import Resolution
from policygen.resolve.specialise import Rules
from policygen.resolve.trace import Scaled
from policygen.scaling import Nominal
from policygen.scaling import Resolved
from policygen.scaling import ScalingRule
from policygen.spec import Spec

NOT_CONTIGUOUS: Final = {"input_contiguous": False}
"""A key of a scan with this is never answered by lookahead: lookback's points show."""


@frozen
class Counts:
    """The counts of one part of a policy, before and after scaling.

    Attributes:
        point: the point that they come from, as `origin/id`.
        place: where the spec has it.
        nominal: as published.
        rule: how they are scaled.
        size: bytes that they are scaled for.
        resolved: after scaling.
    """

    point: str
    place: str
    nominal: Nominal
    rule: ScalingRule
    size: int
    resolved: Resolved

    @property
    def noted(self) -> str:
        """The nominal counts as `threads x items`."""
        return f"{self.nominal.threads_per_block} x {self.nominal.items_per_thread}"

    @property
    def scaled(self) -> str:
        """The resolved counts as `threads x items`."""
        return f"{self.resolved.threads_per_block} x {self.resolved.items_per_thread}"

    @property
    def tile_bytes(self) -> int:
        """Bytes of a tile after scaling."""
        return self.resolved.threads_per_block * self.resolved.items_per_thread * self.size


class Upstream:
    """Resolves keys as CUB does on NVIDIA's architectures, whatever target is under review."""

    def __init__(self, project: Project) -> None:
        self._project = project

    def resolve(self, architecture: str, algorithm: str, **key: Any) -> Resolution:
        """Resolves a key on an architecture (`10.0`, `sm_90`) or another target. Raises as `Project.resolve`."""
        return self._project.resolve(architecture, algorithm, **key)

    @property
    def spec(self) -> Spec:
        """All that the spec files say."""
        return self._project.spec

    def rules(self, architecture: str, algorithm: str) -> Rules:
        """The rules of an algorithm on an architecture, or another target. Raises as `Project.resolver`."""
        return self._project.resolver(architecture, algorithm).rules

    def fact(self, target: str, name: str) -> int | None:
        """A fact of a target; None where it is not known. Raises as `Project.target`."""
        found = self._project.target(target).facts.get(name)
        return None if found is None else found.value

    def counts(self, architecture: str, algorithm: str, path: str, **key: Any) -> Counts:
        """The counts of a part of a policy (`multi_tile`), which has to be scaled.

        Raises:
            ValueError: the part has no nominal counts.
        """
        resolution = self.resolve(architecture, algorithm, **key)
        for step in resolution.trace:
            if isinstance(step, Scaled) and step.path == path:
                point = f"{resolution.origin}/{resolution.point}"
                place = str(resolution.point_rule.location)
                return Counts(point, place, step.nominal, step.rule, step.size, step.resolved)
        raise ValueError(f"{path} of {resolution.origin}/{resolution.point} has no nominal counts")
