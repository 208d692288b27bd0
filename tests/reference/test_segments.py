"""What the reference kernels of segments, of neighbours, of searches and of loops show of CUB."""

from __future__ import annotations

import math

import pytest
import torch
from attrs import evolve

from policygen.model.record import Record
from policygen.project import Project
from policygen.reference.collectives.segment_search import block_segments
from policygen.reference.collectives.segments import Segments
from policygen.reference.contract.case import Case
from policygen.reference.contract.tile_log import TileLog
from policygen.reference.for_each import DYNAMIC
from policygen.reference.for_each import KERNEL as FOR
from policygen.reference.segmented_reduce import KERNEL as SEGMENTED_REDUCE
from policygen.reference.segmented_reduce import SegmentedReduceProblem
from policygen.reference.segmented_scan import KERNEL as SEGMENTED_SCAN
from policygen.reference.segmented_scan import SegmentedScanProblem
from policygen.reference.values.differences import DIFFERS
from policygen.reference.values.differences import MINUS
from policygen.reference.values.differences import Difference
from policygen.reference.values.elements import ELEMENTS
from policygen.reference.values.memory import vector_alignment
from policygen.reference.values.operators import plus
from policygen.validate.cases import plan
from policygen.validate.run import fault
from policygen.validate.run import generator


def case_of(project: Project, kernel: str, target: str = "bi100", **given: int | str | bool) -> Case:
    return plan(project, target, [kernel], quick=True, given=given).cases[0]


def dynamic(project: Project) -> Case:
    case = case_of(project, "for")
    return evolve(case, policy=Record({**case.policy.as_dict(), "threads_per_block": 0}))


@pytest.mark.parametrize("quick", [True, False])
def test_a_loop_whose_policy_has_no_threads_runs_with_what_the_occupancy_suggests(
    packaged: Project, quick: bool
) -> None:
    case = dynamic(packaged)
    problems = tuple(FOR.problems(case, quick=quick))
    assert {problem.suggested for problem in problems} == {1024, 768, 96}
    assert [fault(FOR, case, problem, 0) for problem in problems] == [None] * len(problems)


def test_the_tile_of_such_a_loop_is_as_large_as_suggested(packaged: Project) -> None:
    case = dynamic(packaged)
    sizes = set()
    for problem in FOR.problems(case, quick=True):
        if problem.has_data and problem.calls > 2 * problem.suggested * case.policy.items_per_thread:
            log = TileLog()
            FOR.run(case, problem, FOR.inputs(case, problem, generator(case, problem, 0)), log)
            assert log.kernels == (DYNAMIC,)
            _, begin, end = log.table(DYNAMIC)[0].tolist()
            sizes.add(end - begin)
    assert sizes == {2 * 1024, 2 * 768, 2 * 96}


@pytest.mark.parametrize(
    ("size", "alignment", "vector", "expected"),
    [
        (1, 1, 4, 4),
        (4, 4, 4, 16),
        (8, 8, 4, 16),
        (8, 8, 2, 16),
        (8, 4, 4, 4),
        (12, 4, 4, 4),
        (16, 16, 4, 16),
        (1, 1, 3, 1),
    ],
)
def test_what_a_vector_is_aligned_to(size: int, alignment: int, vector: int, expected: int) -> None:
    assert vector_alignment(size, alignment, vector) == expected


def words(number: int) -> list[int]:
    """A 128-bit integer as low and high word."""
    low, high = number % 2**64, number // 2**64 % 2**64
    return [low - 2**64 if low >= 2**63 else low, high - 2**64 if high >= 2**63 else high]


@pytest.mark.parametrize(("item", "neighbour"), [(0, 1), (2**64, 1), (2**127 - 1, -(2**127)), (-5, -7), (3, 2**64 - 1)])
def test_wide_differences_borrow_from_the_upper_half(item: int, neighbour: int) -> None:
    minus = Difference(MINUS, ELEMENTS["int128"])
    assert minus.of(torch.tensor(words(item)), torch.tensor(words(neighbour))).tolist() == words(item - neighbour)


