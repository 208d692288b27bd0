"""A-1: rows that are silently never used, for a misspelt name or because an earlier row takes their keys."""

from __future__ import annotations

import pytest

from cases.small_specs import COPY
from cases.small_specs import SmallSpecs

ROW = """
[[ladder.point]]
id = "tuned"
cc = ">=10.0"
match = { element_t = "int8", offset_size = 4 }
nominal = { threads_per_block = 512, items_per_thread = 16 }
vec_size = 4
benchmark = "ipt_16"
"""
LAST = """
[[ladder.point]]
id = "any"
nominal = { threads_per_block = 256, items_per_thread = 8 }
vec_size = 2
"""
BASE = 'scale = { rule = "mem_bound", by = "size" }\n'


@pytest.fixture
def copy(specs: SmallSpecs) -> SmallSpecs:
    specs.algorithm(COPY)
    specs.ladder(ROW + LAST, base=BASE)
    return specs


def test_the_rows_are_used_as_they_stand(copy: SmallSpecs) -> None:
    assert copy.problems() == []
    assert copy.resolve("sm_100", element_t="int8").point == "tuned"
    assert copy.resolve("sm_90", element_t="int8").point == "any"


@pytest.mark.parametrize(
    ("name", "misspelt"),
    [
        ("vec_size", "vec_sz"),
        ("vec_size", "vecsize"),
        ("threads_per_block", "threads_per_blok"),
        ("items_per_thread", "item_per_thread"),
        ("offset_size", "ofset_size"),
        ("element_t", "elem_t"),
        ("match", "mach"),
        ("nominal", "nominall"),
        ("benchmark", "benchmrk"),
    ],
)
def test_a_misspelt_name_anywhere_in_a_row_is_an_error_that_names_the_right_one(
    copy: SmallSpecs, name: str, misspelt: str
) -> None:
    """A-1: the key and the nearest valid one are named, with the line; nothing is left to overload resolution."""
    copy.ladder(ROW.replace(name, misspelt, 1) + LAST, base=BASE)
    first = copy.problems()[0]
    line = (BASE + ROW).replace(name, misspelt, 1).split(misspelt)[0].count("\n") + 5
    assert first.startswith(f"specs/references/cccl-3.5/copy.toml:{line}: ladder[0].point[0]."), first
    assert misspelt in first
    assert f'did you mean "{name}"?' in first


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (ROW.replace('id = "tuned"', 'id = "late"'), "tuned"),  # the same conditions again
        (ROW.replace('id = "tuned"', 'id = "late"').replace(">=10.0", ">=12.0"), "tuned"),  # a part of them
        (ROW.replace('id = "tuned"', 'id = "late"').replace(">=10.0", "==10.7"), "no capability of sm"),
        (ROW.replace('id = "tuned"', 'id = "late"').replace('"int8"', '"int32", size = 8') + "", ""),
    ],
)
def test_a_row_that_answers_no_key_is_an_error(copy: SmallSpecs, row: str, reason: str) -> None:
    """A-1, second test: each row answers at least one key of architectures, types and offsets, or the build fails."""
    # an int32 of 8 bytes is a key that one may give, so only the last of these rows is alive
    copy.ladder(ROW + row + LAST, base=BASE)
    problems = copy.problems()
    if not reason:
        assert problems == []
        return
    (problem,) = problems
    assert ": late: never selected: " in problem
    assert reason in problem
    assert 'say status = "unreachable" with a reason' in problem


def test_a_row_behind_one_that_answers_every_key_is_an_error(copy: SmallSpecs) -> None:
    copy.ladder(LAST + ROW, base=BASE)
    (problem,) = copy.problems()
    assert "tuned: never selected: any" in problem


def test_a_row_for_a_value_outside_the_declared_domain_is_an_error(copy: SmallSpecs) -> None:
    copy.ladder(ROW.replace("offset_size = 4", "offset_size = 2") + LAST, base=BASE)
    (problem,) = copy.problems()
    assert "2 is outside the domain of offset_size (4, 8), so this never matches" in problem


def test_dead_rows_are_kept_if_they_say_so_and_living_ones_may_not(copy: SmallSpecs) -> None:
    dead = 'status = "unreachable"\nreason = "upstream has it"\n'
    copy.ladder(LAST + ROW + dead, base=BASE)
    assert copy.problems() == []
    copy.ladder(ROW + dead + LAST, base=BASE)
    (problem,) = copy.problems()
    assert 'status = "unreachable", but on sm_100 it would answer element_t=int8' in problem
