"""`policygen check`: drift is found, named, and shown in policies."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from cli.conftest import FILES
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
    assert result.stderr == f"{FILES} generated files are what the specs say\n"
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
    assert len([line for line in result.stdout.splitlines() if line.startswith("missing: ")]) == FILES
    assert not (project / "generated").exists()


def test_targets_beyond_the_listed_are_compared_too(run: Run, built: Path) -> None:
    assert run("build", "--target", "sm_87").exit_code == 0
    header = built / "generated" / "include" / "policygen" / "sm_87" / "tuning.cuh"
    header.write_text("// mine\n", encoding="utf-8")
    result = run("check")
    assert (result.exit_code, result.stdout) == (1, "edited: include/policygen/sm_87/tuning.cuh\n")
    assert "`policygen build --target sm_87`" in result.stderr


def add_gates(folder: Path, text: str) -> None:
    settings = folder / "policygen.toml"
    settings.write_text(f"{settings.read_text(encoding='utf-8')}[gates]\n{text}\n", encoding="utf-8")


def test_gates_fail_a_check_without_drift(run: Run, built: Path) -> None:
    add_gates(
        built, 'forbidden = ["^bi100: conflict: max_smem"]\nmax_utilisation = { bi100 = { shared-memory = 0.9 } }'
    )
    result = run("check")
    assert result.exit_code == 1
    assert [line.split(": ")[:2] for line in result.stdout.splitlines()] == [
        ["gate", "max_utilisation"],
        ["gate", "forbidden"],
    ]
    assert "bi100 scan shared-memory: 45,072 of 49,152 bytes" in result.stdout
    assert result.stderr.endswith(" generated files are what the specs say\n")
    gates = json.loads(run("check", "--format", "json").stdout)["gates"]
    assert [gate["gate"] for gate in gates] == ["max_utilisation", "forbidden"]
    assert (gates[0]["need"], gates[0]["limit"]) == (45072, 49152)


def test_gates_that_pass(run: Run, built: Path) -> None:
    add_gates(built, 'evidence = ["literal"]\nmax_utilisation = { bi100 = { shared-memory = 0.92 } }')
    result = run("check")
    assert (result.exit_code, result.stdout) == (0, "")
    assert json.loads(run("check", "--format", "json").stdout)["gates"] == []


def test_pinned_fields_are_compared_with_a_base(run: Run, built: Path) -> None:
    commit(built, "as it was")
    add_gates(built, 'pinned = ["bi100 reduce multi_tile.items_per_thread"]')
    change_spec()
    assert run("build", "--all").exit_code == 0
    result = run("check")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.startswith("pinned fields are not compared; name an earlier revision with --base REV\n")
    result = run("check", "--base", "HEAD")
    assert result.exit_code == 1
    assert "gate: pinned: bi100 reduce multi_tile.items_per_thread 24 -> 16 for" in result.stdout
    assert "because of specs/targets/bi100.toml:" in result.stdout
    data = json.loads(run("check", "--base", "HEAD", "--format", "json").stdout)
    assert {gate["gate"] for gate in data["gates"]} == {"pinned"}
    commit(built, "changed")
    assert run("check", "--base", "HEAD").exit_code == 0


def test_a_base_that_is_none(run: Run, built: Path) -> None:
    add_gates(built, 'pinned = ["bi100 reduce multi_tile"]')
    result = run("check", "--base", "nowhere")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "nowhere is neither a folder with a policygen.toml nor a revision that git has" in result.stderr


def test_gates_about_nothing_are_bad_input(run: Run, built: Path) -> None:
    add_gates(built, 'pinned = ["bi100 reduce multi_tiles"]')
    result = run("check")
    assert (result.exit_code, result.stdout) == (2, "")
    assert 'policygen.toml:5: gates.pinned[0]: unknown field "multi_tiles"; did you mean "multi_tile"?' in result.stderr


def commit(folder: Path, message: str) -> None:
    name = ("-c", "user.name=policygen", "-c", "user.email=policygen@localhost")
    for command in (("init", "-q"), ("add", "-A"), (*name, "commit", "-q", "-m", message)):
        subprocess.run(("git", *command), cwd=folder, check=True)
