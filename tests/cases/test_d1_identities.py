"""D-1: minima and maxima of infinities are infinities, and what NaN and zeros do is decided."""

from __future__ import annotations

import math

import pytest
import torch

from cases.reference_cases import case_of
from cases.reference_cases import reduced
from cases.reference_cases import scanned
from policygen.project import Project
from policygen.reference.scan import Kind
from policygen.reference.scan import ScanProblem
from policygen.reference.values.elements import ELEMENTS
from policygen.reference.values.operators import Operator
from policygen.reference.values.operators import maximum
from policygen.reference.values.operators import minimum

INF = math.inf
FLOATS = ("float16", "bfloat16", "float32", "float64")


def total(packaged: Project, operator: Operator, values: list[float], initial: float) -> float:
    case = case_of(packaged, "reduce", accum_t=operator.element.name, operation_t=operator.name, offset_size=4)
    dtype = operator.element.dtype
    found = reduced(case, operator, torch.tensor(values, dtype=dtype), torch.tensor(initial, dtype=dtype))
    return float(found)


@pytest.mark.parametrize("name", FLOATS)
def test_the_identities_are_infinities(packaged: Project, name: str) -> None:
    element = ELEMENTS[name]
    assert minimum(element).identity().item() == INF
    assert maximum(element).identity().item() == -INF
    assert total(packaged, minimum(element), [INF, INF], INF) == INF
    assert total(packaged, maximum(element), [-INF], -INF) == -INF


def test_nothing_but_infinities_over_many_tiles(packaged: Project) -> None:
    element = ELEMENTS["float32"]
    assert total(packaged, minimum(element), [INF] * 50_001, INF) == INF
    assert total(packaged, maximum(element), [-INF] * 50_001, -INF) == -INF


def test_an_empty_input_gives_the_initial_value(packaged: Project) -> None:
    assert total(packaged, minimum(ELEMENTS["float32"]), [], 7.0) == 7.0


def test_nan_loses_against_numbers(packaged: Project) -> None:
    element = ELEMENTS["float32"]
    assert total(packaged, minimum(element), [math.nan, 3.0, math.nan], INF) == 3.0
    assert total(packaged, maximum(element), [math.nan] * 3, -INF) == -INF
    assert math.isnan(total(packaged, maximum(element), [math.nan] * 3, math.nan))


def test_zeros_of_both_signs_are_equal(packaged: Project) -> None:
    element = ELEMENTS["float32"]
    assert total(packaged, maximum(element), [-0.0, 0.0, -0.0], -0.0) == 0.0


def test_a_scan_begins_with_what_it_is_given(packaged: Project) -> None:
    element = ELEMENTS["float32"]
    case = case_of(packaged, "scan", input_type="float32", operation_t="min", offset_size=4)
    problem = ScanProblem(3, Kind(minimum(element), element), "given", "exclusive", "none")
    found = scanned(case, problem, torch.tensor([INF, 2.0, INF]), torch.tensor(INF))
    assert found["results"].tolist() == [INF, INF, 2.0]


@pytest.mark.parametrize("name", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_integers_have_their_extremes(name: str) -> None:
    element = ELEMENTS[name]
    bits = element.bits
    lowest, highest = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if element.signed else (0, (1 << bits) - 1)
    assert minimum(element).identity().item() % (1 << bits) == highest % (1 << bits)
    assert maximum(element).identity().item() % (1 << bits) == lowest % (1 << bits)
