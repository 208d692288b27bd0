"""CUB's scaling rules: upstream's integers, by name, from the language, from the header and from the tables."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
from mypy import api

from compilers import default_compiler
from lang.printed_programs import run_cpp
from lang.printed_programs import runtime_namespace
from policygen.emit.cpp.support import support_functions
from policygen.lang.evaluate import evaluate
from policygen.lang.parse import parse
from policygen.lang.tree import Scope
from policygen.scaling import TILE_BYTES
from policygen.scaling import Literal
from policygen.scaling import Nominal
from policygen.scaling import Resolved
from policygen.scaling import ScaledCounts
from policygen.scaling import ScalingRule
from policygen.scaling import keep
from policygen.scaling import nominal_4b_items
from policygen.scaling import nominal_8b_items
from policygen.scaling import scale
from policygen.scaling import scale_mem_bound
from policygen.scaling import scale_reg_bound

REPOSITORY = Path(__file__).resolve().parents[1]
UPSTREAM = REPOSITORY / "tests" / "data" / "scaling-cccl-3.5.csv"
RULES: dict[str, Callable[[int, int, int], ScaledCounts]] = {
    "mem_bound": scale_mem_bound,
    "reg_bound": scale_reg_bound,
}

Row = tuple[str, int, int, int, int, int]
"""Rule, nominal threads, nominal items, size in bytes, scaled threads, scaled items."""


@cache
def upstream_rows() -> tuple[Row, ...]:
    """What CCCL 3.5's own functions gave."""
    with UPSTREAM.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        columns = ("threads", "items", "size", "out_threads", "out_items")
        return tuple((row["rule"], *(int(row[c]) for c in columns)) for row in rows)  # type: ignore[misc]


def test_every_row_of_upstream() -> None:
    rows = upstream_rows()
    assert len(rows) == 12_768
    assert {rule for rule, *_ in rows} == set(RULES)
    for rule, threads, items, size, out_threads, out_items in rows:
        scaled = RULES[rule](threads, items, size)
        assert (scaled.threads_per_block, scaled.items_per_thread) == (out_threads, out_items), (
            rule,
            threads,
            items,
            size,
        )
        counts = Nominal(threads_per_block=threads, items_per_thread=items)
        resolved = scale(counts, ScalingRule(rule), size)
        assert resolved == Resolved(threads_per_block=out_threads, items_per_thread=out_items)


# Edges that the table may lack: rule, threads, items, size, then items and threads of the result.
EDGES = [
    ("mem_bound", 1024, 24, 7, 13, 544),  # 49,504 bytes: the cap is rounded up to a warp
    ("mem_bound", 256, 16, 3, 21, 256),
    ("mem_bound", 640, 24, 16, 6, 512),
    ("mem_bound", 256, 500, 1, 1000, 64),  # a swap, a missing cap or a clamp to 1x each give another answer
    ("mem_bound", 1024, 16, 8, 8, 768),  # exactly 48 KiB
    ("mem_bound", 512, 16, 12, 5, 512),
    ("mem_bound", 256, 16, 12, 5, 256),
    ("mem_bound", 384, 16, 8, 8, 384),  # items shrink before threads do
    ("mem_bound", 256, 16, 49_152, 1, 32),  # the last element that one thread may hold
    ("mem_bound", 256, 16, 49_153, 1, 0),  # upstream gives a block of no threads, silently
    ("mem_bound", 256, 16, 65_536, 1, 0),
    ("mem_bound", 1024, 1, 2**20, 1, 0),
    ("reg_bound", 256, 16, 49_152, 1, 32),
    ("reg_bound", 256, 16, 49_153, 1, 0),
    ("reg_bound", 256, 16, 65_536, 1, 0),
    ("reg_bound", 256, 16, 1, 16, 256),  # where mem-bound gives 32
    ("reg_bound", 256, 500, 1, 500, 128),
    ("mem_bound", 1, 1, 1, 2, 1),
    ("reg_bound", 1, 1, 1, 1, 1),
    ("mem_bound", 33, 100, 100, 4, 33),  # threads that are no multiple of a warp stay as they are
]


