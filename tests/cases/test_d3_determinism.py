"""D-3: a lookback scan of floating-point numbers is not the same in every run, unless its order is made stable."""

from __future__ import annotations

import pytest
import torch

from cases.reference_cases import case_of
from cases.reference_cases import reduced
from cases.reference_cases import scanned
from policygen.project import Project
from policygen.reference.collectives.block_reduce import block_reduce
from policygen.reference.scan import Kind
from policygen.reference.scan import ScanProblem
from policygen.reference.scan import shape_of
from policygen.reference.values.elements import ELEMENTS
from policygen.reference.values.inputs import make
from policygen.reference.values.operators import Operator
from policygen.reference.values.operators import affine
from policygen.reference.values.operators import matrix_product
from policygen.reference.values.operators import plus
from policygen.reference.values.reference import left_fold

FLOAT = ELEMENTS["float32"]
TARGETS = ["bi100", "sm_90", "sm_100"]  # lookback, lookahead on request, lookahead


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("stable", [False, True])
def test_only_a_stable_order_gives_the_same_bits(packaged: Project, target: str, stable: bool) -> None:
    key = {"input_type": "float32", "operation_t": "plus", "offset_size": 4, "require_stable_reduction_order": stable}
    case = case_of(packaged, "scan", target, **key)
    n = 70 * shape_of(case).tile_items + 3
    values = make("random", FLOAT, n, torch.Generator())
    runs = [
        scanned(case, ScanProblem(n, Kind(plus(FLOAT), FLOAT), "given", "inclusive", adversary), values, values[0])
        for adversary in ("none", "all", "any")
    ]
    same = all(torch.equal(run["results"], runs[0]["results"]) for run in runs)
    assert same == stable


@pytest.mark.parametrize("adversary", ["none", "all", "any"])
@pytest.mark.parametrize("target", ["bi100", "sm_100"])
def test_integers_are_the_same_in_any_run(packaged: Project, target: str, adversary: str) -> None:
    element = ELEMENTS["int32"]
    case = case_of(packaged, "scan", target, input_type="int32", operation_t="plus", offset_size=4)
    n = 40 * shape_of(case).tile_items + 3
    values = make("random", element, n, torch.Generator())
    problem = ScanProblem(n, Kind(plus(element), element), "given", "inclusive", adversary)
    found = scanned(case, problem, values, values[0])["results"]
    assert torch.equal(found, values.cumsum(0) << 32 >> 32)


@pytest.mark.parametrize("target", ["bi100", "sm_100"])
@pytest.mark.parametrize("operator", [affine(16), matrix_product()], ids=str)
def test_an_operator_that_does_not_commute_is_folded_from_the_left(
    packaged: Project, target: str, operator: Operator
) -> None:
    case = case_of(packaged, "scan", target, input_type="int128", operation_t="other", offset_size=4)
    n = 2 * shape_of(case).tile_items + 5
    values = make("random", operator.element, n, torch.Generator())
    problem = ScanProblem(n, Kind(operator, operator.element), "given", "inclusive", "any")
    found = scanned(case, problem, values, values[0])["results"]
    assert torch.equal(found[-1], left_fold(values, operator))


def test_a_reduction_refuses_operators_that_do_not_commute(packaged: Project) -> None:
    case = case_of(packaged, "reduce", accum_t="float64", operation_t="other", offset_size=4)
    values = make("random", affine(8).element, 9, torch.Generator())
    with pytest.raises(ValueError, match="does not commute"):
        reduced(case, affine(8), values, values[0])


def test_a_commutative_only_algorithm_is_refused() -> None:
    values = torch.zeros(1, 64)
    with pytest.raises(ValueError, match="BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY is not modelled"):
        block_reduce(values, plus(FLOAT), "BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY", 32, torch.tensor([64]))
