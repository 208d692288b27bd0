"""CUB's rules that turn nominal counts into the counts of a real element size.

Nominal counts are published for a 4-byte element. Every rule here gives exactly upstream's integers, also where they
do not fit: a fit is a separate check (`policygen.resolve.constrain`). Sources are symbols of CCCL 3.5.

Nominal, literal and resolved counts are different types, so that scaling twice neither type-checks nor runs.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from attrs import field
from attrs import frozen

TILE_BYTES = 48 * 1024
"""The tile that the rules aim at, in bytes: `max_smem_per_block` in cub/util_arch.cuh."""

WARP_THREADS = 32
"""The granule of a scaled block, in threads: upstream's constant on every target."""


class ScaledCounts(NamedTuple):
    """Named result of a scaling rule; upstream's helpers return the same two numbers in this order."""

    items_per_thread: int
    threads_per_block: int


def _positive(_instance: object, _attribute: object, value: int) -> None:
    if value < 1:
        raise ValueError(f"counts are at least 1, not {value}")


@frozen
class Nominal:
    """Counts as published for a 4-byte element, still to be scaled."""

    threads_per_block: int = field(validator=_positive)
    items_per_thread: int = field(validator=_positive)


@frozen
class Literal:
    """Counts that are never scaled: their authors chose them for the real element size."""

    threads_per_block: int
    items_per_thread: int


@frozen
class Resolved:
    """Counts after scaling. Threads may be zero: upstream's rules give that for elements beyond 48 KiB."""

    threads_per_block: int
    items_per_thread: int


class ScalingRule(Enum):
    """The rules by the names that specs use."""

    MEM_BOUND = "mem_bound"
    REG_BOUND = "reg_bound"
    NOMINAL_4B_ITEMS = "nominal_4b_items"
    NOMINAL_8B_ITEMS = "nominal_8b_items"


def scale_mem_bound(threads_per_block: int, items_per_thread: int, size: int) -> ScaledCounts:
    """`cub::detail::scale_mem_bound`: items grow to at most twice the nominal count for small elements.

    Args:
        threads_per_block: nominal threads, at least 1.
        items_per_thread: nominal items, at least 1.
        size: element size in bytes, at least 1.
    """
    items = min(max(items_per_thread * 4 // size, 1), items_per_thread * 2)
    return ScaledCounts(items, _capped_threads(threads_per_block, items * size))


def scale_reg_bound(threads_per_block: int, items_per_thread: int, size: int) -> ScaledCounts:
    """`cub::detail::scale_reg_bound`: as mem-bound, but items never grow beyond the nominal count."""
    items = max(1, items_per_thread * 4 // max(4, size))
    return ScaledCounts(items, _capped_threads(threads_per_block, items * size))


def nominal_4b_items(items_per_thread: int, size: int) -> int:
    """`Nominal4BItemsToItems`: clamp(items * 4 / size, 1, items); threads are not touched."""
    return min(max(items_per_thread * 4 // size, 1), items_per_thread)


def nominal_8b_items(items_per_thread: int, size: int) -> int:
    """`Nominal8BItemsToItems`: items up to 8 bytes, then clamp(ceil(8 * items / size), 1, items)."""
    if size <= 8:
        return items_per_thread
    return min(max(-(-8 * items_per_thread // size), 1), items_per_thread)


def _capped_threads(threads_per_block: int, bytes_per_thread: int) -> int:
    # The quotient is truncated first and rounded up to a warp after: the tile may exceed 48 KiB, and a thread that
    # alone exceeds it gives zero threads. Both are upstream's results.
    warps = -(-(TILE_BYTES // bytes_per_thread) // WARP_THREADS)
    return min(threads_per_block, warps * WARP_THREADS)


def scale(counts: Nominal, rule: ScalingRule, size: int) -> Resolved:
    """Applies a rule to nominal counts.

    Args:
        counts: what was published for a 4-byte element.
        rule: one of upstream's four rules.
        size: element size in bytes, at least 1.

    Raises:
        TypeError: the counts are not nominal, so they have been scaled already or must never be.
    """
    if not isinstance(counts, Nominal):
        raise TypeError(f"only nominal counts are scaled, and these are {type(counts).__name__.lower()}: {counts}")
    threads, items = counts.threads_per_block, counts.items_per_thread
    match rule:
        case ScalingRule.MEM_BOUND:
            scaled = scale_mem_bound(threads, items, size)
        case ScalingRule.REG_BOUND:
            scaled = scale_reg_bound(threads, items, size)
        case ScalingRule.NOMINAL_4B_ITEMS:
            scaled = ScaledCounts(nominal_4b_items(items, size), threads)
        case ScalingRule.NOMINAL_8B_ITEMS:
            scaled = ScaledCounts(nominal_8b_items(items, size), threads)
    return Resolved(scaled.threads_per_block, scaled.items_per_thread)


def keep(counts: Literal) -> Resolved:
    """Takes literal counts as they are.

    Raises:
        TypeError: the counts are not literal; nominal counts have to be scaled.
    """
    if not isinstance(counts, Literal):
        raise TypeError(f"only literal counts are kept as they are, and these are {type(counts).__name__.lower()}")
    return Resolved(counts.threads_per_block, counts.items_per_thread)
