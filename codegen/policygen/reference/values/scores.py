"""Scores that are hard on a softmax, by pattern."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import torch
from torch import Tensor

_SPREAD: Final = 8.0


def _random(n: int, random: torch.Generator) -> Tensor:
    return (torch.rand(n, generator=random, dtype=torch.float64) * 2 - 1) * _SPREAD


def _few(value: float) -> Callable[[int, torch.Generator], Tensor]:
    """Random scores, and a few of these among them."""

    def made(n: int, random: torch.Generator) -> Tensor:
        found = _random(n, random)
        if n:
            found[torch.randint(n, (1 + n // 1000,), generator=random)] = value
        return found

    return made


def _masked(n: int, random: torch.Generator) -> Tensor:
    """Whole stretches are masked, so that whole threads and tiles are, and others are not."""
    found = _random(n, random)
    stretches = torch.rand(n // 7 + 1, generator=random).repeat_interleave(7)[:n]
    return torch.where(stretches < 0.7, -math.inf, found)


def _one_left(n: int, random: torch.Generator) -> Tensor:
    """All but one are masked."""
    found = torch.full((n,), -math.inf, dtype=torch.float64)
    if n:
        found[int(torch.randint(n, (1,), generator=random))] = float(_random(1, random))
    return found


def _signed_zeros(n: int, random: torch.Generator) -> Tensor:
    return torch.zeros(n, dtype=torch.float64).copysign(_random(n, random))


_PATTERNS: Final[dict[str, Callable[[int, torch.Generator], Tensor]]] = {
    "random": _random,
    "equal": lambda n, random: _random(1, random).expand(n).clone(),
    # each score becomes the maximum, and all before it are rescaled; or none is
    "ascending": lambda n, random: _random(n, random).sort().values,
    "descending": lambda n, random: _random(n, random).sort(descending=True).values,
    "far": lambda n, random: _random(n, random) * 1e4,
    "zeros": _signed_zeros,
    "denormals": lambda n, random: _random(n, random) * 2.0**-145,
    "masked": _masked,
    "one-left": _one_left,
    "all-masked": lambda n, _: torch.full((n,), -math.inf, dtype=torch.float64),
    "infinity": _few(math.inf),
    "nan": _few(math.nan),
}

SCORE_PATTERNS: Final = tuple(_PATTERNS)
"""The patterns, the plainest first."""


def make_scores(pattern: str, num_items: int, random: torch.Generator) -> Tensor:
    """Scores, float64 [num_items], on the CPU; -infinity is what is masked."""
    return _PATTERNS[pattern](num_items, random)
