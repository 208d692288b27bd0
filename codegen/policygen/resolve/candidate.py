"""A candidate on its way through the passes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import evolve
from attrs import frozen

from policygen.lang.evaluate import LazyNames
from policygen.resolve.trace import Step
from policygen.spec import Ladder
from policygen.spec import Path
from policygen.spec import Point


class NoPolicy(ValueError):  # noqa: N818 - it says what there is
    """No policy of the target works for a key; the message says which constraint stands in the way."""


@frozen
class Candidate:
    """The policy of one key as far as it is known, and how it came about.

    Attributes:
        names: key, lets and used policies by name.
        policy: root field to value; empty before scaling.
    """

    names: LazyNames
    ladder: Ladder
    point: Point
    policy: Mapping[str, Any]
    trace: tuple[Step, ...]

    def with_steps(self, *steps: Step) -> Candidate:
        """The candidate with more of a trace."""
        return evolve(self, trace=(*self.trace, *steps)) if steps else self

    def visible(self, policy: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """What expressions over key and policy see."""
        return Overlay(self.names, self.policy if policy is None else policy)


class Overlay(dict[str, Any]):
    """A policy, complete or not, in front of key and lets; it starts as a copy of the root record."""

    def __init__(self, names: LazyNames, policy: Mapping[str, Any]) -> None:
        super().__init__(policy)
        self._names = names

    def __missing__(self, name: str) -> Any:
        return self._names[name]


def value_at(policy: Mapping[str, Any], path: Path) -> Any:
    """The value of a field."""
    value: Any = policy
    for name in path:
        value = value[name]
    return value


def replaced(policy: Mapping[str, Any], path: Path, value: Any) -> dict[str, Any]:
    """The policy with another value for one field."""
    head, *rest = path
    return {**policy, head: replaced(policy[head], tuple(rest), value) if rest else value}