@pytest.mark.parametrize(("rule", "threads", "items", "size", "out_items", "out_threads"), EDGES)
def test_edges(rule: str, threads: int, items: int, size: int, out_items: int, out_threads: int) -> None:
    scaled = RULES[rule](threads, items, size)
    assert scaled == ScaledCounts(items_per_thread=out_items, threads_per_block=out_threads)
    assert scaled.items_per_thread == out_items
    assert scaled.threads_per_block == out_threads


def test_the_soft_cap_exceeds_48_kib() -> None:
    scaled = scale_mem_bound(1024, 24, 7)
    assert scaled.items_per_thread * scaled.threads_per_block * 7 == 49_504 > TILE_BYTES


# claims.md A9: nominal threads, items, size; then items, threads and bytes of a tile.
PARITY_TABLE = {
    "float32 reduce": (512, 16, 4, 16, 512, 32_768),
    "float64 reduce": (640, 16, 8, 8, 640, 40_960),
    "accum8 reduce": (512, 15, 8, 7, 512, 28_672),
    "scan of 4 bytes": (384, 22, 4, 22, 384, 33_792),
    "scan of 8 bytes": (416, 23, 8, 11, 416, 36_608),
    "deterministic float32 on 9.0": (224, 13, 4, 13, 224, 11_648),
    "deterministic float64 on 8.6": (128, 11, 8, 5, 128, 5_120),
    "1 byte": (256, 16, 1, 32, 256, 8_192),
    "2 bytes": (256, 16, 2, 32, 256, 16_384),
    "16 bytes": (256, 16, 16, 4, 256, 16_384),
    "capped": (1024, 16, 8, 8, 768, 49_152),
    "a block that just fits": (768, 16, 8, 8, 768, 49_152),
}


@pytest.mark.parametrize(("threads", "items", "size", "out_items", "out_threads", "tile"), PARITY_TABLE.values())
def test_the_parity_table(threads: int, items: int, size: int, out_items: int, out_threads: int, tile: int) -> None:
    scaled = scale_mem_bound(threads, items, size)
    assert (scaled.items_per_thread, scaled.threads_per_block) == (out_items, out_threads)
    assert scaled.items_per_thread * scaled.threads_per_block * size == tile


# CUB's own unit test of both rules: 256 threads; items of the result and threads of the result, by size and items.
UNIT_TEST_ITEMS = (1, 16, 20, 100, 500, 10_000)
UNIT_TEST = {
    ("mem_bound", 1): ((2, 256), (32, 256), (40, 256), (200, 256), (1000, 64), (20_000, 32)),
    ("mem_bound", 4): ((1, 256), (16, 256), (20, 256), (100, 128), (500, 32), (10_000, 32)),
    ("mem_bound", 16): ((1, 256), (4, 256), (5, 256), (25, 128), (125, 32), (2500, 32)),
    ("mem_bound", 1024): ((1, 64), (1, 64), (1, 64), (1, 64), (1, 64), (39, 32)),
    ("reg_bound", 1): ((1, 256), (16, 256), (20, 256), (100, 256), (500, 128), (10_000, 32)),
    ("reg_bound", 4): ((1, 256), (16, 256), (20, 256), (100, 128), (500, 32), (10_000, 32)),
    ("reg_bound", 16): ((1, 256), (4, 256), (5, 256), (25, 128), (125, 32), (2500, 32)),
    ("reg_bound", 1024): ((1, 64), (1, 64), (1, 64), (1, 64), (1, 64), (39, 32)),
}


def test_upstream_s_unit_test_and_how_many_of_its_tiles_do_not_fit() -> None:
    tiles = []
    for (rule, size), row in UNIT_TEST.items():
        for items, (out_items, out_threads) in zip(UNIT_TEST_ITEMS, row, strict=True):
            assert RULES[rule](256, items, size) == ScaledCounts(out_items, out_threads)
            tiles.append(out_items * out_threads * size)
    assert len(tiles) == 48
    assert sum(tile > TILE_BYTES for tile in tiles) == 29
    assert [256 * 16 * 4, 1 * 64 * 1024, 100 * 128 * 4, 39 * 32 * 1024] == [16_384, 65_536, 51_200, 1_277_952]


