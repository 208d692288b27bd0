"""Every report begins with the decode path, in the order of the engine's weights; conflicts of facts are told once."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from policygen.build import Build
from policygen.build import build
from policygen.project import load
from policygen.review.weights import PHASES
from policygen.review.weights import by_weight
from policygen.review.weights import phase_of
from policygen.validate.cases import kernel_names

ROOT = Path(__file__).parents[2]


@cache
def built() -> Build:
    return build(load(ROOT), ["bi100"])


def phases(names: list[str]) -> list[str]:
    """The phases of a list of names, each where it first occurs; modules count with their tables."""
    found = []
    for name in names:
        tables = [table for phase in PHASES for table in phase.path if table.startswith(f"{name}.")]
        phase = phase_of(tables[0] if tables else name)
        found.append("none" if phase is None else phase.name)
    return list(dict.fromkeys(found))


def test_the_weights_are_those_of_the_engine() -> None:
    assert [(phase.name, round(100 * phase.share)) for phase in PHASES] == [
        ("decode", 83),
        ("prefill", 14),
        ("cache", 3),
    ]


@pytest.mark.parametrize("report", ["build", "validate", "diff"])
def test_decode_comes_first(report: str) -> None:
    names = {
        "build": [algorithm.algorithm for algorithm in built().reports[0].algorithms],
        "validate": list(kernel_names(load(ROOT))),
        "diff": sorted(load(ROOT).built_algorithms, key=by_weight),
    }[report]
    assert phases(names) == ["decode", "prefill", "cache", "none"]
    assert names[0] == "reduce"
    assert names == sorted(names, key=by_weight)


CONFLICTS = ("warp_size", "sm_count", "bytes_in_flight_per_sm", "blocks_per_sm", "max_smem_per_block")


@pytest.mark.parametrize("fact", CONFLICTS)
def test_build_tells_each_conflict_once(fact: str) -> None:
    told = [line for line in built().reports[0].warnings if line.startswith(f"conflict: {fact}: ")]
    assert len(told) == 1
    assert "sm_count" not in told[0] or ("16 (measured" in told[0] and "not 50 (documented" in told[0])


@pytest.mark.parametrize("fact", CONFLICTS)
def test_the_header_of_all_tunings_tells_each_conflict_once(fact: str) -> None:
    (header,) = [a.content.decode() for a in built().artifacts if a.path.name == "tuning.cuh"]
    assert header.count(f"conflict: {fact}: ") == 1
