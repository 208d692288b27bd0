"""What the reference kernels of attention show: masked partitions, sequences without tokens, two versions alike."""

from __future__ import annotations

import pytest
import torch
from attrs import evolve
from torch import Tensor

from policygen.project import Project
from policygen.reference.contract.case import Case
from policygen.reference.contract.comparison import Close
from policygen.reference.contract.tile_log import TileLog
from policygen.reference.engine.paged_attention import KERNEL
from policygen.reference.engine.paged_attention import PagedAttentionProblem
from policygen.validate.cases import plan
from policygen.validate.run import fault
from policygen.validate.run import generator

PARTITION = 512
LENGTHS = (0, 1, PARTITION, PARTITION + 1)


@pytest.fixture(scope="session")
def case(packaged: Project) -> Case:
    given = {"accum_t": "other", "accum_size": 4 * (2 + 64), "operation_t": "other", "offset_size": 4}
    return plan(packaged, "bi100", ["paged_attention"], quick=True, given=given).cases[0]


def step(window: int, version: int = 2, partition: int = PARTITION) -> PagedAttentionProblem:
    return PagedAttentionProblem(version, LENGTHS, 4, 1, 64, "float32", 16, partition, window, "random")


def outputs(case: Case, problem: PagedAttentionProblem) -> tuple[Tensor, Close]:
    """What a version gives, and what it has to be, on inputs that all versions have in common."""
    inputs = KERNEL.inputs(case, problem, generator(case, evolve(problem, version=2), 0))
    expected = KERNEL.expected(case, problem, inputs)["output"]
    assert isinstance(expected, Close)
    return KERNEL.run(case, problem, inputs, TileLog())["output"], expected


@pytest.mark.parametrize("window", [0, 1, 16, PARTITION])
def test_a_partition_that_is_masked_as_a_whole_leaves_no_nan(case: Case, window: int) -> None:
    second, bound_of_second = outputs(case, step(window))
    first, bound_of_first = outputs(case, step(window, version=1))
    assert bool(torch.isfinite(second).all())
    difference = (second.to(torch.float64) - first.to(torch.float64)).abs()
    assert bool((difference <= bound_of_first.bound + bound_of_second.bound).all())


def test_one_token_that_is_seen_is_the_output_bit_for_bit(case: Case) -> None:
    problem = step(1)
    inputs = KERNEL.inputs(case, problem, generator(case, problem, 0))
    found = KERNEL.run(case, problem, inputs, TileLog())["output"]
    for sequence in (1, 2, 3):
        last = inputs.values[sequence][-1]
        assert torch.equal(found[sequence], last.expand(4, -1))


@pytest.mark.parametrize("version", [1, 2])
def test_a_sequence_without_tokens_gives_zeros(case: Case, version: int) -> None:
    found, _ = outputs(case, step(0, version))
    assert torch.equal(found[0], torch.zeros(4, 64))


def test_the_number_of_partitions_is_no_partition_size(case: Case) -> None:
    """What an engine got wrong: it passed how many there are for how long one is."""
    assert fault(KERNEL, case, step(0), 0) is None
    assert fault(KERNEL, case, step(0, partition=16), 0) is None
    found = fault(KERNEL, case, step(0, partition=2), 0)
    assert found is not None
    assert "no multiple of a page" in found
