"""The tables of scaled tiles: parity with the notes, CUB's points of reduce, the notes' budget, the tiles of scan."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from policygen.review.needs import Needs
from policygen.review.reduce_points_section import reduce_points_section
from policygen.review.register_budget import budget_tile
from policygen.review.register_budget_section import register_budget_section
from policygen.review.scaling_parity_section import scaling_parity_section
from policygen.review.scan_tiles_section import scan_tiles_section
from policygen.review.subject import Subject
from policygen.review.subject import subject

from .conftest import Edited
from .conftest import rows_of

UPSTREAM = Path(__file__).parents[1] / "data" / "scaling-cccl-3.5.csv"


def test_eleven_rows_equal_the_notes(bi100: Subject) -> None:
    rows = rows_of(scaling_parity_section(bi100))
    assert len(rows) == 11
    assert all(row["equal"] for row in rows)
    assert sum(bool(row["point"]) for row in rows) == 7


def test_a_changed_point_differs(edited: Edited) -> None:
    old = "lookback = { nominal = { threads_per_block = 416, items_per_thread = 23 }"
    project = edited("references/cccl-3.5/scan.toml", old, old.replace("416", "448"))
    rows = rows_of(scaling_parity_section(subject(project, "bi100", ("reduce", "scan"))))
    assert [row["tile"] for row in rows if not row["equal"]] == ["8-byte scan"]


def test_sixteen_rows_are_what_cccl_answers(bi100: Subject) -> None:
    rows = rows_of(reduce_points_section(bi100))
    assert len(rows) == 16
    assert {row["size"] for row in rows} == {4, 8}
    asked = {(str(r["nominal_threads"]), str(r["nominal_items"]), str(r["size"])): r for r in rows}
    found = 0
    with UPSTREAM.open(encoding="utf-8") as file:
        for line in csv.DictReader(file):
            row = asked.get((line["threads"], line["items"], line["size"]))
            if row is not None and line["rule"] == "mem_bound":
                assert (row["threads"], row["items"]) == (int(line["out_threads"]), int(line["out_items"]))
                found += 1
    assert found >= 12


def test_benchmarks_of_points_are_kept_to_the_letter(bi100: Subject) -> None:
    strings = {row["benchmark"] for row in rows_of(reduce_points_section(bi100))}
    assert "ipt_11.tpb_128 ()  1.232089  1.002124  1.245336  1.582279" in strings


@pytest.mark.parametrize(
    ("size", "threads", "items", "vector", "registers"),
    [(1, 512, 40, 4, 56), (2, 512, 40, 4, 56), (4, 512, 32, 2, 48), (8, 384, 20, 2, 56), (16, 384, 10, 1, 56)],
)
def test_the_budget_of_registers(size: int, threads: int, items: int, vector: int, registers: int) -> None:
    found = budget_tile(size)
    assert (found.threads_per_block, found.items_per_thread, found.vec_size) == (threads, items, vector)
    assert found.registers == registers


def test_the_budget_is_not_what_the_target_has(bi100: Subject) -> None:
    rows = {row["size"]: row for row in rows_of(register_budget_section(bi100))}
    assert (rows[4]["budget"]["tile_items"], rows[4]["target"]["tile_items"]) == (16_384, 12_288)
    assert rows[4]["target"]["point"] == "bi100/4B"
    assert [row["upstream"]["items"] for row in rows.values()] == [32, 32, 16, 8, 4]
    section = register_budget_section(bi100)
    assert section is not None
    assert "24 at 2 bytes (CUB has 32), 16 at 8 bytes (CUB has 8), 16 at 16 bytes (CUB has 4)" in section.notes[1]


def test_a_target_without_points_of_its_own_has_no_budget(sm_90: Subject) -> None:
    assert register_budget_section(sm_90) is None


def test_no_scaled_tile_of_scan_overflows(bi100: Subject) -> None:
    section = scan_tiles_section(bi100)
    rows = [row for row in rows_of(section) if row["point"].startswith("cccl-3.5/")]
    assert len(rows) == 7 * 4
    assert all(row["fits"] for row in rows)
    unscaled = {row["point"] for row in rows if row["size"] == 8 and row["stated_bytes"] > row["limit"]}
    assert len(unscaled) == 6
    assert section is not None
    assert any(
        note.startswith("6 of 7 points of the reference would exceed the limit at 8 bytes") for note in section.notes
    )


def test_the_target_s_largest_tile_loses_an_item(bi100: Subject) -> None:
    rows = {row["point"]: row for row in rows_of(scan_tiles_section(bi100))}
    row = rows["bi100/plus-16B"]
    assert (row["stated_threads"], row["stated_items"], row["stated_bytes"]) == (256, 12, 49_152)
    assert (row["threads"], row["items"], row["needs"]) == (256, 11, 45_072)
    assert "49,168 bytes of 49,152 do not fit, 45,072 do" in row["shrunk"]


def test_needs_beyond_any_policy(bi100: Subject) -> None:
    needs = Needs(bi100.rules["scan"])
    key = {"input_type": "int64", "accum_type": "int64", "operation_t": "plus", "offset_size": 4}
    lookback = {
        "threads_per_block": 768,
        "items_per_thread": 8,
        "load_algorithm": "BLOCK_LOAD_WARP_TRANSPOSE",
        "store_algorithm": "BLOCK_STORE_WARP_TRANSPOSE",
        "scan_algorithm": "BLOCK_SCAN_WARP_SCANS",
    }
    found = needs.of("shared-memory", key, {"algorithm": "lookback", "lookback": lookback})
    assert (found.need, found.limit, found.fits) == (50_704, 49_152, False)
    with pytest.raises(KeyError):
        needs.of("shared-memroy", key, {"algorithm": "lookback", "lookback": lookback})
