"""Tables about rules: points against the reference, delays, benchmark strings, idle knobs, points never reached."""

from __future__ import annotations

import tomllib
from collections import Counter

import pytest

from policygen.plan.lookback_delay import GATED_DELAYS
from policygen.project import Project
from policygen.review.benchmarks import parameters
from policygen.review.benchmarks_section import benchmarks_section
from policygen.review.delays_section import delay_kinds_section
from policygen.review.delays_section import scan_delays_section
from policygen.review.neutrals_section import neutrals_section
from policygen.review.points_section import points_section
from policygen.review.section import Section
from policygen.review.subject import Subject
from policygen.review.subject import subject
from policygen.review.unreachable_section import unreachable_section

from .conftest import REPOSITORY
from .conftest import Edited
from .conftest import rows_of


def test_points_stand_beside_the_reference_with_the_reason(bi100: Subject) -> None:
    (row,) = (
        row
        for row in rows_of(points_section(bi100))
        if row["algorithm"] == "reduce" and row["reference_point"] == "cccl-3.5/sm100-plus-f32-o4"
    )
    assert row["ranges"] == [{"accum_t": ["float32"], "operation_t": ["plus"], "offset_size": ["4"]}]
    assert row["fields"]["multi_tile.items_per_thread"] == {"target": "24", "reference": "16"}
    assert "83 % of the engine's weight" in row["reason"]
    assert row["benchmark"] == "ipt_16.tpb_512.ipv_2 1.061295  1.000000  1.065478  1.167139"


def test_every_key_is_in_one_row_or_equal(bi100: Subject) -> None:
    keys = Counter[str]()
    for row in rows_of(points_section(bi100)):
        keys[row["algorithm"]] += row["keys"]
    for algorithm, table in bi100.tables.items():
        assert keys[algorithm] <= len(table.rows)
    assert (keys["reduce"], keys["scan"]) == (78, 78)


def test_adapted_policies_say_why(bi100: Subject) -> None:
    rows = [row for row in rows_of(points_section(bi100)) if row["algorithm"] == "three_way_partition"]
    assert rows
    assert all("nanosleep: not verified on the device" in row["reason"] for row in rows)


def test_upstream_s_policies_are_the_reference(sm_90: Subject) -> None:
    section = points_section(sm_90)
    assert isinstance(section, Section)
    assert section.rows == ()
    assert section.notes[0] == "sm_90 has no points of its own"


def test_delay_ids_are_the_order_of_the_enumeration(bi100: Subject) -> None:
    vocabulary = tomllib.loads((REPOSITORY / "specs" / "vocabulary.toml").read_text(encoding="utf-8"))
    declared = vocabulary["enumeration"]["LookbackDelayAlgorithm"]["enumerators"]
    rows = rows_of(delay_kinds_section(bi100))
    assert [row["kind"] for row in rows] == declared
    assert [row["id"] for row in rows] == [*range(8), None]
    for row in rows:
        sleeps = "sleep" in row["below"].values()
        assert (row["gated"], sleeps) == (row["kind"] in GATED_DELAYS, row["kind"] not in GATED_DELAYS)
        assert row["from"]["first"] == "sleep"


def test_the_target_s_scans_never_sleep(bi100: Subject) -> None:
    rows = rows_of(scan_delays_section(bi100))
    assert {row["sleeps"] for row in rows} == {"never"}
    (floats,) = (row for row in rows if (row["threads"], row["items"]) == (384, 22))
    assert [plan["grid"] for plan in floats["planned"]] == [8, 125, 1_986]


def test_a_gated_delay_sleeps_from_a_size_on(sm_90: Subject) -> None:
    rows = [row for row in rows_of(scan_delays_section(sm_90)) if row["kind"] == "fixed_delay"]
    assert rows
    for row in rows:
        assert row["sleeps_from_items"] == 499 * row["threads"] * row["items"] + 1
        for plan in row["planned"]:
            assert plan["each_poll"] == ("sleep" if plan["grid"] >= 500 else "fence")


def test_benchmark_strings_are_those_of_the_files(bi100: Subject) -> None:
    shown = [text for row in rows_of(benchmarks_section(bi100)) for text in row["strings"]]
    written: list[str] = []
    for path in sorted((REPOSITORY / "specs" / "references" / "cccl-3.5").glob("*.toml")):
        for ladder in tomllib.loads(path.read_text(encoding="utf-8")).get("ladder", []):
            written += [point["benchmark"] for point in ladder["point"] if "benchmark" in point]
    assert Counter(shown) == Counter(written)


