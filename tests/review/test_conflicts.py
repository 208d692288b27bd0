"""Evidence in conflict: each once, decode's first."""

from __future__ import annotations

from collections import Counter

import pytest

from policygen.project import Project
from policygen.review.conflicts_section import conflicts_section
from policygen.review.subject import Subject
from policygen.review.subject import subject

from .conftest import Edited
from .conftest import rows_of


@pytest.mark.parametrize(
    ("fact", "used", "other"),
    [
        ("warp_size", 64, 32),
        ("sm_count", 16, 50),
        ("memory_bandwidth", 900_000_000_000, 584_200_000_000),
        ("bytes_in_flight_per_sm", 65_536, 49_152),
        ("blocks_per_sm", 2, 1),
        ("max_smem_per_block", 49_152, 32_768),
    ],
)
def test_each_conflict_is_told_once(bi100: Subject, fact: str, used: int, other: int) -> None:
    rows = [row for row in rows_of(conflicts_section(bi100)) if row["fact"] == fact]
    assert [(row["used"], row["not"]) for row in rows] == [(used, other)]


def test_there_are_no_others(bi100: Subject) -> None:
    told = Counter((row["fact"], row["not"]) for row in rows_of(conflicts_section(bi100)))
    expected = Counter((c.fact, c.other.value) for fact in bi100.instance.facts.values() for c in fact.conflicts)
    assert told == expected + Counter({("memory_bandwidth", 584_200_000_000): 1})
    assert set(told.values()) == {1}


def test_nominal_and_achieved_bandwidth_are_two_quantities(bi100: Subject) -> None:
    (row,) = (row for row in rows_of(conflicts_section(bi100)) if row["fact"] == "memory_bandwidth")
    assert "65% of the nominal one" in row["why"]
    assert "36.5125 GB/s against 56.25 GB/s for each of 16 multiprocessors" in row["why"]


def test_what_decode_rests_on_comes_first(bi100: Subject) -> None:
    rows = rows_of(conflicts_section(bi100))
    first = [row["bears_on"][0] if row["bears_on"] else "" for row in rows]
    assert first[:3] == ["reduce", "reduce", "attention.decode"]
    assert [row["fact"] for row in rows].index("sm_count") < [row["fact"] for row in rows].index("blocks_per_sm")
    assert next(row for row in rows if row["fact"] == "bytes_in_flight_per_sm")["bears_on"] == ["transform"]


def test_a_conflict_that_is_withdrawn_is_gone(edited: Edited) -> None:
    reading = 'value = 50\nkind = "documented"'
    project = edited("targets/bi100.toml", reading, f'{reading}\nwithdrawn = "of another card"')
    rows = rows_of(conflicts_section(subject(project, "bi100", ("reduce",))))
    assert "sm_count" not in [row["fact"] for row in rows]


def test_a_fact_that_is_set_conflicts_with_what_the_specs_say(packaged: Project) -> None:
    rows = rows_of(conflicts_section(subject(packaged, "bi100", ("reduce",), {"sm_count": "20"})))
    assert [(row["used"], row["not"]) for row in rows if row["fact"] == "sm_count"] == [(20, 16), (20, 50)]


def test_a_target_without_conflicts_has_no_such_table(sm_90: Subject) -> None:
    assert conflicts_section(sm_90) is None
