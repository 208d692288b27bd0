"""What every command does with bad usage, bad projects and streams that end early."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from cli.conftest import Run

COMMANDS = ("audit", "build", "check", "explain", "list", "parity", "resolve")
REDUCE = ("--target", "bi100", "--algorithm", "reduce")
KEY = ("--key", "accum_t=float32", "--key", "operation_t=plus", "--key", "offset_size=4")


def python(code: str, *arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", textwrap.dedent(code), *arguments]
    return subprocess.run(command, check=False, capture_output=True, text=True, **options)  # type: ignore[call-overload, no-any-return]


def test_help_names_every_command_and_exit_status(run: Run) -> None:
    result = run("--help")
    assert result.exit_code == 0
    assert all(f"\n  {command} " in result.stdout for command in COMMANDS)
    for status in ("0 done", "1 the check", "2 bad usage", "3 the check"):
        assert status in " ".join(result.stdout.split())


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_the_common_options_and_explains_each(run: Run, command: str) -> None:
    result = run(command, "--help")
    assert result.exit_code == 0
    options = [line for line in result.stdout.splitlines() if line.startswith("  -")]
    forms = {"audit": "text|json|markdown|html", "parity": "text|json|markdown"}.get(command, "text|json")
    for name in ("--project DIR", f"--format [{forms}]", "-q, --quiet", "-v, --verbose", "-h, --help"):
        assert any(name in line for line in options), name
    # an option without help ends with its metavar
    lines = result.stdout.splitlines()
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if line.startswith("  -"):
            assert "  " in line.strip() or following.startswith("      "), line


def test_help_and_version_import_little() -> None:
    code = """
        import sys
        from click.testing import CliRunner
        before = set(sys.modules)
        from policygen.cli.main import cli
        for arguments in (["--help"], ["--version"], *([c, "--help"] for c in sys.argv[1:])):
            assert CliRunner().invoke(cli, arguments).exit_code == 0
        third_party = {name.partition(".")[0] for name in set(sys.modules) - before}
        print(sorted(third_party & {"attr", "attrs", "cattrs", "jinja2", "rich"}))
        print(sorted(name for name in sys.modules if name in ("policygen.spec", "policygen.project")))
    """
    result = python(code, *COMMANDS)
    assert result.stdout == "[]\n[]\n", result.stderr


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("biuld",), 'unknown command "biuld"; did you mean "build"?'),
        (("build", "--taget", "bi100"), "--target"),
        (("build",), "either --target NAME"),
        (("build", "--all", "--target", "bi100"), "either --target NAME"),
        (("build", "--target", "bi100", "--jobs", "0"), "0 is not in the range x>=1"),
        (("build", "--target", "bi100", "--jobs", "many"), "'many' is not a valid integer"),
        (("list",), "missing argument"),
        (("list", "pionts"), "'pionts' is not one of"),
        (("check", "--format", "xml"), "'xml' is not one of 'text', 'json'"),
        (("resolve", "--target", "bi100"), "--algorithm"),
    ],
)
def test_bad_usage(run: Run, arguments: tuple[str, ...], message: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert message.casefold() in result.stderr.casefold()


@pytest.mark.parametrize("command", [("build", "--all"), ("check",), ("list", "targets"), ("resolve", *REDUCE, *KEY)])
def test_no_project(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(*command)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(".: no policygen.toml here or in a folder above; ")
    assert "--project DIR" in result.stderr


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("name", ["absent", "policygen.toml", "policygen.toml/below"])
def test_project_that_is_no_folder(run: Run, name: str) -> None:
    result = run("list", "targets", "--project", name)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"{name}: no such folder; expected the folder of a project\n"


def test_project_behind_a_loop_of_links(run: Run, project: Path) -> None:
    (project / "loop").symlink_to("loop")
    for command in (("build", "--all"), ("list", "targets")):
        result = run(*command, "--project", "loop")
        assert result.exit_code == 2
        assert len(result.stderr.splitlines()) == 1


def test_project_is_found_upwards(run: Run, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    below = project / "a" / "b"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    assert run("list", "include-dir", "-q").stdout == f"{project}/generated/include\n"


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"", "policygen.toml: the file is empty: it holds no key"),
        (b"[project\n", "policygen.toml:1: "),
        (b"[project]\ntargets = [", "policygen.toml:2: project.targets: "),
        (
            b"[project]\ntargets = ['bi100']\noutptu = 'x'\n",
            'policygen.toml:3: project.outptu: unknown key; did you mean "output"?',
        ),
        (b"[project]\ntargets = ['\xff']\n", "policygen.toml:2: not UTF-8 at byte 22"),
        (
            b"[project]\ntargets = ['bi10', 'sm_89', 'h20']\n",
            'policygen.toml:2: project.targets[0]: unknown target "bi10"; did you mean "bi100"?',
        ),
    ],
)
@pytest.mark.parametrize("command", ["build", "check"])
def test_bad_settings(run: Run, project: Path, content: bytes, line: str, command: str) -> None:
    (project / "policygen.toml").write_bytes(content)
    result = run(*(("build", "--all") if command == "build" else (command,)))
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(line)


def test_all_unknown_targets_of_the_settings_are_told(run: Run, project: Path) -> None:
    (project / "policygen.toml").write_text('[project]\ntargets = ["bi10", "sm_90", "sm_9"]\n', encoding="utf-8")
    assert [line.split(": ")[1] for line in run("check").stderr.splitlines()] == [
        "project.targets[0]",
        "project.targets[2]",
    ]


@pytest.mark.parametrize(
    "command",
    [("build", "--all"), ("check",), ("list", "points"), ("resolve", *REDUCE, *KEY), ("explain", *REDUCE, *KEY)],
)
def test_bad_specs_are_told_with_every_error(run: Run, project: Path, command: tuple[str, ...]) -> None:
    for folder in ("targets", "algorithms"):
        (project / "specs" / folder).mkdir(parents=True)
    (project / "specs" / "targets" / "bi100.toml").write_bytes(b"name = \n")
    (project / "specs" / "algorithms" / "reduce.toml").write_bytes(b"name = '\xff'\n")
    (project / "specs" / "targets" / "gone.toml").symlink_to("nowhere")
    (project / "specs" / "targets" / "folder.toml").mkdir()
    result = run(*command)
    assert (result.exit_code, result.stdout) == (2, "")
    lines = result.stderr.splitlines()
    assert "specs/targets/folder.toml: cannot be read: Is a directory" in lines
    assert "specs/targets/gone.toml: cannot be read: No such file or directory" in lines
    assert any(line.startswith("specs/targets/bi100.toml:1: name: not TOML") for line in lines)
    assert any(line.startswith("specs/algorithms/reduce.toml:1: not UTF-8") for line in lines)


def test_an_expression_nested_too_deeply_is_one_line(run: Run, project: Path) -> None:
    (project / "specs").mkdir()
    deep = "(" * 5000 + "1" + ")" * 5000
    (project / "specs" / "vocabulary.toml").write_text(f'[function]\n"f(x: int)" = "{deep}"\n', encoding="utf-8")
    result = run("list", "targets")
    assert result.exit_code == 2
    assert "Traceback" not in result.stderr


@pytest.mark.usefixtures("project")
def test_interrupt(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("policygen.project.load_spec", interrupted)
    for command in (("build", "--all"), ("resolve", *REDUCE, *KEY)):
        result = run(*command)
        assert (result.exit_code, result.stdout, result.stderr.strip()) == (130, "", "interrupted")


def test_folder_that_is_gone(tmp_path: Path) -> None:
    code = """
        import os, shutil, sys
        os.chdir(sys.argv[1]); os.rmdir(sys.argv[1])
        sys.argv = ["policygen", "list", "targets"]
        from policygen.cli.main import main
        main()
    """
    folder = tmp_path / "gone"
    folder.mkdir()
    result = python(code, str(folder))
    assert (result.returncode, result.stdout) == (3, "")
    assert result.stderr == "the folder that you are in no longer exists\n"


@pytest.mark.usefixtures("project")
def test_closed_output() -> None:
    command = [sys.executable, "-m", "policygen.cli.main", "list", "points"]
    reader, writer = os.pipe()
    os.close(reader)
    try:
        ended = subprocess.run(command, check=False, stdout=writer, stderr=subprocess.PIPE, text=True)
    finally:
        os.close(writer)
    assert (ended.returncode, ended.stderr) == (141, "")
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(command, check=False, stdout=full, stderr=subprocess.PIPE, text=True)
    assert (ended.returncode, ended.stderr) == (3, "the answer cannot be written: No space left on device\n")


def test_output_is_utf8_in_every_locale(project: Path) -> None:
    folder = project / "Grüße"
    folder.mkdir()
    (folder / "policygen.toml").write_text('[project]\ntargets = ["bi100"]\n', encoding="utf-8")
    environment = {**os.environ, "LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    command = [sys.executable, "-m", "policygen.cli.main", "list", "include-dir", "-q"]
    ended = subprocess.run(command, check=False, cwd=folder, env=environment, capture_output=True)
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert ended.stdout.decode() == f"{folder}/generated/include\n"
