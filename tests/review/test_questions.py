"""Open questions: what is asked, what is known, what would settle it."""

from __future__ import annotations

from policygen.plan.limits import LIMIT_NAMES
from policygen.project import Project
from policygen.review.questions_section import questions_section
from policygen.review.subject import Subject
from policygen.review.subject import subject

from .conftest import Edited
from .conftest import rows_of


def asked(reviewed: Subject) -> dict[str, dict[str, str]]:
    return {row["id"]: row for row in rows_of(questions_section(reviewed))}


def test_24_items_are_settled_by_the_compiler(bi100: Subject) -> None:
    row = asked(bi100)["reduce-items"]
    assert (row["question"], row["state"]) == ("do 24 items of 4 bytes fit?", "settled")
    assert "84 bytes of shared memory, and 84 with twice the items; compiled: 84 bytes on sm_75" in row["known"]


def test_delay_factors_are_dropped_as_long_as_nothing_sleeps(bi100: Subject, edited: Edited) -> None:
    assert asked(bi100)["scan-delay-factors"]["state"] == "dropped"
    old = 'lookback_delay = { kind = "no_delay", delay = 0, l2_write_latency = 0 }'
    new = 'lookback_delay = { kind = "fixed_delay", delay = 175, l2_write_latency = 270 }'
    project = edited("targets/bi100.toml", old, new)
    changed = asked(subject(project, "bi100", ("scan",)))["scan-delay-factors"]
    assert (changed["state"], changed["known"]) == ("open", "78 of 78 common policies sleep at any grid")


def test_what_the_notes_leave_open(bi100: Subject) -> None:
    found = asked(bi100)
    for name in ("reduce-threads-8B", "reduce-load", "conflict-blocks_per_sm", "conflict-bytes_in_flight_per_sm"):
        assert found[name]["state"] == "open"
        assert found[name]["settles"]
    assert "640 x 16 takes 51,200 of 65,536 registers" in found["reduce-threads-8B"]["known"]


def test_every_unknown_limit_and_withheld_feature_is_asked(bi100: Subject, packaged: Project) -> None:
    found = asked(bi100)
    facts = bi100.instance.facts
    unknown = {f"unknown-{name}" for name in LIMIT_NAMES if name not in facts or facts[name].value is None}
    assert unknown
    assert unknown <= found.keys()
    assert {f"withheld-{name}" for name in bi100.instance.target.withheld} <= found.keys()
    told = asked(subject(packaged, "bi100", ("reduce",), {"smem_per_sm": "64 KiB"}))
    assert "unknown-smem_per_sm" not in told
    assert "assumed-smem_per_sm" in told


def test_a_target_of_which_all_is_known_has_none(sm_90: Subject) -> None:
    assert questions_section(sm_90) is None
