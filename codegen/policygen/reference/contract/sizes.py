"""Sizes at which kernels go wrong, from the policy."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Hashable
from collections.abc import Iterator
from collections.abc import Sequence
from itertools import cycle
from typing import Final
from typing import TypeVar

from policygen.plan.counts import ceil_div

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")

BEYOND_INT32: Final = 2**31 + 12_345
"""A number of items that a signed 32-bit offset does not hold; for index arithmetic alone."""

LAST_TILES: Final = 1_000
"""So many tiles are enough for that, where there would be millions: they begin before 2^31 and end beyond."""

MANY_SEGMENTS: Final = (16_000_000, 200)
"""So many segments of so many items: each count fits an int, their product does not."""


def sizes(tile_items: int, *, vector: int = 1, blocks: int = 5, quick: bool) -> tuple[int, ...]:
    """Numbers of items around the edges of a kernel, each once, ascending.

    Args:
        tile_items: items of a tile.
        vector: items of a vectorised load.
        blocks: the most blocks of the grid; the largest sizes give each of them two or three tiles.
        quick: fewer.

    Returns:
        0, 1, vector - 1, tile - 1, tile, tile + 1, several tiles and a ragged end, more tiles than blocks, a power of
        two.
    """
    ragged = tile_items // 3 + 1
    power = 1 << (2 * tile_items).bit_length()
    found = {0, 1, max(0, vector - 1), tile_items - 1, tile_items, tile_items + 1}
    found |= {3 * tile_items + ragged, (2 * blocks + 1) * tile_items + ragged, power}
    if not quick:
        found |= {2, tile_items // 2, 2 * tile_items, blocks * tile_items, blocks * tile_items + 1}
    return tuple(sorted(found))


def first_tile(num_items: int, tile_items: int, *, has_data: bool) -> int:
    """The tile from which on they are looked at: the first, or, where there is no data, that before the last ones."""
    return 0 if has_data else max(0, ceil_div(num_items, tile_items) - LAST_TILES)


def combinations(
    sizes: Sequence[A],
    kinds: Sequence[B],
    patterns: Callable[[B], Sequence[C]],
    middle: A,
    *,
    alike: Callable[[B], Hashable],
    quick: bool,
) -> Iterator[tuple[A, B, C]]:
    """Problems over three axes, without all their products.

    Args:
        sizes: numbers of items.
        kinds: what the items are, and what is done with them.
        patterns: what inputs there are for a kind, the plainest first.
        middle: the size at which patterns are tried.
        alike: what kinds have in common for which one stands for the others.
        quick: each size with one kind, each kind with one pattern, each pattern with one of the kinds that are alike;
            else each size with each kind, and each pattern with each kind.
    """
    found: dict[tuple[A, B, C], None] = {}
    if quick:
        found |= {(size, kind, patterns(kind)[0]): None for size, kind in zip(sizes, cycle(kinds), strict=False)}
        groups: dict[Hashable, list[B]] = {}
        for kind in kinds:
            groups.setdefault(alike(kind), []).append(kind)
        for group in groups.values():
            turns = max(len(group), len(patterns(group[0])))
            for turn, kind in zip(range(turns), cycle(group), strict=False):
                found[middle, kind, patterns(kind)[turn % len(patterns(kind))]] = None
    else:
        for kind in kinds:
            turning = cycle(patterns(kind))
            found |= {(size, kind, next(turning)): None for size in sizes}
            found |= {(middle, kind, pattern): None for pattern in patterns(kind)}
    yield from found
