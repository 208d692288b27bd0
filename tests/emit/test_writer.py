"""The output folder: whole or not at all, ours and nobody else's, by content alone."""

from __future__ import annotations

import fcntl
import json
import os
import random
import stat
import subprocess
import sys
from collections.abc import Callable
from collections.abc import Iterator
from contextlib import contextmanager
from contextlib import suppress
from functools import cache
from pathlib import Path
from pathlib import PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from policygen.emit import writer
from policygen.emit.writer import Artifact
from policygen.emit.writer import Drift
from policygen.emit.writer import ManifestError
from policygen.emit.writer import Outcome
from policygen.emit.writer import OutputBusyError
from policygen.emit.writer import OutputError
from policygen.emit.writer import RecoveryStoppedError
from policygen.emit.writer import WriteRefused
from policygen.emit.writer import WriteReport
from policygen.emit.writer import apply
from policygen.emit.writer import check
from policygen.emit.writer import plan
from policygen.emit.writer import recover

BI100 = "target/bi100"
H200 = "target/h200"
OWNERS = (BI100, "project")
STAGING = ".policygen-staging"
LOCK = ".policygen-staging.lock"
CLEAN = Drift((), (), (), (), manifest_is_stale=False, blocked=())

OLD = {
    "include/a.cuh": "a 1\n",
    "include/b.cuh": "b 1\n",
    "python/gone/c.py": "c 1\n",
    "swap": "file\n",
    "turn/x": "x\n",
}
NEW = {
    "include/a.cuh": "a 2\n",
    "include/b.cuh": "b 1\n",
    "new/deep/d.py": "d 2\n",
    "swap/in": "folder\n",
    "turn": "x\n",
}


def artifacts(texts: dict[str, str], owner: str = BI100) -> list[Artifact]:
    return [Artifact(PurePosixPath(path), text.encode(), owner) for path, text in texts.items()]


def build(root: Path, texts: dict[str, str], owner: str = BI100) -> WriteReport:
    return apply(plan(root, artifacts(texts, owner), [owner]))


def tree(root: Path) -> dict[str, str | None]:
    """Content of every file and None for every folder."""
    return {
        path.relative_to(root).as_posix(): path.read_text() if path.is_file() else None
        for path in sorted(root.rglob("*"))
    }


def built(texts: dict[str, str]) -> dict[str, str | None]:
    """The tree after a build into an empty folder."""
    with TemporaryDirectory() as folder:
        build(Path(folder), texts)
        return tree(Path(folder))


def times(root: Path) -> dict[Path, int]:
    return {path: path.lstat().st_mtime_ns for path in [root, *root.rglob("*")]}


def names(*paths: str) -> tuple[PurePosixPath, ...]:
    return tuple(PurePosixPath(path) for path in paths)


class Crash(BaseException):
    """The process is dead: from here on it changes nothing on the disk."""


class Disk:
    """Counts every operation that changes the disk, and fails from number ``last`` on.

    With a crash, what was written and not synced is lost by half.
    """

    def __init__(self, last: int | None, fault: Callable[[], BaseException] = Crash) -> None:
        self.made = 0
        self.last = last
        self.fault = fault
        self.unsynced: set[Path] = set()

    def step(self) -> None:
        if self.last is None or self.made < self.last:
            self.made += 1
            return
        fault = self.fault()
        if isinstance(fault, Crash):
            for path in self.unsynced:
                os.truncate(path, path.stat().st_size // 2)
            self.unsynced.clear()
        raise fault


@contextmanager
def watched(disk: Disk) -> Iterator[Disk]:
    """Route the operations of ``os`` that change files through ``disk``."""
    real_open, real_replace = os.open, os.replace

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **named: Any) -> Any:
            disk.step()
            return real(*args, **named)

        return call

    def open_(path: Any, flags: int, *args: Any, **named: Any) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            disk.step()
            if Path(path).name != LOCK:
                disk.unsynced.add(Path(path).resolve())
        return real_open(path, flags, *args, **named)

    def sync(descriptor: int) -> None:
        disk.step()
        disk.unsynced.discard(Path(f"/proc/self/fd/{descriptor}").readlink())

    def replace(source: Path, target: Path) -> None:
        disk.step()
        moved = {Path(source).resolve()} & disk.unsynced
        real_replace(source, target)
        if moved:
            disk.unsynced -= moved
            disk.unsynced.add(Path(target).resolve())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "open", open_)
        patch.setattr(os, "fsync", sync)
        patch.setattr(os, "replace", replace)
        for name in ("rename", "unlink", "remove", "mkdir", "rmdir", "utime", "chmod"):
            patch.setattr(os, name, counted(getattr(os, name)))
        yield disk


