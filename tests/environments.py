"""Throw-away virtual environments: what a user gets who installs a distribution. Nothing is downloaded."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

from attrs import frozen

REPOSITORY = Path(__file__).resolve().parents[1]


@frozen
class Environment:
    """A virtual environment; its own packages come before those of the environment that runs the tests."""

    folder: Path

    @classmethod
    def create(cls, folder: Path, python: Path | None = None) -> Environment:
        """Makes an environment for `python`; for the running one, its packages serve as the dependencies."""
        _run([str(python or sys.executable), "-m", "venv", "--without-pip", str(folder)], cwd=folder.parent)
        environment = cls(folder)
        if python is None:
            # The path of a .pth file goes behind the environment's own packages, and .pth files found there are
            # not read: an editable policygen of the outer environment stays out of sight.
            (environment.site_packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
        return environment

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def site_packages(self) -> Path:
        (found,) = self.folder.glob("lib/python3.*/site-packages")
        return found

    def install(self, *arguments: str | Path) -> None:
        """Runs `pip install` without an index and without dependencies."""
        options = ["install", "--quiet", "--disable-pip-version-check", "--no-index", "--no-deps"]
        pip = [sys.executable, "-m", "pip", "--python", str(self.python)]
        _run([*pip, *options, "--no-build-isolation", *map(str, arguments)], cwd=self.folder)

    def evaluate(self, code: str, cwd: Path) -> str:
        """What `code` prints, with warnings as errors."""
        return _run([str(self.python), "-W", "error", "-c", code], cwd=cwd).strip()

    def command(self, *arguments: str, cwd: Path) -> str:
        """What a command of the environment prints."""
        return _run([str(self.folder / "bin" / arguments[0]), *arguments[1:]], cwd=cwd)


def build_distribution(source: Path, into: Path, *kinds: str) -> list[Path]:
    """Builds with `python -m build`: "--wheel", "--sdist", or without a kind an sdist and from it a wheel."""
    into.mkdir(parents=True, exist_ok=True)
    _run([sys.executable, "-m", "build", "--no-isolation", *kinds, "--outdir", str(into), str(source)], cwd=into)
    return sorted(into.iterdir())


def _run(command: list[str], cwd: Path) -> str:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    result = subprocess.run(command, cwd=cwd, env=inherited, capture_output=True, text=True, check=False)
    assert result.returncode == 0, f"{' '.join(command)}\n{result.stdout}{result.stderr}"
    return result.stdout
