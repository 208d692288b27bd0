"""C-4: vectors are loaded only where the address, the items and the element allow it."""

from __future__ import annotations

import pytest
from attrs import evolve

from cases.reference_cases import case_of
from policygen.model.record import Record
from policygen.project import Project
from policygen.reference.collectives.agent_reduce import agent_of
from policygen.reference.transform import KERNEL
from policygen.reference.transform import TransformProblem
from policygen.reference.values.elements import ELEMENTS
from policygen.reference.values.operators import plus
from policygen.validate.run import fault

PASS = {"threads_per_block": 256, "reduce_algorithm": "BLOCK_REDUCE_WARP_REDUCTIONS"}


@pytest.mark.parametrize(
    ("items", "vector", "element", "expected"),
    [
        (16, 4, "float32", 4),
        (10, 4, "float32", 1),  # 4 does not divide 10
        (2, 4, "float32", 2),  # never more than there are
        (7, 2, "float64", 1),
        (16, 4, "int128", 1),  # elements of more than 8 bytes are not vectorised
    ],
)
def test_a_reduction_vectorises_by_its_rule(items: int, vector: int, element: str, expected: int) -> None:
    policy = {**PASS, "items_per_thread": items, "vec_size": vector}
    assert agent_of(policy, plus(ELEMENTS[element]), 32, None).vector == expected


def test_vectorised_and_scalar_loads_take_the_same_items_in_another_order() -> None:
    policy = {**PASS, "items_per_thread": 4, "vec_size": 4}
    agent = agent_of(policy, plus(ELEMENTS["float32"]), 32, None)
    vectors, scalars = agent.tile_offsets(), agent.unvectorised().tile_offsets()
    assert vectors[:, 1].tolist() == [4, 5, 6, 7]
    assert scalars[:, 1].tolist() == [1, 257, 513, 769]
    assert sorted(vectors.flatten().tolist()) == sorted(scalars.flatten().tolist()) == list(range(1024))


@pytest.mark.parametrize("misaligned", [(0, 0), (1, 0), (0, 1)])
def test_a_pointer_that_is_off_by_an_element_takes_the_scalar_path(
    packaged: Project, misaligned: tuple[int, ...]
) -> None:
    case = case_of(packaged, "transform", output={"value_type_size": 2}, inputs=[{"value_type_size": 2}])
    assert fault(KERNEL, case, TransformProblem(5000, misaligned, sm_count=1), 0) is None


@pytest.mark.parametrize(("items", "vector"), [(10, 4), (9, 3)])
def test_vectors_that_no_compiler_accepts_are_refused(packaged: Project, items: int, vector: int) -> None:
    case = case_of(packaged, "transform", output={"value_type_size": 2}, inputs=[{"value_type_size": 2}])
    policy = case.policy.as_dict()
    policy["vectorized"] |= {"items_per_thread": items, "vec_size": vector}
    problem = TransformProblem(5000, (0, 0), sm_count=1)
    found = fault(KERNEL, evolve(case, policy=Record(policy)), problem, 0)
    assert found is not None
    assert f"no vector of {vector} elements divides {items} items" in found
