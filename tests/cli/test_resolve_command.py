"""`policygen resolve`: one key, and keys in a stream."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from cli.conftest import Run
from policygen.project import load

REDUCE = ("resolve", "--target", "bi100", "--algorithm", "reduce")
KEY = ("--key", "accum_t=float32", "--key", "operation_t=plus", "--key", "offset_size=4")
GOOD = '{"accum_t": "float32", "operation_t": "plus", "offset_size": 4}'


def answers(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.usefixtures("project")
def test_one_key(run: Run) -> None:
    result = run(*REDUCE, *KEY)
    assert (result.exit_code, result.stderr) == (0, "")
    lines = dict(line.split(" = ") for line in result.stdout.splitlines())
    assert lines["multi_tile.threads_per_block"] == "512"
    assert lines["multi_tile.items_per_thread"] == "24"
    assert lines["point"] == "bi100/4B"


def test_json_is_what_the_library_says(run: Run, project: Path) -> None:
    result = run(*REDUCE, *KEY, "--format", "json")
    resolution = load(project).resolve("bi100", "reduce", accum_t="float32", operation_t="plus", offset_size=4)
    assert json.loads(result.stdout) == {"policy": resolution.policy.as_dict(), "point": resolution.point}


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("name", ["sm_90", "90", "9.0", "sm_90a", "compute_90"])
def test_spellings_of_an_architecture(run: Run, name: str) -> None:
    result = run("resolve", "--target", name, "--algorithm", "reduce", *KEY, "--format", "json")
    assert result.exit_code == 0
    assert (
        result.stdout == run("resolve", "--target", "sm_90", "--algorithm", "reduce", *KEY, "--format", "json").stdout
    )


@pytest.mark.usefixtures("project")
def test_lists_records_and_truth_values(run: Run) -> None:
    inputs = '[{"value_type_size": 4}, {"value_type_size": 2, "is_contiguous": false}]'
    arguments = ("--key", f"inputs={inputs}", "--key", 'output={"value_type_size": 4}', "--key", "dense_output=TRUE")
    result = run("resolve", "--target", "sm_90", "--algorithm", "transform", *arguments)
    assert result.exit_code == 0, result.stderr


@pytest.mark.usefixtures("project")
def test_unknown_names_come_with_the_nearest_and_together(run: Run) -> None:
    result = run("resolve", "--target", "bi10", "--algorithm", "redcue", *KEY)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.splitlines() == [
        'unknown target "bi10"; did you mean "bi100"?',
        'unknown algorithm "redcue"; did you mean "reduce"?',
    ]


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("parts", "lines"),
    [
        (
            ("acum_t=float32", "operation_t=plus", "offset_size=4"),
            ['unknown key field acum_t; did you mean "accum_t"?', "accum_t is missing: one of boolean"],
        ),
        (("accum_t=flaot32", "operation_t=plus", "offset_size=4"), ["accum_t: 'flaot32' is not one of"]),
        (
            ("accum_t", "operation_t=plus", "operation_t=max", "=4"),
            [
                "--key accum_t: expected NAME=VALUE",
                "--key operation_t=max: operation_t is given twice",
                "--key =4: expected NAME=VALUE",
            ],
        ),
        (
            ("accum_t=float32", "operation_t=plus", "offset_size=four"),
            ["--key offset_size=four: expected an integer of at most 20 digits"],
        ),
        (("accum_t=float32", "operation_t=plus", "offset_size=5"), ["offset_size: expected one of 4, 8, not 5"]),
        (("accum_t=float32", "operation_t=plus", f"offset_size={'9' * 5000}"), ["--key offset_size=999"]),
    ],
)
def test_bad_keys(run: Run, parts: tuple[str, ...], lines: list[str]) -> None:
    result = run(*REDUCE, *(text for part in parts for text in ("--key", part)))
    assert (result.exit_code, result.stdout) == (2, "")
    told = result.stderr.splitlines()
    assert len(told) == len(lines)
    assert all(a.startswith(b) for a, b in zip(told, lines, strict=True)), told


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    "value", ["[" * 100_000, "[{", "[NaN]", '[{"value_type_size": 4, "value_type_size": 4}]', "[1e999]", "7", "null"]
)
def test_bad_json_in_a_key(run: Run, value: str) -> None:
    result = run("resolve", "--target", "bi100", "--algorithm", "transform", "--key", f"inputs={value}")
    assert (result.exit_code, result.stdout) == (2, "")
    assert all(len(line) <= 2000 for line in result.stderr.splitlines())


@pytest.mark.usefixtures("project")
def test_no_policy_is_status_1(run: Run) -> None:
    key = (
        "--key",
        "accum_t=other",
        "--key",
        "accum_size=60000",
        "--key",
        "operation_t=other",
        "--key",
        "offset_size=4",
    )
    result = run(*REDUCE, *key)
    assert (result.exit_code, result.stdout) == (1, "")
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.usefixtures("project")
def test_assumed_facts(run: Run) -> None:
    scan = (
        "resolve",
        "--target",
        "sm_120",
        "--algorithm",
        "scan",
        "--key",
        "input_type=float32",
        "--key",
        "operation_t=plus",
        "--key",
        "offset_size=4",
    )
    assert "algorithm = lookback" in run(*scan).stdout
    assert "algorithm = lookahead" in run(*scan, "--set", "nvcc=13.4").stdout
    for wrong in (("nvc=13.4",), ("nvcc",), ("nvcc=",), ("nvcc=new",), ("nvcc=13.0", "nvcc=13.4")):
        result = run(*scan, *(text for part in wrong for text in ("--set", part)))
        assert (result.exit_code, result.stdout, len(result.stderr.splitlines())) == (2, "", 1), result.output
    assert 'did you mean "nvcc"?' in run(*scan, "--set", "nvc=13.4").stderr


def test_keys_of_a_file_in_order(run: Run, project: Path) -> None:
    sizes = [1, 2, 4, 8, 12, 16, 3, 100]
    keys = [{"accum_t": "other", "accum_size": size, "operation_t": "plus", "offset_size": 4} for size in sizes]
    (project / "keys.jsonl").write_text("".join(json.dumps(key) + "\r\n" for key in keys), encoding="utf-8")
    result = run(*REDUCE, "--keys", "keys.jsonl")
    assert result.exit_code == 0
    opened = load(project)
    expected = [opened.resolve("bi100", "reduce", **key) for key in keys]
    assert answers(result.stdout) == [{"policy": e.policy.as_dict(), "point": e.point} for e in expected]
    piped = run(*REDUCE, "--keys", "-", "--format", "json", stdin=(project / "keys.jsonl").read_bytes())
    assert piped.stdout == result.stdout


BAD_LINES = [
    (b"", "an empty line; expected an object"),
    (b"{", "not JSON: "),
    (b"nothing", "not JSON: "),
    (b"[]", "expected an object"),
    (b"7", "expected an object"),
    (b'{"accum_t": "\xff"}', "not UTF-8 at byte 13"),
    (b'{"accum_t": NaN}', "not JSON: NaN is no JSON number"),
    (b'{"num_items": -Infinity}', "not JSON: -Infinity is no JSON number"),
    (b'{"num_items": 1e999}', "1e999 is outside every domain"),
    (b'{"num_items": ' + b"9" * 5000 + b"}", "an integer of 5000 digits is outside every domain"),
    (
        b'{"num_items": 99999999999999999999, "accum_t": "int8", "operation_t": "plus", "offset_size": 4}',
        "num_items: expected an integer in",
    ),
    (b'{"offset_size": 4, "offset_size": 8}', "offset_size is given twice"),
    (b'{"accum_t": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deeply"),
    (b'{"accum_t": ' + b"[" * 900 + b"]" * 900 + b"}", ""),
    (b'{"\\ud800": "\\ud800"}', "unknown key field"),
    (b'{"accum_t": "float32"}', "operation_t is missing"),
    (b'{"accum_t": true, "operation_t": "plus", "offset_size": 4}', "accum_t: True is not one of"),
    (b'{"accum_t": "int8", "operation_t": "plus", "offset_size": 4.0}', "offset_size: expected one of 4, 8, not 4.0"),
    (b'{"accum_t": {}, "operation_t": [], "offset_size": null}', "accum_t: {} is not one of"),
]


@pytest.mark.usefixtures("project")
def test_bad_lines_are_answered_in_their_place(run: Run) -> None:
    lines = [line for bad, _ in BAD_LINES for line in (bad, GOOD.encode())]
    result = run(*REDUCE, "--keys", "-", stdin=b"\n".join(lines) + b"\n")
    assert (result.exit_code, result.stderr) == (1, "")
    found = answers(result.stdout)
    assert len(found) == len(lines)
    assert all(set(answer) == {"policy", "point"} for answer in found[1::2])
    for answer, (line, reason) in zip(found[::2], BAD_LINES, strict=True):
        assert list(answer) == ["error"], line
        assert str(answer["error"]).startswith(reason)
    assert run(*REDUCE, "--keys", "-", stdin=b"\n".join(lines) + b"\n").stdout == result.stdout


@pytest.mark.usefixtures("project")
def test_no_lines_no_answers(run: Run) -> None:
    result = run(*REDUCE, "--keys", "-", stdin=b"")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")


@pytest.mark.parametrize("name", ["absent.jsonl", "folder"])
def test_keys_that_cannot_be_read(run: Run, project: Path, name: str) -> None:
    (project / "folder").mkdir()
    result = run(*REDUCE, "--keys", name)
    assert (result.exit_code, result.stdout) == (2, "")
    assert name in result.stderr


@pytest.mark.usefixtures("project")
def test_keys_and_key(run: Run) -> None:
    result = run(*REDUCE, *KEY, "--keys", "-", stdin=b"")
    assert (result.exit_code, result.stderr) == (2, "give either --key or --keys, not both\n")


@pytest.mark.usefixtures("project")
def test_each_line_is_answered_before_the_next_is_written() -> None:
    command = [sys.executable, "-m", "policygen.cli.main", *REDUCE, "--keys", "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for _ in range(3):
            process.stdin.write(GOOD + "\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["point"] == "4B"
        process.stdin.close()
        assert process.stdout.read() == ""
        assert process.wait() == 0
