"""Rows of generated tables, compared field by field, whatever lies on the disk."""

from __future__ import annotations

from pathlib import Path
from pathlib import PurePosixPath

import pytest

from policygen.emit.comparison import Artifact
from policygen.emit.drift import policy_changes

PATH = PurePosixPath("python/tables/chip/reduce.py")
MODULE = """\
class Pass(Record):
    threads: int
    vec: bool


class Policy(Record):
    algorithm: str
    inner: Pass


_COMMON = {
    # why
    ('float32', 4, None, (info(1, True),)): Policy('fast', Pass(512, True)),
    ('int8', 8, None, ()): Policy('slow', inner=Pass(256, vec=False)),
}


def policy(*, accum_t: str, offset_size: int, size: int | None = None, inputs: tuple[info, ...] = ()) -> Policy:
    return _COMMON[accum_t, offset_size, size, inputs]
"""


def changes(folder: Path, old: bytes | str, new: str = MODULE) -> list[str]:
    file = folder / PATH
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(old.encode() if isinstance(old, str) else old)
    return [str(c) for c in policy_changes(folder, [Artifact(PATH, new.encode(), "target/chip")], [PATH])]


def test_no_change(tmp_path: Path) -> None:
    assert changes(tmp_path, MODULE.replace("# why", "# another reason")) == []


def test_fields_and_keys_have_names(tmp_path: Path) -> None:
    old = MODULE.replace("Policy('fast', Pass(512, True))", "Policy('slow', Pass(256, False))")
    assert changes(tmp_path, old) == [
        "chip reduce accum_t=float32 offset_size=4 inputs=[(1, true)]: "
        "algorithm slow -> fast, inner.threads 256 -> 512, inner.vec false -> true"
    ]


def test_rows_that_one_side_lacks(tmp_path: Path) -> None:
    old = MODULE.replace("('int8', 8, None, ())", "('int16', 8, 7, ())")
    assert changes(tmp_path, old) == [
        "chip reduce accum_t=int8 offset_size=8: added",
        "chip reduce accum_t=int16 offset_size=8 size=7: removed",
    ]


def test_fields_that_one_side_lacks(tmp_path: Path) -> None:
    old = MODULE.replace("    vec: bool\n", "").replace("Pass(512, True)", "Pass(512)").replace(", vec=False", "")
    assert changes(tmp_path, old)[1].endswith("inner.vec nothing -> false")


def test_policies_with_names_of_their_own(tmp_path: Path) -> None:
    old = MODULE.replace("Policy('fast', Pass(512, True)),", "_FAST,").replace(
        "_COMMON = {", "_FAST = Policy('fast', Pass(384, True))\n_COMMON = {"
    )
    assert changes(tmp_path, old) == [
        "chip reduce accum_t=float32 offset_size=4 inputs=[(1, true)]: inner.threads 384 -> 512"
    ]


@pytest.mark.parametrize(
    "old",
    [
        "",
        "(",
        "x = 1\n",
        "_COMMON = 7\n",
        "_COMMON = _COMMON\n",
        b"\xff\xfe",
        b"x\0y",
        "x = " + "(" * 5000,
        "x = " + "-" * 50_000 + "1",
    ],
)
def test_what_is_no_table_has_no_rows(tmp_path: Path, old: bytes | str) -> None:
    assert changes(tmp_path, old) == []


def test_files_that_cannot_be_read_have_no_rows(tmp_path: Path) -> None:
    (tmp_path / PATH).mkdir(parents=True)
    assert policy_changes(tmp_path, [Artifact(PATH, MODULE.encode(), "target/chip")], [PATH]) == []
