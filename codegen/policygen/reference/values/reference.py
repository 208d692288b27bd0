"""Exact results, found without a kernel: what a reference kernel is held against."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from policygen.reference.values.elements import Element
from policygen.reference.values.elements import sortable
from policygen.reference.values.elements import wrapped
from policygen.reference.values.operators import Extremum
from policygen.reference.values.operators import Operator
from policygen.reference.values.operators import Plus

_WORD = 1 << 64


def exact_sum(values: Tensor) -> tuple[Tensor, int]:
    """The sum of floating-point numbers.

    Args:
        values: [n].

    Returns:
        The sum in float64, a scalar, and how many roundings of float64 it may be off by: none where the numbers are
        float64 themselves, and n where they are narrower.
    """
    if values.dtype is torch.float64:
        return torch.tensor(_fsum(values.tolist()), dtype=torch.float64), 0
    return values.to("cpu", torch.float64).sum(), values.shape[0]


def _fsum(numbers: list[float]) -> float:
    try:
        return math.fsum(numbers)
    except (OverflowError, ValueError):  # what it answers to infinities of both signs
        return sum(numbers)


def exact_fold(values: Tensor, operator: Operator) -> Tensor:
    """All elements combined, for sums of integers, minima and maxima.

    Args:
        values: [n, *element.trailing], n at least 1.
        operator: an exact, commutative one.
    """
    element, values = operator.element, values.cpu()
    match operator:
        case Extremum():
            return _extremum(values, element, greatest=operator.greatest)
        case Plus() if element.words:
            return _of_int(sum(_to_ints(values, element)))
        case Plus():
            return wrapped(values.sum(), element)
    raise TypeError(f"{operator} has no shorter way: fold it")


def left_fold(values: Tensor, operator: Operator) -> Tensor:
    """All elements combined from the left, one after the other.

    Args:
        values: [n, *element.trailing], n at least 1.
        operator: any exact one.
    """
    values = values.cpu()
    total = values[0]
    for place in range(1, values.shape[0]):
        total = operator.combine(total, values[place])
    return total


def _extremum(values: Tensor, element: Element, *, greatest: bool) -> Tensor:
    if element.is_floating:
        numbers = values[~torch.isnan(values)]
        if numbers.numel() == 0:
            return values[0]
        return torch.amax(numbers) if greatest else torch.amin(numbers)
    if element.words:
        found = (max if greatest else min)(_to_ints(values, element))
        return _of_int(found)
    ordered = sortable(values, element)
    return sortable(ordered.amax() if greatest else ordered.amin(), element)


def _to_ints(values: Tensor, element: Element) -> list[int]:
    """128-bit integers as Python's."""
    signed = element.name == "int128"
    return [(high if signed else high % _WORD) * _WORD + low % _WORD for low, high in values.tolist()]


def _of_int(number: int) -> Tensor:
    words = (number % _WORD, (number // _WORD) % _WORD)
    return torch.tensor([word - _WORD if word >= _WORD // 2 else word for word in words])
