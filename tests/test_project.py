"""The library: open a project, resolve keys."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import policygen
from policygen.model.problems import SpecError
from policygen.project import Project
from policygen.project import UnknownAlgorithm
from policygen.resolve.candidate import NoPolicy
from policygen.resolve.instance import UnknownTarget
from policygen.resolve.key import InvalidKey


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "policygen.toml").write_text('[project]\ntargets = ["bi100", "90", "sm_90"]\n', encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def project(folder: Path) -> Project:
    return policygen.load(folder)


def test_load_is_the_packages_own_name(folder: Path) -> None:
    opened = policygen.load(str(folder))
    assert isinstance(opened, policygen.Project)
    assert opened.root.folder == folder.resolve()
    assert {"load", "Project"} <= set(dir(policygen))
    with pytest.raises(AttributeError, match="no attribute 'laod'"):
        policygen.laod  # type: ignore[attr-defined] # noqa: B018


def test_importing_the_package_imports_nothing_else() -> None:
    code = "import sys, policygen; print([n for n in sys.modules if n.startswith(('policygen', 'attr', 'click'))])"
    ended = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert ended.stdout == "['policygen']\n"


def test_resolve(project: Project) -> None:
    resolution = project.resolve("bi100", "reduce", accum_t="float32", operation_t="plus", offset_size=4)
    assert resolution.point == "4B"
    assert resolution.policy.multi_tile.threads_per_block == 512
    assert resolution.policy["multi_tile"]["items_per_thread"] == 24
    assert [str(step) for step in resolution.trace if "literal 512 x 24" in str(step)]


def test_spellings_share_a_resolver(project: Project) -> None:
    assert project.resolver("90", "scan") is project.resolver("sm_90", "scan")
    assert project.resolver("sm_90", "scan", {"nvcc": "13.4"}) is not project.resolver("sm_90", "scan")


def test_listed_targets(project: Project) -> None:
    assert project.listed_targets == ("bi100", "sm_90")


def test_errors_name_the_nearest(project: Project) -> None:
    key = {"accum_t": "float32", "operation_t": "plus", "offset_size": 4}
    with pytest.raises(UnknownTarget, match='did you mean "bi100"'):
        project.resolve("bi10", "reduce", **key)
    with pytest.raises(UnknownAlgorithm, match='did you mean "reduce"'):
        project.resolve("bi100", "redcue", **key)
    with pytest.raises(InvalidKey, match='did you mean "accum_t"'):
        project.resolve("bi100", "reduce", acum_t="float32")
    with pytest.raises(NoPolicy):
        project.resolve("bi100", "reduce", **{**key, "accum_t": "other", "accum_size": 60_000, "operation_t": "other"})


def test_no_project(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"no policygen\.toml here"):
        policygen.load(tmp_path)
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(SpecError):
        policygen.load(tmp_path / "loop")


def test_specs_are_read_when_they_are_needed(tmp_path: Path) -> None:
    (tmp_path / "policygen.toml").write_text('[project]\ntargets = ["bi100"]\n', encoding="utf-8")
    (tmp_path / "specs" / "targets").mkdir(parents=True)
    (tmp_path / "specs" / "targets" / "bi100.toml").write_text("nonsense\n", encoding="utf-8")
    opened = policygen.load(tmp_path)
    with pytest.raises(SpecError, match=r"bi100\.toml:1: "):
        _ = opened.spec
