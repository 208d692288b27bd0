"""A-2: a refactor of specs that changes an architecture which nobody looked at.

tests/golden/policies holds what every architecture from 5.0 to 12.1 answers for every common key. After a change that
is meant, `pytest tests/cases --refresh-golden` takes the new answers; the difference of the files is what to review.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from cases.policy_snapshot import Snapshot
from cases.policy_snapshot import differences
from cases.policy_snapshot import digest_lines
from cases.policy_snapshot import read
from cases.policy_snapshot import snapshot
from cases.small_specs import COPY
from cases.small_specs import SmallSpecs
from loading.specs import SpecFolder
from policygen.model.capabilities import KNOWN_CAPABILITIES
from policygen.project import load

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden" / "policies"
REDUCE = "references/cccl-3.5/reduce.toml"

ALGORITHMS = tuple(sorted(path.stem for path in (ROOT / "specs" / "algorithms").glob("*.toml")))


@cache
def now(algorithm: str) -> Snapshot:
    return snapshot(load(ROOT).spec, "sm", algorithm)


@cache
def then(algorithm: str) -> Snapshot:
    return read(algorithm, (GOLDEN / f"{algorithm}.txt").read_text(encoding="utf-8"))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_no_architecture_answers_differently(
    algorithm: str, golden: Callable[[str, str], None], request: pytest.FixtureRequest
) -> None:
    """A-2: the message names each architecture that changed, and the first of its fields that did."""
    found = now(algorithm)
    assert all(tuple(by_cc) == KNOWN_CAPABILITIES for by_cc in found.policies.values())
    assert read(algorithm, found.text()) == found
    if not request.config.getoption("--refresh-golden") and (GOLDEN / f"{algorithm}.txt").is_file():
        assert differences(then(algorithm), found) == []
    golden(f"policies/{algorithm}.txt", found.text())


def test_the_digests_are_those_of_the_tables(
    golden: Callable[[str, str], None], request: pytest.FixtureRequest
) -> None:
    """A-2: one line for each architecture and algorithm, so that a review sees at a glance what a change touches."""
    snapshots = [(now if request.config.getoption("--refresh-golden") else then)(name) for name in ALGORITHMS]
    text = digest_lines(snapshots)
    assert len(text.splitlines()) == len(ALGORITHMS) * len(KNOWN_CAPABILITIES)
    golden("policies/digests.txt", text)


def test_nothing_is_kept_of_algorithms_that_are_gone() -> None:
    assert sorted(path.stem for path in GOLDEN.glob("*.txt")) == sorted(("digests", *ALGORITHMS))


def edited(folder: Path, old: str, new: str) -> Snapshot:
    specs = SpecFolder(folder)
    specs.edit(REDUCE, old, new)
    return snapshot(specs.load(), "sm", "reduce")


LAST_RUNGS = '[[ladder.point]]\nid = "sm60"\ncc = ">=6.0"\nmulti_tile'


@pytest.mark.parametrize("architecture", ["9.0", "5.3"])
def test_a_change_on_one_architecture_alone_is_seen_and_named(tmp_path: Path, architecture: str) -> None:
    """A-2: no list of default architectures decides what is compared."""
    only = (
        f'[[ladder.point]]\nid = "one"\ncc = "=={architecture}"\nmatch = {{ accum_t = "int16" }}\n'
        "multi_tile = { nominal = { threads_per_block = 256, items_per_thread = 16 }, vec_size = 4, "
        'load_modifier = "LOAD_DEFAULT" }\n\n'
    )
    (line,) = differences(now("reduce"), edited(tmp_path, LAST_RUNGS, only + LAST_RUNGS))
    assert line.startswith(f"sm_{architecture.replace('.', '')} reduce: ")
    assert "accum_t=int16, " in line
    assert "multi_tile.load_modifier LOAD_LDG -> LOAD_DEFAULT" in line


def test_a_default_that_is_lost_is_seen_on_every_architecture_that_had_it(tmp_path: Path) -> None:
    old = 'threads_per_block = 256, items_per_thread = 16 }, vec_size = 4 }\n\n[[ladder.point]]\nid = "sm50"'
    lines = differences(now("reduce"), edited(tmp_path, old, old.replace("vec_size = 4", "vec_size = 1")))
    changed = [int(line.split()[0].removeprefix("sm_")) for line in lines]
    assert changed == [cc for cc in KNOWN_CAPABILITIES if cc >= 60]
    assert all("multi_tile.vec_size 4 -> 1" in line for line in lines)


def test_a_refactor_that_keeps_every_policy_passes(tmp_path: Path) -> None:
    """The field moves from two rungs to the base: other text, the same answers."""
    specs = SpecFolder(tmp_path)
    text = (specs.folder / REDUCE).read_text()
    head, tail = text.split('id = "two-pass"')
    tail = (
        tail.replace("vec_size = 4 }", "}")
        .replace(" }, }", " } }")
        .replace("multi_tile = { scale =", "multi_tile = { vec_size = 4, scale =", 1)
    )
    (specs.folder / REDUCE).write_text(f'{head}id = "two-pass"{tail}')
    assert differences(now("reduce"), snapshot(specs.load(), "sm", "reduce")) == []


LADDER = """
[[ladder.point]]
id = "new"
cc = ">=9.0"
extends = "old"
nominal = { threads_per_block = 512 }

