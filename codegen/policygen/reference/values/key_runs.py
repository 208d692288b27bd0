"""Keys in runs: inputs by pattern that are hard on whatever looks for equal neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import Final

import torch
from torch import Tensor

from policygen.reference.values.elements import Element

RUN_PATTERNS: Final = ("mixed", "short", "one", "distinct", "edges", "pairs")
"""Runs of any length, from one item to many tiles; of a few items; a single one; of one item; up to ends of tiles; of
two items, across ends of tiles where these have an odd number."""

FLOATING_RUN_PATTERNS: Final = (*RUN_PATTERNS, "zeros", "nan", "nans")
"""Beyond those: runs of zeros of both signs, which are equal; a few NaN, the first key among them; nothing but NaN."""

_SHORT: Final = 0.4
_NAN: Final = 0.1


def run_patterns_of(element: Element) -> tuple[str, ...]:
    """The patterns that keys of a type have, the plainest first."""
    return FLOATING_RUN_PATTERNS if element.is_floating else RUN_PATTERNS


def paired(keys: Sequence[str], values: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Patterns of keys and of values side by side, each at least once, the plainest first."""
    turns = range(max(len(keys), len(values)))
    return tuple((key, value) for _, key, value in zip(turns, cycle(keys), cycle(values), strict=False))


def make_runs(
    pattern: str, element: Element, num_items: int, tile_items: int, random: torch.Generator, device: str = "cpu"
) -> Tensor:
    """Makes keys.

    Args:
        pattern: one of `run_patterns_of(element)`.
        element: their type.
        num_items: how many.
        tile_items: items of a tile, from which the lengths of runs follow.
        random: a generator on the CPU.
        device: where they are to be.

    Returns:
        [num_items, *element.trailing]. A key comes back after others, so that equal keys are in several runs.
    """
    if pattern == "nans":
        return torch.full((num_items,), torch.nan, dtype=element.dtype, device=device)
    begins = _begins(pattern, num_items, tile_items, random)
    palette = _palette(element)
    if pattern == "zeros":
        palette = torch.tensor([0.0, 1.0], dtype=element.dtype)
    # from one run to the next another key: one to all others further on
    steps = torch.randint(1, len(palette), (num_items,), generator=random)
    which = (steps * begins).cumsum(0) % len(palette)
    keys = palette[which]
    if pattern == "zeros":
        signs = torch.rand(num_items, generator=random) - 0.5
        keys = torch.where(keys == 0, keys.copysign(signs.to(element.dtype)), keys)
    if pattern == "nan":
        is_nan = torch.rand(num_items, generator=random) < _NAN
        is_nan[:1] = True
        keys = torch.where(is_nan, torch.nan, keys)
    return keys.to(device)


def _begins(pattern: str, num_items: int, tile_items: int, random: torch.Generator) -> Tensor:
    """Where runs begin, bool [num_items]."""
    chance = torch.rand(num_items, generator=random)
    match pattern:
        case "one":
            return torch.zeros(num_items, dtype=torch.bool)
        case "distinct":
            return torch.ones(num_items, dtype=torch.bool)
        case "edges":
            return (torch.arange(num_items) % tile_items == 0) & (chance < 0.5)
        case "pairs":
            return torch.arange(num_items) % 2 == 0
        case "mixed":
            # each half of a tile has its own share of beginnings, from all items to next to none
            part = tile_items // 2 + 1
            shares = 10 ** (-5 * torch.rand(num_items // part + 1, generator=random))
            return chance < shares.repeat_interleave(part)[:num_items]
        case _:
            return chance < _SHORT


def _palette(element: Element) -> Tensor:
    """Different keys of a type, some of them in one bit or one word only."""
    if element.is_floating:
        limits = torch.finfo(element.dtype)
        denormal = limits.smallest_normal * limits.eps
        return torch.tensor([1.0, -1.0, denormal, -denormal, limits.max, torch.inf, -torch.inf], dtype=element.dtype)
    if element.words:
        return torch.tensor([[0, 0], [1, 0], [0, 1], [-1, -1], [0, -1]])
    return torch.tensor([0, 1, element.lowest + 2, element.highest, element.highest - 1])
