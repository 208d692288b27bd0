"""Projects to run commands in."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from collections.abc import Collection
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner
from click.testing import Result

from policygen.cli.main import cli
from policygen.loading.spec_files import SpecFile
from policygen.loading.spec_files import load_spec
from policygen.spec import Spec

Run = Callable[..., Result]

REPOSITORY = Path(__file__).parents[2]

FILES = 2 * 3 + 6
"""What is written for a target with three algorithms: a header and a module each, and what binds them together."""


def run_command(*arguments: str, stdin: bytes | None = None) -> Result:
    result = CliRunner().invoke(cli, list(arguments), input=stdin)
    # a traceback for the user is an exception here
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@cache
def packaged_spec(files: tuple[SpecFile, ...]) -> Spec:
    return load_spec(files)


def spec_of(files: tuple[SpecFile, ...], only: Collection[str] | None = None) -> Spec:
    if only is not None:
        return load_spec(files, only)
    return (packaged_spec if all(file.name.startswith("policygen/specs/") for file in files) else load_spec)(files)


@pytest.fixture(autouse=True)
def packaged_specs_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Most tests are about commands, and the packaged specs do not change meanwhile; a project's own do."""
    monkeypatch.setattr("policygen.project.load_spec", spec_of)


@pytest.fixture
def run() -> Run:
    return run_command


def make_project(folder: Path, *targets: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    names = ", ".join(f'"{name}"' for name in targets)
    # three algorithms make a build small enough to be done often
    settings = f'[project]\ntargets = [{names}]\nalgorithms = ["reduce", "scan", "transform"]\n'
    (folder / "policygen.toml").write_text(settings, encoding="utf-8")
    return folder


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project for bi100 with the packaged specs, nothing built; tests run in its folder."""
    folder = make_project(tmp_path / "project", "bi100")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture(scope="session")
def built_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = make_project(tmp_path_factory.mktemp("built") / "project", "bi100")
    shutil.copytree(REPOSITORY / "specs", folder / "specs")
    result = run_command("build", "--all", "--project", str(folder))
    assert result.exit_code == 0, result.output
    shutil.rmtree(folder / ".policygen")
    return folder


@pytest.fixture
def built(tmp_path: Path, built_once: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project for bi100 with specs of its own, built; tests run in its folder, and may do there what they like."""
    folder = tmp_path / "project"
    shutil.copytree(built_once, folder)
    monkeypatch.chdir(folder)
    return folder


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