def operations(old: dict[str, str], new: dict[str, str]) -> int:
    with TemporaryDirectory() as folder:
        build(Path(folder), old)
        with watched(Disk(None)) as disk:
            build(Path(folder), new)
        return disk.made


def crash_at(root: Path, new: dict[str, str], number: int) -> None:
    """Die during a build of ``new`` before the change of the disk with this number."""
    planned = plan(root, artifacts(new), [BI100])
    with watched(Disk(number)), suppress(Crash):
        apply(planned)
    # The dead process's lock file stays until somebody writes again; it keeps nobody out.
    (root / LOCK).unlink(missing_ok=True)


@cache
def midway() -> int:
    """The number of the first change of the disk after ``new/deep/d.py`` is in place."""
    for number in range(operations(OLD, NEW)):
        with TemporaryDirectory() as folder:
            build(Path(folder), OLD)
            crash_at(Path(folder), NEW, number)
            if (Path(folder) / "new/deep/d.py").exists():
                return number
    raise AssertionError("the file is never written")


def interrupted_midway(root: Path) -> None:
    """A build of OLD, then one of NEW that died with its journal complete and some files in place."""
    build(root, OLD)
    crash_at(root, NEW, midway())


@pytest.fixture(autouse=True, scope="module")
def quick_disk() -> Iterator[None]:
    """Skip the syncs, which no test can see: the processes that tests start make them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


# Building


def test_first_build_writes_everything(tmp_path: Path) -> None:
    report = build(tmp_path / "generated", OLD)
    assert report == WriteReport(names(*sorted(OLD)), (), (), ())
    assert {path: text for path, text in tree(tmp_path / "generated").items() if path in OLD} == OLD
    assert check(tmp_path / "generated", artifacts(OLD), [BI100]) == CLEAN
    assert not check(tmp_path / "generated", artifacts(OLD), [BI100])


def test_second_build_changes_what_changed(tmp_path: Path) -> None:
    build(tmp_path, OLD)
    before = (tmp_path / "include/b.cuh").stat()
    report = build(tmp_path, NEW)
    assert report.written == names("include/a.cuh", "new/deep/d.py", "swap/in", "turn")
    assert report.unchanged == names("include/b.cuh")
    assert report.removed == names("python/gone/c.py", "swap", "turn/x")
    assert tree(tmp_path) == built(NEW)
    assert (tmp_path / "include/b.cuh").stat().st_mtime_ns == before.st_mtime_ns


def test_unchanged_build_touches_nothing(tmp_path: Path) -> None:
    build(tmp_path, OLD)
    before = times(tmp_path)
    with watched(Disk(0)):
        report = build(tmp_path, OLD)
        assert recover(tmp_path).outcome is Outcome.NOTHING
        assert not check(tmp_path, artifacts(OLD), [BI100])
    assert report == WriteReport((), names(*sorted(OLD)), (), ())
    assert times(tmp_path) == before


def test_unchanged_build_works_in_a_read_only_folder(tmp_path: Path) -> None:
    root = tmp_path / "generated"
    build(root, {"a.cuh": "a\n"})
    root.chmod(0o555)
    try:
        assert build(root, {"a.cuh": "a\n"}).unchanged == names("a.cuh")
    finally:
        root.chmod(0o755)


@pytest.mark.parametrize("folder", ["", "include"])
def test_build_in_a_read_only_folder_changes_nothing(tmp_path: Path, folder: str) -> None:
    build(tmp_path, OLD)
    before = tree(tmp_path)
    (tmp_path / folder).chmod(0o555)
    try:
        if os.access(tmp_path / folder, os.W_OK):
            pytest.skip("this user may write everywhere")
        with pytest.raises(OutputError, match="cannot be written: Permission denied"):
            build(tmp_path, NEW)
    finally:
        (tmp_path / folder).chmod(0o755)
    assert tree(tmp_path) == before


def test_nothing_to_build_makes_no_folder(tmp_path: Path) -> None:
    assert plan(tmp_path / "generated", [], OWNERS).is_empty
    build(tmp_path / "generated", {})
    assert tree(tmp_path) == {}


def test_old_content_with_an_old_time_stamp_is_noticed(tmp_path: Path) -> None:
    build(tmp_path, {"a.cuh": "one\n"})
    status = (tmp_path / "a.cuh").stat()
    build(tmp_path, {"a.cuh": "two\n"})
    (tmp_path / "a.cuh").write_text("one\n")
    os.utime(tmp_path / "a.cuh", ns=(status.st_atime_ns, status.st_mtime_ns))
    assert check(tmp_path, artifacts({"a.cuh": "two\n"}), [BI100]).edited == names("a.cuh")
    assert build(tmp_path, {"a.cuh": "two\n"}).written == names("a.cuh")
    assert (tmp_path / "a.cuh").read_text() == "two\n"


def test_mode_follows_the_umask(tmp_path: Path) -> None:
    previous = os.umask(0o027)
    try:
        build(tmp_path, {"a.cuh": "a\n"})
    finally:
        os.umask(previous)
    assert stat.S_IMODE((tmp_path / "a.cuh").stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / "manifest.json").stat().st_mode) == 0o640


# Ours and others'


def test_edited_file_is_overwritten_and_reported(tmp_path: Path) -> None:
    build(tmp_path, {"a.cuh": "a\n", "b.cuh": "b\n"})
    (tmp_path / "a.cuh").write_text("mine\n")
    (tmp_path / "b.cuh").write_text("mine\n")
    assert check(tmp_path, artifacts({"a.cuh": "a\n", "b.cuh": "b\n"}), [BI100]).edited == names("a.cuh", "b.cuh")
    report = build(tmp_path, {"a.cuh": "a\n"})
    assert report == WriteReport(names("a.cuh"), (), names("b.cuh"), names("a.cuh", "b.cuh"))
    assert tree(tmp_path) == built({"a.cuh": "a\n"})


def test_foreign_file_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "include").mkdir()
    (tmp_path / "include/a.cuh").write_text("somebody's\n")
    before = times(tmp_path)
    planned = plan(tmp_path, artifacts(OLD), [BI100])
    assert planned.foreign == names("include/a.cuh")
    with watched(Disk(0)), pytest.raises(WriteRefused) as refused:
        apply(planned)
    assert str(refused.value) == (
        f"{tmp_path}/include/a.cuh: exists and was not written by policygen; move it away or delete it"
    )
    assert times(tmp_path) == before
    assert [refusal.path for refusal in check(tmp_path, artifacts(OLD), [BI100]).blocked] == [*names("include/a.cuh")]


def test_foreign_file_with_our_content_is_adopted(tmp_path: Path) -> None:
    build(tmp_path, OLD)
    (tmp_path / "manifest.json").unlink()
    drift = check(tmp_path, artifacts(OLD), [BI100])
    assert drift == Drift((), (), (), (), manifest_is_stale=True, blocked=())
    assert build(tmp_path, OLD).unchanged == names(*sorted(OLD))
    assert tree(tmp_path) == built(OLD)


def test_files_beside_ours_stay(tmp_path: Path) -> None:
    build(tmp_path, OLD)
    (tmp_path / "python/gone/README").write_text("mine\n")
    build(tmp_path, NEW)
    assert tree(tmp_path) == {**built(NEW), "python": None, "python/gone": None, "python/gone/README": "mine\n"}


def test_folder_whose_files_change_stays(tmp_path: Path) -> None:
    build(tmp_path, {"include/a.cuh": "a\n"})
    (tmp_path / "include").chmod(0o750)
    build(tmp_path, {"include/b.cuh": "b\n"})
    assert stat.S_IMODE((tmp_path / "include").stat().st_mode) == 0o750


def test_other_owners_files_stay(tmp_path: Path) -> None:
    build(tmp_path, {"a.cuh": "a\n"})
    build(tmp_path, {"h.cuh": "h\n"}, H200)
    (tmp_path / "h.cuh").write_text("edited\n")
    assert check(tmp_path, artifacts({"a.cuh": "a\n"}), [BI100]) == CLEAN
    build(tmp_path, {})
    assert (tmp_path / "h.cuh").read_text() == "edited\n"
    assert list(json.loads((tmp_path / "manifest.json").read_text())["files"]) == ["h.cuh"]
    build(tmp_path, {}, H200)
    assert list(tree(tmp_path)) == ["manifest.json"]


def test_check_tells_the_kinds_of_drift_apart(tmp_path: Path) -> None:
    texts = {"edited": "1\n", "gone": "1\n", "missing": "1\n", "right": "1\n", "stale": "1\n"}
    build(tmp_path, texts)
    (tmp_path / "edited").write_text("mine\n")
    (tmp_path / "missing").unlink()
    del texts["gone"]
    drift = check(tmp_path, artifacts(texts | {"stale": "2\n"}), [BI100])
    assert drift == Drift(
        names("missing"), names("stale"), names("edited"), names("gone"), manifest_is_stale=True, blocked=()
    )


# What is refused


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/etc/a", "absolute path"),
        ("../a", "'..' leaves"),
        ("a/../../b", "'..' leaves"),
        (".", "empty path"),
        ("a\\b", "backslash"),
        ("Manifest.json", "reserved"),
        (".policygen-staging/a", "reserved"),
    ],
)
def test_bad_path_is_refused(tmp_path: Path, path: str, reason: str) -> None:
    with pytest.raises(WriteRefused, match=reason):
        build(tmp_path / "root", {path: "a\n"})
    assert tree(tmp_path) == {}


def test_all_problems_are_listed_at_once(tmp_path: Path) -> None:
    build(tmp_path, {"h.cuh": "h\n"}, H200)
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("mine\n")
    before = tree(tmp_path)
    wanted = [
        *artifacts(
            {"a": "1\n", "A": "1\n", "b": "1\n", "b/c": "1\n", "file/x": "1\n", "folder": "1\n", "h.cuh": "1\n"}
        ),
        *artifacts({"a": "2\n"}, "project"),
        *artifacts({"n": "2\n"}, "target/none"),
    ]
    with pytest.raises(WriteRefused) as refused:
        apply(plan(tmp_path, wanted, OWNERS))
    assert str(refused.value).replace(f"{tmp_path}/", "").splitlines() == [
        "A: differs from 'a' (target/bi100) in case alone; rename one of them",
        "a: differs from 'A' (target/bi100) in case alone; rename one of them",
        "b/c: needs a folder where 'b' is a file; rename one of them",
        "file/x: 'file' is a file, but a folder is needed there; move it away",
        "folder: a folder is in the way; move it away",
        "h.cuh: produced by target/bi100, but also by target/h200; give each its own path",
        "n: belongs to target/none, which is not being built",
    ]
    assert tree(tmp_path) == before


def test_same_path_twice_is_refused(tmp_path: Path) -> None:
    wanted = [*artifacts({"a": "1\n"}), *artifacts({"a": "1\n"}, "project")]
    with pytest.raises(WriteRefused, match="a: produced by project, but also by target/bi100"):
        apply(plan(tmp_path, wanted, OWNERS))


def test_root_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "root").write_text("mine\n")
    with pytest.raises(WriteRefused, match="root: is not a folder"):
        build(tmp_path / "root", OLD)


@pytest.mark.parametrize("inside", [True, False])
def test_nothing_is_written_or_removed_through_a_link(tmp_path: Path, inside: bool) -> None:
    root = tmp_path / "root"
    build(root, {"include/a.cuh": "a\n"})
    elsewhere = root / "real" if inside else tmp_path / "elsewhere"
    (root / "include").rename(elsewhere)
    (root / "include").symlink_to(elsewhere)
    before = tree(tmp_path)
    for texts in ({"include/a.cuh": "2\n"}, {}):
        with pytest.raises(WriteRefused, match="'include' is a symbolic link"):
            build(root, texts)
    assert tree(tmp_path) == before


def test_linked_file_is_not_replaced(tmp_path: Path) -> None:
    build(tmp_path, {"a.cuh": "a\n"})
    (tmp_path / "a.cuh").rename(tmp_path / "real")
    (tmp_path / "a.cuh").symlink_to("real")
    with pytest.raises(WriteRefused, match="a symbolic link is in the way"):
        build(tmp_path, {"a.cuh": "2\n"})
    assert (tmp_path / "real").read_text() == "a\n"


def test_root_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "root").symlink_to("real")
    build(tmp_path / "root", OLD)
    assert tree(tmp_path / "real") == built(OLD)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"a\r\nb\n", "a.cuh:1: carriage return"),
        (b"a\nb\rc\n", "a.cuh:2: carriage return"),
        (b"a", "not ended"),
        (b"\xff\n", "not UTF-8 at byte 0"),
    ],
)
def test_artifact_is_text(content: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        Artifact(PurePosixPath("a.cuh"), content, BI100)


def test_artifact_may_be_empty(tmp_path: Path) -> None:
    build(tmp_path, {"py.typed": ""})
    assert (tmp_path / "py.typed").read_bytes() == b""


# The manifest


def test_manifest_does_not_depend_on_order(tmp_path: Path) -> None:
    wanted = [*artifacts(OLD), *artifacts({"py.typed": "", "z": "z\n"}, "project")]
    texts = set()
    for seed in range(4):
        random.Random(seed).shuffle(wanted)
        apply(plan(tmp_path / str(seed), wanted, OWNERS))
        texts.add((tmp_path / str(seed) / "manifest.json").read_bytes())
    (text,) = texts
    files = json.loads(text)["files"]
    assert list(files) == sorted([*OLD, "py.typed", "z"])
    assert files["py.typed"] == {
        "digest": "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "owner": "project",
    }
    assert text.endswith(b"}\n")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{\n"a": <<<<<<<\n', r"manifest\.json:2: not JSON"),
        ('{"name": "my app"}', "not a manifest: expected exactly the keys"),
        ('{"files": {}, "format": 2}', "format 2, but this version of policygen reads format 1"),
        ('{"files": {"a": 1, "a": 1}, "format": 1}', "'a' occurs twice"),
        ('{"files": {"../a": {}}, "format": 1}', "leaves the output folder"),
        ('{"files": {"a//b": {}}, "format": 1}', "write it as 'a/b'"),
        ('{"files": {"a": {"digest": "x", "owner": "o"}}, "format": 1}', "expected a digest"),
        ('{"files": [], "format": 1}', "'files' must map"),
        ("[" * 100_000, "not a manifest"),
    ],
)
def test_manifest_that_cannot_be_trusted_stops_the_build(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(ManifestError, match=reason):
        build(tmp_path, OLD)
    assert tree(tmp_path) == {"manifest.json": text}


# Crashes


@pytest.mark.parametrize(("old", "new"), [(OLD, NEW), (NEW, OLD), ({}, NEW), (OLD, {})])
def test_crash_at_every_step_leaves_all_old_or_all_new(
    tmp_path: Path, old: dict[str, str], new: dict[str, str]
) -> None:
    total = operations(old, new)
    outcomes = []
    for number in range(total):
        root = tmp_path / str(number)
        root.mkdir()
        build(root, old)
        before = tree(root)
        crash_at(root, new, number)
        after = built_after(before, new)
        found = tree(root)
        if found.get("manifest.json", None) == after.get("manifest.json", None):
            # The manifest comes last: what it says is true.
            assert {path: text for path, text in found.items() if not path.startswith(STAGING)} == after, number
        outcome = recover(root).outcome
        outcomes.append(outcome)
        left = tree(root)
        expected = {Outcome.ROLLED_BACK: [before], Outcome.ROLLED_FORWARD: [after]}.get(outcome, [before, after])
        assert left in expected, number
        build(root, new)
        assert tree(root) == after, number
    assert {Outcome.ROLLED_BACK, Outcome.ROLLED_FORWARD} <= set(outcomes)


def built_after(before: dict[str, str | None], new: dict[str, str]) -> dict[str, str | None]:
    return built(new) or ({"manifest.json": '{\n "files": {},\n "format": 1\n}\n'} if before else {})


def test_crash_during_recovery_is_recovered(tmp_path: Path) -> None:
    interrupted_midway(tmp_path)
    for number in range(1000):
        with watched(Disk(number)) as disk, suppress(Crash):
            recover(tmp_path)
        if disk.made < number:
            break
    (tmp_path / LOCK).unlink(missing_ok=True)
    assert tree(tmp_path) == built(NEW)


def test_full_disk_leaves_old_or_is_finished_later(tmp_path: Path) -> None:
    for number in range(operations(OLD, NEW)):
        root = tmp_path / str(number)
        root.mkdir()
        build(root, OLD)
        disk = Disk(number, lambda: OSError(28, "No space left on device"))
        planned = plan(root, artifacts(NEW), [BI100])
        with watched(disk), suppress(OSError), pytest.raises(OutputError, match="No space left on device"):
            apply(planned)
        recover(root)
        (root / LOCK).unlink(missing_ok=True)
        assert tree(root) in (built(OLD), built(NEW)), number


def test_failure_while_staging_leaves_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build(tmp_path, OLD)
    before = tree(tmp_path)

    def fail(_: int) -> None:
        monkeypatch.undo()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OutputError, match="No space left on device; nothing was changed"):
        build(tmp_path, NEW)
    assert tree(tmp_path) == before


def test_apply_first_finishes_an_interrupted_build(tmp_path: Path) -> None:
    interrupted_midway(tmp_path)
    report = build(tmp_path, NEW)
    assert report.unchanged == names(*sorted(NEW))
    assert tree(tmp_path) == built(NEW)


@pytest.mark.parametrize("finish_first", [False, True])
def test_another_builds_new_files_are_not_foreign(tmp_path: Path, finish_first: bool) -> None:
    interrupted_midway(tmp_path)
    newer = NEW | {"new/deep/d.py": "d 3\n"}
    planned = plan(tmp_path, artifacts(newer), [BI100])
    assert planned.foreign == names("new/deep/d.py")
    if finish_first:
        recover(tmp_path)
    assert apply(planned).written == names("new/deep/d.py")
    assert tree(tmp_path) == built(newer)


def test_recovery_names_what_it_finished(tmp_path: Path) -> None:
    interrupted_midway(tmp_path)
    report = recover(tmp_path)
    assert report.outcome is Outcome.ROLLED_FORWARD
    assert set(report.paths) == set(
        names("include/a.cuh", "new/deep/d.py", "swap/in", "turn", "python/gone/c.py", "swap", "turn/x")
    )
    assert recover(tmp_path).outcome is Outcome.NOTHING


@pytest.mark.parametrize("path", ["include/a.cuh", "new/deep/d.py", "turn", "manifest.json"])
def test_recovery_stops_where_a_file_was_edited_since(tmp_path: Path, path: str) -> None:
    interrupted_midway(tmp_path)
    (tmp_path / path).write_text("mine\n")
    before = tree(tmp_path)
    with pytest.raises(RecoveryStoppedError, match=rf"{path}: changed while a build was under way"):
        recover(tmp_path)
    assert tree(tmp_path) == before


def test_recovery_stops_where_new_content_is_lost(tmp_path: Path) -> None:
    interrupted_midway(tmp_path)
    for staged in (tmp_path / STAGING).glob("[0-9]*"):
        staged.write_text("damaged\n")
    before = tree(tmp_path)
    with pytest.raises(RecoveryStoppedError, match=r"is lost; delete this folder .* then build again"):
        recover(tmp_path)
    assert tree(tmp_path) == before


def test_giving_an_interrupted_build_up(tmp_path: Path) -> None:
    interrupted_midway(tmp_path)
    for left in (tmp_path / STAGING).iterdir():
        left.unlink()
    (tmp_path / STAGING).rmdir()
    build(tmp_path, NEW)
    assert tree(tmp_path) == built(NEW)


@pytest.mark.parametrize("keep", [0, 1, 40])
def test_torn_journal_is_rolled_back(tmp_path: Path, keep: int) -> None:
    build(tmp_path, OLD)
    before = tree(tmp_path)
    (tmp_path / STAGING).mkdir()
    (tmp_path / STAGING / "0000").write_text("a 2\n")
    (tmp_path / STAGING / "journal.json").write_text('{"format": 1, "seal": "sha256:0", "steps": []}'[:keep])
    assert recover(tmp_path).outcome is Outcome.ROLLED_BACK
    assert tree(tmp_path) == before


def test_staging_folder_that_is_a_link_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/a").write_text("a\n")
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / STAGING).symlink_to(tmp_path / "mine")
    with pytest.raises(RecoveryStoppedError, match="move it away"):
        build(tmp_path / "root", OLD)
    assert (tmp_path / "mine/a").read_text() == "a\n"


def python(code: str, *args: str) -> subprocess.Popen[str]:
    code_root = str(Path(writer.__file__).parents[2])
    return subprocess.Popen(
        [sys.executable, "-c", code, *args],
        env={**os.environ, "PYTHONPATH": code_root},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


KILLED = """
import os, signal, sys
from pathlib import Path, PurePosixPath
from policygen.emit.writer import Artifact, apply, plan

