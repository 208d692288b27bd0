"""A-3: a row that was switched off, and what answers in its place."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from attrs import evolve

from cases.small_specs import COPY
from cases.small_specs import SmallSpecs
from policygen.project import load
from policygen.resolve.instance import target_instance
from policygen.resolve.resolver import Resolver
from policygen.resolve.specialise import rules_for
from policygen.resolve.witness import Finding
from policygen.resolve.witness import Witness
from policygen.resolve.witness import reference_reachability
from policygen.spec import Point
from policygen.spec import Spec
from policygen.spec import Status

REASON = "regresses beyond 2^24 items"
GENERATED = Path(__file__).parents[2] / "generated"

ROWS = """
[[ladder.point]]
id = "sm100-1B-o8"
cc = ">=10.0"
match = { size = 1, offset_size = 8 }
literal = { threads_per_block = 128, items_per_thread = 1 }

[[ladder.point]]
id = "sm100-2B-o4"
cc = ">=10.0"
match = { size = 2, offset_size = 4 }
literal = { threads_per_block = 1000, items_per_thread = 31 }
vec_size = 31
status = "disabled"
reason = "%s"

[[ladder.point]]
id = "sm100-2B-o8"
cc = ">=10.0"
match = { size = 2, offset_size = 8 }
literal = { threads_per_block = 128, items_per_thread = 2 }

[[ladder.point]]
id = "sm100-4B-o4"
cc = ">=10.0"
match = { size = 4, offset_size = 4 }
literal = { threads_per_block = 128, items_per_thread = 3 }

[[ladder.point]]
id = "sm90-1B"
cc = ">=9.0"
match = { size = 1 }
literal = { threads_per_block = 128, items_per_thread = 4 }

[[ladder.point]]
id = "sm90-2B"
cc = ">=9.0"
match = { size = 2 }
literal = { threads_per_block = 128, items_per_thread = 5 }

[[ladder.point]]
id = "sm80-2B"
cc = ">=8.0"
match = { size = 2 }
literal = { threads_per_block = 128, items_per_thread = 6 }

[[ladder.point]]
id = "any"
literal = { threads_per_block = 128, items_per_thread = 7 }
"""


@pytest.fixture
def copy(specs: SmallSpecs) -> SmallSpecs:
    specs.algorithm(COPY)
    specs.ladder(ROWS % REASON)
    return specs


def test_the_next_older_rung_answers_for_the_same_key(copy: SmallSpecs) -> None:
    """A-3: neither the row of another size nor that of another offset, which stand nearer, but the older rung's."""
    for target in ("sm_100", "sm_120"):
        found = copy.resolve(target, element_t="int16")
        assert found.point == "sm90-2B"
        assert found.policy == copy.policy("sm_90", element_t="int16")
    # the neighbours are as before
    assert copy.resolve("sm_100", element_t="int16", offset_size=8).point == "sm100-2B-o8"
    assert copy.resolve("sm_100", element_t="int32").point == "sm100-4B-o4"


def test_where_the_older_rung_is_off_as_well_the_next_one_answers(copy: SmallSpecs) -> None:
    off = 'status = "disabled"\nreason = "off as well"\n'
    copy.ladder((ROWS % REASON).replace('id = "sm90-2B"\n', f'id = "sm90-2B"\n{off}'))
    assert copy.resolve("sm_100", element_t="int16").point == "sm80-2B"


def test_a_row_is_not_switched_off_without_a_reason(copy: SmallSpecs) -> None:
    copy.ladder((ROWS % REASON).replace(f'reason = "{REASON}"\n', ""))
    (problem,) = copy.problems()
    assert "a point that is disabled needs a reason" in problem


def test_a_row_that_is_off_needs_no_witness_and_hides_none(copy: SmallSpecs) -> None:
    assert copy.problems() == []


