"""What the last build was made from, so that one with the same inputs and untouched outputs can end at once.

Freshness is by content: digests of every input (specs, templates, settings, the compiler itself) and of every output.
The state is a cache beside the project, one file for each set of targets; whatever is the matter with it, everything
is made and compared again. Nothing but the standard library is imported here: this is all that such a build waits for.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import sys
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from policygen.loading.package_data import data_dir

STATE_FOLDER = ".policygen"

_PROJECT_FILE = "policygen.toml"
_MANIFEST = "manifest.json"
_STAGING = ".policygen-staging"


def validation_folder(project: Path) -> Path:
    """Where failed validations are noted, below the folder that holds `policygen.toml`."""
    return project / STATE_FOLDER / "validate"


class BuildState:
    """The state of one set of targets of a project.

    Args:
        folder: the folder that holds `policygen.toml`.
        targets: the targets as they were asked for.
    """

    def __init__(self, folder: Path, targets: Sequence[str]) -> None:
        name = hashlib.sha256("\0".join(targets).encode(errors="surrogateescape")).hexdigest()[:12]
        self._folder = folder
        self._path = folder / STATE_FOLDER / f"build-{name}.json"

    @classmethod
    def nearest(cls, start: Path, targets: Sequence[str]) -> BuildState | None:
        """The state for the project that a folder belongs to; None if there is no project."""
        try:
            origin = start.resolve(strict=True)
            folders = (origin, *origin.parents) if origin.is_dir() else ()
            found = next((folder for folder in folders if (folder / _PROJECT_FILE).is_file()), None)
        except (OSError, RuntimeError, ValueError):
            return None
        return None if found is None else cls(found, targets)

    @property
    def folder(self) -> Path:
        """The folder that holds `policygen.toml`."""
        return self._folder

    def inputs(self) -> str | None:
        """One digest of all that a build depends on; None if part of it cannot be read."""
        total = hashlib.sha256(sys.version.encode())
        try:
            for path in self._input_files():
                total.update(os.fsencode(path) + b"\0" + hashlib.sha256(path.read_bytes()).digest())
        except OSError:
            return None
        return total.hexdigest()

    def _input_files(self) -> Iterator[Path]:
        yield self._folder / _PROJECT_FILE
        yield from _files(self._folder / "specs", ".toml")
        yield from _files(data_dir("specs"), ".toml")
        yield from _files(data_dir("templates"), "")
        yield from _files(Path(__file__).parent.parent, ".py")

    def unchanged(self, inputs: str | None) -> Any | None:
        """The report of the last build if it had these inputs and its outputs are as it left them; else None."""
        if inputs is None:
            return None
        try:
            digest, _, body = self._path.read_bytes().partition(b"\n")
            if digest.decode() != _digest(body):
                return None
            state = json.loads(body)
            output = self._folder / state["output"]
            if state["inputs"] != inputs or not _as_left(output, state["files"]):
                return None
            return state["report"]
        except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
            return None

    def keep(self, inputs: str | None, output: str, digests: Mapping[str, str], report: Any) -> None:
        """Notes a finished build. A folder that cannot be written to costs time at the next build, nothing else.

        Args:
            inputs: what `inputs` said before the build; if it says something else by now, nothing is kept.
            output: the output folder, relative to the project's.
            digests: the digest of each file, by its path in the output folder.
            report: what `unchanged` is to give back; JSON.
        """
        try:
            if inputs is None or inputs != self.inputs():
                return
            files = {**digests, _MANIFEST: _digest((self._folder / output / _MANIFEST).read_bytes())}
            state = {"inputs": inputs, "output": output, "files": dict(sorted(files.items())), "report": report}
            body = json.dumps(state, indent=1).encode()
            self._path.parent.mkdir(exist_ok=True)
            ignore = self._path.parent / ".gitignore"
            if not ignore.exists():
                ignore.write_text("*\n", encoding="utf-8")
            partial = self._path.with_suffix(".new")
            partial.write_bytes(_digest(body).encode() + b"\n" + body)
            partial.replace(self._path)
        except OSError:
            return


def _files(folder: Path, suffix: str) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        yield from (Path(place, name) for name in sorted(names) if name.endswith(suffix))


def _as_left(output: Path, digests: Mapping[str, str]) -> bool:
    """Whether the files, and nothing but regular files in real folders, are there with these contents."""
    if os.path.lexists(output / _STAGING) or not _are_real(output, digests):
        return False
    return all(_digest((output / path).read_bytes()) == digest for path, digest in digests.items())


def _are_real(output: Path, paths: Iterable[str]) -> bool:
    files = [output / path for path in paths]
    folders = {parent for file in files for parent in file.parents if output in parent.parents}
    return all(stat.S_ISREG(file.lstat().st_mode) for file in files) and all(
        stat.S_ISDIR(folder.lstat().st_mode) for folder in folders
    )


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
