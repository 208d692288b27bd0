"""Which targets have CUB forms, and what a target's own points become in them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from cub_form.nvcc import compile_cuda
from loading.specs import SPECS
from policygen.build import build
from policygen.emit.writer import apply
from policygen.emit.writer import plan
from policygen.project import load

CHIP = """
name = "mychip"
title = "A chip with points of its own"
extends = "h200"

[[rules.reduce.ladder]]
id = "own"
[rules.reduce.ladder.base]
multi_tile = { vec_size = 1, reduce_algorithm = "BLOCK_REDUCE_WARP_REDUCTIONS", load_modifier = "LOAD_LDG" }
single_tile = { copy = "multi_tile" }
[[rules.reduce.ladder.point]]
id = "small"
num_items = "<=2^16"
multi_tile = { literal = { threads_per_block = 64, items_per_thread = 4 } }
[[rules.reduce.ladder.point]]
id = "large"
num_items = ">=2^28"
multi_tile = { literal = { threads_per_block = 512, items_per_thread = 4 } }
[[rules.reduce.ladder.point]]
id = "half"
match = { accum_t = "float16" }
multi_tile = { literal = { threads_per_block = 320, items_per_thread = 10 } }
"""

SELECTIONS = """
#include <policygen/mychip/cub_tuning_reduce.cuh>

using Plus = cuda::std::plus<>;
template <class T>
constexpr cub::ReducePolicy ours(int cc)
{
  return policygen::mychip::reduce::selector<T, unsigned, Plus>{}(cuda::compute_capability{cc});
}
template <class T>
constexpr cub::ReducePolicy theirs(int cc)
{
  return cub::detail::reduce::policy_selector_from_types<T, unsigned, Plus>{}(cuda::compute_capability{cc});
}
// the chip's point for float16, on the chip alone, though CUB has no name for the type
static_assert(ours<__half>(90).multi_tile.threads_per_block == 320);
static_assert(ours<__half>(90).single_tile.items_per_thread == 10);
static_assert(ours<__half>(80) == theirs<__half>(80));
static_assert(ours<__half>(100) == theirs<__half>(100));
// no other type has a point without a number of items
static_assert(ours<__nv_bfloat16>(90) == theirs<__nv_bfloat16>(90));
static_assert(ours<float>(90) == theirs<float>(90));
// a key outside the domains is CUB's
struct huge { char bytes[100000]; };
static_assert(ours<huge>(90) == theirs<huge>(90));
"""


@pytest.fixture
def project_folder(tmp_path: Path) -> Path:
    """A project with its own copy of the specs, in which reduce alone is built."""
    shutil.copytree(SPECS, tmp_path / "specs")
    (tmp_path / "policygen.toml").write_text(
        '[project]\ntargets = ["sm_90"]\nalgorithms = ["reduce"]\n', encoding="utf-8"
    )
    return tmp_path


def files(folder: Path, target: str) -> dict[str, str]:
    made = build(load(folder), [target], jobs=1)
    apply(plan(folder / "generated", made.artifacts, made.owners))
    return {artifact.path.name: artifact.content.decode() for artifact in made.artifacts}


@pytest.mark.parametrize("target", ["sm_75", "h200", "rtx_5090", "cuda"])
def test_nvidia_targets_have_forms(project_folder: Path, target: str) -> None:
    text = files(project_folder, target)["cub_tuning_reduce.cuh"]
    assert f"namespace policygen::{target}::reduce" in text
    assert "limited to a number of items" not in text


def test_a_target_without_cub_has_none(project_folder: Path) -> None:
    assert not [name for name in files(project_folder, "bi100") if name.startswith("cub_")]


def test_an_algorithm_that_cannot_be_tuned_has_none(project_folder: Path) -> None:
    path = project_folder / "specs/algorithms/reduce.toml"
    text = path.read_text(encoding="utf-8")
    start, end = text.index("[tune]"), text.index("[let]")
    path.write_text(text[:start] + text[end:], encoding="utf-8")
    assert not [name for name in files(project_folder, "sm_90") if name.startswith("cub_")]


def test_an_internal_policy_is_told(project_folder: Path) -> None:
    path = project_folder / "policygen.toml"
    path.write_text(path.read_text(encoding="utf-8").replace("reduce", "topk"), encoding="utf-8")
    text = files(project_folder, "sm_90")["cub_tuning_topk.cuh"]
    assert "// CUB takes cub::detail::topk::topk_policy for this algorithm, a type that it keeps for itself" in text


@pytest.mark.cuda
def test_own_points_and_those_for_a_number_of_items(project_folder: Path) -> None:
    (project_folder / "specs/targets/mychip.toml").write_text(CHIP, encoding="utf-8")
    text = files(project_folder, "mychip")["cub_tuning_reduce.cuh"]
    told = "// 2 points are limited to a number of items, which CUB does not know when it selects: left out here."
    assert told in text
    include = project_folder / "generated" / "include"
    done = compile_cuda(project_folder, SELECTIONS, include, "-arch=sm_90", "-ptx")
    assert done.accepted, done.said
