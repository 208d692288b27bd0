"""`policygen validate`: exit statuses, forms of the answer, and what a failure leads to."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

import pytest
import torch
from torch import Tensor

from cli.conftest import Run
from policygen.reference.contract.case import Case
from policygen.reference.contract.tile_log import TileLog
from policygen.reference.scan import ScanInputs
from policygen.reference.scan import ScanKernel
from policygen.reference.scan import ScanProblem

ONE_KEY = (
    *("--target", "bi100", "--algorithm", "scan", "--quick"),
    *("--key", "input_type=int32", "--key", "operation_t=plus", "--key", "offset_size=4"),
)


@pytest.fixture
def off_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A scan that is wrong in one place, for large problems."""
    run = ScanKernel.run

    def wrong(
        self: ScanKernel, case: Case, problem: ScanProblem, inputs: ScanInputs, log: TileLog
    ) -> Mapping[str, Tensor]:
        outputs = run(self, case, problem, inputs, log)
        if problem.has_data and problem.num_items > 8448:
            outputs["results"][8448] += 1
        return outputs

    monkeypatch.setattr(ScanKernel, "run", wrong)


def test_a_policy_that_is_right_passes(project: Path, run: Run) -> None:
    result = run("validate", *ONE_KEY)
    assert result.exit_code == 0, result.output
    line, summary = result.stdout.splitlines()
    assert line.startswith("pass  scan  bi100/plus-4B (input_type=int32, operation_t=plus, offset_size=4")
    assert summary.startswith("bi100 on cpu: 1 policies and classes of keys of 1 kernels, ")
    assert not (project / ".policygen" / "validate").exists()


@pytest.mark.usefixtures("off_by_one")
def test_a_failure_names_the_first_difference_and_is_reproduced_alone(project: Path, run: Run) -> None:  # noqa: ARG001
    result = run("validate", *ONE_KEY, "--jobs", "1")
    assert result.exit_code == 1
    verdict, reason, command, _ = result.stdout.splitlines()
    assert verdict.startswith("FAIL  scan  bi100/plus-4B")
    problem, _, difference = reason.strip().partition(": ")
    assert problem.startswith("num_items=")
    assert difference.startswith("results[8448] expected ")
    again = run(*shlex.split(command)[1:])
    assert again.exit_code == 1
    assert again.stdout.splitlines()[1] == reason


@pytest.mark.usefixtures("off_by_one")
def test_a_failed_policy_blocks_a_strict_build_until_it_passes(
    project: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("build", "--all").exit_code == 0
    failed = run("validate", *ONE_KEY, "--jobs", "1")
    strict = run("build", "--all", "--strict")
    assert strict.exit_code == 1
    assert "validation failed: results[8448] expected " in strict.stderr
    assert failed.stdout.splitlines()[2].strip() in strict.stderr
    monkeypatch.undo()
    monkeypatch.chdir(project)
    assert run("validate", *ONE_KEY, "--seed", "1").exit_code == 0
    assert "validation failed" in run("build", "--all").stderr
    assert run("validate", *ONE_KEY).exit_code == 0
    assert "validation failed" not in run("build", "--all").stderr


@pytest.mark.usefixtures("off_by_one")
def test_a_failure_of_another_policy_blocks_nothing(project: Path, run: Run) -> None:
    run("validate", *ONE_KEY, "--jobs", "1")
    (record,) = (project / ".policygen" / "validate").glob("*.json")
    record.rename(record.with_name(f"0{record.name[1:]}"))
    assert "validation failed" not in run("build", "--all").stderr


@pytest.mark.usefixtures("off_by_one")
def test_json_and_junit_say_the_same(project: Path, run: Run) -> None:  # noqa: ARG001
    data = json.loads(run("validate", *ONE_KEY, "--jobs", "1", "--format", "json").stdout)
    assert (data["cases"], data["failed"]) == (1, 1)
    (result,) = data["results"]
    assert result["key"] == {"input_type": "int32", "operation_t": "plus", "offset_size": 4}
    assert result["policy"]["lookback"]["threads_per_block"] == 384
    root = ElementTree.fromstring(run("validate", *ONE_KEY, "--jobs", "1", "--format", "junit").stdout)
    assert root.attrib["tests"] == root.attrib["failures"] == "1"
    failure = root.find("./testsuite[@name='scan']/testcase/failure")
    assert failure is not None
    assert failure.attrib["message"] == result["failure"]["reason"]
    assert result["failure"]["reproduce"] in str(failure.text)


def test_without_torch_nothing_could_be_checked(project: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG001
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    result = run("validate", *ONE_KEY)
    assert (result.exit_code, result.stdout) == (3, "")
    assert "need torch" in result.stderr


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_device_that_is_not_there(project: Path, run: Run) -> None:  # noqa: ARG001
    result = run("validate", *ONE_KEY, "--device", "cuda")
    assert (result.exit_code, result.stdout) == (3, "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--target", "bi101"), "unknown target"),
        (("--target", "bi100", "--algorithm", "redcue"), '"reduce"'),
        (("--target", "bi100", "--key", "accum_t=float32"), "needs one --algorithm"),
        (("--target", "bi100", "--algorithm", "scan", "--key", "input_type=float"), "input_type"),
        (("--target", "bi100", "--device", "gpu"), "expected cpu or cuda"),
    ],
)
def test_bad_usage(project: Path, run: Run, arguments: tuple[str, ...], message: str) -> None:  # noqa: ARG001
    result = run("validate", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


def test_a_problem_that_is_none_fails(project: Path, run: Run) -> None:  # noqa: ARG001
    result = run("validate", *ONE_KEY, "--problem", "num_items=77")
    assert result.exit_code == 1
    assert "there is no problem num_items=77" in result.stdout
