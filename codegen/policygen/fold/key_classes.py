"""Common keys with one policy, gathered by what of a key matters to somebody."""

from __future__ import annotations

from collections.abc import Hashable
from collections.abc import Iterable
from typing import Generic
from typing import TypeVar

from attrs import frozen

from policygen.fold.table import Row
from policygen.model.record import Record

K = TypeVar("K", bound=Hashable)


@frozen
class KeyClass(Generic[K]):
    """Keys with one policy that are alike.

    Attributes:
        policy: their policy.
        trait: what they have in common.
        rows: their rows, in the order of the table.
    """

    policy: Record
    trait: K
    rows: tuple[Row, ...]


def key_classes(rows: Iterable[tuple[Row, K]]) -> tuple[KeyClass[K], ...]:
    """Gathers rows with equal policies and traits, in the order of first use.

    Args:
        rows: each with its trait.
    """
    groups: dict[tuple[Record, K], list[Row]] = {}
    for row, trait in rows:
        groups.setdefault((row.policy, trait), []).append(row)
    return tuple(KeyClass(policy, trait, tuple(found)) for (policy, trait), found in groups.items())
