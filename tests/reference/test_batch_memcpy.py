"""What the reference kernel of batched copies does with policies that no target has, and what it shows of CUB."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from attrs import evolve

from policygen.model.record import Record
from policygen.project import Project
from policygen.reference.batch_memcpy import KERNEL
from policygen.reference.batch_memcpy import BatchMemcpyProblem
from policygen.reference.collectives.vector_copy import VECTOR
from policygen.reference.collectives.vector_copy import Copies
from policygen.reference.collectives.vector_copy import vector_range
from policygen.reference.collectives.vector_copy import vectorized_copy
from policygen.reference.contract.case import Case
from policygen.validate.cases import plan
from policygen.validate.run import fault

SMALL = (
    {"prefer_pow2_bits": True},
    {"prefer_pow2_bits": True, "threads_per_block": 64, "buffers_per_thread": 2},
    {"bytes_per_thread": 3, "buffers_per_thread": 1},
    {"warp_level_threshold": 300, "block_level_threshold": 300},
    {"warp_level_threshold": 0, "block_level_threshold": 20},
)


def case_of(project: Project, **small: Any) -> Case:
    """The case of the target, with other values in the policy of its first kernel."""
    case = plan(project, "bi100", ["batch_memcpy"], quick=True, warp_size=32).cases[0]
    made = case.policy.as_dict()
    made["lookback"]["small_buffer"] |= small
    return evolve(case, policy=Record(made))


@pytest.mark.parametrize("small", SMALL, ids=str)
def test_policies_that_no_target_has(packaged: Project, small: dict[str, Any]) -> None:
    case = case_of(packaged, **small)
    for problem in KERNEL.problems(case, quick=True):
        assert fault(KERNEL, case, problem, 0) is None, problem.id


@pytest.mark.parametrize("count", [0, 1, 15, 16, 17, 18, 19, 31, 32, 33, 47, 48, 100])
def test_vectors_at_any_addresses(count: int) -> None:
    """Every source and target within a vector: right, and of no word that has no byte of its source."""
    memory = torch.randint(256, (1000,), generator=torch.Generator().manual_seed(count), dtype=torch.uint8)
    before = 0
    for source in range(64, 64 + VECTOR):
        for target in range(64, 64 + VECTOR):
            out = torch.zeros_like(memory)
            copies = Copies(*(torch.tensor([number]) for number in (source, target, count)))
            assert vectorized_copy(memory, out, copies) == 0
            expected = torch.zeros_like(memory)
            expected[target : target + count] = memory[source : source + count]
            assert torch.equal(out, expected)
            vectors = vector_range(copies)
            first = source + int(vectors.begins)
            before += int(vectors.ends > vectors.begins) * int(first - first % 4 < source)
    # upstream means to stay within the source, but of 8 pairs of addresses the first word begins before it
    assert before == (8 if count >= VECTOR + 3 else 0)


def test_sizes_for_threads_have_16_bits(packaged: Project) -> None:
    """A threshold beyond 65,535 is a policy that the spec allows, and that loses bytes."""
    problem = BatchMemcpyProblem(6, "equal", "any", 1, "none", max_blocks=5)
    for threshold, is_wrong in ((65_535, False), (65_536, True)):
        case = case_of(packaged, warp_level_threshold=threshold, block_level_threshold=threshold)
        assert (fault(KERNEL, case, problem, 0) is not None) == is_wrong


def test_both_kernels_need_the_same_tile(packaged: Project) -> None:
    problem = BatchMemcpyProblem(6, "large", "any", 1, "none", max_blocks=5)
    assert fault(KERNEL, case_of(packaged), problem, 0) is None
    assert fault(KERNEL, case_of(packaged, block_level_tile_size=16_384), problem, 0) is not None
