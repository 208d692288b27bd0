"""The policies of the common keys of an algorithm on a target, and how many of them differ."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from itertools import product
from typing import Any

from attrs import field
from attrs import frozen

from policygen.model.record import Record
from policygen.resolve.candidate import NoPolicy
from policygen.resolve.key import InvalidKey
from policygen.resolve.resolver import Resolution
from policygen.resolve.resolver import Resolver


@frozen
class Row:
    """One common key.

    Attributes:
        given: the key fields that the algorithm's `[common]` lists, in its order; the others have their defaults.
        resolution: the policy and its trace.
    """

    given: Mapping[str, Any]
    resolution: Resolution

    @property
    def policy(self) -> Record:
        """The row's policy."""
        return self.resolution.policy


@frozen
class PolicyTable:
    """The rows of one algorithm on one target.

    Attributes:
        refused: common keys without a policy, with the reason.
    """

    target: str
    algorithm: str
    rows: tuple[Row, ...]
    refused: tuple[tuple[Mapping[str, Any], str], ...] = field(default=())

    @cached_property
    def distinct(self) -> tuple[Record, ...]:
        """The policies that differ, in order of first use."""
        return tuple(dict.fromkeys(row.policy for row in self.rows))


def policy_table(resolver: Resolver) -> PolicyTable:
    """Resolves the common keys of an algorithm."""
    rules = resolver.rules
    rows: list[Row] = []
    refused: list[tuple[Mapping[str, Any], str]] = []
    names = [name for name, _ in rules.algorithm.common]
    for values in product(*(values for _, values in rules.algorithm.common)):
        given = dict(zip(names, values, strict=True))
        try:
            rows.append(Row(given, resolver.resolve(given)))
        except (NoPolicy, InvalidKey) as error:
            refused.append((given, str(error)))
    return PolicyTable(rules.target, rules.algorithm.name, tuple(rows), tuple(refused))
