"""B-1: where the tile of a sort or a merge does not fit shared memory, the kernels that CUB falls back to are right."""

from __future__ import annotations

import pytest

from cases.reference_cases import case_of
from policygen.project import Project
from policygen.reference import merge
from policygen.reference import merge_sort
from policygen.validate.run import run_case


@pytest.mark.parametrize(
    ("target", "value_size", "tile"),
    [
        ("sm_90", 8, (256, 17)),
        ("sm_90", 16, (64, 1)),  # 69,648 bytes do not fit, 1,040 do
        ("sm_90", 384, (64, 1)),
        ("sm_90", 1024, (256, 17)),  # neither fits: the tile is kept in global memory
        ("bi100", 16, (256, 11)),  # the policy is one that fits
    ],
)
def test_a_sort_takes_the_tile_that_cub_takes(
    packaged: Project, target: str, value_size: int, tile: tuple[int, int]
) -> None:
    case = case_of(packaged, "merge_sort", target, key_size=4, value_size=value_size)
    assert merge_sort.tile_of(case) == tile
    assert run_case(case, quick=True, seed=0).failure is None


def test_a_merge_takes_the_tile_that_cub_takes(packaged: Project) -> None:
    case = case_of(packaged, "merge", "sm_90", key_size=4, value_size=512, offset_size=4)
    assert merge.uses_fallback(case)
    assert run_case(case, quick=True, seed=0).failure is None
