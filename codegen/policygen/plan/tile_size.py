"""The tile of a transform that is written for tiles: items a block, by bytes in flight and a thread's vector loads.

Upstream's rule is `cub::detail::transform::tile::pick_tile_size`. CCCL 3.5 keeps it switched off, whatever the
compiler, and no policy can change it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from policygen.plan.counts import ceil_div
from policygen.plan.counts import checked

THREADS_PER_BLOCK: Final = 128
"""Threads of a tile's block."""

VECTOR_BYTES: Final = 16
"""Bytes of the widest load of a thread."""

MAX_ITEMS_PER_THREAD: Final = 32
"""The most items a thread."""

MAX_OCCUPANCY: Final = 16
"""Resident blocks a multiprocessor that the bytes in flight are shared among."""

_MAX_BYTES: Final = 1 << 16
_PACKED_BELOW: Final = 4


def tile_size(
    min_bytes_in_flight: int, *, output_bytes: int, input_bytes: Sequence[int], mufu_heavy: bool = False
) -> int:
    """The items of a tile, 128 to 4,096.

    A thread has as many as fill its widest load with the smallest element, or as many as keep enough bytes under way if
    that is more, rounded up to a power of two.

    Args:
        min_bytes_in_flight: bytes a multiprocessor, as transform's policy says.
        output_bytes: bytes of an element that is written, 1 to 65,536.
        input_bytes: bytes of an element of each input, in any order; none where the transform only fills.
        mufu_heavy: the operator lives on the multi-function unit (exponentials, say). Elements below 4 bytes then come
            packed in registers and are unpacked, so a thread has no more of them than one load brings: 5 of 3 bytes.

    Raises:
        ValueError: an argument is out of bounds.
    """
    checked("min_bytes_in_flight", min_bytes_in_flight, 0)
    checked("output_bytes", output_bytes, 1, _MAX_BYTES)
    for size in input_bytes:
        checked("input_bytes", size, 1, _MAX_BYTES)
    smallest = min([output_bytes, *input_bytes])
    moved = sum(input_bytes) or output_bytes
    wanted = max(
        ceil_div(VECTOR_BYTES, smallest), ceil_div(min_bytes_in_flight, MAX_OCCUPANCY * THREADS_PER_BLOCK * moved)
    )
    items = min(1 << (wanted - 1).bit_length(), MAX_ITEMS_PER_THREAD)
    if mufu_heavy and smallest < _PACKED_BELOW:
        items = min(items, VECTOR_BYTES // smallest)
    return items * THREADS_PER_BLOCK