def test_scores_are_in_order_in_every_string(bi100: Subject) -> None:
    rows = rows_of(benchmarks_section(bi100))
    assert sum(row["with_scores"] for row in rows) > 150
    assert all(row["ordered"] == row["with_scores"] for row in rows)


def test_strings_that_are_not_what_the_point_has_are_told(bi100: Subject) -> None:
    differing = [text.partition(" ")[0] for row in rows_of(benchmarks_section(bi100)) for text in row["differing"]]
    # upstream's own slips: parity holds for the values of all these points
    assert differing == [
        "sm100-partition-if-distinct-2B-o8",
        "sm100-k1-a2",
        "sm100-k2-v1",
        "sm100-k4-v8",
        "sm100-k8-v1",
        "sm100-k8-v8",
    ]


def test_a_wrong_delay_id_is_told(edited: Edited) -> None:
    old = "ipt_22.tpb_384.ns_1904.dcid_6.l2w_830"
    project = edited("references/cccl-3.5/scan.toml", old, old.replace("dcid_6", "dcid_5"))
    rows = rows_of(benchmarks_section(subject(project, "bi100", ("scan",))))
    (text,) = (text for row in rows for text in row["differing"])
    assert "dcid says exponential_backon_jitter_window, the point has exponential_backon_jitter" in text


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ipt_16.tpb_512.ipv_2 1.061295  1.000000  1.065478  1.167139", (("ipt", 16), ("tpb", 512), ("ipv", 2))),
        ("wrps_4.lbi_8.ipt_160 ()  1.264254", (("wrps", 4), ("lbi", 8), ("ipt", 160))),
        ("bif_-16.l2w_5", (("bif", -16), ("l2w", 5))),
    ],
)
def test_parameters_of_a_string(text: str, found: tuple[tuple[str, int], ...]) -> None:
    assert parameters(text) == found


@pytest.mark.parametrize("text", ["1.06 1.0", "ipt_16,tpb_512 1.0", "ipt-16"])
def test_what_is_no_list_of_parameters(text: str) -> None:
    with pytest.raises(ValueError, match="is no list of parameters"):
        parameters(text)


def test_knobs_that_do_nothing_have_a_proof(bi100: Subject, sm_90: Subject) -> None:
    rows = {row["algorithm"]: row for row in rows_of(neutrals_section(bi100))}
    assert all(row["proof"] for row in rows.values())
    assert (rows["scan"]["keys"], rows["scan"]["set_to_neutral"]) == (78, 0)
    assert rows["unique_by_key"]["set_to_neutral"] == len(
        [
            row
            for row in bi100.tables["unique_by_key"].rows
            if "canonicalise: " in " ".join(map(str, row.resolution.trace))
        ]
    )
    upstream = rows_of(neutrals_section(sm_90))
    assert all(row["set_to_neutral"] == 0 for row in upstream)


def test_every_point_is_reached_or_said_not_to_be(bi100: Subject, sm_90: Subject) -> None:
    for reviewed in (bi100, sm_90):
        section = unreachable_section(reviewed)
        never = sum(len(row["points"]) for row in rows_of(section))
        may = sum(len(rules.points) for rules in reviewed.rules.values())
        assert section is not None
        assert section.notes[0].startswith(f"{may} of {may + never} points may answer")


def test_why_points_are_not_reached(bi100: Subject) -> None:
    rows = rows_of(unreachable_section(bi100))
    kinds = Counter[str]()
    for row in rows:
        kinds[row["kind"]] += len(row["points"])
        assert row["why"]
    assert (kinds["unreachable"], kinds["a feature is missing"]) == (22, 7)
    own = [row for row in rows if row["algorithm"] == "reduce"]
    assert [(row["kind"], len(row["points"])) for row in own] == [("behind the target's own", 11)]


def test_a_point_of_a_target_s_own_that_nothing_selects_is_told(edited: Edited) -> None:
    old = 'id = "4B"\nmatch = { tuned_op = true, accum_size = 4 }'
    project: Project = edited("targets/bi100.toml", old, old.replace("accum_size = 4", "accum_size = 2"))
    section = unreachable_section(subject(project, "bi100", ("reduce",)))
    assert section is not None
    assert any(note.startswith("never selected: 4B:") for note in section.notes)
