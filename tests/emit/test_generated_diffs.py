"""Generated files are made for reviewing: an edit of the specs touches the rows that it changes, and no others."""

from __future__ import annotations

import difflib
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from policygen.build import build
from policygen.project import load
from review.typical_edits import EDITS

ROOT = Path(__file__).parents[2]
BUILT = ("reduce", "topk", "rle_encode", "find", "attention.decode", "norm.rms")
"""What the edits change, and one algorithm, find, of which they change facts that its banner cites at the most."""


def generated(folder: Path) -> dict[str, list[str]]:
    """The lines of all generated files of a project."""
    return {
        str(artifact.path): artifact.content.decode().splitlines()
        for artifact in build(load(folder), ["bi100"], jobs=1).artifacts
    }


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, list[str]]]:
    """A project with this repository's specs, and its files."""
    folder = tmp_path_factory.mktemp("before")
    shutil.copytree(ROOT / "specs", folder / "specs", ignore=shutil.ignore_patterns("evidence"))
    listed = ", ".join(f'"{name}"' for name in BUILT)
    (folder / "policygen.toml").write_text(f'[project]\ntargets = ["bi100"]\nalgorithms = [{listed}]\n')
    return folder, generated(folder)


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_changes_few_lines(
    name: str,
    before: tuple[Path, dict[str, list[str]]],
    tmp_path: Path,
    golden: Callable[[str, str], None],
) -> None:
    original, old = before
    folder = tmp_path / "after"
    shutil.copytree(original, folder)
    EDITS[name](folder)
    new = generated(folder)
    assert new.keys() == old.keys()
    text = ""
    for path in new:
        changed = [
            line
            for line in difflib.unified_diff(old[path], new[path], lineterm="", n=0)
            if not line.startswith(("---", "+++", "@@"))
        ]
        if changed:
            added = sum(line.startswith("+") for line in changed)
            text += f"{path} | +{added} -{len(changed) - added}\n"
    golden(f"generated-diffs/{name}.txt", text)


def test_a_new_type_only_adds_rows(before: tuple[Path, dict[str, list[str]]], tmp_path: Path) -> None:
    original, old = before
    folder = tmp_path / "after"
    shutil.copytree(original, folder)
    EDITS["new-type"](folder)
    new = generated(folder)
    table = "python/policygen_tables/bi100/reduce.py"
    gone = [line for line in difflib.ndiff(old[table], new[table]) if line.startswith("- ")]
    assert all("hash" in line.lower() for line in gone), gone
