"""D-4: ties of a top k, how many keys it gives, and bits of a digit; and what its kernels show of CUB."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from attrs import evolve

from compilers import WARNINGS
from compilers import default_compiler
from policygen.model.record import Record
from policygen.project import Project
from policygen.reference.collectives.pairs import Pairs
from policygen.reference.collectives.pairs import with_origins
from policygen.reference.contract.case import Case
from policygen.reference.contract.comparison import AnyOrder
from policygen.reference.contract.tile_log import TileLog
from policygen.reference.topk import KERNEL
from policygen.reference.topk import TopKInputs
from policygen.reference.topk import TopKProblem
from policygen.reference.values.elements import ELEMENTS
from policygen.reference.values.radix_keys import RadixKeys
from policygen.reference.values.selection import Selection
from policygen.resolve.trace import Held
from policygen.validate.cases import plan
from policygen.validate.run import fault

GENERATED = Path(__file__).parents[2] / "generated"
UINT32, INT32, FLOAT32 = (ELEMENTS[name] for name in ("uint32", "int32", "float32"))


def case_of(project: Project, target: str = "bi100", **given: int) -> Case:
    return plan(project, target, ["topk"], quick=True, given=given, warp_size=32).cases[0]


def changed(case: Case, **fields: Any) -> Case:
    """A case with other values in its policy."""
    return evolve(case, policy=Record(case.policy.as_dict() | fields))


def top(case: Case, selection: Selection, keys: torch.Tensor, k: int, seed: int = 0) -> Pairs:
    """The keys that are taken, with the places where they were."""
    items = with_origins(RadixKeys(selection.element).raw(keys), has_values=True)
    problem = TopKProblem(keys.shape[0], k, selection, "given", max_blocks=2, has_values=True)
    inputs = TopKInputs(items, seed)
    outputs, expected = KERNEL.run(case, problem, inputs, TileLog()), KERNEL.expected(case, problem, inputs)
    for name, expectation in expected.items():
        assert expectation.difference(outputs[name]) is None, name
    return Pairs(outputs["keys"], _values(case, problem, inputs))


def _values(case: Case, problem: TopKProblem, inputs: TopKInputs) -> torch.Tensor:
    """The values of the same run: the kernel's outputs say of them only whether they are right."""
    values = KERNEL.selected(case, problem, inputs, TileLog()).items.values
    assert values is not None
    return values[: min(problem.k, problem.num_items)]


def test_ties_are_a_multiset_and_their_places_arbitrary(packaged: Project) -> None:
    case = case_of(packaged, key_size=4)
    keys = torch.tensor([5] * 40 + [9] * 3 + [1] * 40)
    first, again = (top(case, Selection(UINT32, is_greatest=True), keys, 10, seed) for seed in (1, 2))
    assert AnyOrder(torch.tensor([9] * 3 + [5] * 7)).difference(first.keys) is None
    assert AnyOrder(first.keys).difference(again.keys) is None
    assert first.values is not None
    assert again.values is not None
    assert {40, 41, 42} <= set(first.values.tolist()) & set(again.values.tolist())
    # so a preference for smaller indices, which CUB 3.5 does not have for a top k, is not met even by chance
    assert set(first.values.tolist()) != set(again.values.tolist())
    assert set(first.values.tolist()) != {*range(7), 40, 41, 42}


def test_no_key_of_the_spec_asks_for_an_order_of_ties(packaged: Project) -> None:
    """CUB 3.5 has but one kind of results: a key that asks for another needs a kernel that gives it."""
    names = {field.name for field in packaged.spec.algorithms["topk"].key}
    assert "key_size" in names
    assert not {name for name in names if "determin" in name or "tie" in name or "order" in name}


@pytest.mark.parametrize("greatest", [True, False])
@pytest.mark.parametrize("n", [1, 700, 6000])
def test_k_from_none_to_more_than_there_are(packaged: Project, n: int, greatest: bool) -> None:
    case, selection = case_of(packaged, key_size=4), Selection(INT32, greatest)
    keys = torch.randperm(n, generator=torch.Generator().manual_seed(n)) - n // 2
    in_order = keys.sort(descending=greatest).values
    for k in (0, 1, n - 1, n, n + 1, 3 * n):
        found = RadixKeys(INT32).values(top(case, selection, keys, k).keys)
        assert sorted(found.tolist(), reverse=greatest) == in_order[:k].tolist()


