"""Kernels are compiled, and what does not fit is told with need, limit and the nearest policy that fits."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from click.testing import Result

from policygen.cli.main import cli
from policygen.project import Project
from policygen.prove.cases import cases
from policygen.prove.proof import sample

LOOKBACK = (
    'load_algorithm = "BLOCK_LOAD_WARP_TRANSPOSE", store_algorithm = "BLOCK_STORE_WARP_TRANSPOSE", '
    'scan_algorithm = "BLOCK_SCAN_WARP_SCANS", load_modifier = "LOAD_DEFAULT", '
    'lookback_delay = { kind = "no_delay", delay = 0, l2_write_latency = 450 }'
)


def project(folder: Path, threads: int, items: int, match: str) -> Path:
    """A project whose target is an H200 with one scan of its own."""
    (folder / "specs" / "targets").mkdir(parents=True, exist_ok=True)
    (folder / "policygen.toml").write_text('[project]\ntargets = ["wide"]\nalgorithms = ["scan"]\n', encoding="utf-8")
    (folder / "specs" / "targets" / "wide.toml").write_text(
        f"""
name = "wide"
title = "An H200 with a scan of its own"
extends = "h200"
[[rules.scan.ladder]]
id = "wide"
[[rules.scan.ladder.point]]
id = "wide"
match = {{ {match}, offset_size = 4 }}
algorithm = "lookback"
lookback = {{ literal = {{ threads_per_block = {threads}, items_per_thread = {items} }}, {LOOKBACK} }}
""",
        encoding="utf-8",
    )
    return folder


def prove(folder: Path, *more: str) -> Result:
    return CliRunner().invoke(cli, ["prove", "--project", str(folder), "--target", "wide", "--jobs", "1", *more])


FLOAT_PLUS = 'input_type = "float32", operation_t = "plus"'
INT8_MAX = 'input_type = "int8", operation_t = "max"'


def the_only_case(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiles the policies of the target's own point alone: the others are CUB's."""

    def own(policies: object, number: int) -> tuple[object, ...]:  # noqa: ARG001 - in the place of `sample`
        return tuple(policy for policy in policies if policy.point == "wide/wide")  # type: ignore[attr-defined]

    monkeypatch.setattr("policygen.prove.proof.sample", own)


@pytest.mark.cuda
@pytest.mark.slow
def test_a_policy_that_overflows_fails_with_need_limit_and_the_nearest_that_fits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    the_only_case(monkeypatch)
    failed = prove(project(tmp_path, 512, 24, FLOAT_PLUS), "--sample", "1")
    assert failed.exit_code == 1
    assert (
        "error: scan wide/wide (input_type=float32, operation_t=plus, offset_size=4): DeviceScanKernel needs 49,168 "
        "bytes of static shared memory of 49,152; nearest that fits: lookback.items_per_thread 24 -> 23"
    ) in failed.stderr.splitlines()
    fitted = prove(project(tmp_path, 512, 23, FLOAT_PLUS), "--sample", "1")
    assert (fitted.exit_code, fitted.stderr) == (0, "")


@pytest.mark.cuda
@pytest.mark.slow
def test_a_policy_that_spills_fails_until_the_spills_are_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    the_only_case(monkeypatch)
    folder = project(tmp_path, 1024, 46, INT8_MAX)
    failed = prove(folder, "--sample", "1")
    assert failed.exit_code == 1
    (line,) = failed.stderr.splitlines()
    assert "DeviceScanKernel spills" in line
    assert "64 registers do not do; nearest that fits: lookback.items_per_thread 46 -> " in line
    accepted = prove(folder, "--sample", "1", "--accept-spills")
    assert accepted.exit_code == 0
    assert any(text.startswith("known: scan wide/wide") for text in accepted.stdout.splitlines())


def test_a_sample_takes_the_algorithms_in_turn_and_is_the_same_each_time(packaged: Project) -> None:
    policies = [
        case for name in ("reduce", "scan", "transform") for case in cases(packaged.resolver("sm_90", name)).policies
    ]
    found = sample(policies, 7)
    assert found == sample(policies, 7)
    assert [sum(case.algorithm.name == name for case in found) for name in ("reduce", "scan", "transform")] == [3, 2, 2]
    assert len(sample(policies, 10_000)) == len(policies)
    assert list(found) == [case for case in policies if case in found]


def test_a_chip_that_no_compiler_knows_needs_a_proxy(tmp_path: Path, packaged: Project) -> None:
    text = (packaged.root.specs / "targets" / "bi100.toml").read_text(encoding="utf-8")
    folder = project(tmp_path, 128, 12, FLOAT_PLUS)
    without = "\n".join(line for line in text.splitlines() if not line.startswith("proxy = "))
    (folder / "specs" / "targets" / "bi100.toml").write_text(without, encoding="utf-8")
    failed = CliRunner().invoke(cli, ["prove", "--project", str(folder), "--target", "bi100"])
    assert failed.exit_code == 3
    assert "bi100: no compiler for it is known; its spec may name an architecture that stands for it" in failed.stderr
