"""What the reference kernels of runs of equal keys show of CUB, and what they are made of."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product

import pytest
import torch
from attrs import evolve

from policygen.model.record import Record
from policygen.project import Project
from policygen.reference.collectives.segmented_pairs import SegmentedPairs
from policygen.reference.collectives.segmented_pairs import counting_pairs
from policygen.reference.collectives.segmented_pairs import flagging_pairs
from policygen.reference.collectives.whole_tile_launches import launches
from policygen.reference.collectives.whole_tile_launches import most_launched
from policygen.reference.collectives.whole_tile_launches import tiles_past_offsets
from policygen.reference.contract.case import Case
from policygen.reference.contract.tile_log import TileLog
from policygen.reference.reduce_by_key import KERNEL as REDUCE_BY_KEY
from policygen.reference.reduce_by_key import Kind
from policygen.reference.reduce_by_key import ReduceByKeyInputs
from policygen.reference.reduce_by_key import ReduceByKeyProblem
from policygen.reference.rle_non_trivial_runs import KERNEL as NON_TRIVIAL_RUNS
from policygen.reference.values.elements import ELEMENTS
from policygen.reference.values.inputs import make
from policygen.reference.values.key_runs import make_runs
from policygen.reference.values.key_runs import run_patterns_of
from policygen.reference.values.operators import Operator
from policygen.reference.values.operators import affine
from policygen.reference.values.operators import maximum
from policygen.reference.values.operators import plus
from policygen.reference.values.run_reference import exact_run_scan
from policygen.reference.values.run_reference import run_sums
from policygen.reference.values.run_reference import runs_of
from policygen.reference.values.run_searches import RunSearch
from policygen.reference.values.run_searches import RunSearchInputs
from policygen.validate.cases import plan
from policygen.validate.run import fault

INT = ELEMENTS["int32"]


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(7)


def case_of(project: Project, kernel: str, **given: int | str) -> Case:
    return plan(project, "bi100", [kernel], quick=True, given=given, warp_size=32).cases[0]


def with_lookback(case: Case, **values: int | bool) -> Case:
    """A case whose policy has other values."""
    policy = case.policy.as_dict()
    policy["lookback"] |= values
    return evolve(case, policy=Record(policy))


@pytest.mark.parametrize("pairs", [counting_pairs, flagging_pairs])
@pytest.mark.parametrize(
    "inner", [plus(INT), maximum(ELEMENTS["float16"]), plus(ELEMENTS["float64"]), affine(8)], ids=str
)
def test_pairs_are_associative_and_have_an_identity(
    pairs: Callable[[Operator], SegmentedPairs], inner: Operator
) -> None:
    operator = pairs(inner)
    values = make("random", inner.element, 3, generator())
    if inner.element.name == "float64":
        values = (values * 64).round()
    for heads in product((0, 1), repeat=3):
        first, second, third = operator.zipped(torch.tensor(heads), values).unbind(0)
        left = operator.combine(operator.combine(first, second), third)
        right = operator.combine(first, operator.combine(second, third))
        assert torch.equal(left, right)
        assert torch.equal(operator.combine(operator.identity(), left), left)
        assert int(operator.heads(left)) == (sum(heads) if operator.counted else max(heads))


@pytest.mark.parametrize("name", ["float32", "int8", "uint64", "int128"])
def test_neighbouring_runs_have_different_keys(name: str) -> None:
    for pattern in run_patterns_of(ELEMENTS[name]):
        keys = make_runs(pattern, ELEMENTS[name], 1000, 96, generator())
        assert keys.shape[0] == 1000
        lengths = runs_of(keys, ELEMENTS[name]).lengths
        assert int(lengths.sum()) == 1000
        match pattern:
            case "one":
                assert lengths.tolist() == [1000]
            case "distinct" | "nans":
                assert lengths.tolist() == [1] * 1000
            case "pairs":
                assert lengths.tolist() == [2] * 500
            case "edges":
                assert all(int(begin) % 96 == 0 for begin in runs_of(keys, ELEMENTS[name]).begins)


@pytest.mark.parametrize("operator", [plus(INT), maximum(ELEMENTS["float32"]), affine(4)], ids=str)
def test_exact_scans_of_runs_are_those_of_each_run(operator: Operator) -> None:
    keys = make_runs("mixed", INT, 6000, 3000, generator())
    runs = runs_of(keys, INT)
    assert int(runs.lengths.max()) > 1024
    values = make("random", operator.element, 6000, generator())
    found = exact_run_scan(values, runs, operator)
    for begin, end in zip(runs.begins.tolist(), runs.ends.tolist(), strict=True):
        total = values[begin]
        for place in range(begin, end):
            total = values[place] if place == begin else operator.combine(total, values[place])
            assert torch.equal(found[place], total)


@pytest.mark.parametrize("pattern", ["random", "equal", "denormals", "infinities"])
def test_sums_of_runs_are_within_their_bound(pattern: str) -> None:
    runs = runs_of(make_runs("mixed", INT, 5000, 1000, generator()), INT)
    values = make(pattern, ELEMENTS["float64"], 5000, generator())
    sums, off = run_sums(values, runs)
    for begin, end in zip(runs.begins.tolist(), runs.ends.tolist(), strict=True):
        own = values[begin:end].tolist()
        exact = math.fsum(own) if all(map(math.isfinite, own)) else sum(own)
        found = float(sums[end - 1])
        assert found == exact or (math.isnan(found) and math.isnan(exact)) or abs(found - exact) <= float(off[end - 1])
    # hardly more than a rounding
    finite = torch.isfinite(sums)
    assert bool((off[finite] <= 2.0**-51 * sums[finite].abs() + 2.0**-60 * values[values.isfinite()].abs().max()).all())


def test_launches_are_whole_tiles_within_offsets() -> None:
    tile = 3840
    first = (most_launched(tile) - 2) * tile
    found = list(launches(2**31 + 12_345, tile, most_launched(tile), first_item=first))
    assert [int(tiles.blocks[0]) for tiles in found] == [most_launched(tile) - 2, 0]
    assert [tiles_past_offsets(tiles) for tiles in found] == [0, 0]
    assert int(found[0].ends[-1]) == int(found[1].begins[0]) == 2_147_481_600
    assert int(found[1].ends[-1]) == 2**31 + 12_345
    one_more = next(launches(2**31, tile, most_launched(tile) + 1, first_item=first))
    assert tiles_past_offsets(one_more) == 1


def test_sums_by_key_depend_on_what_tiles_find(packaged: Project) -> None:
    """CUB documents the same bits in every run; nothing of its kernel brings that about."""
    case = case_of(packaged, "reduce_by_key", key_size=4, accum_t="float32")
    own = case.policy.lookback
    n = 20 * own.threads_per_block * own.items_per_thread
    values = make("random", ELEMENTS["float32"], n, generator())
    kind = Kind(INT, plus(ELEMENTS["float32"]))
    totals = []
    for adversary in ("none", "all"):
        problem = ReduceByKeyProblem(n, kind, ("one", "given"), adversary)
        inputs = ReduceByKeyInputs(torch.zeros(n, dtype=torch.int64), values, 0)
        totals.append(float(REDUCE_BY_KEY.run(case, problem, inputs, TileLog())["totals"][0]))
    assert totals[0] != totals[1]


@pytest.mark.parametrize(
    ("items", "time_sliced", "is_right"),
    [(8, True, True), (7, False, True), (4, False, True), (8, False, False), (16, False, False)],
)
def test_a_power_of_two_of_items_needs_time_slicing(
    packaged: Project, items: int, time_sliced: bool, is_right: bool
) -> None:
    case = case_of(packaged, "rle_non_trivial_runs", key_type="int32")
    changed = with_lookback(case, threads_per_block=96, items_per_thread=items, store_with_time_slicing=time_sliced)
    for pattern in ("short", "pairs"):
        problem = RunSearch(20 * 96 * items + 5, INT, pattern, None, "any")
        found = fault(NON_TRIVIAL_RUNS, changed, problem, 0)
        assert (found is None) == is_right
        assert found is None or found.startswith("lengths")


@pytest.mark.parametrize(("shift", "lengths"), [(0, [0, 5]), (1, [3, 2]), (-1, [3, 2])])
def test_a_run_that_begins_with_a_launch_gets_the_length_of_the_one_before(
    packaged: Project, shift: int, lengths: list[int]
) -> None:
    case = case_of(packaged, "rle_non_trivial_runs", key_type="int32")
    own = case.policy.lookback
    tile = own.threads_per_block * own.items_per_thread
    keys = torch.arange(2 * tile)
    begin = tile + shift
    keys[begin - 3 : begin], keys[begin : begin + 2] = -1, -2
    problem = RunSearch(2 * tile, INT, "given", 1, "any")
    found = NON_TRIVIAL_RUNS.run(case, problem, RunSearchInputs(keys, 0), TileLog())
    assert int(found["runs"]) == 2
    assert found["offsets"][:2].tolist() == [begin - 3, begin]
    assert found["lengths"][:2].tolist() == lengths
