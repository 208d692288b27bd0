"""The report of a run on a GPU, from lines that programs print."""

from __future__ import annotations

import json

import pytest

from policygen.plan.limits import Limits
from policygen.plan.limits import limits_from_facts
from policygen.project import Project
from policygen.prove.device_lines import not_compiled_line
from policygen.prove.device_lines import outcomes
from policygen.prove.device_report import DeviceReport
from policygen.prove.device_report import device_report
from policygen.prove.device_text import data_text
from policygen.prove.device_text import markdown
from prove.device_lines import case
from prove.device_lines import failed
from prove.device_lines import launch
from prove.device_lines import program
from prove.device_lines import run


@pytest.fixture(scope="module")
def limits(packaged: Project) -> Limits:
    facts = packaged.target("h200").facts
    return limits_from_facts({n: fact.value for n, fact in facts.items() if isinstance(fact.value, int)})


def report(limits: Limits, *programs: list[str]) -> DeviceReport:
    return device_report("h200", "h200_shifted", outcomes(line for lines in programs for line in lines), limits)


def text(made: DeviceReport) -> str:
    return "\n".join(markdown(made))


def test_what_passed(limits: Limits) -> None:
    twin = program("h200_shifted_reduce", case(same_as_cub=False), run())
    made = report(limits, program("h200_reduce", case(), run(), run(items=0, size="none")), twin)
    assert made.faults == ()
    assert made.device is not None
    assert (made.device.device, made.device.driver, made.device.nvcc) == ("NVIDIA H200", "580.159.04", "13.0.88")
    assert "**3 of 3 runs passed, 0 could not be made, 0 faults.**" in text(made)
    assert "| reduce | 2 | 2 | 0 | 0 | DeviceReduceKernel: 256 | 1 of 1 |" in text(made)
    assert "| reduce | DeviceReduceKernel | 256 | 32 | 44 | 0 | 8 | 1 of 1 |" in text(made)


def test_a_failed_check_names_algorithm_type_size_and_both_values(limits: Limits) -> None:
    made = report(limits, program("h200_reduce", case(), failed(), status=1))
    assert made.faults == (
        "h200_reduce: DeviceReduce::Sum, int32, 4,097 (a tile + 1): threads of a block of DeviceReduceKernel: "
        "expected 96, got 128",
    )
    assert "## What was wrong\n\n- h200_reduce: DeviceReduce::Sum, int32, 4,097" in text(made)


def test_a_wrong_item_is_named(limits: Limits) -> None:
    wrong = run("failed", what="prefix sum", index=4096, expected="7", got="-1515870811")
    made = report(limits, program("h200_scan", case(), wrong, status=1))
    assert made.faults[0].endswith("prefix sum of item 4096: expected 7, got -1515870811")


@pytest.mark.parametrize(
    ("lines", "fault"),
    [
        (
            program("h200_reduce", case(), run(), status=-11, ended=False),
            "ended with status -11 after DeviceReduce::Sum",
        ),
        (program("h200_reduce", case(), run(), status=124, ended=False), "was stopped, since it took too long after"),
        ([not_compiled_line("h200_reduce", "error: no")], "does not compile: error: no"),
    ],
)
def test_a_program_that_does_not_come_to_its_end(limits: Limits, lines: list[str], fault: str) -> None:
    assert any(found.startswith(f"h200_reduce: {fault}") for found in report(limits, lines).faults)


def test_the_specs_are_held_against_the_driver(limits: Limits) -> None:
    off = run(launches=[launch(blocks_per_sm=7)])
    (fault,) = report(limits, program("h200_reduce", case(), off)).faults
    assert fault == (
        "h200_reduce: DeviceReduceKernel of 256 threads, 32 registers and 44 bytes of shared memory: "
        "the device holds 7 blocks a multiprocessor, the specs say 8"
    )


def test_a_twin_with_the_blocks_of_cub_shows_nothing(limits: Limits) -> None:
    (fault,) = report(limits, program("h200_shifted_reduce", case(same_as_cub=True), run())).faults
    assert "its blocks are CUB's" in fault


def test_what_must_not_depend_on_blocks_is_compared(limits: Limits) -> None:
    own = program("h200_reduce", case(), run(items=1000, promised="499.5"))
    same = program("h200_shifted_reduce", case(same_as_cub=False), run(items=1000, promised="499.5"))
    other = program("h200_shifted_reduce", case(same_as_cub=False), run(items=1000, promised="499.75"))
    assert report(limits, own, same).faults == ()
    (fault,) = report(limits, own, other).faults
    assert fault == ("h200_shifted_reduce: DeviceReduce::Sum, int32, 1,000: 499.5 with other blocks, here 499.75")


def test_what_could_not_be_run_is_listed_with_the_reason(limits: Limits) -> None:
    refused = run("refused", items=0, size="none", reason="CUB launches a grid of no blocks")
    left_out = json.dumps({"line": "left_out", "call": "DeviceFind::LowerBound", "reason": "no tuning"})
    made = report(limits, program("h200_find", case(), refused, refused, left_out))
    assert made.faults == ()
    assert "- h200_find: DeviceReduce::Sum, 0 (none): CUB launches a grid of no blocks (2 times)" in text(made)
    assert "- find: DeviceFind::LowerBound: no tuning" in text(made)


def test_no_gpu_is_no_result(limits: Limits) -> None:
    nothing = [json.dumps({"line": "exit", "program": "h200_reduce", "status": 3})]
    assert report(limits, nothing).device is None
    made = report(limits, nothing, program("h200_scan", case(), run()))
    assert made.faults == ("h200_reduce: found no GPU",)


def test_other_output_is_passed_over(limits: Limits) -> None:
    noise = ["warning: clocks are low", '{"half": ', "[1, 2]", '"text"', '{"line": 7}']
    lines = program("h200_reduce", case(), run())
    assert report(limits, [*noise, *lines[:2], *noise, *lines[2:]]) == report(limits, lines)


def test_the_data_has_a_case_a_line(limits: Limits) -> None:
    made = report(limits, program("h200_reduce", case(), run()), program("h200_scan", case(), failed(), status=1))
    lines = data_text(made).splitlines()
    assert sum(line.startswith('    {"program": ') for line in lines) == 2
    data = json.loads(data_text(made))
    assert data["runs"] == {"passed": 1, "failed": 1, "skipped": 0, "refused": 0}
    assert data["cases"][0]["launches"][0]["grids"] == [[1, 1, 1]]
    assert data["cases"][1]["runs"][0]["told"].endswith("expected 96, got 128")
