"""`policygen build`: what it writes, says and refuses, and when it has nothing to do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest

from cli.conftest import FILES
from cli.conftest import REPOSITORY
from cli.conftest import Run
from cli.conftest import make_project
from cli.conftest import snapshot
from policygen.cli import progress as progress_module
from policygen.cli.progress import progress
from policygen.cli.session import Session

BUILD = ("build", "--target", "bi100")
HEADER = Path("generated/include/policygen/bi100/tuning_reduce.cuh")
TABLE = Path("generated/python/policygen_tables/bi100/reduce.py")


def last(text: str) -> str:
    return text.splitlines()[-1]


def test_first_build_then_nothing_to_do(run: Run, project: Path) -> None:
    first = run(*BUILD)
    assert first.exit_code == 0
    lines = first.stdout.splitlines()
    assert [line.split()[:2] for line in lines[:-1]] == [["bi100", a] for a in ("reduce", "scan", "transform")]
    assert all("keys" in line and "distinct" in line and line.endswith("2 files written") for line in lines[:-1])
    assert lines[-1] == f"{FILES} files written, 0 unchanged"
    files = snapshot(project / "generated")
    second = run(*BUILD)
    assert last(second.stdout) == f"0 files written, {FILES} unchanged"
    assert second.stdout.splitlines()[:-1] == [line.replace("written", "unchanged") for line in lines[:-1]]
    assert second.stderr == first.stderr
    assert "warning: bi100: conflict: warp_size: 64" in first.stderr
    assert snapshot(project / "generated") == files


@pytest.mark.usefixtures("project")
def test_result_as_data(run: Run) -> None:
    first = json.loads(run(*BUILD, "--format", "json").stdout)
    again = json.loads(run(*BUILD, "--format", "json").stdout)
    (target,) = first["targets"]
    assert [a["algorithm"] for a in target["algorithms"]] == ["reduce", "scan", "transform"]
    own = ("include/policygen/bi100/tuning_reduce.cuh", "python/policygen_tables/bi100/reduce.py")
    assert target["algorithms"][0]["files"] == dict.fromkeys(own, "written")
    assert any(line.startswith("conflict: ") for line in target["warnings"])
    assert (first["written"], first["unchanged"], first["removed"]) == (FILES, 0, 0)
    assert (again["written"], again["unchanged"], again["removed"]) == (0, FILES, 0)
    assert list(again["files"]) == sorted(first["files"])


@pytest.mark.usefixtures("project")
def test_quiet_verbose_and_strict(run: Run) -> None:
    assert "written include/policygen/bi100/tuning.cuh" in run(*BUILD, "-v").stderr
    assert run(*BUILD, "-q").stderr == ""
    assert "nothing has changed" in run(*BUILD, "-v").stderr
    # the target's evidence has conflicts, also when they were found by an earlier build
    strict = run(*BUILD, "--strict")
    assert strict.exit_code == 1
    assert last(strict.stdout) == f"0 files written, {FILES} unchanged"
    # of the transforms that CUB publishes some spill, and the compiled evidence says so
    spilling = run("build", "--target", "sm_90", "--strict")
    assert (spilling.exit_code, spilling.stderr.count("warning: "), "kernels spill" in spilling.stderr) == (1, 1, True)
    assert run("build", "--target", "sm_80", "--strict").exit_code == 0


def test_unknown_targets_are_told_together(run: Run, project: Path) -> None:
    result = run("build", "--target", "bi10", "--target", "sm_90", "--target", "h20")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.splitlines()[0] == 'unknown target "bi10"; did you mean "bi100"?'
    assert len(result.stderr.splitlines()) == 2
    assert not (project / "generated").exists()


def test_processes_change_nothing(run: Run, tmp_path: Path) -> None:
    results = []
    for jobs in ("1", "2"):
        folder = make_project(tmp_path / jobs, "bi100", "sm_90", "90")
        result = run("build", "--all", "--jobs", jobs, "--project", str(folder))
        results.append((result.exit_code, result.stdout, result.stderr, snapshot(folder / "generated")))
    assert results[0] == results[1]
    assert results[0][0] == 0


def test_where_it_is_called_from_changes_nothing(run: Run, built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = snapshot(built / "generated")
    monkeypatch.chdir("/")
    assert last(run(*BUILD, "--project", str(built)).stdout) == f"0 files written, {FILES} unchanged"
    assert snapshot(built / "generated") == files


def test_targets_beside_each_other(run: Run, built: Path) -> None:
    before = snapshot(built / "generated" / "include" / "policygen" / "bi100")
    result = run("build", "--target", "87")
    assert result.exit_code == 0
    assert "sm_87  reduce" in result.stdout
    assert snapshot(built / "generated" / "include" / "policygen" / "bi100") == before
    assert last(run(*BUILD).stdout) == f"0 files written, {FILES} unchanged"


def change_spec() -> None:
    spec = Path("specs/targets/bi100.toml")
    text = spec.read_text(encoding="utf-8")
    assert text.count("items_per_thread = 24") >= 1
    spec.write_text(text.replace("items_per_thread = 24", "items_per_thread = 22"), encoding="utf-8")


def edit_header() -> None:
    HEADER.write_text(HEADER.read_text(encoding="utf-8") + "// mine\n", encoding="utf-8")


def delete_table() -> None:
    TABLE.unlink()


def restore_old_table() -> None:
    stamp = TABLE.stat()
    TABLE.write_text(TABLE.read_text(encoding="utf-8").replace("512, 24", "512, 20"), encoding="utf-8")
    os.utime(TABLE, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))


def link_table() -> None:
    TABLE.rename("elsewhere.py")
    TABLE.symlink_to(Path("elsewhere.py").resolve())
    # what the link leads to has the right content, but nothing is written through one


def change_manifest() -> None:
    manifest = Path("generated/manifest.json")
    entries = json.loads(manifest.read_text(encoding="utf-8"))
    del entries["files"]["python/pyproject.toml"]
    manifest.write_text(json.dumps(entries), encoding="utf-8")


def rename_package() -> None:
    with Path("policygen.toml").open("a", encoding="utf-8") as settings:
        settings.write('tables_package = "other_tables"\n')


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (change_spec, f"3 files written, {FILES - 3} unchanged"),
        (edit_header, f"1 file written, {FILES - 1} unchanged"),
        (delete_table, f"1 file written, {FILES - 1} unchanged"),
        (restore_old_table, f"1 file written, {FILES - 1} unchanged"),
        (change_manifest, f"0 files written, {FILES} unchanged"),
        (rename_package, f"{FILES - 4} files written, 4 unchanged, {FILES - 5} removed"),
    ],
)
def test_a_change_is_noticed_with_and_without_the_state(
    run: Run, built: Path, change: Callable[[], None], told: str
) -> None:
    assert last(run(*BUILD).stdout) == f"0 files written, {FILES} unchanged"
    change()
    result = run(*BUILD)
    assert (result.exit_code, last(result.stdout)) == (0, told)
    after = snapshot(built / "generated")
    assert last(run(*BUILD).stdout).startswith("0 files written")
    for state in (built / ".policygen").iterdir():
        state.unlink()
    assert last(run(*BUILD).stdout).startswith("0 files written")
    assert snapshot(built / "generated") == after


def test_an_edited_file_is_told_and_written_anew(run: Run, built: Path) -> None:
    before = snapshot(built / "generated")
    edit_header()
    result = run(*BUILD)
    assert "warning: include/policygen/bi100/tuning_reduce.cuh had been edited by hand and was written" in result.stderr
    assert snapshot(built / "generated") == before
    assert "edited" not in run(*BUILD).stderr


def test_a_changed_template_or_compiler_is_noticed(run: Run, built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(*BUILD)
    files = iter([[Path("/dev/null")], [Path("/etc/hostname")]])
    from policygen.emit import build_state

    monkeypatch.setattr(build_state.BuildState, "_input_files", lambda _: [built / "policygen.toml", *next(files)])
    state = build_state.BuildState(built, ["bi100"])
    assert state.inputs() != state.inputs()
    monkeypatch.undo()
    names = {str(path) for path in build_state.BuildState(built, ["bi100"])._input_files()}
    for needed in ("templates/cuda/tuning.cuh.j2", "codegen/policygen/scaling.py", "specs/vocabulary.toml"):
        assert str(REPOSITORY / needed) in names
    assert str(built / "specs" / "targets" / "bi100.toml") in names


@pytest.mark.parametrize("content", [b"", b"\xff\n\xff", b"sha256:0\n{}", None])
def test_a_damaged_state_is_no_state(run: Run, built: Path, content: bytes | None) -> None:
    run(*BUILD)
    (state,) = (built / ".policygen").glob("build-*.json")
    whole = state.read_bytes()
    state.write_bytes(whole.replace(b'"reduce"', b'"rescan"') if content is None else content)
    result = run(*BUILD)
    assert (result.exit_code, last(result.stdout)) == (0, f"0 files written, {FILES} unchanged")
    assert "rescan" not in result.stdout
    assert state.read_bytes() == whole


def test_a_state_folder_that_cannot_be_made_costs_nothing_but_time(run: Run, built: Path) -> None:
    (built / ".policygen").write_text("mine", encoding="utf-8")
    for _ in range(2):
        assert last(run(*BUILD).stdout) == f"0 files written, {FILES} unchanged"
    assert (built / ".policygen").read_text(encoding="utf-8") == "mine"


@pytest.mark.usefixtures("built")
def test_an_unchanged_build_imports_little(run: Run) -> None:
    run(*BUILD)
    code = """
