"""B-5: the memory model of each kernel: what adds up, what shares its bytes, and what is no matter of shared memory."""

from __future__ import annotations

import pytest

from cases.small_specs import COPY
from cases.small_specs import SmallSpecs
from cases.small_specs import told
from policygen.project import Project
from policygen.resolve.candidate import NoPolicy
from policygen.resolve.trace import Held
from policygen.resolve.trace import Shrunk
from policygen.resolve.trace import Unknown
from policygen.spec import Algorithm

FACTS = {"warp_size": 32, "max_threads_per_block": 1024, "max_smem_per_block": "48 KiB"}
NEED = "(threads_per_block * items_per_thread)"


def chip(specs: SmallSpecs, kind: str, terms: dict[str, str], counts: tuple[int, int], more: str = "") -> None:
    """A target of its own, and a copy of 1-byte elements whose kernel needs these terms."""
    lines = [f'terms.{name} = "{term}"' for name, term in terms.items()]
    constraint = ["[[constraint]]", 'id = "smem"', 'unit = "bytes"', f'kind = "{kind}"', *lines]
    constraint += ['limit = "target.max_smem_per_block"', 'source = "the test"', more]
    specs.algorithm(COPY + "\n".join(constraint) + "\n")
    threads, items = counts
    specs.ladder(
        f'[[ladder.point]]\nid = "any"\nliteral = {{ threads_per_block = {threads}, items_per_thread = {items} }}\n'
    )
    specs.chip("chip", FACTS)


def verdict(specs: SmallSpecs) -> str:
    try:
        return next(line for line in told(specs.resolve("chip", element_t="int8")) if "smem" in line)
    except NoPolicy as error:
        return f"refused: {error}"


TILE = f"int64{NEED}"
# 1,024 x 48 is a tile of 49,152 bytes; 512 x 95 is one of 48,640.
FULL, ALMOST = (1024, 48), (512, 95)


@pytest.mark.parametrize(
    ("kind", "terms", "counts", "expected"),
    [
        ("none", {"nothing": "int64(0)"}, FULL, "constrain: smem: 0 of 49,152 bytes, margin 49,152"),
        ("tile", {"tile": TILE}, FULL, "constrain: smem: 49,152 of 49,152 bytes, margin 0"),
        (
            "tile+extra",
            {"tile": TILE, "extra": "int64(1)"},
            FULL,
            "refused: smem: 49,153 bytes are needed at the least, and the limit is 49,152",
        ),
        (
            "tile+extra",
            {"tile": TILE, "extra": "int64(512)"},
            ALMOST,
            "constrain: smem: 49,152 of 49,152 bytes, margin 0",
        ),
        ("union", {"load": TILE, "scan": "int64(5000)"}, ALMOST, "constrain: smem: 48,640 of 49,152 bytes, margin 512"),
        (
            "union",
            {"load": TILE, "scan": "int64(49153)"},
            ALMOST,
            "refused: smem: 49,153 bytes are needed at the least, and the limit is 49,152",
        ),
        (
            "sum",
            {"load": TILE, "scan": "int64(5000)"},
            ALMOST,
            "refused: smem: 53,640 bytes are needed at the least, and the limit is 49,152",
        ),
        (
            "sum",
            {"load": TILE, "scan": "int64(256)", "prefix": "int64(256)"},
            ALMOST,
            "constrain: smem: 49,152 of 49,152 bytes, margin 0",
        ),
    ],
)
def test_each_kind_of_model(
    specs: SmallSpecs, kind: str, terms: dict[str, str], counts: tuple[int, int], expected: str
) -> None:
    """B-5: a byte beyond a full tile is refused; 48,640 and 5,000 that share their bytes fit."""
    chip(specs, kind, terms, counts)
    assert verdict(specs) == expected


def test_what_is_lowered_makes_room_for_the_extra_bytes_too(specs: SmallSpecs) -> None:
    """B-5: a limiter that forgets the lookback's state passes a big type that fails when it is built."""
    chip(specs, "tile+extra", {"tile": TILE, "state": "int64(1024)"}, FULL, 'shrink = ["items_per_thread"]')
    assert verdict(specs) == "constrain: smem: items_per_thread 48 -> 47: 50,176 bytes of 49,152 do not fit, 49,152 do"
    chip(specs, "tile", {"tile": TILE}, FULL, 'shrink = ["items_per_thread"]')
    assert verdict(specs) == "constrain: smem: 49,152 of 49,152 bytes, margin 0"


def test_an_unknown_need_never_counts_as_a_fit(specs: SmallSpecs) -> None:
    chip(specs, "tile", {"tile": TILE}, FULL, 'unknown = "size == 1"\nunknown_reason = "the operator decides"')
    found = specs.resolve("chip", element_t="int8")
    assert verdict(specs) == "constrain: smem: unknown: the operator decides"
    assert [type(step) for step in found.trace if isinstance(step, Held | Unknown)] == [Unknown]