@pytest.mark.parametrize("size", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("k", [1, 2999, 3000])
def test_equal_keys(packaged: Project, size: int, k: int) -> None:
    element = ELEMENTS[f"uint{8 * size}"]
    keys = torch.full((3000, *element.trailing), 7)
    found = top(case_of(packaged, key_size=size), Selection(element, is_greatest=True), keys, k)
    assert found.keys.shape[0] == k
    assert bool((found.keys == 7).all())


def test_minus_zero_comes_before_zero(packaged: Project) -> None:
    case = case_of(packaged, key_size=4)
    keys = torch.tensor([0.0, -0.0, 0.0, -0.0, 1.0])
    greatest = top(case, Selection(FLOAT32, is_greatest=True), keys, 3)
    assert greatest.values is not None
    assert set(greatest.values.tolist()) == {0, 2, 4}


def test_digits_across_the_words_of_a_key(packaged: Project) -> None:
    """No policy gives keys of 16 bytes 11 bits, which is where a digit has bits of both words."""
    case = changed(case_of(packaged, key_size=16), bits_per_pass=11)
    for problem in KERNEL.problems(case, quick=True):
        assert fault(KERNEL, case, problem, 0) is None, problem.id


def test_striped_loads_give_keys_the_values_of_others(packaged: Project) -> None:
    """Upstream takes what a striped load brings for blocked: BLOCK_LOAD_STRIPED is no choice for a top k."""
    case = changed(case_of(packaged, key_size=4), load_algorithm="BLOCK_LOAD_STRIPED")
    selection = Selection(UINT32, is_greatest=True)
    problem = TopKProblem(5000, 50, selection, "random", max_blocks=2, has_values=True)
    assert fault(KERNEL, case, problem, 0) is not None


@pytest.mark.parametrize("target", ["bi100", "sm_75", "sm_80", "sm_90", "sm_100", "sm_120"])
@pytest.mark.parametrize("offset_size", [4, 8])
def test_digits_of_11_bits_fit_shared_memory(packaged: Project, target: str, offset_size: int) -> None:
    resolver = packaged.resolver(target, "topk")
    for size in (2, 4, 8):
        found = resolver.resolve({"key_size": size, "offset_size": offset_size})
        assert found.policy.bits_per_pass == 11
        (held,) = (step for step in found.trace if isinstance(step, Held) and step.constraint.id == "shared-memory")
        assert held.need is not None
        assert held.limit is not None
        # a counter a digit, and at least a tile or what brings as many counters to a scan beside them
        assert (1 << 11) * offset_size * 2 <= held.need <= held.limit


RUN_TABLE = """
import json, sys
from importlib import import_module
module = import_module("policygen_tables." + sys.argv[1] + ".topk")
print(json.dumps([module.policy(key_size=size).bits_per_pass for size in json.loads(sys.argv[2])]))
"""
SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 32)


@pytest.mark.parametrize("target", ["bi100", "sm_90"])
def test_header_and_table_have_the_same_bits(packaged: Project, target: str, tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", "-S", "-c", RUN_TABLE, target, json.dumps(SIZES)]
    environment = {"PYTHONPATH": str(GENERATED / "python")}
    table = json.loads(subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout)
    resolver = packaged.resolver(target, "topk")
    assert table == [resolver.resolve({"key_size": size}).policy.bits_per_pass for size in SIZES]
    compiler = default_compiler()
    if compiler is None:
        pytest.skip("there is no C++ compiler")
    asserts = "\n".join(
        f"static_assert(policygen::{target}::topk::select({{{size}, 4}}).bits_per_pass == {bits});"
        for size, bits in zip(SIZES, table, strict=True)
    )
    source = tmp_path / "main.cpp"
    source.write_text(f"#include <policygen/{target}/tuning_topk.cuh>\n{asserts}\n", encoding="utf-8")
    include = f"-I{GENERATED / 'include'}"
    command = [str(compiler.path), "-std=c++17", *WARNINGS, include, "-fsyntax-only", str(source)]
    assert subprocess.run(command, capture_output=True, text=True, check=False).stderr == ""
