"""A real Python 3.10, the oldest that generated tables run on."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

VARIABLE = "POLICYGEN_PYTHON310"
"""Environment variable that names the interpreter."""

_PROBE = "import sys; print('.'.join(map(str, sys.version_info[:2])))"


@cache
def find_python310() -> Path | None:
    """The first Python 3.10 that starts, or None.

    Looked for in this order: the environment variable POLICYGEN_PYTHON310, `python3.10` on PATH, the versions
    of pyenv under PYENV_ROOT and ~/.pyenv, and the versions beside the interpreter that runs the tests (HOME may
    be empty).

    Raises:
        RuntimeError: POLICYGEN_PYTHON310 is set to something that is not a Python 3.10.
    """
    named = os.environ.get(VARIABLE)
    if named:
        if not _is_python310(Path(named)):
            raise RuntimeError(f"{VARIABLE}={named}: not a Python 3.10 that starts; name one or unset the variable")
        return Path(named)
    return next((path for path in _candidates() if _is_python310(path)), None)


def _candidates() -> Iterator[Path]:
    on_path = shutil.which("python3.10")
    if on_path is not None:
        yield Path(on_path)
    folders: list[Path] = []
    if root := os.environ.get("PYENV_ROOT"):
        folders.append(Path(root) / "versions")
    if home := os.environ.get("HOME"):
        folders.append(Path(home) / ".pyenv" / "versions")
    folders.append(Path(sys.base_prefix).parent)
    for folder in folders:
        yield from sorted(folder.glob("3.10*/bin/python"), reverse=True)


def _is_python310(path: Path) -> bool:
    # A shim of pyenv lies on PATH under this name and then fails to start: only running it tells.
    try:
        answer = subprocess.run([path, "-I", "-c", _PROBE], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return answer.returncode == 0 and answer.stdout.strip() == "3.10"