def test_a_limit_that_the_target_does_not_know_is_told(specs: SmallSpecs) -> None:
    chip(specs, "tile", {"tile": TILE}, FULL)
    specs.chip("chip", {name: value for name, value in FACTS.items() if name != "max_smem_per_block"})
    assert verdict(specs) == "constrain: smem: unknown: max_smem_per_block is not known"


def test_a_kind_that_is_none_of_the_five_is_an_error(specs: SmallSpecs) -> None:
    specs.algorithm(
        COPY + '[[constraint]]\nid = "smem"\nkind = "unoin"\nterms.tile = "int64(1)"\nlimit = "int64(2)"\n'
        'source = "the test"\n'
    )
    problem = specs.problems()[0]
    assert "one of none, tile, sum, tile+extra, union" in problem


# The packaged models.


def shared_memory(algorithm: Algorithm) -> list[str]:
    return [c.model for c in algorithm.constraints if c.id.startswith("shared-memory")]


def test_every_algorithm_has_a_model_or_says_that_it_needs_none(packaged: Project) -> None:
    for algorithm in packaged.spec.algorithms.values():
        if algorithm.name != "transform":  # its kernels choose their tiles at run time; see the plan function
            assert shared_memory(algorithm), algorithm.name


@pytest.mark.parametrize(
    ("algorithm", "kind"),
    [
        ("for", "none"),
        ("find", "none"),
        ("rle_non_trivial_runs", "tile"),
        ("scan", "union"),
        ("merge_sort", "union"),
        ("batch_memcpy", "sum"),
        ("histogram", "tile+extra"),
        ("topk", "tile+extra"),
    ],
)
def test_kinds_of_the_packaged_models(packaged: Project, algorithm: str, kind: str) -> None:
    assert shared_memory(packaged.spec.algorithms[algorithm])[0] == kind


def reduce_lines(project: Project, target: str, accum_t: str) -> list[str]:
    found = project.resolve(target, "reduce", accum_t=accum_t, operation_t="plus", offset_size=4)
    return [line.removeprefix("constrain: ") for line in told(found) if "multi_tile" in line]


def test_a_reduction_keeps_its_tile_in_registers(packaged: Project) -> None:
    """B-5: 512 x 24 float32 are 49,152 bytes, yet no matter of shared memory: registers are estimated."""
    lines = reduce_lines(packaged, "bi100", "float32")
    assert "scale: multi_tile: literal 512 x 24, never scaled" in lines
    assert "shared-memory of multi_tile: 84 of 49,152 bytes, margin 49,068" in lines
    assert "registers-per-thread of multi_tile: 40 of 255 registers, margin 215" in lines
    assert "registers-per-block of multi_tile: 20,480 of 65,536 registers, margin 45,056" in lines


@pytest.mark.parametrize(("target", "limit"), [("sm_52", "65,536"), ("sm_53", "32,768"), ("sm_62", "32,768")])
def test_registers_of_a_block_are_held_against_the_limit_of_a_block(packaged: Project, target: str, limit: str) -> None:
    """On 5.3 and 6.2 a block may have half of what the multiprocessor has."""
    lines = [line for line in reduce_lines(packaged, target, "float32") if line.startswith("registers-per-block")]
    assert lines
    assert all(f" of {limit} registers" in line for line in lines)


@pytest.mark.parametrize("accum_t", ["int8", "float32", "float64", "int128"])
@pytest.mark.parametrize("target", ["bi100", "sm_60", "sm_90", "sm_120"])
def test_the_scratch_of_a_reduction_is_a_few_hundred_bytes(packaged: Project, target: str, accum_t: str) -> None:
    """B-5: upstream quotes 224 bytes for values of 16."""
    (line,) = (line for line in reduce_lines(packaged, target, accum_t) if line.startswith("shared-memory"))
    need = int(line.split(": ")[1].split()[0].replace(",", ""))
    assert 0 < need <= 1024


def test_a_scan_s_tile_and_its_scratch_share_their_bytes(packaged: Project) -> None:
    """B-5: the need is the greatest of loading, storing and scanning, not their sum."""
    found = packaged.resolve(
        "bi100", "scan", input_type="int128", accum_type="int128", operation_t="plus", offset_size=4
    )
    (held,) = (s for s in found.trace if isinstance(s, Held | Shrunk) and s.constraint.id == "shared-memory")
    assert held.constraint.model == "union"
    assert len(held.constraint.terms) >= 3
    policy = found.policy.lookback
    tile = policy.threads_per_block * policy.items_per_thread * 16
    assert held.need is not None
    assert tile <= held.need < tile + 1024
