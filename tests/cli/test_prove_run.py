"""`policygen prove --run`: what it says without a GPU, and of what programs printed elsewhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.conftest import Run
from policygen.parity.toolchain import Toolchain
from prove.device_lines import case
from prove.device_lines import failed
from prove.device_lines import program
from prove.device_lines import run as run_line

ASKED = ("prove", "--target", "h200", "--run")

pytestmark = pytest.mark.usefixtures("project")


def lines(folder: Path, *programs: list[str]) -> str:
    file = folder / "lines.jsonl"
    file.write_text("\n".join(line for each in programs for line in each), encoding="utf-8")
    return str(file)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("prove", "--target", "h200", "--sizes", "quick"), "--sizes: expected --run with it"),
        (
            ("prove", "--target", "h200", "--prepare", "x", "--report", "y"),
            "--prepare, --report: expected --run with it",
        ),
        ((*ASKED, "--sample", "3"), "--sample and --accept-spills are of the compiler's figures"),
        ((*ASKED, "--prepare", "x", "--build-only", "y"), "--prepare and --build-only: expected one of them"),
        ((*ASKED, "--algorithm", "redcue"), 'unknown algorithm "redcue"; did you mean "reduce"?'),
        ((*ASKED, "--sizes", "huge"), "'huge' is not one of 'quick', 'full'"),
        ((*ASKED, "--lines", "nowhere"), "File 'nowhere' does not exist"),
        (("prove", "--target", "h20", "--run", "--prepare", "x"), "h20"),
    ],
)
def test_bad_usage(run: Run, arguments: tuple[str, ...], message: str) -> None:
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


def test_no_gpu_is_not_a_failed_check(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("policygen.prove.device_run.gpu_is_there", lambda: False)
    monkeypatch.setattr("policygen.parity.toolchain.find_toolchain", lambda _: NO_TOOLCHAIN)
    result = run(*ASKED, "--algorithm", "reduce")
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr.startswith("there is no GPU here that CUDA can use: --build-only makes programs")


NO_TOOLCHAIN = Toolchain(Path("nvcc"), (Path("include"),), None, "13.0", "3.5.0")


def test_a_target_that_no_gpu_runs(run: Run) -> None:
    result = run("prove", "--target", "bi100", "--run", "--prepare", "x")
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr == "bi100: CUB runs with the policies of NVIDIA's chips and architectures alone\n"


def test_programs_for_another_machine(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "programs"
    result = run(*ASKED, "--algorithm", "reduce", "--prepare", str(folder))
    assert result.exit_code == 0
    assert result.stdout == f"2 programs in {folder}; build.sh compiles them there, run.sh runs them\n"
    assert (folder / "h200_reduce.cu").is_file()
    assert (folder / "run" / "harness" / "runner.cuh").is_file()
    assert (folder / "include" / "policygen" / "h200_shifted" / "cub_tuning_reduce.cuh").is_file()


def test_a_report_of_lines(run: Run, tmp_path: Path) -> None:
    twin = program("h200_shifted_reduce", case(same_as_cub=False), run_line())
    file = lines(tmp_path, program("h200_reduce", case(), run_line()), twin)
    asked = (*ASKED, "--algorithm", "reduce", "--lines", file)
    result = run(*asked, "--report", str(tmp_path / "report"))
    assert result.exit_code == 0
    assert "h200_reduce             1       1        0       0\n" in result.stdout
    assert "2 of 2 runs passed, 0 could not be made, 0 faults." in result.stdout
    markdown = (tmp_path / "report" / "h200.md").read_text(encoding="utf-8")
    assert markdown.startswith("# h200 on NVIDIA H200\n")
    assert run(*asked, "--format", "markdown").stdout == markdown
    data = json.loads((tmp_path / "report" / "h200.json").read_text(encoding="utf-8"))
    assert data == json.loads(run(*asked, "--format", "json").stdout)
    assert data["device"]["driver"] == "580.159.04"


def test_a_failed_check_is_told(run: Run, tmp_path: Path) -> None:
    file = lines(tmp_path, program("h200_reduce", case(), failed(), status=1))
    result = run(*ASKED, "--algorithm", "reduce", "--lines", file)
    assert result.exit_code == 1
    assert result.stderr == (
        "error: h200_reduce: DeviceReduce::Sum, int32, 4,097 (a tile + 1): threads of a block of DeviceReduceKernel: "
        "expected 96, got 128\n"
        "error: h200_shifted_reduce: there are no lines of it\n"
    )


def test_lines_of_something_else(run: Run, tmp_path: Path) -> None:
    result = run(*ASKED, "--lines", lines(tmp_path, ["make: nothing to be done"]))
    assert result.exit_code == 2
    assert "lines.jsonl: expected what the programs for h200 print" in result.stderr


def test_programs_that_found_no_gpu(run: Run, tmp_path: Path) -> None:
    nothing = [json.dumps({"line": "exit", "program": "h200_reduce", "status": 3})]
    result = run(*ASKED, "--lines", lines(tmp_path, nothing))
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr == "the programs found no GPU to run on\n"
