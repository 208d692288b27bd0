"""Functions of torch stay within the errors that bounds are derived from, and references of softmax agree."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from policygen.reference.contract.error_bounds import relative_bound
from policygen.reference.contract.function_errors import DIVISION_ROUNDINGS
from policygen.reference.contract.function_errors import EXP_ROUNDINGS
from policygen.reference.contract.function_errors import RSQRT_ROUNDINGS
from policygen.reference.contract.function_errors import SMALLEST
from policygen.reference.contract.function_errors import stored_bound
from policygen.reference.values.softmax_reference import softmax_average

Function = Callable[[Tensor], Tensor]


@pytest.mark.parametrize(
    ("function", "low", "high", "roundings"),
    [
        (torch.exp, -87.0, 88.0, EXP_ROUNDINGS),
        (torch.rsqrt, 1e-6, 1e30, RSQRT_ROUNDINGS),
        (torch.reciprocal, 1e-6, 1e30, DIVISION_ROUNDINGS),
    ],
)
def test_functions_stay_within_their_roundings(function: Function, low: float, high: float, roundings: int) -> None:
    share = torch.rand(200_000, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    if low > 0:
        numbers = torch.exp(math.log(low) + share * (math.log(high) - math.log(low)))
    else:
        numbers = low + share * (high - low)
    given = numbers.to(torch.float32)
    exact = function(given.to(torch.float64))
    off = ((function(given).to(torch.float64) - exact) / exact).abs().max()
    assert float(off) <= relative_bound(roundings, torch.float32)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_storing_rounds_once_and_denormals_by_half_the_least_number(dtype: torch.dtype) -> None:
    random = torch.Generator().manual_seed(5)
    numbers = torch.randn(50_000, generator=random, dtype=torch.float64)
    for scale in (1.0, SMALLEST[dtype] * 3):
        exact = numbers * scale
        off = (exact.to(dtype).to(torch.float64) - exact).abs()
        assert bool((off <= stored_bound(exact, torch.zeros_like(exact), dtype)).all())
        assert float(off.max()) > 0


@pytest.mark.parametrize("masked", [False, True])
def test_an_average_of_partitions_is_that_of_their_tokens(masked: bool) -> None:
    random = torch.Generator().manual_seed(7)
    scores = torch.randn(2, 40, generator=random, dtype=torch.float64) * 4
    if masked:
        scores[:, :20] = -math.inf
    values = torch.randn(2, 40, 3, generator=random, dtype=torch.float64)
    whole = softmax_average(scores, torch.ones_like(scores), values, 0, torch.float64)
    expected = (torch.softmax(scores, dim=-1).unsqueeze(-1) * values).sum(-2)
    # either may be off by as much
    assert bool(((whole.output - expected).abs() <= 2 * whole.output_bound).all())
    parts = [
        softmax_average(scores[:, part], torch.ones(2, 20), values[:, part], 0, torch.float64)
        for part in (slice(0, 20), slice(20, 40))
    ]
    maxima, sums, outputs = (
        torch.stack([getattr(part, name) for part in parts], dim=1) for name in ("maximum", "total", "output")
    )
    merged = softmax_average(maxima, sums, outputs, 0, torch.float64)
    assert torch.equal(merged.maximum, whole.maximum)
    assert bool(((merged.total - whole.total).abs() <= merged.total_bound + whole.total_bound).all())
    assert bool(((merged.output - whole.output).abs() <= merged.output_bound + whole.output_bound).all())


def test_nothing_to_average_is_minus_infinity_zero_and_zeros() -> None:
    for n in (0, 3):
        scores = torch.full((n,), -math.inf)
        found = softmax_average(scores, torch.ones(n), torch.full((n, 2), math.nan), 5, torch.float32)
        assert float(found.maximum) == -math.inf
        assert float(found.total) == float(found.total_bound) == 0.0
        assert found.output.tolist() == found.output_bound.tolist() == [0.0, 0.0]
