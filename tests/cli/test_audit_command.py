"""`policygen audit`."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from cli.conftest import Run
from policygen.plan.limits import LIMIT_NAMES

pytestmark = pytest.mark.usefixtures("project")

REDUCE = ("--algorithm", "reduce")


@pytest.mark.parametrize(("target", "form"), [("bi100", "text"), ("bi100", "markdown"), ("sm_90", "text")])
def test_the_audit_of_a_target(run: Run, target: str, form: str, golden: Callable[[str, str], None]) -> None:
    result = run("audit", "--target", target, *REDUCE, "--format", form)
    assert (result.exit_code, result.stderr) == (0, "")
    golden(f"audit/{target}-reduce.{'md' if form == 'markdown' else 'txt'}", result.stdout)


def test_the_critical_algorithms_of_bi100(run: Run, golden: Callable[[str, str], None]) -> None:
    names = [option for name in ("scan", "topk", "transform") for option in ("--algorithm", name)]
    result = run("audit", "--target", "bi100", *names, "--format", "markdown")
    assert (result.exit_code, result.stderr) == (0, "")
    golden("audit/bi100-scan-topk-transform.md", result.stdout)


def test_decode_comes_first(run: Run) -> None:
    sections = json.loads(run("audit", "--target", "bi100", "--format", "json").stdout)["sections"]
    assert next(iter(sections)) == "critical_path"
    path = [row["name"] for row in sections["critical_path"]["rows"]]
    assert path[:3] == ["reduce", "attention.decode", "attention.merge"]
    for section in ("points", "kernels", "unreachable"):
        order = list(dict.fromkeys(row["algorithm"] for row in sections[section]["rows"]))
        assert order[:2] == ["reduce", "scan"]
        assert order == [*(name for name in path if name in order), *(name for name in order if name not in path)]


def test_the_audit_as_a_page(run: Run) -> None:
    pages = {run("audit", "--target", "bi100", *REDUCE, "--format", "html").stdout for _ in range(2)}
    (page,) = pages
    assert page.startswith("<!DOCTYPE html>\n")
    assert page.endswith("</html>\n")
    assert "<title>bi100: policygen audit</title>" in page


def test_a_table_of_the_engine_alone(run: Run) -> None:
    options = ("--target", "bi100", "--algorithm", "attention.decode", "--format", "json")
    sections = json.loads(run("audit", *options).stdout)["sections"]
    assert [row["name"] for row in sections["critical_path"]["rows"]] == ["attention.decode"]
    assert "points" not in sections
    facts = [row["fact"] for row in sections["conflicts"]["rows"]]
    assert facts[0] == "sm_count"


def test_an_architecture_has_no_tables_of_the_engine(run: Run) -> None:
    told = json.loads(run("audit", "--target", "sm_90", "--format", "json").stdout)["sections"]
    assert not any("." in row["name"] for row in told["critical_path"]["rows"])
    assert told["points"]["rows"] == []
    assert "conflicts" not in told


def test_the_audit_as_data(run: Run) -> None:
    told = json.loads(run("audit", "--target", "9.0", *REDUCE, "--format", "json").stdout)
    assert told["target"] == "sm_90"
    limits = {row["limit"]: row for row in told["sections"]["limits"]["rows"]}
    assert tuple(limits) == LIMIT_NAMES
    assert limits["max_smem_per_block_optin"] == {
        "limit": "max_smem_per_block_optin",
        "description": "shared memory of a block when the kernel opts in, without the reserve",
        "value": 232448,
        "unit": "bytes",
        "plausible": [232448],
        "reserve": 1024,
        "evidence": "documented",
        "source": "programming guide; CCCL",
    }
    first = told["sections"]["kernels"]["rows"][0]
    assert (first["algorithm"], first["kernel"], first["threads"]) == ("reduce", "DeviceReduceKernel", 256)
    assert (first["static_smem"], first["dynamic_smem"], first["keys"]) == (17, 0, 6)
    assert first["first_key"] == {"accum_t": "int8", "operation_t": "plus", "offset_size": 4}
    assert first["blocks"] <= first["bounds"]["threads"] == 8


def test_what_a_target_does_not_know_is_unknown_and_not_zero(run: Run) -> None:
    told = json.loads(run("audit", "--target", "bi100", *REDUCE, "--format", "json").stdout)
    limits = {row["limit"]: row for row in told["sections"]["limits"]["rows"]}
    unknown = limits["smem_per_sm"]
    assert (unknown["value"], unknown["evidence"], unknown["reserve"]) == (None, None, None)
    assert "occupancy by shared memory is unknown" in unknown["source"]
    rows = told["sections"]["kernels"]["rows"]
    assert all(row["at_most"] and row["bounds"]["shared memory"] is None for row in rows)
    assert all(row["margin"]["shared_memory"] is None for row in rows)


def test_a_value_set_for_the_run_counts(run: Run) -> None:
    options = ("--target", "sm_90", *REDUCE, "--set", "max_threads_per_sm=1024", "--format", "json")
    told = json.loads(run("audit", *options).stdout)
    (threads,) = (r for r in told["sections"]["limits"]["rows"] if r["limit"] == "max_threads_per_sm")
    assert (threads["value"], threads["evidence"]) == (1024, "assumed")
    assert told["sections"]["kernels"]["rows"][0]["bounds"]["threads"] == 4


def test_all_algorithms_by_default(run: Run) -> None:
    section = json.loads(run("audit", "--target", "h200", "--format", "json").stdout)["sections"]["kernels"]
    audited = list(dict.fromkeys(row["algorithm"] for row in section["rows"]))
    assert {"reduce", "scan", "transform"} <= set(audited)
    without = next((text for text in section["notes"] if text.startswith("the specs do not say which kernels")), "")
    names = [row["name"] for row in json.loads(run("list", "algorithms", "--format", "json").stdout)]
    assert all((name in audited) is not (f" {name}," in without or f" {name} has" in without) for name in names)


def test_names_that_are_none(run: Run) -> None:
    result = run("audit", "--target", "bi10", "--algorithm", "redcue")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.splitlines() == [
        'unknown target "bi10"; did you mean "bi100"?',
        'unknown algorithm "redcue"; did you mean "reduce"?',
    ]
