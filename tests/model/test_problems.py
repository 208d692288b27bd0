from __future__ import annotations

import pytest

from policygen.model.problems import Location
from policygen.model.problems import Problem
from policygen.model.problems import SpecError
from policygen.model.problems import did_you_mean
from policygen.model.problems import nearest

FIELDS = ("threads_per_block", "items_per_thread", "vec_size")


@pytest.mark.parametrize(
    ("problem", "line"),
    [
        (Problem("reduce.toml", 3, "ladder[0].when", "is empty"), "reduce.toml:3: ladder[0].when: is empty"),
        (Problem("reduce.toml", None, "ladder", "is empty"), "reduce.toml: ladder: is empty"),
        (Problem("reduce.toml", 3, "", "is empty"), "reduce.toml:3: is empty"),
        (Problem("reduce.toml", None, "", "first\n  second"), "reduce.toml: first second"),
        (Problem.at(Location("a.toml", 9), "key", "why"), "a.toml:9: key: why"),
    ],
)
def test_problem_is_one_line_without_what_is_unknown(problem: Problem, line: str) -> None:
    assert str(problem) == line


def test_error_lists_each_problem_once_by_place() -> None:
    late, early = Problem("b.toml", 2, "x", "r"), Problem("a.toml", 10, "x", "r")
    no_line = Problem("b.toml", None, "x", "r")
    error = SpecError([late, early, no_line, late])
    assert error.problems == (early, no_line, late)
    assert str(error) == "a.toml:10: x: r\nb.toml: x: r\nb.toml:2: x: r"


def test_lines_sort_as_numbers() -> None:
    lines = [problem.line for problem in SpecError(Problem("a", line, "", "r") for line in (10, 9, 100)).problems]
    assert lines == [9, 10, 100]


@pytest.mark.parametrize(
    ("name", "near"),
    [("vec_sise", "vec_size"), ("Vec-Size", "vec_size"), ("item_per_threads", "items_per_thread"), ("zzz", None)],
)
def test_nearest(name: str, near: str | None) -> None:
    assert nearest(name, FIELDS) == near


def test_nearest_does_not_depend_on_order() -> None:
    assert nearest("ab", ["ac", "ad"]) == nearest("ab", ["ad", "ac"])


def test_did_you_mean_names_the_near_one_or_the_few() -> None:
    assert did_you_mean("vec_sise", FIELDS) == '; did you mean "vec_size"?'
    assert did_you_mean("zzz", FIELDS) == '; valid: "items_per_thread", "threads_per_block", "vec_size"'
    assert did_you_mean("zzz", [f"name_{number}" for number in range(9)]) == ""
    assert did_you_mean("zzz", []) == ""
