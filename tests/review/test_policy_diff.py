"""`policygen diff` and `what-if`: edits as reviewers see them, each with its one cause and every policy it changed."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from click.testing import Result

from policygen.cli.main import cli
from review.typical_edits import BI100
from review.typical_edits import EDITS
from review.typical_edits import edit
from review.typical_edits import fewer_items
from review.typical_edits import more_multiprocessors
from review.typical_edits import withdraw_warp_size

ROOT = Path(__file__).parents[2]


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(cli, list(arguments))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.fixture
def revisions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two copies of this repository's specs, `old` and `new`; the tests run in it."""
    for name in ("old", "new"):
        shutil.copytree(ROOT / "specs", tmp_path / name / "specs", ignore=shutil.ignore_patterns("evidence"))
        (tmp_path / name / "policygen.toml").write_text('[project]\ntargets = ["bi100", "sm_90", "h200"]\n')
    (tmp_path / "policygen.toml").write_text('[project]\ntargets = ["bi100"]\n')
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", EDITS)
def test_markdown_names_the_cause_and_every_policy(
    name: str, revisions: Path, golden: Callable[[str, str], None]
) -> None:
    EDITS[name](revisions / "new")
    golden(f"diff/{name}.md", run("diff", "old", "new", "--format", "markdown").stdout)


def test_a_reading_put_back_is_the_withdrawal_the_other_way_round(
    revisions: Path, golden: Callable[[str, str], None]
) -> None:
    withdraw_warp_size(revisions / "new")
    golden("diff/warp-size-put-back.md", run("diff", "new", "old", "--format", "markdown").stdout)
    there, back = (_json("diff", *names)["changes"] for names in (("old", "new"), ("new", "old")))
    assert [_reversed(change) for change in back] == [_told(change) for change in there]


def _json(*arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(*arguments, "--format", "json").stdout)
    return found


def _told(change: dict[str, Any]) -> tuple[Any, ...]:
    fields = {name: (pair["before"], pair["after"]) for name, pair in change["fields"].items()}
    return change["algorithm"], change["ranges"], fields


def _reversed(change: dict[str, Any]) -> tuple[Any, ...]:
    algorithm, ranges, fields = _told(change)
    return algorithm, ranges, {name: (after, before) for name, (before, after) in fields.items()}


def test_each_edit_has_one_cause(revisions: Path) -> None:
    for name, make in EDITS.items():
        edited = revisions / name
        shutil.copytree(revisions / "old", edited)
        make(edited)
        found = _json("diff", "old", name)
        assert found["changes"], name
        assert {tuple(change["causes"]) for change in found["changes"]} == {tuple(range(len(found["edits"])))}, name
        assert found["other_edits"] == [], name
        files = {entry["file"] for entry in found["edits"]}
        assert len(files) == 1, (name, files)


def test_every_key_that_changed_is_told_and_no_other(revisions: Path) -> None:
    """The ranges of a difference hold exactly the common keys whose policies differ."""
    from itertools import product

    from policygen.fold.table import policy_table
    from policygen.project import load
    from policygen.resolve.telling import as_given

    fewer_items(revisions / "new")
    told = {
        (change["target"], change["algorithm"], tuple(zip(ranged, values, strict=True)))
        for change in _json("diff", "old", "new")["changes"]
        for ranged in change["ranges"]
        for values in product(*ranged.values())
    }
    expected = set()
    old, new = load(revisions / "old"), load(revisions / "new")
    for algorithm in (*old.built_algorithms, *old.engine_tables("bi100")):
        sides = [policy_table(project.resolver("bi100", algorithm)).rows for project in (old, new)]
        for before, after in zip(*sides, strict=True):
            if before.policy != after.policy:
                key = tuple((name, as_given(value)) for name, value in before.given.items())
                expected.add(("bi100", algorithm, key))
    assert told == expected


def test_comments_and_order_of_keys_are_no_difference(revisions: Path) -> None:
    edit(revisions / "new", BI100, "[features]", "# A remark.\n\n[features]")
    edit(
        revisions / "new",
        BI100,
        "cp_async            = false\ncub_tuning          = false",
        "cub_tuning = false\ncp_async = false",
    )
    result = run("diff", "old", "new", "--exit-code")
    assert (result.exit_code, result.stdout) == (0, "no policy of a common key differs between old and new\n")