[[ladder.point]]
id = "old"
cc = ">=8.0"
nominal = { threads_per_block = 128, items_per_thread = 12 }
vec_size = 4

[[ladder.point]]
id = "pinned"
cc = ">=7.0"
nominal = { threads_per_block = 192, items_per_thread = 10 }
load_modifier = "LOAD_CA"

[[ladder.point]]
id = "oldest"
nominal = { threads_per_block = 64, items_per_thread = 4 }
"""
BASE = 'scale = { rule = "nominal_4b_items", by = "size" }\nvec_size = 2\nload_modifier = "LOAD_LDG"\n'


def fields(specs: SmallSpecs, target: str) -> tuple[object, ...]:
    p = specs.policy(target, element_t="int32")
    return p.threads_per_block, p.items_per_thread, p.vec_size, p.load_modifier


def test_a_rung_inherits_field_by_field(specs: SmallSpecs) -> None:
    """A-2: of two counts one is overridden, and everything else is the older rung's, or else the base's."""
    specs.algorithm(COPY)
    specs.ladder(LADDER, base=BASE)
    assert fields(specs, "sm_90") == (512, 12, 4, "LOAD_LDG")
    assert fields(specs, "sm_80") == (128, 12, 4, "LOAD_LDG")
    assert fields(specs, "sm_70") == (192, 10, 2, "LOAD_CA")
    assert fields(specs, "sm_60") == (64, 4, 2, "LOAD_LDG")


def test_another_default_reaches_only_the_rungs_that_do_not_pin_the_field(specs: SmallSpecs) -> None:
    """A-2: the default load modifier changes; a rung that says its own keeps it, and no other field moves."""
    specs.algorithm(COPY)
    specs.ladder(LADDER, base=BASE.replace("LOAD_LDG", "LOAD_DEFAULT"))
    assert fields(specs, "sm_90") == (512, 12, 4, "LOAD_DEFAULT")
    assert fields(specs, "sm_80") == (128, 12, 4, "LOAD_DEFAULT")
    assert fields(specs, "sm_70") == (192, 10, 2, "LOAD_CA")
    assert fields(specs, "sm_60") == (64, 4, 2, "LOAD_DEFAULT")


@pytest.mark.parametrize(
    ("algorithm", "older"), [("select_if", "LOAD_LDG"), ("unique_by_key", "LOAD_LDG"), ("scan_by_key", "LOAD_CA")]
)
def test_a_default_that_goes_to_and_fro_with_the_architecture(algorithm: str, older: str) -> None:
    """A-2: upstream loads otherwise on 7.5 and 8.6 than on 8.0 and 9.0; a shared default would erase that."""
    first = next(iter(now(algorithm).policies.values()))
    found = {cc: next(v for name, v in first[cc].items() if name.endswith("load_modifier")) for cc in (75, 80, 86, 90)}
    assert found == {75: older, 80: "LOAD_DEFAULT", 86: older, 90: "LOAD_DEFAULT"}