root, number, replace = Path(sys.argv[1]), int(sys.argv[2]), os.replace
def counted(source, target):
    global number
    number -= 1
    if number < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    replace(source, target)
os.replace = counted
wanted = [Artifact(PurePosixPath(name), b"2\\n", "target/bi100") for name in ("a", "b", "new")]
apply(plan(root, wanted, ["target/bi100"]))
"""


def test_killed_process_is_recovered(tmp_path: Path) -> None:
    old, new = {"a": "1\n", "b": "1\n", "old": "1\n"}, {"a": "2\n", "b": "2\n", "new": "2\n"}
    processes = []
    for number in (0, 1, 3, 5):
        build(tmp_path / str(number), old)
        processes.append((number, python(KILLED, str(tmp_path / str(number)), str(number))))
    for number, process in processes:
        output, _ = process.communicate(timeout=30)
        root = tmp_path / str(number)
        assert process.returncode == (0 if number == 5 else -9), output
        expected = {0: Outcome.ROLLED_BACK, 5: Outcome.NOTHING}.get(number, Outcome.ROLLED_FORWARD)
        assert recover(root).outcome is expected
        assert not (root / LOCK).exists()
        assert tree(root) == built(old if number == 0 else new)


# Several processes


BUSY = """
import sys
from pathlib import Path, PurePosixPath
from policygen.emit.writer import Artifact, apply, plan

