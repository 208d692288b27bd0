"""What the reference kernels of sorts and merges show of CUB."""

from __future__ import annotations

import math

import pytest
import torch
from attrs import evolve

from policygen.model.record import Record
from policygen.project import Project
from policygen.reference.collectives.pairs import with_origins
from policygen.reference.collectives.segments import Segments
from policygen.reference.contract.case import Case
from policygen.reference.contract.tile_log import TileLog
from policygen.reference.radix_sort import KERNEL as RADIX_SORT
from policygen.reference.radix_sort import RadixSortInputs
from policygen.reference.radix_sort import RadixSortProblem
from policygen.reference.segmented_radix_sort import KERNEL as SEGMENTED_RADIX_SORT
from policygen.reference.segmented_radix_sort import SegmentedRadixSortProblem
from policygen.reference.values.elements import ELEMENTS
from policygen.reference.values.radix_keys import RadixKeys
from policygen.reference.values.sort_keys import Bits
from policygen.validate.cases import plan
from policygen.validate.run import fault

FLOAT = ELEMENTS["float32"]


def case_of(project: Project, kernel: str, **given: int | str) -> Case:
    return plan(project, "bi100", [kernel], quick=True, given=given).cases[0]


def radix_sorted(case: Case, keys: list[float], bits: Bits, *, descending: bool) -> list[float]:
    """What a radix sort makes of some numbers."""
    made = RadixKeys(FLOAT)
    items = with_origins(made.raw(torch.tensor(keys)), has_values=False)
    problem = RadixSortProblem(len(keys), FLOAT, "given", bits, descending, 2, 1 << 20, "any")
    found = RADIX_SORT.run(case, problem, RadixSortInputs(items, 0), TileLog())["keys"]
    return [float(number) for number in made.values(found)]


def signs(numbers: list[float]) -> list[int]:
    return [int(math.copysign(1, number)) for number in numbers]


@pytest.mark.parametrize("descending", [False, True])
def test_zeros_stay_as_they_came_and_nan_is_beyond_infinity(packaged: Project, descending: bool) -> None:
    case = case_of(packaged, "radix_sort", key_type="float32", offset_size=4)
    keys = [0.0, -0.0, math.nan, 1.0, -math.inf, 0.0, -1.0, math.inf, -0.0]
    found = radix_sorted(case, keys, Bits(0, 32), descending=descending)
    if descending:
        found.reverse()
    assert found[:2] == [-math.inf, -1.0]
    assert found[6:8] == [1.0, math.inf]
    assert math.isnan(found[8])
    zeros = signs(found[2:6])
    assert (zeros[::-1] if descending else zeros) == [1, -1, 1, -1]


def test_by_some_bits_descending_onesweep_has_zeros_elsewhere(packaged: Project) -> None:
    """One tile takes zeros for 0.0, onesweep for -0.0: by bits without the sign that is least or greatest."""
    case = case_of(packaged, "radix_sort", key_type="float32", offset_size=4)
    single = case.policy.single_tile
    tile = single.threads_per_block * single.items_per_thread
    without_sign = Bits(0, 31)
    in_one_tile = radix_sorted(case, [0.0, *[1.0] * (tile - 1)], without_sign, descending=True)
    in_several = radix_sorted(case, [*[1.0] * tile, 0.0], without_sign, descending=True)
    assert in_one_tile[-1] == 0.0
    assert in_several[0] == 0.0


@pytest.mark.parametrize(
    ("threads", "descending", "is_right"), [(64, True, True), (32, False, True), (32, True, False)]
)
def test_a_block_of_fewer_threads_than_digits_sorts_descending_wrongly(
    packaged: Project, threads: int, descending: bool, is_right: bool
) -> None:
    case = case_of(packaged, "segmented_radix_sort", key_size=4)
    policy = case.policy.as_dict()
    assert policy["regular_pass"]["radix_bits"] == 6
    policy["regular_pass"]["threads_per_block"] = threads
    problem = SegmentedRadixSortProblem(Segments((3000, 40)), ELEMENTS["uint32"], "random", Bits(0, 6), descending)
    found = fault(SEGMENTED_RADIX_SORT, evolve(case, policy=Record(policy)), problem, 0)
    assert (found is None) == is_right
