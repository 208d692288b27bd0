"""What the reference kernels of selections and partitions show of CUB, and what their collectives promise."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pytest
import torch
from attrs import evolve
from torch import Tensor

from policygen.project import Project
from policygen.reference.catalogue import kernel_of
from policygen.reference.collectives.discontinuity import flag_heads
from policygen.reference.collectives.launches import MOST_LAUNCH_ITEMS
from policygen.reference.collectives.packed_counts import packed_counts
from policygen.reference.collectives.sweep_shape import FALLBACK
from policygen.reference.contract.case import Case
from policygen.reference.contract.tile_log import TileLog
from policygen.reference.select_if import KERNEL as SELECT
from policygen.reference.select_if import Kind
from policygen.reference.select_if import SelectInputs
from policygen.reference.select_if import SelectProblem
from policygen.reference.select_if import shape_of
from policygen.reference.values.elements import ELEMENTS
from policygen.reference.values.equalities import Equality
from policygen.validate.cases import plan
from policygen.validate.run import fault
from policygen.validate.run import generator

FLOAT = ELEMENTS["float32"]


def case_of(project: Project, kernel: str, given: Mapping[str, Any]) -> Case:
    return plan(project, "bi100", [kernel], quick=True, given=given).cases[0]


def selecting(project: Project, **given: int | str | bool) -> Case:
    return case_of(project, "select_if", {"input_type": "float32", **given})


def selected(case: Case, items: Tensor, flags: Tensor, method: str = "flagged") -> Mapping[str, Tensor]:
    problem = SelectProblem(len(items), Kind(FLOAT, method), "given", "half", "any")
    return SELECT.run(case, problem, SelectInputs(items, flags, None, 0), TileLog())


def test_a_partition_has_rejected_items_in_reverse(packaged: Project) -> None:
    items, flags = torch.arange(6.0), torch.tensor([0, 1, 0, 255, 0, 2])
    partition: dict[str, Any] = {"flag_size_bytes": 1, "selection_impl": "Partition"}
    found = selected(selecting(packaged, **partition), items, flags)
    assert found["items"].tolist() == [1, 3, 5, 4, 2, 0]
    found = selected(selecting(packaged, **partition, distinct_partitions=True), items, flags)
    assert int(found["num_selected"]) == 3
    assert found["items"].tolist()[:3] == [1, 3, 5]
    assert found["rejected"].tolist()[:3] == [0, 2, 4]


def test_in_place_what_is_behind_the_last_selected_item_stays(packaged: Project) -> None:
    case = selecting(packaged, flag_size_bytes=1, selection_impl="SelectPotentiallyInPlace")
    found = selected(case, torch.arange(6.0), torch.tensor([0, 1, 0, 0, 0, 1]))
    assert found["items"].tolist() == [1, 5, 2, 3, 4, 5]


def test_each_nan_is_unique_and_zeros_are_not(packaged: Project) -> None:
    items = torch.tensor([-0.0, 0.0, math.nan, math.nan, 1.0, 1.0])
    found = selected(selecting(packaged), items, torch.zeros(6), "unique equal_to")
    assert int(found["num_selected"]) == 4
    assert math.copysign(1, float(found["items"][0])) == -1
    assert int(selected(selecting(packaged), items, torch.zeros(6), "unique custom")["num_selected"]) == 4


@pytest.mark.parametrize(
    ("given", "is_rounded"), [({}, True), ({"selection_impl": "Partition", "offset_size_bytes": 8}, False)]
)
def test_a_selection_s_launches_are_whole_tiles(packaged: Project, given: dict[str, Any], is_rounded: bool) -> None:
    case = selecting(packaged, **given)
    tile = shape_of(case).tile_items
    most = MOST_LAUNCH_ITEMS // tile * tile if is_rounded else MOST_LAUNCH_ITEMS
    problem = SelectProblem(2**31 + tile, Kind(FLOAT, "if"), "random", "half", "none", has_data=False)
    log = TileLog()
    SELECT.run(case, problem, SELECT.inputs(case, problem, generator(case, problem, 0)), log)
    blocks, begins, _ = log.table("DeviceSelectSweepKernel").unbind(1)
    assert begins[blocks == 0].tolist() == [most]


def test_a_partition_counted_in_32_bits_has_one_launch(packaged: Project) -> None:
    case = selecting(packaged, selection_impl="Partition", offset_size_bytes=4)
    (problem,) = (problem for problem in SELECT.problems(case, quick=True) if not problem.has_data)
    assert problem.num_items == MOST_LAUNCH_ITEMS


@pytest.mark.parametrize(
    ("kernel", "given"), [("select_if", {"input_type": "int32"}), ("unique_by_key", {"key_size": 4, "value_size": 4})]
)
def test_the_fallback_is_64_threads_and_one_item(packaged: Project, kernel: str, given: dict[str, Any]) -> None:
    case = case_of(packaged, kernel, given)
    small = evolve(case, unmet=frozenset({"shared-memory"}))
    made = kernel_of(kernel)
    problem = next(
        problem for problem in made.problems(small, quick=True) if problem.num_items > 3 * math.prod(FALLBACK)
    )
    log = TileLog()
    made.run(small, problem, made.inputs(small, problem, generator(small, problem, 0)), log)
    (name,) = log.kernels
    assert log.table(name)[1].tolist() == [1, 64, 128]
    assert fault(made, small, problem, 0) is None
    assert made.unbound(small)


def test_heads_across_threads_and_tiles() -> None:
    # [items, tiles, threads]: 1 1 | 1 2 || 2 2 | 3 3
    items = torch.tensor([[[1, 1], [2, 3]], [[1, 2], [2, 3]]])
    equality = Equality(ELEMENTS["int32"], "equal_to")
    found = flag_heads(items, equality, torch.tensor([1, 2]), torch.tensor([False, True]))
    assert found.movedim(0, -1).flatten().tolist() == [True, False, False, True, False, False, True, False]


@pytest.mark.parametrize("offset_size", [4, 8])
def test_packed_counts_do_not_run_into_each_other(offset_size: int) -> None:
    packed = packed_counts(offset_size)
    # as many as a launch has, and what is past its end
    first, second = torch.tensor([0, 7, 2**31 - 1]), torch.tensor([2**31 - 2, 2**31 - 1, 5])
    past_end = torch.full_like(first, 20_479)
    total = packed.operator.combine(packed.pack(first, second), packed.pack(past_end, past_end))
    found = packed.unpack(total)
    assert torch.equal(found[0], first + past_end)
    assert torch.equal(found[1], second + past_end)
