"""B-2 to B-4: the scaling rules do not promise a fit, results have names, and nothing is scaled twice."""

from __future__ import annotations

import pytest

from cases.small_specs import COPY
from cases.small_specs import SmallSpecs
from cases.small_specs import told
from policygen.lang.parse import ExpressionError
from policygen.lang.parse import parse
from policygen.lang.tree import Scope
from policygen.model.problems import SpecError
from policygen.project import Project
from policygen.resolve.trace import Held
from policygen.resolve.trace import Reported
from policygen.scaling import scale_mem_bound
from policygen.scaling import scale_reg_bound

# Upstream's unit test of both rules (cub/test, util_arch): 256 threads; for each size in bytes the items that come of
# these nominal ones, and the threads.
NOMINAL_ITEMS = (1, 16, 20, 100, 500, 10_000)
VECTORS = {
    ("mem_bound", 1): ((2, 256), (32, 256), (40, 256), (200, 256), (1000, 64), (20_000, 32)),
    ("mem_bound", 4): ((1, 256), (16, 256), (20, 256), (100, 128), (500, 32), (10_000, 32)),
    ("mem_bound", 16): ((1, 256), (4, 256), (5, 256), (25, 128), (125, 32), (2500, 32)),
    ("mem_bound", 1024): ((1, 64), (1, 64), (1, 64), (1, 64), (1, 64), (39, 32)),
    ("reg_bound", 1): ((1, 256), (16, 256), (20, 256), (100, 256), (500, 128), (10_000, 32)),
    ("reg_bound", 4): ((1, 256), (16, 256), (20, 256), (100, 128), (500, 32), (10_000, 32)),
    ("reg_bound", 16): ((1, 256), (4, 256), (5, 256), (25, 128), (125, 32), (2500, 32)),
    ("reg_bound", 1024): ((1, 64), (1, 64), (1, 64), (1, 64), (1, 64), (39, 32)),
}
CASES = [
    (rule, size, nominal, items, threads)
    for (rule, size), row in VECTORS.items()
    for nominal, (items, threads) in zip(NOMINAL_ITEMS, row, strict=True)
]

# The same as specs: a rung for each nominal count, scaled by the size, and a tile of which the kernel keeps all, or
# nothing, in shared memory.
TILE = """
[[constraint]]
id = "shared-memory"
unit = "bytes"
kind = "{kind}"
terms.tile = "{tile}"
limit = "target.max_smem_per_block"
otherwise = "report"
source = "a tile as the test has it"
"""
KEY = """
[key.nominal_items]
type = "int32"
values = [1, 16, 20, 100, 500, 10000]
"""
IN_SHARED_MEMORY = "int64(threads_per_block) * items_per_thread * size"


def copies(specs: SmallSpecs, rule: str, kind: str, tile: str) -> None:
    specs.algorithm(COPY.replace("[key.offset_size]", f"{KEY}[key.offset_size]") + TILE.format(kind=kind, tile=tile))
    rungs = "".join(
        f'[[ladder.point]]\nid = "of-{items}"\n'
        + (f"match = {{ nominal_items = {items} }}\n" if items != NOMINAL_ITEMS[-1] else "")
        + f"nominal = {{ threads_per_block = 256, items_per_thread = {items} }}\n"
        for items in NOMINAL_ITEMS
    )
    specs.ladder(rungs, base=f'scale = {{ rule = "{rule}", by = "size" }}\n')


@pytest.mark.parametrize(("rule", "size", "nominal", "items", "threads"), CASES)
def test_the_48_public_vectors(rule: str, size: int, nominal: int, items: int, threads: int) -> None:
    """B-2: exactly upstream's integers, also where they do not fit."""
    scaled = {"mem_bound": scale_mem_bound, "reg_bound": scale_reg_bound}[rule](256, nominal, size)
    assert scaled.items_per_thread == items
    assert scaled.threads_per_block == threads