@pytest.mark.parametrize(("size", "items"), [(1, 32), (4, 16), (8, 8), (16, 4), (1024, 1)])
def test_256_by_16(size: int, items: int) -> None:
    assert scale_mem_bound(256, 16, size).items_per_thread == items


def test_a_12_kib_block_of_a_large_element_is_beyond_48_kib() -> None:
    scaled = scale_mem_bound(256, 16, 1024)
    assert (scaled.items_per_thread, scaled.threads_per_block) == (1, 64)
    assert TILE_BYTES < 1 * 64 * 1024


@pytest.mark.parametrize(
    ("items", "size", "four", "eight"),
    [(16, 1, 16, 16), (16, 4, 16, 16), (16, 8, 8, 16), (16, 12, 5, 11), (16, 16, 4, 8), (7, 16, 1, 4), (1, 1024, 1, 1)],
)
def test_items_alone(items: int, size: int, four: int, eight: int) -> None:
    assert nominal_4b_items(items, size) == four
    assert nominal_8b_items(items, size) == eight
    counts = Nominal(threads_per_block=100, items_per_thread=items)
    assert scale(counts, ScalingRule.NOMINAL_4B_ITEMS, size) == Resolved(100, four)
    assert scale(counts, ScalingRule.NOMINAL_8B_ITEMS, size) == Resolved(100, eight)


@settings(max_examples=500)
@given(st.integers(1, 1024), st.integers(1, 128), st.integers(1, 70_000))
def test_laws(threads: int, items: int, size: int) -> None:
    mem, reg = scale_mem_bound(threads, items, size), scale_reg_bound(threads, items, size)
    assert 1 <= reg.items_per_thread <= items
    assert reg.items_per_thread <= mem.items_per_thread <= 2 * items
    if size >= 4:
        assert mem == reg
    for scaled in (mem, reg):
        bytes_per_thread = scaled.items_per_thread * size
        assert 0 <= scaled.threads_per_block <= threads
        assert (scaled.threads_per_block == 0) is (bytes_per_thread > TILE_BYTES)
        # never more than one warp beyond what fits
        assert (scaled.threads_per_block - 31) * bytes_per_thread <= TILE_BYTES


def test_a_resolved_policy_is_reused_and_not_scaled_again() -> None:
    resolved = scale(Nominal(threads_per_block=256, items_per_thread=16), ScalingRule.MEM_BOUND, 8)
    assert resolved.items_per_thread == 8
    with pytest.raises(TypeError, match=r"^only nominal counts are scaled, and these are resolved: Resolved\("):
        scale(resolved, ScalingRule.MEM_BOUND, 8)  # type: ignore[arg-type]
    assert resolved.items_per_thread == 8


