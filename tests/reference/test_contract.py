"""What judges a kernel: differences, bounds, covered tiles, sizes, and sources that a record depends on."""

from __future__ import annotations

import math

import pytest
import torch

from policygen.reference.catalogue import kernel_of
from policygen.reference.catalogue import module_of
from policygen.reference.catalogue import source_digest
from policygen.reference.contract.comparison import AnyOrder
from policygen.reference.contract.comparison import Close
from policygen.reference.contract.comparison import Exact
from policygen.reference.contract.error_bounds import relative_bound
from policygen.reference.contract.error_bounds import sum_bound
from policygen.reference.contract.sizes import combinations
from policygen.reference.contract.sizes import sizes
from policygen.reference.contract.tile_log import TileLog
from reference.conftest import CasesOf

NAN, INF = math.nan, math.inf


def test_the_first_difference_is_told() -> None:
    found = Exact(torch.tensor([[1, 2], [3, 4]])).difference(torch.tensor([[1, 2], [5, 6]]))
    assert str(found) == "[1, 0] expected 3, got 5"
    assert "shape [2]" in str(Exact(torch.zeros(2)).difference(torch.zeros(3)))


@pytest.mark.parametrize(("signed_zeros", "differs"), [(False, False), (True, True)])
def test_zeros_differ_where_they_have_to(signed_zeros: bool, differs: bool) -> None:
    expectation = Exact(torch.tensor([0.0, NAN]), signed_zeros=signed_zeros)
    assert (expectation.difference(torch.tensor([-0.0, NAN])) is not None) == differs


def test_a_bound_is_kept_to_the_last_bit() -> None:
    expectation = Close(torch.tensor([1.0, INF, NAN], dtype=torch.float64), torch.tensor([0.5, 9.0, 9.0]))
    assert expectation.difference(torch.tensor([1.5, INF, NAN])) is None
    assert str(expectation.difference(torch.tensor([1.5000001, INF, NAN]))).startswith("[0] expected 1.0 within 0.5")
    assert expectation.difference(torch.tensor([1.0, 1e30, NAN])) is not None
    assert expectation.difference(torch.tensor([1.0, INF, 0.0])) is not None


def test_any_order_counts_how_often() -> None:
    expectation = AnyOrder(torch.tensor([3, 1, 1]))
    assert expectation.difference(torch.tensor([1, 3, 1])) is None
    assert expectation.difference(torch.tensor([1, 3, 3])) is not None


@pytest.mark.parametrize("n", [2, 10, 1000])
def test_sums_one_after_the_other_stay_within_their_bound(n: int) -> None:
    values = torch.rand(n, generator=torch.Generator().manual_seed(n), dtype=torch.float32)
    total = torch.tensor(0.0)
    for value in values:
        total = total + value
    bound = sum_bound(values.sum(), n, torch.float32)
    assert abs(float(total) - math.fsum(values.tolist())) <= float(bound) <= 1e-3 * n
    assert relative_bound(1, torch.float32) == pytest.approx(2.0**-24)


@pytest.mark.parametrize(
    ("tiles", "fault"),
    [
        ([(0, 4), (4, 9)], None),
        ([(4, 9), (0, 4)], None),
        ([(0, 4), (4, 4), (4, 9)], None),
        ([(0, 4), (5, 9)], "items [4, 5) are in no tile"),
        ([(0, 5), (4, 9)], "items [4, 5) are in two tiles"),
        ([(0, 4), (4, 8)], "items [8, 9) are in no tile"),
        ([(0, 4), (4, 10)], "items [9, 10) are in two tiles"),
        ([], "items [0, 9) are in no tile"),
        ([(0, 9), (5, 4)], "a tile ends before it begins"),
    ],
)
def test_tiles_have_to_cover_their_items_once(tiles: list[tuple[int, int]], fault: str | None) -> None:
    log = TileLog()
    for block, (begin, end) in enumerate(tiles):
        log.record("k", block, begin, end)
    found = log.fault("k", range(9))
    assert found is None if fault is None else found is not None and fault in found


def test_logs_differ_by_blocks_boundaries_and_order() -> None:
    def log(*rows: tuple[int, int, int]) -> TileLog:
        made = TileLog()
        made.record_all("k", *torch.tensor(rows).unbind(1))
        return made

    assert log((0, 0, 4), (1, 4, 8)).same_as(log((0, 0, 4), (1, 4, 8)))
    for other in (log((0, 0, 4), (0, 4, 8)), log((0, 0, 5), (1, 5, 8)), log((1, 4, 8), (0, 0, 4)), log((0, 0, 4))):
        assert not log((0, 0, 4), (1, 4, 8)).same_as(other)


def test_sizes_lie_around_the_edges() -> None:
    found = sizes(1000, vector=4, blocks=5, quick=True)
    assert {0, 1, 3, 999, 1000, 1001, 2048} <= set(found)
    assert max(found) > 2 * 5 * 1000
    assert set(found) < set(sizes(1000, vector=4, blocks=5, quick=False))


@pytest.mark.parametrize("quick", [True, False])
def test_every_size_kind_and_pattern_is_tried(quick: bool) -> None:
    kinds, patterns = ["a", "b"], ["p", "q", "r"]
    found = list(combinations([1, 2, 3], kinds, lambda _: patterns, 2, alike=lambda _: 0, quick=quick))
    assert len(found) == len(set(found))
    assert {size for size, _, _ in found} == {1, 2, 3}
    assert {kind for _, kind, _ in found} == set(kinds)
    assert {pattern for _, _, pattern in found} == set(patterns)


def test_a_kernel_is_found_by_the_name_of_its_algorithm() -> None:
    assert module_of("for") == "policygen.reference.for_each"
    assert kernel_of("reduce").keys([]) is not None


def test_a_digest_is_of_a_kernel_and_all_that_it_imports() -> None:
    assert source_digest("reduce") != source_digest("scan")


def test_problems_have_names_of_their_own(cases_of: CasesOf) -> None:
    for kernel in ("reduce", "scan", "transform"):
        for case in cases_of(kernel, "bi100"):
            for quick in (True, False):
                names = [problem.id for problem in kernel_of(kernel).problems(case, quick=quick)]
                assert len(names) == len(set(names)), case
                assert all(" " not in name for name in names)