def test_the_header_says_why_and_the_table_does_not_have_the_row(copy: SmallSpecs) -> None:
    files = copy.files("sm_100")
    header, table = files["include/policygen/sm_100/tuning_copy.cuh"], files["python/tables/sm_100/copy.py"]
    assert f"// cccl-3.5/sm100-2B-o4 is disabled: {REASON}\n" in header
    for text in (table, re.sub(r"//.*", "", header)):
        assert "sm100-2B-o4" not in text
        assert "1000" not in text
        assert "31" not in re.findall(r"\b\d+\b", text.split('"""')[-1] if text is table else text)


def test_only_headers_that_would_have_the_row_say_so(copy: SmallSpecs) -> None:
    files = copy.files("sm_90")
    assert "disabled" not in files["include/policygen/sm_90/tuning_copy.cuh"]


def test_the_capabilities_that_a_row_was_for_are_still_told(copy: SmallSpecs) -> None:
    found = copy.load().references["cccl-3.5"]["copy"].ladders[0].points[1]
    assert (found.status, found.reason) == (Status.DISABLED, REASON)


# The rows that upstream has commented out.


@cache
def disabled() -> tuple[tuple[str, Point], ...]:
    rules = load(GENERATED.parent).spec.references["cccl-3.5"]
    return tuple(
        (name, point)
        for name, rule_set in rules.items()
        for ladder in rule_set.ladders
        for point in ladder.points
        if point.status is Status.DISABLED
    )


def test_there_are_as_many_as_upstream_has() -> None:
    assert len(disabled()) >= 18


@cache
def _spec() -> Spec:
    return load(GENERATED.parent).spec


def _with(algorithm: str, change: Callable[[Point], Point | None]) -> Spec:
    """The spec with the points of one algorithm's reference changed or left out, and without other references."""
    rule_set = _spec().references["cccl-3.5"][algorithm]
    ladders = tuple(
        evolve(ladder, points=tuple(p for point in ladder.points if (p := change(point)) is not None))
        for ladder in rule_set.ladders
    )
    return evolve(_spec(), references={"cccl-3.5": {algorithm: evolve(rule_set, ladders=ladders)}})


@cache
def witnesses(algorithm: str) -> dict[str, Finding]:
    """Keys that the rows would answer if they were on."""

    def on(point: Point) -> Point:
        return evolve(point, status=Status.ACTIVE) if point.status is Status.DISABLED else point

    found = reference_reachability(_with(algorithm, on), "cccl-3.5", _spec().targets["sm"])
    return {finding.point.id: finding for finding in found}


@pytest.mark.parametrize(("algorithm", "row"), disabled(), ids=[f"{name}/{point.id}" for name, point in disabled()])
def test_upstream_s_rows_that_are_off_answer_as_if_they_were_not_there(algorithm: str, row: Point) -> None:
    """A-3: for a key that the row would take, the answer is that of a ladder without it.

    What answers is an older rung, or a more general row of the same one; its own conditions hold for the key, so it is
    no neighbour.
    """
    witness = witnesses(algorithm)[row.id]
    if not isinstance(witness, Witness):
        return  # it would be dead if it were on
    instance = target_instance(_spec(), witness.target_name, dict(witness.assumed))
    found = Resolver(rules_for(_spec(), instance, algorithm)).resolve(witness.key)
    without = _with(algorithm, lambda point: None if point.id == row.id else point)
    assert found.policy == Resolver(rules_for(without, instance, algorithm)).resolve(witness.key).policy
    answer = found.point_rule
    older = answer.cc is None or (row.cc is not None and answer.cc.low < row.cc.low)
    assert older or _asks_for_less(answer, row), f"{answer.id} is no older than {row.id}"


def _asks_for_less(answer: Point, row: Point) -> bool:
    """Whether a point of the same rung is a more general one: it names fewer conditions than the row did."""
    return len(str(answer.when)) < len(str(row.when))


@pytest.mark.parametrize(
    "path", sorted((GENERATED / "python").rglob("*.py")), ids=lambda path: f"{path.parent.name}-{path.stem}"
)
def test_no_table_has_a_row_that_is_off(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for algorithm, point in disabled():
        if algorithm == path.stem:
            assert not re.search(rf"\b{re.escape(point.id)}\b(?!-)", text), point.id