def test_what_decides_nothing_is_told_apart(revisions: Path) -> None:
    edit(revisions / "new", BI100, "# Iluvatar BI-V100.", "# The card.")
    edit(revisions / "new", BI100, 'title = "Iluvatar BI-V100"', 'title = "BI-V100"')
    result = run("diff", "old", "new", "--exit-code")
    assert result.exit_code == 0
    assert "no policy of a common key changed by: new/specs/targets/bi100.toml" not in result.stdout
    assert "targets/bi100.toml:9: title" in result.stdout


def test_a_key_that_loses_its_policy_is_a_new_violation(revisions: Path) -> None:
    edit(revisions / "new", "algorithms/topk.toml", "range = [1, 65536]", "range = [1, 8]")
    edit(revisions / "new", "algorithms/topk.toml", "key_size = [1, 2, 4, 8, 16]", "key_size = [1, 2, 4, 8]")
    result = run("diff", "old", "new", "--algorithm", "topk", "--exit-code")
    assert result.exit_code == 1
    assert "removed" in result.stdout


def test_what_if_is_the_difference_that_an_edit_would_make(revisions: Path) -> None:
    more_multiprocessors(revisions / "new")
    edited = _json("diff", "old", "new", "--target", "bi100")
    assumed = _json("what-if", "--target", "bi100", "--set", "sm_count=50", "--project", "old")
    assert [_told(change) for change in assumed["changes"]] == [_told(change) for change in edited["changes"]]
    assert assumed["facts"] == edited["facts"]
    assert assumed["edits"] == []


def test_a_fact_that_no_rule_reads_changes_nothing() -> None:
    result = run("what-if", "--target", "bi100", "--set", "l2_size=8 MiB", "--exit-code", "--project", str(ROOT))
    assert result.exit_code == 0
    assert "fact: bi100: l2_size 6 MiB -> 8 MiB" in result.stdout
    assert "no policy of a common key differs" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("diff",), "expected OLD and NEW, OLD alone, or --base REV"),
        (("diff", "a", "b", "c"), "expected OLD and NEW"),
        (("diff", "old", "--base", "new"), "expected OLD and NEW"),
        (("diff", "old", "nowhere"), "nowhere is neither a folder with a policygen.toml nor a revision that git has"),
        (("diff", "old", "new", "--target", "bi10"), 'unknown target "bi10"; did you mean "bi100"?'),
        (("what-if", "--target", "bi100"), "expected --set FACT=VALUE, such as --set sm_count=50"),
        (("what-if", "--target", "bi100", "--set", "sm=50"), "unknown fact sm"),
    ],
)
def test_bad_usage_is_one_line(revisions: Path, arguments: tuple[str, ...], reason: str) -> None:
    result = run(*arguments, "--project", str(revisions / "old"))
    assert result.exit_code == 2
    assert reason in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_revisions_of_git_are_read_without_touching_the_checkout(revisions: Path) -> None:
    repository = revisions / "old"

    def git(*arguments: str) -> None:
        identity = ("-c", "user.name=test", "-c", "user.email=test@example.invalid")
        subprocess.run(["git", *identity, *arguments], cwd=repository, check=True, capture_output=True)

    git("init", "-q", "-b", "main")
    git("add", ".")
    git("commit", "-q", "-m", "specs")
    fewer_items(repository)
    before = {path: path.stat().st_mtime_ns for path in repository.rglob("*.toml")}
    result = run("diff", "--base", "main", "--project", str(repository), "--algorithm", "reduce")
    assert "rules.reduce.ladder[two-pass].point[4B].multi_tile.literal.items_per_thread: 24 -> 16" in result.stdout
    assert "multi_tile.items_per_thread 24 -> 16, single_tile.items_per_thread 24 -> 16" in result.stdout
    assert {path: path.stat().st_mtime_ns for path in repository.rglob("*.toml")} == before
    git("commit", "-q", "-a", "-m", "fewer items")
    between = run("diff", "HEAD~1", "HEAD", "--project", str(repository), "--algorithm", "reduce")
    assert "multi_tile.items_per_thread 24 -> 16" in between.stdout