def test_what_is_not_nominal_is_not_scaled() -> None:
    literal = Literal(threads_per_block=256, items_per_thread=16)
    assert keep(literal) == Resolved(256, 16)
    for wrong in (literal, (256, 16), ScaledCounts(16, 256)):
        with pytest.raises(TypeError, match="only nominal counts are scaled"):
            scale(wrong, ScalingRule.MEM_BOUND, 8)  # type: ignore[arg-type]
    for also_wrong in (Nominal(256, 16), Resolved(256, 16)):
        with pytest.raises(TypeError, match="only literal counts are kept as they are"):
            keep(also_wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(("threads", "items"), [(0, 16), (256, 0), (-1, 16)])
def test_nominal_counts_are_positive(threads: int, items: int) -> None:
    with pytest.raises(ValueError, match="counts are at least 1, not"):
        Nominal(threads_per_block=threads, items_per_thread=items)


def test_the_kinds_of_counts_are_never_equal() -> None:
    kinds: list[Any] = [Nominal(256, 16), Literal(256, 16), Resolved(256, 16)]
    assert all((a == b) is (a is b) for a in kinds for b in kinds)


@pytest.mark.slow
def test_scaling_twice_does_not_type_check(tmp_path: Path) -> None:
    lines = (REPOSITORY / "tests" / "typing" / "scaling_twice.py").read_text(encoding="utf-8").splitlines()
    ignored = re.compile(r"  # type: ignore\[([a-z-]+)\]$")
    expected = {(number, match[1]) for number, line in enumerate(lines, 1) if (match := ignored.search(line))}
    file = tmp_path / "checked.py"
    file.write_text("\n".join(ignored.sub("", line) for line in lines) + "\n", encoding="utf-8")
    options = ["--strict", "--no-error-summary", "--config-file", "", "--cache-dir", str(tmp_path / "cache")]
    output, errors, status = api.run([*options, str(file)])
    assert errors == ""
    assert status == 1
    reported = re.finditer(r"\.py:(\d+): error: .*\[([a-z-]+)\]$", output, re.MULTILINE)
    assert {(int(match[1]), match[2]) for match in reported} == expected, output
    assert len(expected) == 9


def _cases() -> Iterable[tuple[str, int, int, int]]:
    yield from ((rule, threads, items, size) for rule, threads, items, size, _, _ in upstream_rows())
    yield from ((rule, threads, items, size) for rule, threads, items, size, _, _ in EDGES)


def _all_results() -> list[tuple[int, int, int, int]]:
    """For each case: threads and items of its rule, then items of the two rules for items alone."""
    found = []
    for rule, threads, items, size in _cases():
        scaled = RULES[rule](threads, items, size)
        alone = nominal_4b_items(items, size), nominal_8b_items(items, size)
        found.append((scaled.threads_per_block, scaled.items_per_thread, *alone))
    return found


def test_the_generated_tables_scale_alike() -> None:
    runtime = runtime_namespace()
    found = []
    for rule, threads, items, size in _cases():
        scaled = runtime[f"_scale_{rule}"](threads, items, size)
        alone = runtime["_nominal_4b_items"](items, size), runtime["_nominal_8b_items"](items, size)
        found.append((scaled.threads_per_block, scaled.items_per_thread, *alone))
    assert found == _all_results()


def test_the_generated_headers_scale_alike(tmp_path: Path) -> None:
    compiler = default_compiler()
    assert compiler is not None, "no C++ compiler found: install g++"
    rows = ",\n".join(f"{{{int(rule == 'mem_bound')}, {t}, {i}, {s}}}" for rule, t, i, s in _cases())
    source = [
        "#include <cstdio>",
        "#include <cstdlib>",
        "#define POLICYGEN_FUNCTION",
        "namespace support {",
        *(line for function in support_functions().values() for line in function.lines),
        "}",
        "static_assert(support::scale_mem_bound(1024, 24, 7).threads_per_block == 544);",
        "static_assert(support::scale_mem_bound(256, 500, 1).items_per_thread == 1000);",
        "static_assert(support::scale_reg_bound(256, 16, 49153).threads_per_block == 0);",
        f"constexpr int rows[][4] = {{{rows}}};",
        "int main()",
        "{",
        "  for (const auto& r : rows)",
        "  {",
        "    const auto scaled = r[0] == 1 ? support::scale_mem_bound(r[1], r[2], r[3])",
        "                                  : support::scale_reg_bound(r[1], r[2], r[3]);",
        '    std::printf("%d %d %d %d\\n", scaled.threads_per_block, scaled.items_per_thread,',
        "                support::nominal_4b_items(r[2], r[3]), support::nominal_8b_items(r[2], r[3]));",
        "  }",
        "}",
    ]
    printed = run_cpp("\n".join(source) + "\n", tmp_path, "scaling", compiler)
    assert [tuple(map(int, line.split())) for line in printed.splitlines()] == _all_results()


def test_the_language_scales_alike() -> None:
    for rule, threads, items, size, out_items, out_threads in EDGES:
        expr = f"scale_{rule}({threads}, {items}, {size})"
        found = [evaluate(parse(f"{expr}.{part}", Scope()), {}) for part in ("items_per_thread", "threads_per_block")]
        assert found == [out_items, out_threads]