def test_an_item_without_a_neighbour_becomes_what_the_function_returns() -> None:
    numbers = torch.tensor([0.0, -0.0, 2.5, float("nan")])
    assert Difference(DIFFERS, ELEMENTS["float32"]).of_one(numbers).tolist() == [0, 0, 1, 1]
    assert Difference(MINUS, ELEMENTS["float32"]).of_one(numbers)[2] == 2.5


@pytest.mark.parametrize("most", [1, 5, 15, 16, 17, 64])
@pytest.mark.parametrize("are_alike", [False, True])
def test_items_are_found_in_the_segments_of_their_block(most: int, are_alike: bool) -> None:
    random = torch.Generator().manual_seed(most)
    counts = torch.randint(1, most + 1, (7,), generator=random)
    lengths = torch.randint(0, 5, (7, most), generator=random)
    lengths[:, 0] += 1
    if are_alike:
        lengths = lengths[:, :1].expand(-1, most).clone()
    lengths[torch.arange(most) >= counts.unsqueeze(-1)] = 0
    found = block_segments(lengths, counts, threads=32, algorithm="BLOCK_SCAN_WARP_SCANS", warp_size=32)
    assert torch.equal(found.num_items, lengths.sum(1))
    for block in range(7):
        items = torch.arange(int(found.num_items[block])).reshape(1, 1, -1)
        segment, place = found.located(torch.tensor([block]), items)
        number = torch.arange(most).repeat_interleave(lengths[block])
        assert segment.flatten().tolist() == number.tolist()
        assert place.flatten().tolist() == [at for length in lengths[block].tolist() for at in range(length)]


@pytest.mark.parametrize("most", [1, 3])
def test_a_scan_of_segments_takes_no_more_than_its_policy_says(packaged: Project, most: int) -> None:
    case = case_of(packaged, "segmented_scan", accum_size=4)
    block = Record({**case.policy.block.as_dict(), "max_segments": most})
    case = evolve(case, policy=Record({"block": block}))
    segments, operator = Segments((5, 2), repeats=4), plus(ELEMENTS["int32"])
    problem = SegmentedScanProblem(segments, 6, operator, "random", "exclusive")
    log = TileLog()
    SEGMENTED_SCAN.run(case, problem, SEGMENTED_SCAN.inputs(case, problem, generator(case, problem, 0)), log)
    assert fault(SEGMENTED_SCAN, case, problem, 0) is None
    assert len(log.tiles()) == math.ceil(8 / most)


@pytest.mark.parametrize(
    ("promised", "blocks"),
    [(0, 3), (24, 1), (25, 1), (24 * 32, 1), (24 * 32 + 1, 3)],
)
def test_the_promise_says_who_reduces_a_segment(packaged: Project, promised: int, blocks: int) -> None:
    case = case_of(packaged, "segmented_reduce", accum_t="int32", operation_t="plus", offset_size=4)
    assert case.policy.small_reduce.items_per_thread == 24
    segments, operator = Segments((7, 3, 24)), plus(ELEMENTS["int32"])
    problem = SegmentedReduceProblem(segments, False, promised, operator, "random", 0)
    log = TileLog()
    SEGMENTED_REDUCE.run(case, problem, SEGMENTED_REDUCE.inputs(case, problem, generator(case, problem, 0)), log)
    assert len({tile.block for tile in log.tiles()}) == blocks
    assert fault(SEGMENTED_REDUCE, case, problem, 0) is None


def test_segments_of_one_size_may_have_more_items_than_an_int_counts(packaged: Project) -> None:
    case = case_of(packaged, "segmented_reduce", accum_t="int32", operation_t="plus", offset_size=4)
    many = [problem for problem in SEGMENTED_REDUCE.problems(case, quick=True) if not problem.has_data]
    ends = []
    for problem in many:
        log = TileLog()
        SEGMENTED_REDUCE.run(case, problem, SEGMENTED_REDUCE.inputs(case, problem, generator(case, problem, 0)), log)
        ends.append(max(tile.end for tile in log.tiles()))
    assert ends[0] == 16_000_000 * 200
    assert min(ends) > 2**31
