"""`policygen parity`: what it says of the CCCL that it finds, of another one, and of none."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from cli.conftest import REPOSITORY
from cli.conftest import Run
from policygen.parity.toolchain import Toolchain
from policygen.parity.toolchain import ToolchainMissing
from policygen.parity.toolchain import find_toolchain

TUNINGS = "cub/device/dispatch/tuning"
SMALL = ("--keys", "20", "--jobs", "1")


@pytest.fixture(scope="module")
def toolchain() -> Toolchain:
    try:
        found = find_toolchain()
    except ToolchainMissing as missing:
        pytest.skip(str(missing))
    if not found.cccl_version.startswith("3.5."):
        pytest.skip(f"the reference is CCCL 3.5; found {found.cccl_version}")
    return found


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--algorithm", "redcue"), 'unknown algorithm "redcue"; did you mean "reduce"?'),
        (("--keys", "-1"), "-1 is not in the range x>=0"),
        (("--jobs", "0"), "0 is not in the range x>=1"),
        (("--seed", "one"), "'one' is not a valid integer"),
        (("--format", "xml"), "'xml' is not one of 'text', 'json', 'markdown'"),
    ],
)
def test_bad_usage(run: Run, arguments: tuple[str, ...], message: str) -> None:
    result = run("parity", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


@pytest.mark.usefixtures("project")
def test_no_cccl_is_not_a_failed_check(run: Run, tmp_path: Path) -> None:
    result = run("parity", "--cccl", str(tmp_path / "nothing"))
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr.startswith(f"no CCCL in {tmp_path}/nothing: expected ")


@pytest.mark.cuda
@pytest.mark.usefixtures("toolchain", "project")
def test_equal_references(run: Run) -> None:
    result = run("parity", "--algorithm", "topk", "--algorithm", "for", *SMALL)
    assert (result.exit_code, result.stderr) == (0, "")
    heading, one, other, total = result.stdout.splitlines()
    assert heading.startswith("CCCL 3.5.")
    assert ", 20 architectures, seed 1" in heading
    assert "__cccl_ptx_isa" in heading
    assert one.startswith("for ")
    assert one.endswith("420 policies compared (1 declared and 20 random keys), 0 differ")
    assert other.startswith("topk ")
    assert total.endswith("policies compared; 0 points to edit; 0 not comparable")

    answer = json.loads(run("parity", "--algorithm", "for", *SMALL, "--format", "json").stdout)
    assert answer["equal"] is True
    assert (answer["policies"], answer["keys"], answer["seed"]) == (420, 20, 1)
    assert len(answer["architectures"]) == 20
    assert answer["algorithms"][0]["not_comparable"] is None


@pytest.mark.cuda
@pytest.mark.usefixtures("toolchain")
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_wrong_number_is_named_with_its_line(run: Run, project: Path, jobs: str) -> None:
    shutil.copytree(REPOSITORY / "specs", project / "specs")
    file = project / "specs" / "references" / "cccl-3.5" / "for.toml"
    text = file.read_text(encoding="utf-8")
    assert "items_per_thread = 2" in text
    file.write_text(text.replace("items_per_thread = 2", "items_per_thread = 3"), encoding="utf-8")
    line = text.split("[[ladder.point]]")[0].count("\n") + 1

    asked = ("parity", "--algorithm", "topk", "--algorithm", "for", "--keys", "20", "--jobs", jobs)
    result = run(*asked)
    assert result.exit_code == 1
    place = f"  specs/references/cccl-3.5/for.toml:{line}: "
    (named,) = (text for text in result.stdout.splitlines() if text.startswith(place))
    assert named.endswith(": 420 policies differ on 5.0 .. 12.1")
    assert "    items_per_thread: 3 here, 2 in CCCL\n" in result.stdout
    assert "1 point to edit" in result.stdout

    markdown = run(*asked, "--format", "markdown")
    assert markdown.exit_code == 1
    assert "| for | 420 | 420 | 1 |" in markdown.stdout
    assert "\n| all | " in markdown.stdout
    assert "\n#### for\n" in markdown.stdout
    assert "items_per_thread: 3 -> 2" in markdown.stdout
    assert "`--target sm_50" in markdown.stdout


def next_release(toolchain: Toolchain, folder: Path) -> Path:
    """CCCL as it might be one day: a member more here and there, a header less, a new one, another number."""
    shutil.copytree(toolchain.include / "cub", folder / "cub")
    for part in toolchain.include.iterdir():
        if part.name != "cub":
            (folder / part.name).symlink_to(part)
    edits = {
        "for": ("struct policy_selector\n{\n", "struct policy_selector\n{\n  int another = 0;\n"),
        "adjacent_difference": (
            "  BlockStoreAlgorithm store_algorithm;",
            "  BlockStoreAlgorithm store_algorithm; int knob;",
        ),
        "topk": ("nominal_4b_items_per_thread = 4", "nominal_4b_items_per_thread = 8"),
    }
    for name, (old, new) in edits.items():
        header = folder / TUNINGS / f"tuning_{name}.cuh"
        text = header.read_text(encoding="utf-8")
        assert old in text
        header.write_text(text.replace(old, new, 1), encoding="utf-8")
    (folder / TUNINGS / "tuning_find.cuh").unlink()
    (folder / TUNINGS / "tuning_sum_of_squares.cuh").write_text("struct policy_selector {};\n", encoding="utf-8")
    return folder


@pytest.mark.cuda
@pytest.mark.slow
@pytest.mark.usefixtures("project")
def test_the_next_release_is_compared_as_far_as_it_can_be(run: Run, toolchain: Toolchain, tmp_path: Path) -> None:
    cccl = next_release(toolchain, tmp_path / "cccl")
    result = run("parity", "--cccl", str(cccl), "--keys", "20", "--format", "json")
    assert result.exit_code == 1
    answer = json.loads(result.stdout)
    reasons = {row["algorithm"]: row["not_comparable"] for row in answer["algorithms"] if row["not_comparable"]}
    assert reasons == {
        "adjacent_difference": "policy has a member that the spec does not know",
        "find": f"CCCL {toolchain.cccl_version} has no {TUNINGS}/tuning_find.cuh",
        "for": "key has a member that the spec does not know",
    }
    assert answer["unknown_headers"] == [f"{TUNINGS}/tuning_sum_of_squares.cuh"]
    different = [row for row in answer["algorithms"] if row["points"]]
    assert [row["algorithm"] for row in different] == ["topk"]
    field = different[0]["points"][0]["fields"][0]
    assert (field["field"], field["cccl"]) == ("items_per_thread", 2 * field["ours"])


@pytest.mark.cuda
@pytest.mark.slow
@pytest.mark.usefixtures("project")
def test_a_cccl_that_does_not_compile_at_all(run: Run, toolchain: Toolchain, tmp_path: Path) -> None:
    folder = next_release(toolchain, tmp_path / "cccl")
    (folder / "cub" / "version.cuh").write_text("#define CUB_VERSION 309900\n#error not today\n", encoding="utf-8")
    result = run("parity", "--cccl", str(folder), "--algorithm", "topk")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "does not compile the host program" in result.stderr
