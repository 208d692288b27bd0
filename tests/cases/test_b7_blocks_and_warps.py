"""B-7: targets with other warps and smaller blocks than those a policy was tuned on."""

from __future__ import annotations

from pathlib import Path

import pytest

from cases.small_specs import COPY
from cases.small_specs import SmallSpecs
from cases.small_specs import told
from policygen.fold.table import policy_table
from policygen.model.record import Record
from policygen.model.types import RecordType
from policygen.model.types import Role
from policygen.model.types import Struct
from policygen.project import Project
from policygen.project import load
from policygen.resolve.candidate import NoPolicy
from policygen.resolve.resolver import Resolution

BLOCK = '[block]\nmultiple_of = "warp_size"\nreason = "a block is whole warps"\n'
LAUNCH = """
[[constraint]]
id = "threads-per-block"
unit = "threads"
kind = "sum"
terms.threads = "int64(threads_per_block)"
limit = "target.max_threads_per_block"
shrink = ["threads_per_block"]
source = "launch limit"
"""


def block(specs: SmallSpecs, threads: int, warp: int, most: int, launch: str = LAUNCH) -> Resolution:
    specs.algorithm(COPY + launch)
    specs.ladder(f'[[ladder.point]]\nid = "any"\nliteral = {{ threads_per_block = {threads}, items_per_thread = 4 }}\n')
    specs.chip("part", {"warp_size": warp, "max_threads_per_block": most}, BLOCK)
    return specs.resolve("part", element_t="int32")


@pytest.mark.parametrize("threads", [512, 576, 640, 1024])
def test_blocks_are_capped_where_the_limit_is_512(specs: SmallSpecs, threads: int) -> None:
    """B-7: warps of 64 and 512 threads, so 8 warps at the most; the trace says that it was capped."""
    found = block(specs, threads, 64, 512)
    assert found.policy.threads_per_block == 512
    change = f"threads_per_block {threads} -> 512: {threads:,} threads of 512 do not fit, 512 do"
    capped = f"constrain: threads-per-block: {change}"
    assert (capped in told(found)) is (threads > 512)


@pytest.mark.parametrize(
    ("threads", "expected"),
    [
        (160, 128),
        (224, 192),
        (288, 256),
        (352, 320),
        (416, 384),
        (608, 576),
        (928, 896),
        (128, 128),
        (1024, 1024),
        (32, 64),
    ],
)
def test_multiples_of_32_become_multiples_of_64(specs: SmallSpecs, threads: int, expected: int) -> None:
    """B-7: rounded down and said so; a block has one warp at least."""
    found = block(specs, threads, 64, 1024)
    assert found.policy.threads_per_block == expected
    note = f"adapt: threads_per_block {threads} -> {expected}: a multiple of 64: a block is whole warps"
    assert (note in told(found)) is (threads != expected)


def test_608_threads_on_a_part_with_both_limits(specs: SmallSpecs) -> None:
    found = block(specs, 608, 64, 512)
    assert found.policy.threads_per_block == 512
    assert [line for line in told(found) if "->" in line] == [
        "adapt: threads_per_block 608 -> 576: a multiple of 64: a block is whole warps",
        "constrain: threads-per-block: threads_per_block 576 -> 512: 576 threads of 512 do not fit, 512 do",
    ]


def test_without_a_way_to_lower_it_a_block_is_refused_with_both_numbers(specs: SmallSpecs) -> None:
    refusing = LAUNCH.replace('shrink = ["threads_per_block"]\n', "")
    with pytest.raises(
        NoPolicy, match=r"threads-per-block: 1,024 threads are needed at the least, and the limit is 512"
    ):
        block(specs, 1024, 64, 512, refusing)