def test_29_of_the_48_do_not_fit_and_the_check_flags_exactly_these(specs: SmallSpecs) -> None:
    """B-2: the formula is not mended; a check of its own says which tiles exceed 49,152 bytes."""
    flagged, expected = set(), set()
    for rule in ("mem_bound", "reg_bound"):
        copies(specs, rule, "tile", IN_SHARED_MEMORY)
        resolver = specs.resolver("sm_90")
        for case in (case for case in CASES if case[0] == rule):
            _, size, nominal, items, threads = case
            found = resolver.resolve({"element_t": "other", "size": size, "nominal_items": nominal})
            assert (found.policy.items_per_thread, found.policy.threads_per_block) == (items, threads)
            (verdict,) = (step for step in found.trace if isinstance(step, Held | Reported))
            assert verdict.need == items * threads * size
            if isinstance(verdict, Reported):
                flagged.add(case)
                text = f"needs {items * threads * size:,} of 49,152 bytes: reported, not mended"
                assert str(verdict) == f"constrain: shared-memory: {text}"
            if items * threads * size > 49_152:
                expected.add(case)
    assert flagged == expected
    assert len(CASES) == 48
    assert len(flagged) == 29
    tiles = {items * threads * size for _, size, _, items, threads in flagged}
    assert {65_536, 51_200, 1_277_952} <= tiles


def test_a_tile_that_lives_in_registers_is_never_flagged(specs: SmallSpecs) -> None:
    copies(specs, "mem_bound", "none", "int64(0)")
    resolver = specs.resolver("sm_90")
    for _, size, nominal, _, _ in CASES:
        found = resolver.resolve({"element_t": "other", "size": size, "nominal_items": nominal})
        assert not any(isinstance(step, Reported) for step in found.trace)


@pytest.mark.parametrize(("size", "mem", "reg"), [(1, 32, 16), (4, 16, 16), (8, 8, 8), (16, 4, 4), (1024, 1, 1)])
def test_256_by_16(size: int, mem: int, reg: int) -> None:
    assert scale_mem_bound(256, 16, size).items_per_thread == mem
    assert scale_reg_bound(256, 16, size).items_per_thread == reg


def test_results_have_names() -> None:
    """B-3: a swap, a missing cap or a clamp to the nominal items each give another answer than these."""
    scaled = scale_mem_bound(256, 500, 1)
    assert scaled.items_per_thread == 1000
    assert scaled.threads_per_block == 64
    scaled = scale_reg_bound(256, 500, 1)
    assert scaled.items_per_thread == 500
    assert scaled.threads_per_block == 128


def test_a_spec_can_only_name_a_part_of_a_result(specs: SmallSpecs) -> None:
    """B-3: no first and second, and no count that is a whole result."""
    for wrong in ("scale_mem_bound(256, 500, 1)[0]", "scale_mem_bound(256, 500, 1).first"):
        with pytest.raises(ExpressionError, match=r"is not allowed here|has no field"):
            parse(wrong, Scope())
    specs.algorithm(COPY)
    specs.ladder(
        '[[ladder.point]]\nid = "any"\n'
        'literal = { threads_per_block = "scale_mem_bound(256, 500, size)", items_per_thread = 1 }\n'
    )
    (problem,) = specs.problems()
    assert "threads_per_block" in problem


def test_a_tuning_whose_parts_are_named_in_any_order(specs: SmallSpecs) -> None:
    specs.algorithm(COPY)
    answers = []
    for counts in (
        "threads_per_block = 256, items_per_thread = 500",
        "items_per_thread = 500, threads_per_block = 256",
    ):
        specs.ladder(
            f'[[ladder.point]]\nid = "any"\nnominal = {{ {counts} }}\nscale = {{ rule = "mem_bound", by = "size" }}\n'
        )
        policy = specs.policy("sm_90", element_t="int8")
        answers.append((policy.threads_per_block, policy.items_per_thread))
    assert answers == [(64, 1000), (64, 1000)]


# B-4. A second algorithm that takes the first one's policy.

DERIVED = """
name  = "twice"
title = "Copies twice"
include = ["copy"]
[struct.TwicePolicy]
first  = "CopyPolicy"
second = "CopyPolicy"
[policy]
struct = "TwicePolicy"
[key.element_t]
type = "type_t"
[use.copied]
algorithm = "copy"
key = { element_t = "element_t" }
"""
SCALE = 'scale = { rule = "mem_bound", by = "max(1, element(element_t).size)" }'


def twice(specs: SmallSpecs, first: str, second: str) -> None:
    specs.algorithm(COPY)
    specs.ladder(
        '[[ladder.point]]\nid = "any"\nnominal = { threads_per_block = 256, items_per_thread = 16 }\n'
        'scale = { rule = "mem_bound", by = "size" }\n'
    )
    specs.algorithm(DERIVED, "twice")
    specs.ladder(f'[[ladder.point]]\nid = "any"\nfirst = {first}\nsecond = {second}\n', "twice")


