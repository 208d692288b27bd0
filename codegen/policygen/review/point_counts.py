"""The counts that points state, as they are written: nominal or literal, not scaled yet."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from policygen.lang.tree import Const
from policygen.model.types import Role
from policygen.resolve.specialise import roles_of
from policygen.spec import Counts
from policygen.spec import Path
from policygen.spec import Point
from policygen.spec import Scale
from policygen.spec import SubPolicy


@frozen
class StatedCounts:
    """Threads and items that a point states as numbers.

    Attributes:
        path: the part of the policy that has them.
        kind: how they are meant.
        threads: threads of a block.
        items: items of a thread.
        vector: items of a vector, where the part has them as a number.
        scale: how nominal ones are scaled.
    """

    path: Path
    kind: Counts
    threads: int
    items: int
    vector: int | None
    scale: Scale | None


def stated_counts(point: Point) -> Iterator[StatedCounts]:
    """The parts of a point's policy that state both counts as numbers; copies and formulas are passed over."""
    yield from _of(point.policy, ())


def _of(policy: SubPolicy, at: Path) -> Iterator[StatedCounts]:
    fields = dict(policy.fields)
    roles = roles_of(policy.struct)
    if policy.counts in (Counts.NOMINAL, Counts.LITERAL) and Role.THREADS in roles and Role.ITEMS in roles:
        match fields[roles[Role.THREADS]], fields[roles[Role.ITEMS]]:
            case Const(value=int() as threads), Const(value=int() as items):
                vector = fields.get(roles.get(Role.VECTOR, ""))
                width = vector.value if isinstance(vector, Const) and isinstance(vector.value, int) else None
                yield StatedCounts(at, policy.counts, threads, items, width, policy.scale)
            case _:
                pass
    for name, value in policy.fields:
        if isinstance(value, SubPolicy):
            yield from _of(value, (*at, name))
