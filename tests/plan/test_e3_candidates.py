"""Case E-3: a tuner's candidates, when some of them or all are out of the question."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from policygen.plan import candidates

ROOT = Path(__file__).parents[2]
TILES = [(block, stages) for block in (256, 128, 64, 32, 16) for stages in (3, 2)]
"""Square tiles of a head of 256 elements of two bytes, by the bytes that they take; the largest first."""


def too_large(tile: object) -> str:
    assert isinstance(tile, tuple)
    block, stages = tile
    need = stages * 2 * block * 256 * 2
    return f"{need:,} bytes of 163,840" if need > 163_840 else ""


@pytest.fixture(params=["library", "generated"])
def surviving(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    if request.param == "library":
        return candidates.surviving
    monkeypatch.syspath_prepend(str(ROOT / "generated" / "python"))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return import_module("policygen_tables.bi100.plan").surviving


def test_what_fits_survives_in_its_order(surviving: Any) -> None:
    assert surviving(TILES, too_large) == [(64, 2), (32, 3), (32, 2), (16, 3), (16, 2)]


def test_a_share_is_one_of_the_survivors(surviving: Any) -> None:
    six = [(64, 2), (64, 1), (32, 3), (32, 2), (16, 3), (16, 2)]
    ten = [(256, 3), (256, 2), (128, 3), (128, 2), *six]
    assert surviving(ten, too_large, 0.5) == six[:3]


@pytest.mark.parametrize("share", [0.01, 0.19])
def test_one_is_kept_at_the_least(surviving: Any, share: float) -> None:
    assert surviving(TILES, too_large, share) == [(64, 2)]


def test_where_none_is_left_each_says_why(surviving: Any) -> None:
    with pytest.raises(
        ValueError, match=r"^none of 2 candidates is left: \(256, 3\): 786,432 bytes of 163,840; "
    ) as told:
        surviving([(256, 3), (128, 3)], too_large)
    assert str(told.value).endswith("(128, 3): 393,216 bytes of 163,840")
    with pytest.raises(ValueError, match=r"^none of 0 candidates is left$"):
        surviving([], too_large)


@pytest.mark.parametrize("share", [0.0, -0.5, 1.01, float("nan")])
def test_a_share_out_of_bounds_is_refused(surviving: Any, share: float) -> None:
    with pytest.raises(ValueError, match="expected more than 0 and at most 1"):
        surviving(TILES, too_large, share)
