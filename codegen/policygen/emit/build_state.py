"""What the last build was made from, so that one with the same inputs and untouched outputs can end at once.

Freshness is by content: digests of every input (specs, templates, settings, the compiler itself) and of every output.
The state is a cache beside the project; without it, everything is made and compared again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import Any

STATE_FOLDER = ".policygen"


def digest_of(paths: Iterable[Path], *texts: str) -> str:
    """One digest of files and texts, in order."""
    total = hashlib.sha256()
    for text in texts:
        total.update(text.encode() + b"\0")
    for path in paths:
        total.update(str(path).encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()


def compiler_files() -> list[Path]:
    """The sources of the compiler itself, whose change may change any output."""
    return sorted(Path(__file__).parent.parent.rglob("*.py"))


class BuildState:
    """The state of one set of targets of a project."""

    def __init__(self, folder: Path, targets: Sequence[str]) -> None:
        name = hashlib.sha256("\0".join(targets).encode()).hexdigest()[:12]
        self._path = folder / STATE_FOLDER / f"build-{name}.json"

    def unchanged(self, inputs: str, output: Path) -> Any | None:
        """The report of the last build, if it had these inputs and its outputs are as it left them; else None."""
        try:
            state = json.loads(self._path.read_text(encoding="utf-8"))
            if state["inputs"] != inputs or state["manifest"] != _digest(output / "manifest.json"):
                return None
            if any(_digest(output / path) != digest for path, digest in state["outputs"].items()):
                return None
            return state["report"]
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def keep(self, inputs: str, output: Path, outputs: Mapping[str, str], report: Any) -> None:
        """Notes a finished build. A folder that cannot be written to costs time at the next build, nothing else."""
        state = {
            "inputs": inputs,
            "manifest": _digest(output / "manifest.json"),
            "outputs": dict(sorted(outputs.items())),
            "report": report,
        }
        try:
            self._path.parent.mkdir(exist_ok=True)
            ignore = self._path.parent / ".gitignore"
            if not ignore.exists():
                ignore.write_text("*\n", encoding="utf-8")
            temporary = self._path.with_suffix(".new")
            temporary.write_text(json.dumps(state, indent=1), encoding="utf-8")
            temporary.replace(self._path)
        except OSError:
            return


def _digest(path: Path) -> str:
    return f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"