import sys
from policygen.cli.main import main
sys.argv = ["policygen", "build", "--target", "bi100"]
try:
    main()
finally:
    wanted = {"attr", "cattrs", "jinja2", "rich", "tomllib", "policygen.spec", "policygen.project", "policygen.build"}
    print(sorted(wanted & set(sys.modules)))
"""
    ended = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert last(ended.stdout) == "[]", ended.stderr


def test_a_foreign_file_in_the_way(run: Run, built: Path) -> None:
    run(*BUILD)
    (built / "generated").rename(built / "old")
    TABLE.parent.mkdir(parents=True)
    TABLE.write_text("mine\n", encoding="utf-8")
    result = run(*BUILD)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"{built / TABLE}: exists and was not written by policygen; move it away or delete it\n"
    assert snapshot(built / "generated") == {"python/policygen_tables/bi100/reduce.py": b"mine\n"}


@pytest.mark.usefixtures("built")
def test_a_link_in_the_way(run: Run) -> None:
    run(*BUILD)
    link_table()
    result = run(*BUILD)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "a symbolic link is in the way" in result.stderr


def test_a_manifest_that_is_none(run: Run, built: Path) -> None:
    (built / "generated" / "manifest.json").write_text("[]", encoding="utf-8")
    for command in (BUILD, ("check",)):
        result = run(*command)
        assert (result.exit_code, result.stdout) == (2, "")
        assert "manifest.json: not a manifest" in result.stderr


def test_an_output_that_is_no_folder(run: Run, project: Path) -> None:
    (project / "generated").write_text("mine", encoding="utf-8")
    result = run(*BUILD)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "is not a folder; name another output folder" in result.stderr


def test_a_read_only_output(run: Run, built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(*BUILD)
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: not mode & os.W_OK and access(path, mode))
    assert run(*BUILD).exit_code == 0  # nothing is to be written
    edit_header()
    before = snapshot(built / "generated")
    result = run(*BUILD)
    assert (result.exit_code, result.stdout) == (3, "")
    assert "cannot be written: Permission denied; nothing was changed" in result.stderr
    assert snapshot(built / "generated") == before


@pytest.mark.usefixtures("built")
def test_an_interrupted_build_is_finished_by_the_next(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    change_spec()

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("policygen.emit.transaction._move", killed)
        assert run(*BUILD).exit_code == 130
    result = run(*BUILD)
    assert "an interrupted build was found and finished" in result.stderr
    assert last(result.stdout) == f"0 files written, {FILES} unchanged"
    assert run("check").exit_code == 0


def test_files_of_a_target_that_is_gone_leave_with_all(run: Run, built: Path) -> None:
    spec = built / "specs" / "targets" / "bi100.toml"
    other = spec.with_name("other.toml")
    text = spec.read_text(encoding="utf-8").replace('= "bi100"', '= "other"', 1)
    other.write_text(text.replace('["Iluvatar BI-V100"]', "[]"), encoding="utf-8")
    assert run("build", "--target", "other").exit_code == 0
    assert run("check").exit_code == 0
    other.unlink()
    checked = run("check")
    assert checked.exit_code == 1
    assert "orphaned: include/policygen/other/tuning.cuh" in checked.stdout
    assert f"{FILES - 1} removed" in last(run("build", "--all").stdout)
    assert not (built / "generated" / "include" / "policygen" / "other").exists()
    assert run("check").exit_code == 0


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("delay", "quiet", "shown"), [(0.01, False, True), (60.0, False, False), (0.01, True, False)])
def test_progress_shows_where_work_takes_long(
    monkeypatch: pytest.MonkeyPatch, delay: float, quiet: bool, shown: bool
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress_module, "DELAY_SECONDS", delay)
    with progress(Session(Path(), "text", quiet, False), "building", 2) as advance:
        advance(0, "bi100")
        deadline = time.monotonic() + 5
        while shown and "bi100" not in terminal.getvalue() and time.monotonic() < deadline:
            time.sleep(0.01)
        advance(1, "sm_90")
    assert ("building bi100" in terminal.getvalue()) is shown
    assert shown or terminal.getvalue() == ""
