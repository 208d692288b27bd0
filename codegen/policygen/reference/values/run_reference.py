"""Exact results by runs of equal keys, found without a kernel."""

from __future__ import annotations

import math
from typing import Final

import torch
from attrs import frozen
from torch import Tensor

from policygen.reference.values.elements import Element
from policygen.reference.values.elements import wrapped
from policygen.reference.values.operators import Operator
from policygen.reference.values.operators import Plus
from policygen.reference.values.reference import exact_scan

_LIMBS: Final = 3
_LIMB_BITS: Final = 26
_LONG: Final = 1 << 10


@frozen(eq=False)
class KeyRuns:
    """Runs of equal keys.

    Attributes:
        begins: the first item of each, int64 [runs].
        ends: one past the last item of each, int64 [runs].
        number: the run of each item, int64 [num_items].
    """

    begins: Tensor
    ends: Tensor
    number: Tensor

    @property
    def count(self) -> int:
        """How many there are."""
        return self.begins.shape[0]

    @property
    def lengths(self) -> Tensor:
        """Items of each."""
        return self.ends - self.begins

    def of_items(self, values: Tensor) -> Tensor:
        """What each item's run has: values are [runs, ...]."""
        return values[self.number]


def runs_of(keys: Tensor, element: Element) -> KeyRuns:
    """Compares neighbours: keys are [num_items, *element.trailing]."""
    keys = keys.cpu()
    unequal = keys[1:] != keys[:-1]
    is_first = torch.ones(keys.shape[0], dtype=torch.bool)
    is_first[1:] = unequal.any(-1) if element.words else unequal
    begins = torch.nonzero(is_first).squeeze(-1)
    ends = torch.cat([begins[1:], torch.tensor([keys.shape[0]])[: begins.shape[0]]])
    return KeyRuns(begins, ends, is_first.cumsum(0) - 1)


def exact_run_scan(values: Tensor, runs: KeyRuns, operator: Operator) -> Tensor:
    """All values combined with everything before them in their run, the value included.

    Args:
        values: [num_items, *element.trailing].
        runs: where runs are.
        operator: any exact one.
    """
    values = values.cpu()
    if isinstance(operator, Plus) and not operator.element.words:
        sums = values.cumsum(0)
        return wrapped(sums - runs.of_items((sums - values)[runs.begins]), operator.element)
    found = values.clone()
    # long runs by themselves, all others together: a step doubles how far back a result reaches
    for run in torch.nonzero(runs.lengths > _LONG).squeeze(-1).tolist():
        own = slice(int(runs.begins[run]), int(runs.ends[run]))
        found[own] = exact_scan(values[own], operator)
    place = torch.arange(values.shape[0]) - runs.of_items(runs.begins)
    place[runs.of_items(runs.lengths) > _LONG] = 0
    reach = 1
    while bool((reaching := torch.nonzero(place >= reach).squeeze(-1)).numel()):
        found[reaching] = operator.combine(found[reaching - reach], found[reaching])
        reach *= 2
    return found


def run_sums(values: Tensor, runs: KeyRuns) -> tuple[Tensor, Tensor]:
    """Sums of floating-point numbers from the beginning of their run on.

    A number is split into three parts of 26 bits and a rest. The sums of the parts are integers of a unit and exact in
    float64, their differences too; so only the three sums' own sum is rounded, whatever comes before a run. The rest is
    left out: less than 2^-78 of the greatest number, each time.

    Args:
        values: [num_items], at most 2^26.
        runs: where runs are.

    Returns:
        The sums, float64 [num_items], and how far each may be off.
    """
    terms = values.to("cpu", torch.float64)
    finite = torch.where(torch.isfinite(terms), terms, 0.0)
    greatest = float(finite.abs().max()) if terms.numel() else 0.0
    sums, rest = torch.zeros_like(finite), finite
    exponent = math.frexp(greatest)[1]
    for limb in range(1, _LIMBS + 1):
        unit = math.ldexp(1.0, max(exponent - limb * _LIMB_BITS, -1074))
        part = torch.round(rest / unit)
        rest = rest - part * unit
        sums = sums + _within(part, runs) * unit
    place = torch.arange(1, terms.shape[0] + 1) - runs.of_items(runs.begins)
    off = 2.0**-52 * sums.abs() + place * math.ldexp(greatest, 1 - _LIMBS * _LIMB_BITS)
    return sums + _not_finite(terms, runs), off


def _within(numbers: Tensor, runs: KeyRuns) -> Tensor:
    """Sums by runs of numbers whose sums are exact."""
    sums = numbers.cumsum(0)
    return sums - runs.of_items((sums - numbers)[runs.begins])


def _not_finite(terms: Tensor, runs: KeyRuns) -> Tensor:
    """What infinities and NaN make of a run from where they are on: 0 where there are none."""
    nan, up, down = (
        _within(x.to(torch.float64), runs) > 0 for x in (terms.isnan(), terms == torch.inf, terms == -torch.inf)
    )
    found = torch.zeros_like(terms)
    found[up], found[down] = torch.inf, -torch.inf
    found[nan | (up & down)] = torch.nan
    return found
