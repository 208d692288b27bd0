"""policygen finds its specs and templates however it was installed, from any working directory."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from environments import REPOSITORY
from environments import Environment
from environments import build_distribution

pytestmark = pytest.mark.slow

KINDS = ("specs", "templates")
PRINT_FOLDERS = "from policygen.loading.package_data import data_dir; " + "; ".join(
    f"print(data_dir({kind!r}))" for kind in KINDS
)


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The sdist, the wheel built from it, and the wheel built straight from the checkout."""
    folder = tmp_path_factory.mktemp("distributions")
    sdist, wheel_of_sdist = sorted(build_distribution(REPOSITORY, folder / "both"), key=lambda path: path.suffix)
    (wheel,) = build_distribution(REPOSITORY, folder / "wheel", "--wheel")
    return {"sdist": sdist, "wheel of the sdist": wheel_of_sdist, "wheel": wheel}


def folders_found(printed: str) -> dict[str, Path]:
    return dict(zip(KINDS, map(Path, printed.splitlines()), strict=True))


def file_names(folder: Path) -> list[str]:
    files = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return sorted(path.as_posix() for path in files if "__pycache__" not in path.parts)


@pytest.mark.parametrize("kind", ["sdist", "wheel of the sdist", "wheel"])
def test_installed_distribution_carries_its_data(kind: str, distributions: dict[str, Path], tmp_path: Path) -> None:
    environment = Environment.create(tmp_path / "venv")
    environment.install(distributions[kind])
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for name, folder in folders_found(environment.evaluate(PRINT_FOLDERS, elsewhere)).items():
        assert folder.is_relative_to(environment.site_packages)
        assert file_names(folder) == file_names(REPOSITORY / name)
    assert (environment.site_packages / "policygen" / "py.typed").is_file()
    assert "Usage:" in environment.command("policygen", "--help", cwd=elsewhere)


def test_editable_install_reads_the_checkout_and_copies_nothing(tmp_path: Path) -> None:
    environment = Environment.create(tmp_path / "venv")
    environment.install("--editable", REPOSITORY)
    found = folders_found(environment.evaluate(PRINT_FOLDERS, tmp_path))
    assert found == {name: REPOSITORY / name for name in KINDS}
    assert not (environment.site_packages / "policygen").exists()


@pytest.mark.parametrize("cwd", ["/", "specs", "generated"])
def test_checkout_that_is_not_installed_finds_its_own_data(cwd: str, tmp_path: Path) -> None:
    folder = REPOSITORY / cwd
    code = f"import sys; sys.path.insert(0, {str(REPOSITORY / 'codegen')!r}); {PRINT_FOLDERS}"
    command = [sys.executable, "-c", code]
    result = subprocess.run(
        command, cwd=folder if folder.is_dir() else tmp_path, capture_output=True, text=True, check=True
    )
    assert folders_found(result.stdout) == {name: REPOSITORY / name for name in KINDS}


def test_sdist_holds_what_the_tests_and_the_licence_need(distributions: dict[str, Path]) -> None:
    with tarfile.open(distributions["sdist"]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    needed = {"LICENSE", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "constraints.txt", "policygen.toml"}
    assert needed | {".pre-commit-hooks.yaml", "scripts/test", "tests/packaging/test_distribution.py"} <= names
    assert not any(name.startswith((".venv", ".git/", "shared/")) for name in names)
