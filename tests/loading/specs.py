"""Copies of the packaged specs with edits, and what the loader says of them."""

from __future__ import annotations

import shutil
from pathlib import Path

from policygen.loading.spec_files import load_spec
from policygen.loading.spec_files import spec_files
from policygen.model.problems import SpecError
from policygen.spec import Spec

SPECS = Path(__file__).parents[2] / "specs"


class SpecFolder:
    """A copy of the packaged specs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "specs"
        shutil.copytree(SPECS, self.folder)

    def edit(self, file: str, old: str, new: str) -> int:
        """Replaces a text that stands in a file once; returns the line it stood on."""
        path = self.folder / file
        text = path.read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{old!r} stands in {file} {text.count(old)} times"
        path.write_text(text.replace(old, new), encoding="utf-8")
        return text[: text.index(old)].count("\n") + 1

    def append(self, file: str, text: str) -> int:
        """Adds text at the end of a file; returns the line of its first line."""
        path = self.folder / file
        before = path.read_text(encoding="utf-8")
        path.write_text(before + text, encoding="utf-8")
        return before.count("\n") + 1

    def load(self) -> Spec:
        return load_spec(spec_files([(self.folder, "specs/")]))

    def problems(self) -> list[str]:
        """The problems that loading finds, a line each."""
        try:
            self.load()
        except SpecError as error:
            return [str(problem) for problem in error.problems]
        return []
