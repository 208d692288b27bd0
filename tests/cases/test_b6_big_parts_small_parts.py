"""B-6: configurations tuned on a part with much shared memory, on parts with less."""

from __future__ import annotations

import pytest

from cases.small_specs import SmallSpecs
from cases.small_specs import told
from policygen.plan.kernel_resources import KernelResources
from policygen.plan.occupancy import Resource
from policygen.plan.occupancy import occupancy
from policygen.resolve.candidate import NoPolicy
from policygen.resolve.occupancy import limits_of
from policygen.resolve.resolver import Resolution

# A tile kernel as Triton pipelines it: a buffer of both operands for each stage but one, and all of it dynamic.
TILES = """
name  = "tiles"
title = "Matrix product in tiles"
[struct.TilePolicy]
threads_per_block = { type = "int32", role = "threads" }
block_m           = { type = "int32", range = [1, 1024] }
block_n           = { type = "int32", range = [1, 1024] }
block_k           = { type = "int32", range = [1, 1024] }
num_stages        = { type = "int32", role = "stages", range = [1, 16] }
[policy]
struct = "TilePolicy"
[key.element_size]
type = "int32"
values = [1, 2, 4]
[key.keeps_statistics]
type = "bool"
default = "False"
[common]
element_size = [1, 2, 4]
[[constraint]]
id = "shared-memory"
unit = "bytes"
kind = "tile+extra"
terms.tile = "int64(num_stages - 1) * (block_m + block_n) * block_k * element_size"
terms.statistics = "int64(8) * block_m if keeps_statistics else int64(0)"
limit = "target.max_smem_per_block_optin"
shrink = ["num_stages"]
source = "dynamic shared memory of the kernel, which opts in to it"
"""
PASSES = 'passes = ["select", "scale", "adapt", "constrain", "canonicalise"]'


def resolve(
    specs: SmallSpecs, cc: str, tile: tuple[int, int, int], stages: int, *, rigid: bool = False, **key: object
) -> Resolution:
    """The policy on a part with the limits of an architecture that mends what does not fit."""
    specs.algorithm(TILES.replace('shrink = ["num_stages"]\n', "") if rigid else TILES, "tiles")
    m, n, k = tile
    fields = f"block_m = {m}\nblock_n = {n}\nblock_k = {k}\nnum_stages = {stages}\n"
    specs.ladder(f'[[ladder.point]]\nid = "any"\nliteral = {{ threads_per_block = 128 }}\n{fields}', "tiles")
    reference = f'reference = {{ name = "cccl-3.5", cc = "{cc}" }}'
    specs.write("targets/part.toml", f'name = "part"\nextends = "sm"\n{reference}\n{PASSES}\n')
    return specs.resolve("part", "tiles", **key)


def judged(found: Resolution) -> str:
    (line,) = (text for text in told(found) if text.startswith("constrain: shared-memory"))
    return line.removeprefix("constrain: shared-memory: ")


FP8_TILE = (128, 256, 128)
"""Of the report: 3 x (128 + 256) x 128 bytes at 4 stages."""


def test_a_big_part_takes_the_tile_as_it_is(specs: SmallSpecs) -> None:
    found = resolve(specs, "9.0", FP8_TILE, 4, element_size=1)
    assert found.policy.num_stages == 4
    assert judged(found) == "147,456 of 232,448 bytes, margin 84,992"


@pytest.mark.parametrize(
    ("cc", "stages", "bytes_needed", "limit"),
    [("12.0", 3, "98,304", "101,376"), ("8.6", 3, "98,304", "101,376"), ("7.5", 2, "49,152", "65,536")],
)
def test_a_small_part_has_fewer_stages(specs: SmallSpecs, cc: str, stages: int, bytes_needed: str, limit: str) -> None:
    """B-6: no fewer than it takes; on 12.0 one stage less is enough."""
    found = resolve(specs, cc, FP8_TILE, 4, element_size=1)
    assert found.policy.num_stages == stages
    assert judged(found) == f"num_stages 4 -> {stages}: 147,456 bytes of {limit} do not fit, {bytes_needed} do"


def test_a_tile_that_may_not_be_lowered_is_refused_with_both_numbers(specs: SmallSpecs) -> None:
    reason = r"^shared-memory: 147,456 bytes are needed at the least, and the limit is 101,376$"
    with pytest.raises(NoPolicy, match=reason):
        resolve(specs, "12.0", FP8_TILE, 4, rigid=True, element_size=1)


def test_256_bytes_too_many_are_refused_and_an_exact_fit_is_taken(specs: SmallSpecs) -> None:
    """B-6: 65,792 bytes of 65,536: a tile that fits to the byte, and statistics of 32 rows beside it."""
    assert judged(resolve(specs, "7.5", (32, 32, 256), 2, element_size=4)) == "65,536 of 65,536 bytes, margin 0"
    with pytest.raises(NoPolicy, match="65,792 bytes are needed at the least, and the limit is 65,536"):
        resolve(specs, "7.5", (32, 32, 256), 2, rigid=True, element_size=4, keeps_statistics=True)


@pytest.mark.parametrize(
    ("cc", "tile", "stages", "size", "need", "limit"),
    [
        ("12.0", (128, 128, 64), 6, 2, "163,840", "101,376"),
        ("7.5", (64, 64, 64), 6, 2, "81,920", "65,536"),
        ("9.0", (128, 129, 512), 3, 1, "263,168", "232,448"),
    ],
)
def test_the_figures_of_other_reports(
    specs: SmallSpecs, cc: str, tile: tuple[int, int, int], stages: int, size: int, need: str, limit: str
) -> None:
    with pytest.raises(NoPolicy, match=f"{need} bytes are needed at the least, and the limit is {limit}"):
        resolve(specs, cc, tile, stages, rigid=True, element_size=size)


def test_where_policies_stay_upstream_s_the_misfit_is_reported(specs: SmallSpecs) -> None:
    resolve(specs, "9.0", FP8_TILE, 4, element_size=1)
    assert judged(specs.resolve("sm_90", "tiles", element_size=1)) == "147,456 of 232,448 bytes, margin 84,992"
    found = specs.resolve("sm_120", "tiles", element_size=1)
    assert found.policy.num_stages == 4
    assert judged(found) == "needs 147,456 of 101,376 bytes: reported, not mended"


@pytest.mark.parametrize(
    ("target", "stages", "blocks"), [("sm_90", 4, 1), ("sm_120", 4, 0), ("sm_120", 3, 1), ("sm_75", 2, 1)]
)
def test_occupancy_says_the_same(specs: SmallSpecs, target: str, stages: int, blocks: int) -> None:
    """What fits a block by the constraint is what a multiprocessor can hold; the driver's reserve counts in neither."""
    resolve(specs, "9.0", FP8_TILE, 4, element_size=1)
    limits = limits_of(specs.resolver(target, "tiles").rules.instance)
    kernel = KernelResources(
        kernel="tiles", threads=128, registers=128, static_smem=0, dynamic_smem=(stages - 1) * 384 * 128
    )
    found = occupancy(limits, kernel)
    assert (found.blocks, found.limited_by) == (blocks, (Resource.SHARED_MEMORY,))