root, owner = Path(sys.argv[1]), sys.argv[2]
for turn in range(15):
    wanted = [Artifact(PurePosixPath(f"{owner}/{name}"), f"{turn}\\n".encode(), owner) for name in range(turn % 4)]
    wanted += [Artifact(PurePosixPath(f"{owner}/{turn}/last"), b"last\\n", owner)]
    apply(plan(root, wanted, [owner]))
"""


def test_concurrent_builds_do_not_mix(tmp_path: Path) -> None:
    owners = ["target/a", "target/b", "target/b"]
    processes = [python(BUSY, str(tmp_path), owner) for owner in owners]
    for process in processes:
        output, _ = process.communicate(timeout=30)
        assert process.returncode == 0, output
    files = {f"{owner}/{name}": "14\n" for owner in owners for name in range(14 % 4)}
    files |= {f"{owner}/14/last": "last\n" for owner in owners}
    found = tree(tmp_path)
    listed = json.loads(found.pop("manifest.json") or "")["files"]
    assert {path: text for path, text in found.items() if text is not None} == files
    assert set(listed) == set(files)


def test_build_waits_for_another_and_then_says_so(tmp_path: Path) -> None:
    lock = tmp_path / LOCK
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(OutputBusyError, match=r"did not finish within 0\.05 s"):
            apply(plan(tmp_path, artifacts(OLD), [BI100]), wait_seconds=0.05)
    # Nobody holds the file that is left now.
    build(tmp_path, OLD)
    assert tree(tmp_path) == built(OLD)


def test_lock_that_its_last_holder_deletes_is_taken_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real_lock, locks = fcntl.flock, []

    def lock(descriptor: int, operation: int) -> None:
        real_lock(descriptor, operation)
        locks.append(descriptor)
        if len(locks) == 1:
            (tmp_path / LOCK).rename(tmp_path / "deleted")
            (tmp_path / LOCK).touch()

    monkeypatch.setattr(fcntl, "flock", lock)
    build(tmp_path, OLD)
    assert len(locks) == 2


def test_plan_is_made_anew_before_writing(tmp_path: Path) -> None:
    planned = plan(tmp_path, artifacts({"a": "1\n"}), [BI100])
    build(tmp_path, {"h": "h\n"}, H200)
    (tmp_path / "a").write_text("somebody's\n")
    with pytest.raises(WriteRefused):
        apply(planned)
    (tmp_path / "a").unlink()
    apply(planned)
    assert list(json.loads((tmp_path / "manifest.json").read_text())["files"]) == ["a", "h"]


def test_file_that_changes_while_staging_is_not_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build(tmp_path, OLD)

    def edit(_: int) -> None:
        monkeypatch.undo()
        (tmp_path / "include/a.cuh").write_text("mine\n")

    monkeypatch.setattr(os, "fsync", edit)
    with pytest.raises(RecoveryStoppedError, match=r"a\.cuh: changed while a build was under way"):
        build(tmp_path, NEW)
    assert tree(tmp_path) == built(OLD) | {"include/a.cuh": "mine\n"}


# Any sequence of builds and crashes


TEXTS = st.dictionaries(st.sampled_from(["a", "b", "c/a", "c/b", "d/e/f"]), st.sampled_from(["1\n", "2\n"]), min_size=1)


@given(st.lists(st.tuples(TEXTS, st.integers(0, 60)), min_size=1, max_size=5))
@settings(max_examples=40)
def test_any_history_ends_in_one_of_its_builds(history: list[tuple[dict[str, str], int]]) -> None:
    with TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "mine").write_text("mine\n")
        before: dict[str, str | None] = {"mine": "mine\n"}
        for texts, number in history:
            crash_at(root, texts, number)
            recover(root)
            after = {**built(texts), "mine": "mine\n"}
            assert tree(root) in (before, after)
            before = tree(root)
        build(root, history[-1][0])
        assert tree(root) == {**built(history[-1][0]), "mine": "mine\n"}
