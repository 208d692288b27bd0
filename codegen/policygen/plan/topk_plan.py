"""The launches of a selection of the k greatest or least keys.

Source: `dispatch_topk.cuh`, and `agent_topk.cuh` for what the passes share.
"""

from __future__ import annotations

from typing import Final

from attrs import frozen

from policygen.plan.counts import MAX_ITEMS
from policygen.plan.counts import ceil_div
from policygen.plan.counts import checked
from policygen.plan.counts import checked_items
from policygen.plan.counts import round_up
from policygen.plan.radix_sort_plan import MOST_DIGIT_BITS
from policygen.plan.residency import Residency
from policygen.plan.residency import Waves
from policygen.plan.temporary_storage import size_query_bytes

_ITEMS_PER_CANDIDATE: Final = 128
_COUNTER_ALIGNMENT: Final = 128
_LONE_COUNTERS: Final = 4  # each with a cache line of its own
_WORD_BITS: Final = 32


@frozen(kw_only=True)
class TopkPlan:
    """The launches of a selection by radix digits: one that counts, one a further digit, and one that writes the rest.

    Attributes:
        num_items: keys to choose from.
        k: keys to choose: at most num_items, as upstream cuts it.
        pass_bits: bits of the digit of each pass, from the most significant.
        tile_items: keys of a tile.
        num_tiles: tiles of all keys.
        grid: blocks of a launch of the kernel that filters and counts. Blocks loop over tiles, so that a grid fills the
            device once at most; of no keys it is 0, which CUDA refuses to launch: upstream has no case for it.
        histogram_grid: blocks of the first launch.
        last_filter_grid: blocks of the last launch.
        launches: kernels, one after the other.
        candidates: keys that a buffer of candidates holds; a pass with more reads all keys once more.
        temporary_bytes: bytes of all temporary arrays, without slack.
        allocation_bytes: what upstream's size query answers.
        waves: how a launch of `grid` blocks runs.
    """

    num_items: int
    k: int
    pass_bits: tuple[int, ...]
    tile_items: int
    num_tiles: int
    grid: int
    histogram_grid: int
    last_filter_grid: int
    launches: int
    candidates: int
    temporary_bytes: int
    allocation_bytes: int
    waves: Waves


def topk_counter_bytes(key_size: int, *, offset_size: int, k_size: int) -> int:
    """Bytes of what the passes share: counts, and the bits of the k-th key as far as they are known.

    Args:
        key_size: bytes of a key. The bits of one that is no number are kept in words of 32, with 31 bits to spare;
            those of a number, of 16 bytes at most, take no more of the line that they share with the first counts.
        offset_size: bytes of a count of keys, 4 or 8.
        k_size: bytes of a count of results, 4 or 8.
    """
    counts = round_up(k_size, offset_size) + 2 * offset_size
    words = ceil_div(8 * key_size + _WORD_BITS - 1, _WORD_BITS)
    return round_up(counts + words * (_WORD_BITS // 8), _COUNTER_ALIGNMENT) + _LONE_COUNTERS * _COUNTER_ALIGNMENT


def topk_plan(
    num_items: int,
    *,
    k: int,
    key_size: int,
    value_size: int,
    offset_size: int,
    tile_items: int,
    digit_bits: int,
    residency: Residency,
    k_size: int | None = None,
    key_bits: int | None = None,
    histogram_occupancy: int | None = None,
    last_filter_occupancy: int | None = None,
) -> TopkPlan:
    """Plans a selection of the greatest or least keys.

    Args:
        num_items: keys to choose from, 0 to 2^62.
        k: keys to choose.
        key_size: bytes of a key.
        value_size: bytes of a value; 0 where keys are chosen alone. Values move once, at the end: of candidates, the
            buffers hold offsets.
        offset_size: bytes of the offset type, 4 or 8.
        tile_items: threads_per_block x items_per_thread of the policy.
        digit_bits: `bits_per_pass` of the policy.
        residency: of the kernel that filters and counts.
        k_size: bytes of the type of k, 4 or 8; upstream takes no wider one than the offset type. By default that.
        key_bits: bits of a key that are compared; all by default.
        histogram_occupancy: resident blocks a multiprocessor of the first kernel; by default as of the main one.
        last_filter_occupancy: the same of the last kernel.

    Raises:
        ValueError: an argument is out of bounds, or the offset type does not count so many keys.
    """
    if offset_size not in (4, 8) or k_size not in (None, 4, 8):
        raise ValueError(f"an offset has 4 or 8 bytes, not {offset_size} and {k_size}")
    num_items = min(checked_items(num_items), checked("num_items", num_items, 0, 2 ** (8 * offset_size) - 1))
    key_size, value_size = checked("key_size", key_size, 1), checked("value_size", value_size, 0)
    tile_items = checked("tile_items", tile_items, 1)
    digit_bits = checked("bits_per_pass", digit_bits, 1, MOST_DIGIT_BITS)
    key_bits = checked("key_bits", 8 * key_size if key_bits is None else key_bits, 1, 8 * key_size)
    num_tiles = checked("the number of tiles", ceil_div(num_items, tile_items), 0, 2**32 - 1)
    passes = ceil_div(key_bits, digit_bits)
    candidates = max(1, num_items // _ITEMS_PER_CANDIDATE)
    buffer = candidates * key_size
    offsets = candidates * offset_size if value_size else 0
    arrays = [
        topk_counter_bytes(key_size, offset_size=offset_size, k_size=min(k_size or offset_size, offset_size)),
        (1 << digit_bits) * offset_size,
        buffer,
        buffer,
        *([offsets, offsets] if value_size else []),
    ]

    def grid(occupancy: int | None) -> int:
        blocks = residency.occupancy if occupancy is None else checked("an occupancy", occupancy, 1)
        return min(blocks * residency.sm_count, num_tiles)

    return TopkPlan(
        num_items=num_items,
        k=min(checked("k", k, 0, MAX_ITEMS), num_items),
        pass_bits=(*[digit_bits] * (passes - 1), key_bits - (passes - 1) * digit_bits),
        tile_items=tile_items,
        num_tiles=num_tiles,
        grid=grid(None),
        histogram_grid=grid(histogram_occupancy),
        last_filter_grid=grid(last_filter_occupancy),
        launches=passes + 1,
        candidates=candidates,
        temporary_bytes=sum(arrays),
        allocation_bytes=size_query_bytes(*arrays),
        waves=residency.waves(grid(None)),
    )
