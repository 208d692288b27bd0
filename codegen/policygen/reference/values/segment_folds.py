"""Exact results of many segments, found without a kernel: what reductions of segments are held against."""

from __future__ import annotations

import torch
from torch import Tensor

from policygen.reference.values.elements import sortable
from policygen.reference.values.elements import wrapped
from policygen.reference.values.operators import Extremum
from policygen.reference.values.operators import Operator
from policygen.reference.values.reference import exact_fold
from policygen.reference.values.reference import exact_sum


def exact_folds(terms: Tensor, segment: Tensor, count: int, operator: Operator) -> Tensor:
    """The elements of each segment combined, for sums of integers, minima and maxima.

    Args:
        terms: [n, *element.trailing].
        segment: whose each is, [n]; every segment has one at least.
        count: segments.
        operator: an exact, commutative one.

    Returns:
        [count, *element.trailing].
    """
    terms, segment, element = terms.cpu(), segment.cpu(), operator.element
    if count == 0:
        return operator.filled(0)
    if element.words:
        return torch.stack([exact_fold(own, operator) for own in _by_segment(terms, segment, count)])
    if not isinstance(operator, Extremum):
        return wrapped(torch.zeros(count, dtype=terms.dtype).index_add(0, segment, terms), element)
    reduce = "amax" if operator.greatest else "amin"
    ordered = sortable(terms, element) if element.is_integer else terms
    if element.is_floating:
        # NaN loses, unless there is nothing else
        ordered = torch.where(torch.isnan(terms), operator.identity(), terms)
    folds = torch.zeros(count, dtype=terms.dtype).scatter_reduce(0, segment, ordered, reduce, include_self=False)
    if element.is_integer:
        return sortable(folds, element)
    numbers = torch.zeros(count, dtype=torch.int64).index_add(0, segment, (~torch.isnan(terms)).long())
    return torch.where(numbers > 0, folds, torch.nan)


def exact_sums(terms: Tensor, segment: Tensor, count: int) -> tuple[Tensor, Tensor, int]:
    """The sums of the floating-point elements of each segment.

    Args:
        terms: [n].
        segment: whose each is, [n]; every segment has one at least.
        count: segments.

    Returns:
        The sums in float64, [count]; those of the absolute elements; and how many roundings of float64 each sum may be
        off by.
    """
    terms, segment = terms.cpu(), segment.cpu()
    zeros = torch.zeros(count, dtype=torch.float64)
    absolute = zeros.index_add(0, segment, terms.to(torch.float64).abs())
    if terms.dtype is torch.float64:
        sums = [exact_sum(own)[0] for own in _by_segment(terms, segment, count)]
        return torch.stack(sums) if sums else zeros, absolute, 0
    longest = int(torch.bincount(segment).amax()) if count else 0
    return zeros.index_add(0, segment, terms.to(torch.float64)), absolute, longest


def _by_segment(terms: Tensor, segment: Tensor, count: int) -> tuple[Tensor, ...]:
    if count == 0:
        return ()
    order = torch.sort(segment, stable=True).indices
    return torch.split(terms[order], torch.bincount(segment, minlength=count).tolist())
