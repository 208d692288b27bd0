"""Which project a command works on, and what a wrong policygen.toml says."""

from __future__ import annotations

from pathlib import Path

import pytest

from environments import REPOSITORY
from policygen.loading.project_root import ProjectSettings
from policygen.loading.project_root import find_project
from policygen.model.problems import SpecError

GOOD = '[project]\ntargets = ["bi100"]\n'


def write_project(folder: Path, text: str = GOOD) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "policygen.toml").write_text(text, encoding="utf-8")
    return folder


def lines_of(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(write_project(folder, text))
    with pytest.raises(SpecError) as error:
        find_project(folder)
    return str(error.value).splitlines()


def test_the_repository_is_a_project() -> None:
    root = find_project(REPOSITORY / "templates" / "python")
    assert root.folder == REPOSITORY
    assert root.settings == ProjectSettings(targets=("bi100", "sm_90"))
    assert root.output == REPOSITORY / "generated"
    assert root.specs == REPOSITORY / "specs"


def test_the_nearest_project_counts(tmp_path: Path) -> None:
    write_project(tmp_path)
    inner = write_project(tmp_path / "chips" / "mine", '[project]\ntargets = ["mine"]\noutput = "out/policies/"\n')
    deep = inner / "a" / "b"
    deep.mkdir(parents=True)
    assert find_project(deep).folder == inner
    assert find_project(deep).output == inner / "out" / "policies"
    assert find_project(tmp_path / "chips").folder == tmp_path


def test_a_project_is_found_through_a_link_and_from_a_relative_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = write_project(tmp_path / "real")
    (tmp_path / "link").symlink_to(project)
    monkeypatch.chdir(tmp_path / "link")
    assert find_project(Path()).folder == project


def test_no_project_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(SpecError) as error:
        find_project(tmp_path)
    assert str(error.value) == (
        f"{tmp_path}: no policygen.toml here or in a folder above; write one, or pass --project DIR"
    )


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="nowhere: no such folder"):
        find_project(tmp_path / "nowhere")


def test_the_distribution_is_named_after_the_package(tmp_path: Path) -> None:
    write_project(tmp_path, GOOD + 'tables_package = "my_tables"\n')
    assert find_project(tmp_path).settings.tables_distribution == "my-tables"
    write_project(tmp_path, GOOD + 'tables_distribution = "chips.of-mine"\n')
    assert find_project(tmp_path).settings.tables_package == "policygen_tables"
    assert find_project(tmp_path).settings.tables_distribution == "chips.of-mine"


def test_every_error_is_reported_in_one_run_with_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = '[project]\ntargets = "bi100"\nouput = "generated"\ntables_package = "my-tables"\n\n[projekt]\nx = 1\n'
    assert lines_of(tmp_path, text, monkeypatch) == [
        'policygen.toml:2: project.targets: expected a list of target names such as ["bi100", "sm_90"], not "bi100"',
        'policygen.toml:3: project.ouput: unknown key; did you mean "output"?',
        'policygen.toml:4: project.tables_package: expected one Python identifier such as "policygen_tables", '
        'not "my-tables"',
        'policygen.toml:6: projekt: unknown key; did you mean "project"?',
    ]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "policygen.toml: the file is empty: it holds no key"),
        ("[project]\n", "policygen.toml:1: project.targets: missing; add this key"),
        ('output = "x"\n[project]\ntargets = ["a"]\n', 'policygen.toml:1: output: unknown key; valid: "project"'),
        ("project = 1\n", "policygen.toml:1: project: expected a table; write [project] on a line of its own, not 1"),
        ("[project]\ntargets = []\n", "not []"),
        ("[project]\ntargets = [90]\n", 'expected target names in quotes such as "sm_90", not 90'),
        ('[project]\ntargets = ["a", "b", "a"]\n', '"a" is listed twice; list every target once'),
        (GOOD + "output = true\n", 'project.output: expected text in quotes such as "generated", not true'),
        (GOOD + 'output = "../generated"\n', 'expected a folder inside the project such as "generated"'),
        (GOOD + 'output = "."\n', 'expected a folder inside the project such as "generated", not "."'),
        (GOOD + 'output = "/generated"\n', 'expected a folder inside the project such as "generated"'),
        (GOOD + 'tables_package = "class"\n', "expected one Python identifier"),
        (GOOD + 'tables_distribution = "-x"\n', "expected the name of a distribution"),
        (GOOD + 'targets = ["b"]\n', "policygen.toml:3:"),
    ],
)
def test_a_wrong_file_gives_one_clear_line(
    text: str, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = lines_of(tmp_path, text, monkeypatch)
    assert len(lines) == 1
    assert line in lines[0]


def test_a_file_without_the_project_table_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert lines_of(tmp_path, 'targets = ["a"]\n', monkeypatch) == [
        "policygen.toml: project: missing; add this key",
        'policygen.toml:1: targets: unknown key; valid: "project"',
    ]
