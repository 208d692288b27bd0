"""What threads, warps and blocks do together, held against folds from the left."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from policygen.reference.collectives.block_reduce import NONDETERMINISTIC
from policygen.reference.collectives.block_reduce import RAKING
from policygen.reference.collectives.block_reduce import WARP_REDUCTIONS
from policygen.reference.collectives.block_reduce import block_reduce
from policygen.reference.collectives.block_scan import WARP_SCANS
from policygen.reference.collectives.block_scan import block_scan
from policygen.reference.collectives.lookahead import lookahead
from policygen.reference.collectives.lookahead import schedule
from policygen.reference.collectives.lookahead import stable_lookahead
from policygen.reference.collectives.lookback import ADVERSARIES
from policygen.reference.collectives.lookback import known_inclusive
from policygen.reference.collectives.lookback import lookback
from policygen.reference.collectives.lookback import stable_lookback
from policygen.reference.collectives.raking import raking_layout
from policygen.reference.collectives.reproducible import binned_sum
from policygen.reference.collectives.thread_reduce import Order
from policygen.reference.collectives.thread_reduce import order_of
from policygen.reference.collectives.thread_reduce import thread_reduce
from policygen.reference.values.elements import ELEMENTS
from policygen.reference.values.inputs import make
from policygen.reference.values.operators import affine
from policygen.reference.values.operators import maximum
from policygen.reference.values.operators import minimum
from policygen.reference.values.operators import opaque_plus
from policygen.reference.values.operators import plus
from policygen.reference.values.reference import exact_scan
from policygen.reference.values.reference import left_fold
from policygen.reference.values.reference import left_scan
from policygen.reference.values.reference import prefix_sums

MAPS = affine(8)
FLOAT, HALF, INT = ELEMENTS["float32"], ELEMENTS["float16"], ELEMENTS["int32"]


def maps(*shape: int) -> Tensor:
    random = torch.Generator().manual_seed(math.prod(shape))
    return make("random", MAPS.element, math.prod(shape), random).reshape(*shape, 2)


@pytest.mark.parametrize(
    ("operator", "length", "capability", "order"),
    [
        (plus(FLOAT), 16, None, Order.BINARY_TREE),
        (plus(ELEMENTS["float64"]), 16, 90, Order.SEQUENTIAL),
        (opaque_plus(FLOAT), 16, 90, Order.SEQUENTIAL),
        (plus(INT), 5, 90, Order.BINARY_TREE),
        (plus(INT), 6, 90, Order.SEQUENTIAL),
        (maximum(INT), 6, 86, Order.BINARY_TREE),
        (maximum(INT), 6, 90, Order.TERNARY_TREE),
        (maximum(ELEMENTS["int16"]), 10, 90, Order.HALVES),
        (plus(HALF), 4, None, Order.BINARY_TREE),
        (plus(HALF), 4, 70, Order.HALVES),
        (maximum(HALF), 4, 75, Order.BINARY_TREE),
        (plus(ELEMENTS["bfloat16"]), 8, 80, Order.HALVES),
    ],
)
def test_a_thread_s_order_is_upstream_s(operator, length: int, capability: int | None, order: Order) -> None:  # type: ignore[no-untyped-def]
    assert order_of(operator, length, capability) is order


@pytest.mark.parametrize("length", range(1, 20))
@pytest.mark.parametrize("order", [Order.SEQUENTIAL, Order.BINARY_TREE, Order.TERNARY_TREE])
def test_a_thread_keeps_the_order_of_its_items(length: int, order: Order) -> None:
    items = maps(length, 3)
    found = thread_reduce(items, MAPS, order)
    assert all(torch.equal(found[thread], left_fold(items[:, thread], MAPS)) for thread in range(3))


def test_halves_of_registers_are_summed_side_by_side() -> None:
    values = torch.tensor([1.0, 1024.0, 0.5, 2048.0, 0.25], dtype=torch.float16)
    # (1 + 0.5) + (1024 + 2048), then the last one: each rounded to float16
    assert thread_reduce(values, plus(HALF), Order.HALVES).item() == 3074.0


@pytest.mark.parametrize("warp_size", [32, 64])
@pytest.mark.parametrize("threads", [1, 31, 64, 96, 130, 256])
@pytest.mark.parametrize("algorithm", [WARP_REDUCTIONS, RAKING])
def test_a_block_reduces_its_valid_threads_in_order(algorithm: str, threads: int, warp_size: int) -> None:
    values = maps(4, threads)
    valid = torch.tensor([1, max(1, threads // 3), max(1, threads - 1), threads])
    found = block_reduce(values, MAPS, algorithm, warp_size, valid)
    for block, count in enumerate(valid.tolist()):
        assert torch.equal(found[block], left_fold(values[block, :count], MAPS))


def test_warps_that_add_atomically_come_in_the_order_of_arrival() -> None:
    values = torch.zeros(1, 96)
    values[0, 0], values[0, 32], values[0, 64] = 1.0, 2.0**24, -(2.0**24)
    valid = torch.tensor([96])
    operator = plus(FLOAT)
    orders = [torch.tensor([1, 2]), torch.tensor([2, 1])]
    found = [block_reduce(values, operator, NONDETERMINISTIC, 32, valid, order).item() for order in orders]
    assert found == [0.0, 1.0]


@pytest.mark.parametrize(
    ("threads", "warp", "segment", "raking"), [(256, 32, 8, 32), (62, 32, 2, 31), (192, 64, 3, 64)]
)
def test_no_raking_thread_is_without_values(threads: int, warp: int, segment: int, raking: int) -> None:
    layout = raking_layout(threads, warp)
    assert (layout.segment, layout.raking_threads) == (segment, raking)


@pytest.mark.parametrize("threads", [32, 64, 96, 130, 192])
@pytest.mark.parametrize("algorithm", [WARP_SCANS, "BLOCK_SCAN_RAKING"])
@pytest.mark.parametrize("known_early", [False, True])
def test_a_block_scans_its_threads_in_order(threads: int, algorithm: str, known_early: bool) -> None:
    values, seed = maps(2, threads), maps(2)
    scan = block_scan(values, MAPS, algorithm, 32)
    seeded, unseeded = scan.seeded(seed, known_early=known_early), scan.unseeded()
    for block in range(2):
        expected = left_scan(torch.cat([seed[block : block + 1], values[block]]), MAPS)
        assert torch.equal(seeded[block], expected[:-1])
        assert torch.equal(unseeded[block, 1:], left_scan(values[block], MAPS)[:-1])
        assert torch.equal(scan.aggregate[block], left_fold(values[block], MAPS))


@pytest.mark.parametrize("adversary", ADVERSARIES)
@pytest.mark.parametrize("tiles", [1, 2, 33, 70])
def test_tiles_find_out_what_is_before_them(tiles: int, adversary: str) -> None:
    totals = maps(tiles)
    expected = left_scan(totals, MAPS)[:-1]
    random = torch.Generator().manual_seed(tiles)
    for window in (32, 64):
        known = known_inclusive(adversary, tiles, random)
        assert torch.equal(lookback(totals, MAPS, window, known)[1:], expected)
        assert torch.equal(stable_lookback(totals, MAPS, window)[1:], expected)
    assert torch.equal(lookahead(totals, MAPS, schedule(adversary, tiles, random))[1:], expected)
    assert torch.equal(stable_lookahead(totals, MAPS)[1:], expected)


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_sums_by_bins_are_the_same_in_any_order(name: str) -> None:
    element = ELEMENTS[name]
    operator = binned_sum(element)
    random = torch.Generator().manual_seed(7)
    values = make("random", element, 5000, random) * 2.0 ** torch.randint(-60, 60, (5000,), generator=random)

    def total(numbers: Tensor, parts: int) -> Tensor:
        rows = operator.filled(parts)
        for row in range(parts):
            rows[row] = operator.with_numbers(rows[row], numbers[row::parts])
        return operator.value(left_fold(rows, operator))

    totals = [total(values[torch.randperm(5000, generator=random)], parts) for parts in (1, 7, 32)]
    assert totals[0] == totals[1] == totals[2]
    assert float(totals[0]) == pytest.approx(math.fsum(values.tolist()), rel=1e-5)


def test_a_denormal_double_displaces_small_numbers_as_upstream_has_it() -> None:
    operator = binned_sum(ELEMENTS["float64"])
    small = torch.tensor([1e-200], dtype=torch.float64)
    alone = operator.with_numbers(operator.identity(), small)
    beside = operator.with_numbers(alone, torch.tensor([1e-310], dtype=torch.float64))
    assert operator.value(alone).item() == 1e-200
    assert operator.value(beside).item() == 0.0


@pytest.mark.parametrize("pattern", ["random", "equal", "infinities", "nan", "denormals"])
def test_exact_prefix_sums_are_what_fractions_say(pattern: str) -> None:
    values = make(pattern, ELEMENTS["float64"], 400, torch.Generator().manual_seed(1))
    sums, off = prefix_sums(values)
    finite = 0
    for place in range(400):
        head = values[: place + 1].tolist()
        if all(map(math.isfinite, head)):
            finite += 1
            assert abs(math.fsum(head) - sums[place].item()) <= off[place].item() + 1e-320
        else:
            assert not math.isfinite(sums[place].item())
    assert finite > 0


def test_exact_scans_of_extremes_pass_over_nan() -> None:
    values = torch.tensor([math.nan, 2.0, math.nan, 1.0, 3.0])
    assert exact_scan(values, minimum(FLOAT)).tolist()[1:] == [2.0, 2.0, 1.0, 1.0]
    assert math.isnan(exact_scan(values, minimum(FLOAT))[0])
