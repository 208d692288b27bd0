"""`policygen explain` and `policygen list`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.conftest import REPOSITORY
from cli.conftest import Run
from policygen.project import load

EXPLAINED = {
    "bi100-scan-int128": ("bi100", "scan", ("input_type=int128", "operation_t=plus", "offset_size=4")),
    "bi100-reduce-float32": ("bi100", "reduce", ("accum_t=float32", "operation_t=plus", "offset_size=4")),
    "sm_100-scan-float32": ("sm_100", "scan", ("input_type=float32", "operation_t=plus", "offset_size=4")),
    "sm_90-transform": (
        "sm_90",
        "transform",
        ('inputs=[{"value_type_size": 4}, {"value_type_size": 4}]', 'output={"value_type_size": 4}'),
    ),
}


def arguments(name: str) -> list[str]:
    target, algorithm, key = EXPLAINED[name]
    return ["--target", target, "--algorithm", algorithm, *(text for part in key for text in ("--key", part))]


@pytest.mark.parametrize("name", EXPLAINED)
def test_explanation(run: Run, name: str, golden: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPOSITORY)
    result = run("explain", *arguments(name))
    assert (result.exit_code, result.stderr) == (0, "")
    assert len(result.stdout.splitlines()) < 40
    golden(f"explain/{name}.txt", result.stdout)


@pytest.mark.usefixtures("project")
def test_explanation_as_data(run: Run) -> None:
    result = run("explain", *arguments("bi100-scan-int128"), "--format", "json")
    told = json.loads(result.stdout)
    assert told["point"]["id"] == "plus-16B"
    assert told["policy"]["lookback"]["threads_per_block"] == 256
    assert told["policy"]["lookback"]["items_per_thread"] == 11
    assert any("lookback.items_per_thread 12 -> 11" in step for step in told["trace"])
    assert told["facts"]["max_smem_per_block"].startswith("max_smem_per_block = 48 KiB")
    assert any("32 KiB" in conflict for conflict in told["conflicts"])


@pytest.mark.usefixtures("project")
def test_explaining_a_bad_key(run: Run) -> None:
    result = run("explain", "--target", "bi100", "--algorithm", "reduce", "--key", "acum_t=float32")
    assert (result.exit_code, result.stdout) == (2, "")
    assert 'did you mean "accum_t"?' in result.stderr


@pytest.mark.usefixtures("project")
def test_list_targets(run: Run) -> None:
    names = [line.split()[0] for line in run("list", "targets").stdout.splitlines()]
    assert {"bi100", "h200", "sm_50", "sm_87", "sm_90", "sm_121"} <= set(names)
    rows = json.loads(run("list", "targets", "--format", "json").stdout)
    assert [row["name"] for row in rows] == names


def test_list_algorithms(run: Run, project: Path) -> None:
    rows = json.loads(run("list", "algorithms", "--format", "json").stdout)
    assert [row["name"] for row in rows] == list(load(project).spec.algorithms)
    keys = {row["name"]: row["key"] for row in rows}
    assert keys["reduce"].startswith("accum_t, operation_t, offset_size")


@pytest.mark.usefixtures("project")
def test_list_points(run: Run) -> None:
    everything = json.loads(run("list", "points", "--format", "json").stdout)
    scan = json.loads(run("list", "points", "--algorithm", "scan", "--format", "json").stdout)
    assert scan == [row for row in everything if row["point"].split("/")[1] == "scan"]
    assert any(row["point"] == "bi100/scan/plus-16B" for row in scan)
    assert all(row["status"] in ("active", "disabled", "unreachable") for row in everything)


@pytest.mark.usefixtures("project")
def test_list_refuses_what_it_cannot_do(run: Run) -> None:
    assert 'did you mean "scan"?' in run("list", "points", "--algorithm", "scna").stderr
    result = run("list", "targets", "--algorithm", "scan")
    reason = "--algorithm goes with `list points` and `list folds`, not with `list targets`\n"
    assert (result.exit_code, result.stderr) == (2, reason)
    result = run("list", "folds")
    assert (result.exit_code, result.stderr.count("--archs")) == (2, 1)


@pytest.mark.usefixtures("project")
def test_list_folds(run: Run) -> None:
    rows = json.loads(run("list", "folds", "--archs", "86,75,80,75", "--algorithm", "scan", "--format", "json").stdout)
    (scan,) = rows
    # an int32 sum has default, tuned and default policies: neighbours alone fold in C++17
    assert scan["by_value"] < scan["contiguous"] < scan["unfolded"] == 3 * scan["keys"]
    assert run("list", "folds", "--archs", "75,7x").exit_code == 2


def test_include_dir_says_whether_there_is_anything(run: Run, built: Path) -> None:
    result = run("list", "include-dir")
    assert (result.stdout, result.stderr) == (f"{built}/generated/include\n", "")
    assert (Path(result.stdout.strip()) / "policygen" / "bi100" / "tuning_reduce.cuh").is_file()
    (built / "generated").rename(built / "elsewhere")
    assert run("list", "include-dir").stderr == "nothing is built yet; run `policygen build --all`\n"