def test_33_warps_are_no_block_anywhere(specs: SmallSpecs) -> None:
    """B-7: 33 warps of 32 are 1,056 threads, which a spec cannot even say."""
    specs.algorithm(COPY + LAUNCH)
    specs.ladder('[[ladder.point]]\nid = "any"\nliteral = { threads_per_block = 1056, items_per_thread = 4 }\n')
    (problem,) = specs.problems()
    assert "threads_per_block: expected an integer in " in problem
    assert "1024, but this ranges over 1056" in problem


def test_blocks_suit_every_warp_size_that_is_plausible(specs: SmallSpecs) -> None:
    specs.algorithm(COPY + LAUNCH)
    specs.ladder('[[ladder.point]]\nid = "any"\nliteral = { threads_per_block = 96, items_per_thread = 4 }\n')
    specs.chip("part", {"warp_size": 32, "max_threads_per_block": 1024}, BLOCK)
    assert specs.policy("part", element_t="int32").threads_per_block == 96
    path = specs.folder / "targets" / "part.toml"
    reading = '[[fact.warp_size.reading]]\nvalue = 64\nkind = "compiled"\ndate = 2026-01-02\nsource = "a kernel"\n'
    text = path.read_text().replace("[fact.warp_size]\n", f"[fact.warp_size]\nplausible = [32, 64]\n{reading}")
    path.write_text(text)
    assert specs.policy("part", element_t="int32").threads_per_block == 64


# Every packaged algorithm on such a part.

PART = """
name = "part"
title = "A part with warps of 64 threads and blocks of 512"
reference = {{ name = "cccl-3.5", cc = "{cc}" }}
[features]
{features}
{block}
"""
FACTS = {
    "warp_size": "64",
    "max_threads_per_block": "512",
    "max_smem_per_block": '"64 KiB"',
    "max_registers_per_block": "65536",
    "max_registers_per_thread": "255",
    "nvcc": '"13.0"',
}


@pytest.fixture(scope="module", params=["8.0", "9.0", "10.0"])
def part(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, packaged: Project) -> Project:
    """A project with a target of that kind, which reads the reference as a capability."""
    folder: Path = tmp_path_factory.mktemp("part")
    features = "\n".join(f"{name} = false" for name in packaged.spec.vocabulary.features)
    facts = "".join(
        f'[fact.{name}]\n[[fact.{name}.reading]]\nvalue = {value}\nkind = "documented"\ndate = 2026-01-01\n'
        'source = "data sheet"\n'
        for name, value in FACTS.items()
    )
    path = folder / "specs" / "targets" / "part.toml"
    path.parent.mkdir(parents=True)
    path.write_text(PART.format(cc=request.param, features=features, block=BLOCK) + facts)
    (folder / "policygen.toml").write_text('[project]\ntargets = ["part"]\n')
    return load(folder)


def thread_counts(policy: Record, struct: Struct) -> list[int]:
    found: list[int] = []
    for field in struct.fields:
        value = getattr(policy, field.name)
        if isinstance(field.type, RecordType):
            found += thread_counts(value, field.type.struct)
        elif field.role is Role.THREADS:
            found.append(value)
    return found


def test_no_block_of_any_algorithm_exceeds_512_threads_or_splits_a_warp(part: Project) -> None:
    """B-7: whatever CUB's rows say; a sub-policy that is not used has no threads."""
    looked_at = 0
    for name, algorithm in part.spec.algorithms.items():
        table = policy_table(part.resolver("part", name))
        assert table.rows, name
        for row in table.rows:
            counts = thread_counts(row.policy, algorithm.policy)
            assert all(count % 64 == 0 and count <= 512 for count in counts), (name, row.given, counts)
            looked_at += len(counts)
    assert looked_at > 1000


def test_what_was_changed_is_in_the_trace(part: Project) -> None:
    found = part.resolve("part", "reduce", accum_t="float64", operation_t="plus", offset_size=4)
    multi_tile = found.policy.multi_tile
    assert multi_tile.threads_per_block == (512 if part.target("part").cc == 100 else 256)
    assert any("640 -> 512" in line for line in told(found)) is (part.target("part").cc == 100)
