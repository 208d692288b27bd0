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


def exact_scan(values: Tensor, operator: Operator) -> Tensor:
    """All elements combined with everything before them, the element included.

    Args:
        values: [n, *element.trailing].
        operator: any exact one.
    """
    element, values = operator.element, values.cpu()
    match operator:
        case Plus() if not element.words:
            return wrapped(values.cumsum(0), element)
        case Extremum() if element.is_floating:
            # what has not begun yet loses against everything, and is NaN as long as nothing but NaN came
            started = torch.cumsum(~torch.isnan(values), 0) > 0
            numbers = torch.where(torch.isnan(values), operator.identity(), values)
            found = (numbers.cummax(0) if operator.greatest else numbers.cummin(0)).values
            return torch.where(started, found, torch.nan)
        case Extremum() if not element.words:
            ordered = sortable(values, element)
            return sortable((ordered.cummax(0) if operator.greatest else ordered.cummin(0)).values, element)
    return left_scan(values, operator)


def left_scan(values: Tensor, operator: Operator) -> Tensor:
    """The same from the left: within chunks, one element after the other, then across chunks.

    Args:
        values: [n, *element.trailing].
        operator: any exact one.
    """
    n = values.shape[0]
    width = max(1, math.isqrt(n))
    rows = -(-n // width)
    padding = operator.filled(rows * width - n)
    chunks = torch.cat([values.cpu(), padding]).reshape(rows, width, *operator.element.trailing)
    columns = [chunks[:, 0]]
    for place in range(1, width):
        columns.append(operator.combine(columns[-1], chunks[:, place]))
    scanned = torch.stack(columns, dim=1)
    before = [operator.identity()]
    for row in range(rows - 1):
        before.append(operator.combine(before[-1], scanned[row, -1]))
    whole = operator.combine(torch.stack(before).unsqueeze(1), scanned)
    return whole.reshape(rows * width, *operator.element.trailing)[:n]


def prefix_sums(values: Tensor) -> tuple[Tensor, Tensor]:
    """All sums of floating-point numbers from the first on.

    Numbers are split at a fixed place: sums of the high parts are exact in float64 (27 bits each, up to 2^26 of them),
    and those of the low parts are so small that their rounding hardly counts.

    Args:
        values: [n], n at most 2^26.

    Returns:
        The sums, float64 [n], and how far each may be off.
    """
    terms = values.to("cpu", torch.float64)
    finite = torch.where(torch.isfinite(terms), terms, 0.0)
    unit = math.ldexp(1.0, math.frexp(float(finite.abs().max()))[1] - 26) if terms.numel() else 1.0
    unit = max(unit, math.ldexp(1.0, -1074))
    high = torch.round(finite / unit) * unit
    low = finite - high
    sums = high.cumsum(0) + low.cumsum(0)
    count = torch.arange(1, terms.shape[0] + 1, dtype=torch.float64)
    off = 2.0**-53 * (sums.abs() + count * low.abs().cumsum(0)) * (1 + 2.0**-20)
    # infinities and NaN stay once they have come
    return sums + torch.where(torch.isfinite(terms), 0.0, terms).cumsum(0), off
