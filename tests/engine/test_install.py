"""Numbers of the tables in the place of an engine's constants: what is replaced, refused, logged and undone."""

from __future__ import annotations

import importlib
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from policygen_tables.bi100 import attention
from policygen_tables.bi100 import install as installing
from policygen_tables.bi100._runtime import NotApplicable
from policygen_tables.bi100.install import Number
from policygen_tables.bi100.install import install

import engine_constants
from engine.conftest import EXAMPLES
from engine.conftest import ROOT
from engine.conftest import built_tables
from interpreters import find_python310

PARTITION = Number("attention.decode.partition_size", "tokens", seq_len=100_000)


@pytest.fixture
def constants() -> Any:
    """The engine's module as it is after its import."""
    return importlib.reload(engine_constants)


@pytest.fixture(scope="module")
def no_triton(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Tables of a target, beside the others, that has no Triton at all."""
    folder = tmp_path_factory.mktemp("no_triton")
    target = folder / "specs" / "targets" / "no_triton.toml"
    target.parent.mkdir(parents=True)
    target.write_text('name = "no_triton"\ntitle = "No Triton"\nextends = "bi100"\n[features]\ntriton = false\n')
    tables = ["attention.prefill", "attention.split_k", "norm.rms"]
    path = str(built_tables(folder, "no_triton", tables))
    sys.path.append(path)
    yield "no_triton"
    sys.path.remove(path)


def test_constants_are_replaced_and_put_back(constants: Any) -> None:
    before = dict(vars(constants))
    rows = Number("norm.rms.block_size", "elements", row_size=7168)
    kernel = Number("attention.decode.kernel", "", seq_len=100_000)
    mapping = {"PARTITION_SIZE": PARTITION, "RMS_BLOCK": rows, "DECODE_KERNEL": kernel}
    installed = install(constants, mapping, environ={})
    assert (constants.PARTITION_SIZE, constants.RMS_BLOCK, constants.DECODE_KERNEL) == (512, 8192, "v2")
    assert installed.target == "bi100"
    assert [(one.name, one.before, one.after) for one in installed.replaced] == [
        ("PARTITION_SIZE", 256, 512),
        ("RMS_BLOCK", 4096, 8192),
        ("DECODE_KERNEL", "v1", "v2"),
    ]
    assert constants.partition_table(513) == [(0, 512), (512, 513)]
    installed.undo()
    assert vars(constants) == before
    constants.PARTITION_SIZE = 7
    installed.undo()
    assert constants.PARTITION_SIZE == 7


def test_what_changed_since_is_not_put_back(constants: Any) -> None:
    mapping = {"PARTITION_SIZE": PARTITION, "RMS_WARPS": Number("norm.rms.num_warps", "warps")}
    installed = install(constants, mapping, environ={})
    constants.PARTITION_SIZE = 1024
    with pytest.raises(ValueError, match="engine_constants: PARTITION_SIZE changed since: undo that first"):
        installed.undo()
    assert (constants.PARTITION_SIZE, constants.RMS_WARPS) == (1024, 4)
    constants.PARTITION_SIZE = 512
    installed.undo()
    assert (constants.PARTITION_SIZE, constants.RMS_WARPS) == (256, 8)


REFUSED: list[tuple[str, Number, str]] = [
    (
        "PARTITION_SZE",
        PARTITION,
        "engine_constants has no 'PARTITION_SZE'; did you mean PARTITION_SIZE or MAX_PARTITIONS?",
    ),
    ("NOTHING_LIKE_IT", PARTITION, "engine_constants has no 'NOTHING_LIKE_IT'"),
    (
        "PARTITION_SIZE",
        Number("attention.decode.partition_size", "partitions", seq_len=100_000),
        "PARTITION_SIZE: attention.decode.partition_size counts tokens, not partitions",
    ),
    (
        "PARTITION_SIZE",
        Number("attention.decode.num_partitions", "tokens", seq_len=100_000),
        "PARTITION_SIZE: attention.decode.num_partitions counts partitions, not tokens",
    ),
    (
        "PARTITION_SIZE",
        Number("attention.decode.kernel", "tokens", seq_len=1),
        "PARTITION_SIZE: attention.decode.kernel counts nothing, not tokens",
    ),
    (
        "PARTITION_SIZE",
        Number("attention.decode.kernel", "", seq_len=1),
        "PARTITION_SIZE is 256, and attention.decode.kernel is 'v1': expected the same type",
    ),
    (
        "PARTITION_SIZE",
        Number("atention.decode.kernel", ""),
        "policygen_tables.bi100 has no 'atention'; did you mean attention?",
    ),
    (
        "PARTITION_SIZE",
        Number("attention.decod.kernel", ""),
        "policygen_tables.bi100.attention has no 'decod'; did you mean decode?",
    ),
    (
        "PARTITION_SIZE",
        Number("attention.decode.partitions", "tokens"),
        "attention.decode has no 'partitions'; did you mean partition_size or num_partitions or last_partition?",
    ),
    ("PARTITION_SIZE", Number("reduce.policy.items", "items"), "policygen_tables.bi100.reduce has no 'policy'"),
    ("PARTITION_SIZE", Number("attention", "tokens"), "policygen_tables.bi100.attention has no ''"),
    (
        "PARTITION_SIZE",
        Number("attention.decode.partition_size", "tokens", seq_len=-1),
        "PARTITION_SIZE: seq_len: expected an integer from 0 to 2147450879, not -1",
    ),
    (
        "PARTITION_SIZE",
        Number("attention.decode.partition_size", "tokens", tokens=1),
        "PARTITION_SIZE: decode() got an unexpected keyword argument 'tokens'",
    ),
    (
        "PARTITION_SIZE",
        Number("attention.decode.partition_size", "tokens", seq_len=512),
        "PARTITION_SIZE: attention.decode.partition_size is 0 for this key, which has none",
    ),
    (
        "FLASH_MAX_HEAD",
        Number("attention.flash.max_head_size", "elements"),
        "FLASH_MAX_HEAD: flash-head-size: the precompiled kernel takes heads of up to 128 elements",
    ),
]


@pytest.mark.parametrize(("name", "number", "reason"), REFUSED)
def test_what_does_not_match_is_refused(constants: Any, name: str, number: Number, reason: str) -> None:
    before = dict(vars(constants))
    with pytest.raises(ValueError) as raised:  # noqa: PT011 -- compared below
        install(constants, {"KV_BLOCK_SIZE": Number("norm.rms.vec_size", "elements"), name: number}, environ={})
    assert str(raised.value).startswith(reason)
    assert type(raised.value) is ValueError
    assert vars(constants) == before


def test_everything_that_is_wrong_is_told_at_once(constants: Any) -> None:
    wrong = {name: number for name, number, _ in REFUSED}
    with pytest.raises(ValueError) as raised:  # noqa: PT011 -- compared below
        install(constants, wrong, environ={})
    told = str(raised.value).splitlines()
    assert [line.split()[0].rstrip(":") for line in told] == [
        "engine_constants",
        "engine_constants",
        "PARTITION_SIZE",
        "FLASH_MAX_HEAD",
    ]


def test_a_table_without_a_backend_is_not_applicable(constants: Any, no_triton: str) -> None:
    before = dict(vars(constants))
    blocks = {"SPLIT_BLOCK_N": Number("attention.split_k.block_n", "tokens", seq_len=100_000)}
    with pytest.raises(NotApplicable, match=r"SPLIT_BLOCK_N: attention\.split_k: triton: no_triton does not have it"):
        install(constants, blocks, environ={"POLICYGEN_TABLES": no_triton})
    own: Any = importlib.import_module("policygen_tables.no_triton.install")
    with pytest.raises(importlib.import_module("policygen_tables.no_triton._runtime").NotApplicable):
        own.install(constants, {"SPLIT_BLOCK_N": own.Number("attention.split_k.block_n", "tokens")}, environ={})
    with pytest.raises(ValueError, match=r"(?s)triton.*\n.*has no 'MISSING'") as raised:
        install(constants, {**blocks, "MISSING": PARTITION}, environ={"POLICYGEN_TABLES": no_triton})
    assert not isinstance(raised.value, NotApplicable)
    assert vars(constants) == before


def test_the_environment_names_the_target_or_none(constants: Any, device_tables: Path) -> None:
    assert device_tables.is_dir()
    before = dict(vars(constants))
    wide = {"FLASH_MAX_HEAD": Number("attention.flash.max_head_size", "elements")}
    off = install(constants, {"MISSING": PARTITION}, environ={"POLICYGEN_TABLES": "off"})
    assert (off.target, off.replaced, vars(constants)) == ("off", (), before)
    off.undo()
    installed = install(constants, wide, environ={"POLICYGEN_TABLES": "h200"})
    assert (installed.target, constants.FLASH_MAX_HEAD) == ("h200", 256)
    installed.undo()
    with pytest.raises(ValueError, match="flash-head-size"):
        install(constants, wide, environ={"POLICYGEN_TABLES": "bi100"})
    with pytest.raises(ValueError, match=r"POLICYGEN_TABLES=h100: no such tables beside policygen_tables\.bi100"):
        install(constants, wide, environ={"POLICYGEN_TABLES": "h100"})


def test_the_environment_of_the_process_counts(constants: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLICYGEN_TABLES", "off")
    assert install(constants, {"PARTITION_SIZE": PARTITION}).target == "off"
    monkeypatch.setenv("POLICYGEN_TABLES", "")
    assert install(constants, {"PARTITION_SIZE": PARTITION}).target == "bi100"


def test_the_log_has_the_banner_once(
    constants: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installing, "_TOLD", set())
    caplog.set_level(logging.INFO, "policygen_tables.bi100")
    for _ in range(2):
        install(constants, {"PARTITION_SIZE": PARTITION}, environ={}).undo()
    banner, *others = [record.message for record in caplog.records]
    assert banner == importlib.import_module("policygen_tables.bi100").BANNER
    assert others == ["engine_constants.PARTITION_SIZE: 512, was 256 (attention.decode.partition_size)"] * 2


def test_the_log_says_what_the_numbers_do_not_reach(
    constants: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    early = ModuleType("early")
    early.PARTITION_SIZE = constants.PARTITION_SIZE  # type: ignore[attr-defined]
    late = ModuleType("late")
    late.PARTITION_SIZE = 300  # type: ignore[attr-defined]
    for module in (early, late):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    blocks = Number("attention.split_k.block_n", "tokens", seq_len=1)
    installed = install(constants, {"PARTITION_SIZE": PARTITION, "SPLIT_BLOCK_N": blocks}, environ={})
    assert [one.copies for one in installed.replaced] == [("early",), ()]
    assert [bool(one.not_in_effect) for one in installed.replaced] == [False, True]
    told = [record.message for record in caplog.records if record.levelno == logging.WARNING]
    assert told == [
        "PARTITION_SIZE stays 256 in early: install before they import it",
        f"attention.split_k.block_n is not in effect: {attention.NOT_IN_EFFECT['split_k']}",
    ]


ALONE = """
import sys, types
from policygen_tables.bi100.install import Number, install
heavy = {"typing", "enum", "dataclasses", "inspect", "re", "json", "logging", "difflib"} & set(sys.modules)
assert not heavy, heavy
engine = types.ModuleType("engine")
engine.PARTITION = None
number = Number("attention.decode.partition_size", "tokens", seq_len=100_000)
installed = install(engine, {"PARTITION": number}, environ={})
assert engine.PARTITION == 512
installed.undo()
assert engine.PARTITION is None
"""


@pytest.mark.parametrize("python", [sys.executable, find_python310()], ids=["this-python", "python-3.10"])
def test_it_needs_nothing_but_the_standard_library(python: str | Path | None) -> None:
    if python is None:
        pytest.skip("no Python 3.10 was found")
    code = f"import sys; sys.path.insert(0, {str(ROOT / 'generated' / 'python')!r})\n{ALONE}"
    command = [str(python), "-I", "-S", "-B", "-W", "error", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("variable", "returncode", "last"),
    [
        ("", 0, "bi100: 196 partitions, the last (99840, 100000)"),
        ("h200", 0, "h200: 196 partitions, the last (99840, 100000)"),
        ("off", 1, "off: 100000 tokens are 391 partitions; there are buffers for 64"),
    ],
)
def test_the_example_switches_at_its_start(device_tables: Path, variable: str, returncode: int, last: str) -> None:
    path = os.pathsep.join([str(ROOT / "generated" / "python"), str(device_tables)])
    environment = {**os.environ, "POLICYGEN_TABLES": variable, "PYTHONPATH": path}
    command = [sys.executable, "-W", "error", str(EXAMPLES / "install.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == returncode, done.stderr
    assert (done.stderr if returncode else done.stdout).splitlines()[-1] == last
