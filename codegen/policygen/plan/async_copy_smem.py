"""Shared memory that an asynchronous transform asks for: its tile of every input, and room for unaligned ends.

Source: `tuning_transform.cuh`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from policygen.plan.counts import round_up

CP_ASYNC_BYTES: Final = 16
"""Bytes of a copy of a thread, and its alignment."""

_BULK_ALIGNMENTS: Final = (128, 16)
_SMALL_BULK_ALIGNMENT_FROM: Final = 100


def bulk_copy_alignment(compute_capability: int | None) -> int:
    """Bytes that a bulk copy is aligned to (`bulk_copy_alignment`): 128 before 10.0, 16 since."""
    before, since = _BULK_ALIGNMENTS
    return since if compute_capability is not None and compute_capability >= _SMALL_BULK_ALIGNMENT_FROM else before


def bulk_copy_smem_bytes(inputs: Sequence[tuple[int, int]], tile_items: int, *, alignment: int) -> int:
    """Dynamic shared memory of ublkcp, in bytes (`bulk_copy_dyn_smem_for_tile_size`).

    Args:
        inputs: size and alignment of an element of each input, in bytes.
        tile_items: items of a tile.
        alignment: see `bulk_copy_alignment`.
    """
    padding = max([alignment, *(element_alignment for _, element_alignment in inputs)])
    # once for the barrier
    return padding + sum(padding + size * tile_items for size, _ in inputs)


def cp_async_smem_bytes(inputs: Sequence[tuple[int, int]], tile_items: int) -> int:
    """Dynamic shared memory of ldgsts, in bytes (`memcpy_async_dyn_smem_for_tile_size`).

    Args:
        inputs: size and alignment of an element of each input, in bytes, in order.
        tile_items: items of a tile.
    """
    total = 0
    for size, alignment in inputs:
        total = round_up(total, max(alignment, CP_ASYNC_BYTES))
        total += size * tile_items + 2 * max(CP_ASYNC_BYTES - size, 0)
    return total
