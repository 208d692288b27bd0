"""Inputs that are hard on a kernel, by pattern."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import torch
from torch import Tensor

from policygen.reference.values.elements import Element
from policygen.reference.values.elements import wrapped

INTEGER_PATTERNS: Final = ("random", "equal", "sorted", "extremes")
FLOATING_PATTERNS: Final = ("random", "equal", "sorted", "zeros", "denormals", "infinite", "infinities", "nan", "nans")
OTHER_PATTERNS: Final = ("random", "equal")


def patterns_of(element: Element) -> tuple[str, ...]:
    """The patterns that an element has, the plainest first."""
    if element.is_floating:
        return FLOATING_PATTERNS
    return INTEGER_PATTERNS if element.is_integer else OTHER_PATTERNS


def make(pattern: str, element: Element, num_items: int, random: torch.Generator, device: str = "cpu") -> Tensor:
    """Makes inputs.

    Args:
        pattern: one of `patterns_of(element)`.
        element: their type.
        num_items: how many.
        random: a generator on the CPU.
        device: where they are to be.

    Returns:
        [num_items, *element.trailing]. Sums of floating-point inputs stay finite unless the pattern says otherwise:
        random ones lie in [-1, 1), equal ones add up to at most 1,024.
    """
    makers = _FLOATING if element.is_floating else _INTEGER if element.is_integer else _OTHER
    return makers[pattern](element, num_items, random).to(device)


def _uniform(element: Element, n: int, random: torch.Generator) -> Tensor:
    return (torch.rand(n, generator=random) * 2 - 1).to(element.dtype)


def _equal_floats(element: Element, n: int, random: torch.Generator) -> Tensor:  # noqa: ARG001 - one signature
    return torch.full((n,), 1.0 / max(1, n // 1024), dtype=element.dtype)


def _sorted_floats(element: Element, n: int, random: torch.Generator) -> Tensor:
    return _uniform(element, n, random).sort().values


def _zeros(element: Element, n: int, random: torch.Generator) -> Tensor:
    return torch.zeros(n, dtype=element.dtype).copysign(_uniform(element, n, random))


def _denormals(element: Element, n: int, random: torch.Generator) -> Tensor:
    smallest = torch.finfo(element.dtype).smallest_normal
    return (_uniform(element, n, random).to(torch.float64) * smallest).to(element.dtype)


def _with(*values: float) -> Callable[[Element, int, torch.Generator], Tensor]:
    """Random values, and a few of these among them."""

    def made(element: Element, n: int, random: torch.Generator) -> Tensor:
        found = _uniform(element, n, random)
        for value in values if n else ():
            at = torch.randint(n, (1 + n // 1000,), generator=random)
            found[at] = value
        return found

    return made


def _all(value: float) -> Callable[[Element, int, torch.Generator], Tensor]:
    return lambda element, n, _: torch.full((n,), value, dtype=element.dtype)


def _integers(element: Element, n: int, random: torch.Generator) -> Tensor:
    # two halves: randint does not reach all of 64 bits
    high, low = torch.randint(1 << 32, (2, n), generator=random)
    return wrapped((high << 32) | low, element)


def _equal_integers(element: Element, n: int, random: torch.Generator) -> Tensor:
    return _integers(element, 1, random).expand(n).clone()


def _sorted_integers(element: Element, n: int, random: torch.Generator) -> Tensor:
    return _integers(element, n, random).sort().values


def _extremes(element: Element, n: int, random: torch.Generator) -> Tensor:
    ends = torch.tensor([element.lowest, element.highest])
    return ends[torch.randint(2, (n,), generator=random)]


def _words(element: Element, n: int, random: torch.Generator) -> Tensor:
    if element.name in ("int128", "uint128"):
        return torch.stack([_integers(_INT64, n, random) for _ in range(element.words)], dim=-1)
    bits = min(32, max(4, element.bits // element.words))
    return torch.randint(1 << bits, (n, element.words), generator=random)


def _equal_words(element: Element, n: int, random: torch.Generator) -> Tensor:
    return _words(element, 1, random).expand(n, -1).clone()


_INT64 = Element("int64", 8)
_FLOATING = {
    "random": _uniform,
    "equal": _equal_floats,
    "sorted": _sorted_floats,
    "zeros": _zeros,
    "denormals": _denormals,
    "infinite": _all(float("inf")),
    "infinities": _with(float("inf"), float("-inf")),
    "nan": _with(float("nan")),
    "nans": _all(float("nan")),
}
_INTEGER = {"random": _integers, "equal": _equal_integers, "sorted": _sorted_integers, "extremes": _extremes}
_OTHER = {"random": _words, "equal": _equal_words}
