"""What the reference kernel of histograms does with policies that no target has, and what it shows of CUB."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from attrs import evolve

from policygen.model.record import Record
from policygen.project import Project
from policygen.reference.collectives.sample_bins import Scaled
from policygen.reference.contract.case import Case
from policygen.reference.contract.sizes import BEYOND_INT32
from policygen.reference.contract.tile_log import TileLog
from policygen.reference.histogram import KERNEL
from policygen.reference.histogram import SWEEP
from policygen.reference.histogram import HistogramInputs
from policygen.reference.histogram import HistogramProblem
from policygen.reference.values.elements import ELEMENTS
from policygen.reference.values.sample_levels import ChannelBins
from policygen.reference.values.sample_levels import SampleKind
from policygen.validate.cases import plan
from policygen.validate.run import fault
from policygen.validate.run import generator

KEYS = (
    {"sample_size": 1, "counter_size": 4, "num_channels": 1, "is_even": True},
    {"sample_size": 4, "counter_size": 4, "num_channels": 1, "is_even": False},
    {"sample_size": 2, "counter_size": 4, "num_channels": 4, "num_active_channels": 3, "is_even": True},
)
POLICIES = (
    {"mem_preference": "GMEM"},
    {"mem_preference": "BLEND", "rle_compress": False},
    {"rle_compress": True, "vec_size": 1},
    {"use_work_stealing": True},
    {"use_work_stealing": True, "mem_preference": "GMEM", "vec_size": 2},
    {"pixels_per_thread": 5},
    {"load_algorithm": "BLOCK_LOAD_WARP_TRANSPOSE"},
)


def case_of(project: Project, given: dict[str, Any], **fields: Any) -> Case:
    """The case of a key, with other values in its policy."""
    case = plan(project, "bi100", ["histogram"], quick=True, given=given, warp_size=32).cases[0]
    return evolve(case, policy=Record(case.policy.as_dict() | fields))


def kind(sample: str, level: str) -> SampleKind:
    return SampleKind(ELEMENTS[sample], ELEMENTS[level])


def problem_of(samples: SampleKind, n: int, bins: int, **fields: Any) -> HistogramProblem:
    return evolve(HistogramProblem(n, 1, 0, samples, "random", bins, misaligned=0, max_blocks=2), **fields)


def counts(case: Case, samples: SampleKind, values: torch.Tensor, levels: list[int], bins: int) -> list[int]:
    """What is counted of one channel with even bins."""
    channel = ChannelBins(samples, torch.tensor(levels, dtype=samples.level.dtype), bins, is_even=True)
    found = KERNEL.run(
        case, problem_of(samples, values.shape[0], bins), HistogramInputs(values, (channel,), 0), TileLog()
    )
    return [int(count) for count in found["channel 0"]]


@pytest.mark.parametrize("given", KEYS, ids=lambda given: f"{given['sample_size']}x{given['num_channels']}")
@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_policies_that_no_target_has(packaged: Project, given: dict[str, Any], policy: dict[str, Any]) -> None:
    case = case_of(packaged, given, **policy)
    for problem in KERNEL.problems(case, quick=True):
        if problem.has_data:
            assert fault(KERNEL, case, problem, 0) is None, problem.id


@pytest.mark.parametrize("misaligned", [0, 1])
@pytest.mark.parametrize("given", KEYS, ids=lambda given: f"{given['sample_size']}x{given['num_channels']}")
def test_striped_samples_belong_to_other_channels(packaged: Project, given: dict[str, Any], misaligned: int) -> None:
    """Vectors and pixels that are striped are right, and so are samples of one channel."""
    case = case_of(packaged, given, load_algorithm="BLOCK_LOAD_STRIPED")
    samples = {1: kind("uint8", "int32"), 2: kind("int16", "int32"), 4: kind("int32", "int32")}[given["sample_size"]]
    problem = problem_of(samples, 20_000, 50, misaligned=misaligned)
    is_wrong = misaligned == 1 and given["num_channels"] > 1
    assert (fault(KERNEL, case, problem, 0) is not None) == is_wrong


def test_even_bins_of_narrow_signed_levels_put_everything_into_the_first(packaged: Project) -> None:
    """The range of the levels is cut to their type: 40,000 is -25,536 in 16 bits, and a divisor of 32 bits then."""
    case = case_of(packaged, {"sample_size": 2, "counter_size": 4})
    values = torch.tensor([-20_000, -1, 1, 19_999])
    assert counts(case, kind("int16", "int32"), values, [-20_000, 20_000], 4) == [1, 1, 1, 1]
    assert counts(case, kind("int16", "int16"), values, [-20_000, 20_000], 4) == [4, 0, 0, 0]


def test_negative_bytes_are_in_no_bin(packaged: Project) -> None:
    case = case_of(packaged, {"sample_size": 1, "counter_size": 4})
    assert counts(case, kind("int8", "int32"), torch.tensor([-50, -1, 0, 50]), [-100, 100], 4) == [0, 0, 1, 1]


def test_bins_past_the_range_of_the_samples_stay_empty(packaged: Project) -> None:
    case = case_of(packaged, {"sample_size": 2, "counter_size": 4})
    values = torch.tensor([-32_768, -1, 0, 1, 32_766])
    found = counts(case, kind("int16", "int32"), values, [-32_768, 32_767], 65_535)
    assert [place for place, count in enumerate(found) if count] == [0, 32_767]


def test_vectors_of_one_channel_of_three(packaged: Project) -> None:
    """Pixels of three bytes are aligned everywhere, vectors of four are not; and 15 samples are no whole vectors."""
    given = {"sample_size": 1, "counter_size": 4, "num_channels": 3, "num_active_channels": 1, "is_even": True}
    case = case_of(packaged, given)
    tile = case.policy.threads_per_block * case.policy.pixels_per_thread
    for misaligned, is_refused in ((0, False), (1, True)):
        problem = problem_of(kind("uint8", "int32"), tile, 10, misaligned=misaligned)
        found = KERNEL.run(case, problem, KERNEL.inputs(case, problem, generator(case, problem, 0)), TileLog())
        assert (found["misaligned loads"] > 0) == is_refused
    odd = case_of(packaged, given, pixels_per_thread=5)
    assert odd.policy.vec_size == 4
    problem = problem_of(kind("uint8", "int32"), 5 * odd.policy.threads_per_block, 10)
    assert "channel 0" in str(fault(KERNEL, odd, problem, 0))


def test_stolen_tiles_past_2_31_samples_begin_elsewhere(packaged: Project) -> None:
    given = {"sample_size": 1, "counter_size": 4, "num_channels": 1, "is_even": True}
    problem = problem_of(kind("uint8", "int32"), BEYOND_INT32, 10, has_data=False)
    assert fault(KERNEL, case_of(packaged, given), problem, 0) is None
    assert SWEEP in str(fault(KERNEL, case_of(packaged, given, use_work_stealing=True), problem, 0))


def test_products_that_may_not_fit_are_refused() -> None:
    samples = kind("int64", "int64")
    for width, bins, is_refused in ((1 << 62, 3, False), (1 << 62, 4, True), ((1 << 64) // 1000, 1000, False)):
        scaled = Scaled(samples, torch.tensor(0), torch.tensor(width), bins)
        assert scaled.may_overflow == is_refused