def test_a_policy_that_is_taken_over_is_not_scaled_again(specs: SmallSpecs) -> None:
    """B-4: (256, 16) for 8 bytes is 8 items, and still 8 in what is derived from it, not 4."""
    twice(specs, '{ copy = "copied" }', '{ copy = "first" }')
    found = specs.resolve("sm_90", "twice", element_t="float64")
    for part in (found.policy.first, found.policy.second):
        assert (part.threads_per_block, part.items_per_thread) == (256, 8)
    assert sum(line.startswith("scale: ") for line in told(found)) == 0


@pytest.mark.parametrize(
    ("second", "reason"),
    [
        (f'{{ copy = "first", {SCALE} }}', "resolved counts are never scaled: leave the rule out"),
        (
            f'{{ nominal = {{ threads_per_block = 256, items_per_thread = "first.items_per_thread" }}, {SCALE} }}',
            "first.items_per_thread is resolved, and would be scaled twice: "
            'take it as it is, with literal = { items_per_thread = .. } or copy = ".."',
        ),
        (
            f'{{ nominal = {{ threads_per_block = "copied.threads_per_block", items_per_thread = 16 }}, {SCALE} }}',
            "copied.threads_per_block is resolved, and would be scaled twice: "
            'take it as it is, with literal = { threads_per_block = .. } or copy = ".."',
        ),
        (
            "{ nominal = { threads_per_block = 256, "
            f'items_per_thread = "min(16, 2 * copied.items_per_thread)" }}, {SCALE} }}',
            "copied.items_per_thread is resolved, and would be scaled twice: "
            'take it as it is, with literal = { items_per_thread = .. } or copy = ".."',
        ),
    ],
)
def test_scaling_what_is_resolved_is_an_error(specs: SmallSpecs, second: str, reason: str) -> None:
    """B-4: a resolved count is no nominal one, however it is written."""
    twice(specs, '{ copy = "copied" }', second)
    (problem,) = specs.problems()
    assert problem.startswith("specs/references/cccl-3.5/twice.toml:7: ladder[0].point[0].second.")
    assert problem.endswith(reason)


def test_a_name_for_a_resolved_count_does_not_hide_it(specs: SmallSpecs) -> None:
    twice(
        specs,
        '{ copy = "copied" }',
        f'{{ nominal = {{ threads_per_block = 256, items_per_thread = "half" }}, {SCALE} }}',
    )
    path = specs.folder / "references" / "cccl-3.5" / "twice.toml"
    path.write_text(
        path.read_text().replace("[[ladder]]", 'let.half = "max(1, copied.items_per_thread // 2)"\n[[ladder]]', 1)
    )
    (problem,) = specs.problems()
    assert "copied.items_per_thread is resolved, and would be scaled twice" in problem


def test_literal_counts_may_be_made_of_resolved_ones(specs: SmallSpecs) -> None:
    twice(
        specs,
        '{ copy = "copied" }',
        '{ literal = { threads_per_block = 128, items_per_thread = "max(1, copied.items_per_thread // 2)" } }',
    )
    assert specs.policy("sm_90", "twice", element_t="float64").second.items_per_thread == 4


def test_counts_that_are_neither_nominal_nor_literal_are_an_error(specs: SmallSpecs) -> None:
    specs.algorithm(COPY)
    specs.ladder('[[ladder.point]]\nid = "any"\nthreads_per_block = 256\nitems_per_thread = 16\n')
    with pytest.raises(SpecError, match="say whether this count is scaled"):
        specs.load()


@pytest.mark.parametrize("target", ["sm_60", "sm_90", "bi100"])
def test_segmented_reduce_takes_the_reduction_s_counts_as_they_are(packaged: Project, target: str) -> None:
    """B-4, packaged: the reduction that is used is scaled once."""
    key = {"accum_t": "float64", "operation_t": "max", "offset_size": 4}
    reduction = packaged.resolve(target, "reduce", **key).policy.multi_tile
    segmented = packaged.resolve(target, "segmented_reduce", **key).policy.large_reduce
    if target != "bi100":
        assert (reduction.threads_per_block, reduction.items_per_thread) == (256, 8)
    assert (segmented.threads_per_block, segmented.items_per_thread) == (
        reduction.threads_per_block,
        reduction.items_per_thread,
    )
