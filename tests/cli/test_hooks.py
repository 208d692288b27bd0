"""The hooks that the repository offers to pre-commit: they are commands, and run for the files that they are about."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cli.conftest import REPOSITORY
from cli.conftest import Run
from policygen.cli.main import COMMANDS

MANIFEST = REPOSITORY / ".pre-commit-hooks.yaml"


def hooks() -> dict[str, dict[str, str]]:
    """The manifest, which is a list of flat tables; anything else in it is an error."""
    found: list[dict[str, str]] = []
    for line in MANIFEST.read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        match = re.fullmatch(r"(- |  )([a-z_]+): (\S.*)", line)
        assert match is not None, line
        start, key, value = match.groups()
        # what YAML would read otherwise than it stands
        assert ": " not in value, line
        assert " #" not in value, line
        assert value[0] not in "\"'[{&*!|>%@`", line
        if start == "- ":
            found.append({})
        assert key not in found[-1], line
        found[-1][key] = value
    return {hook["id"]: hook for hook in found}


@pytest.mark.parametrize("name", ["policygen-check", "policygen-build"])
def test_a_hook_is_a_command_of_the_package(name: str) -> None:
    hook = hooks()[name]
    program, command, *_ = hook["entry"].split()
    assert (program, hook["language"]) == ("policygen", "python")
    assert command in COMMANDS
    # a command reads the project, whatever files changed, and two of them would write the same ones
    assert (hook["pass_filenames"], hook["require_serial"]) == ("false", "true")
    assert set(hook) == {
        *("id", "name", "description", "entry", "language", "files", "pass_filenames", "require_serial"),
    }


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("policygen.toml", {"policygen-check", "policygen-build"}),
        ("specs/targets/mine.toml", {"policygen-check", "policygen-build"}),
        ("kernels/tuning/specs/references/own/scan.toml", {"policygen-check", "policygen-build"}),
        ("generated/manifest.json", {"policygen-check"}),
        ("kernels/generated/include/policygen/bi100/tuning.cuh", {"policygen-check"}),
        ("pyproject.toml", set()),
        ("docs/specs.md", set()),
    ],
)
def test_which_files_a_hook_is_about(path: str, wanted: set[str]) -> None:
    assert {name for name, hook in hooks().items() if re.search(hook["files"], path)} == wanted


def test_the_hooks_run(run: Run, built: Path) -> None:
    for name, hook in hooks().items():
        assert run(*hook["entry"].split()[1:]).exit_code == 0, name
    table = built / "generated" / "python" / "policygen_tables" / "bi100" / "reduce.py"
    table.write_text(f"{table.read_text(encoding='utf-8')}# mine\n", encoding="utf-8")
    assert run(*hooks()["policygen-check"]["entry"].split()[1:]).exit_code == 1
    assert run(*hooks()["policygen-build"]["entry"].split()[1:]).exit_code == 0
    assert run(*hooks()["policygen-check"]["entry"].split()[1:]).exit_code == 0
