"""Temporary storage, as CUB's size query answers."""

from __future__ import annotations

from typing import Final

from policygen.plan.counts import round_up

ALIGNMENT: Final = 256
"""Bytes that every allocation within a temporary storage is aligned to."""

NO_STORAGE: Final = 1
"""Bytes that upstream asks for where it needs none: 0 would make a caller's null pointer ask again."""


def size_query_bytes(*allocations: int) -> int:
    """Bytes of one storage that holds allocations of so many bytes each (`cub::detail::alias_temporaries`).

    Each is rounded up to 256 bytes, and the storage itself may start unaligned: 255 bytes more.
    """
    return sum(round_up(allocation, ALIGNMENT) for allocation in allocations) + ALIGNMENT - 1
