"""Case E-4: a benchmark in which every variant scores exactly 1 is no evidence."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.engine_project import built
from engine.engine_project import packaged_text
from engine.engine_project import project
from policygen.review.benchmarks import scores

SCAN = 'id = "plus-4B"\n'


@pytest.mark.parametrize(
    ("text", "warned"),
    [
        ("ipt_22.tpb_384 1.000000  1.000000  1.000000  1.000000", True),
        ("ipt_22.tpb_384 1.061295  1.000000  1.065478  1.167139", False),
        ("bif=8 wins", False),
    ],
)
def test_scores_that_never_differ_are_warned_of(tmp_path: Path, text: str, warned: bool) -> None:
    own = packaged_text("targets/bi100.toml").replace(SCAN, f'{SCAN}benchmark = "{text}"\n')
    warnings = built(project(tmp_path, tables=["scan"], targets__bi100=own)).warnings
    assert [line for line in warnings if "plus-4B" in line and "scores 1 throughout" in line] == [
        line for line in warnings if "plus-4B" in line
    ]
    assert any("plus-4B" in line for line in warnings) == warned


def test_scores_are_the_numbers_that_stand_alone() -> None:
    assert scores("ipt_16.tpb_512.ipv_2 1.061295  1.000000  1.065478  1.167139") == (1.061295, 1.0, 1.065478, 1.167139)
    assert scores("") == ()
