"""`policygen check`: drift is found, named, and shown in policies."""

from __future__ import annotations

import json
from pathlib import Path

from cli.conftest import Run
from cli.conftest import snapshot

TABLE = Path("generated/python/policygen_tables/bi100/reduce.py")


def change_spec() -> None:
    spec = Path("specs/targets/bi100.toml")
    text = spec.read_text(encoding="utf-8")
    spec.write_text(text.replace("items_per_thread = 24", "items_per_thread = 16"), encoding="utf-8")


def test_no_drift(run: Run, built: Path) -> None:
    before = snapshot(built)
    result = run("check")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "12 generated files are what the specs say\n"
    assert run("check", "-q").stderr == ""
    assert snapshot(built) == before


def test_stale_files_and_the_policies_that_change(run: Run, built: Path) -> None:
    change_spec()
    before = snapshot(built)
    result = run("check")
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert "stale: python/policygen_tables/bi100/reduce.py" in lines
    assert "stale: include/policygen/bi100/tuning_reduce.cuh" in lines
    policies = [line for line in lines if line.startswith("policy: ")]
    told = "accum_t=float32 operation_t=plus offset_size=4: multi_tile.items_per_thread 24 -> 16"
    assert any(line.startswith(f"policy: bi100 reduce {told}") for line in policies)
    assert result.stderr == "run `policygen build --all`, and commit what it writes\n"
    assert snapshot(built) == before
    data = json.loads(run("check", "--format", "json").stdout)
    assert data["stale"] == [line.removeprefix("stale: ") for line in lines if line.startswith("stale: ")]
    assert len(data["policies"]) == len(policies)
    change = next(c for c in data["policies"] if c["key"] == "accum_t=float32 operation_t=plus offset_size=4")
    assert change["fields"]["multi_tile.items_per_thread"] == {"before": "24", "after": "16"}


def test_every_kind_of_drift(run: Run, built: Path) -> None:
    TABLE.write_text(TABLE.read_text(encoding="utf-8") + "# mine\n", encoding="utf-8")
    include = built / "generated" / "include" / "policygen" / "bi100"
    (include / "tuning.cuh").unlink()
    (include / "tuning_scan.cuh").unlink()
    (include / "tuning_scan.cuh").mkdir()
    result = run("check")
    assert result.exit_code == 1
    assert "edited: python/policygen_tables/bi100/reduce.py" in result.stdout
    assert "missing: include/policygen/bi100/tuning.cuh" in result.stdout
    assert "blocked: include/policygen/bi100/tuning_scan.cuh: a folder is in the way; move it away" in result.stdout
    assert "no policy of a common key differs" in result.stderr
    data = json.loads(run("check", "--format", "json").stdout)
    assert data["blocked"][0]["path"] == "include/policygen/bi100/tuning_scan.cuh"


def test_a_stale_manifest(run: Run, built: Path) -> None:
    manifest = built / "generated" / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text(encoding="utf-8"))), encoding="utf-8")
    result = run("check")
    assert (result.exit_code, result.stdout) == (1, "stale: manifest.json\n")


def test_nothing_built(run: Run, project: Path) -> None:
    result = run("check")
    assert result.exit_code == 1
    assert len([line for line in result.stdout.splitlines() if line.startswith("missing: ")]) == 12
    assert not (project / "generated").exists()


def test_targets_beyond_the_listed_are_compared_too(run: Run, built: Path) -> None:
    assert run("build", "--target", "sm_87").exit_code == 0
    header = built / "generated" / "include" / "policygen" / "sm_87" / "tuning.cuh"
    header.write_text("// mine\n", encoding="utf-8")
    result = run("check")
    assert (result.exit_code, result.stdout) == (1, "edited: include/policygen/sm_87/tuning.cuh\n")
    assert "`policygen build --target sm_87`" in result.stderr
