"""Which project a command works on, and what a wrong policygen.toml says."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from environments import REPOSITORY
from policygen.loading.gate_settings import GateSettings
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
        (
            'output = "x"\n[project]\ntargets = ["a"]\n',
            'policygen.toml:1: output: unknown key; valid: "gates", "project"',
        ),
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
        (f"gates = 1\n{GOOD}", "policygen.toml:1: gates: expected a table; write [gates] on a line of its own, not 1"),
        (GOOD + "[gates]\npined = []\n", 'policygen.toml:4: gates.pined: unknown key; did you mean "pinned"?'),
        (
            GOOD + '[gates]\npinned = [\n"bi100 reduce",\n]\n',
            'policygen.toml:5: gates.pinned[0]: expected "target algorithm field", such as '
            '"bi100 reduce multi_tile.items_per_thread", not "bi100 reduce"',
        ),
        (GOOD + '[gates]\npinned = ["* * vec_size", "*  * vec_size"]\n', '"* * vec_size" is pinned twice'),
        (GOOD + '[gates]\npinned = "* * vec_size"\n', "gates.pinned: expected a list such as"),
        (GOOD + '[gates]\nevidence = ["litteral"]\n', 'not "litteral"; did you mean "literal"?'),
        (GOOD + "[gates]\nmax_utilisation = 95\n", "more than 0 and at most 1, such as 0.95"),
        (
            GOOD + "[gates]\n[gates.max_utilisation.bi100]\nscan = 1\nshared-memory = 0\n",
            "policygen.toml:6: gates.max_utilisation.bi100.shared-memory: expected a share of the limit",
        ),
        (GOOD + '[gates]\nforbidden = ["("]\n', 'gates.forbidden[0]: "(" is no regular expression'),
    ],
)
def test_a_wrong_file_gives_one_clear_line(
    text: str, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = lines_of(tmp_path, text, monkeypatch)
    assert len(lines) == 1
    assert line in lines[0]


def test_gates_are_none_until_they_are_written(tmp_path: Path) -> None:
    assert find_project(write_project(tmp_path)).gates == GateSettings()


def test_gates(tmp_path: Path) -> None:
    text = """
[gates]
pinned = ["bi100 reduce multi_tile.items_per_thread", "* attention.decode partition_size"]
evidence = ["literal"]
forbidden = ["no policy"]
[gates.max_utilisation]
"*" = 0.95
bi100 = { shared-memory = 0.29, "*" = 1 }
"""
    gates = find_project(write_project(tmp_path, GOOD + text)).gates
    pin, every = gates.pinned
    assert (pin.target, pin.algorithm, pin.field) == ("bi100", "reduce", "multi_tile.items_per_thread")
    assert pin.covers("bi100", "reduce", "multi_tile.items_per_thread")
    assert not pin.covers("bi100", "reduce", "multi_tile.items_per_thread_no_input")
    assert not pin.covers("sm_90", "reduce", "multi_tile.items_per_thread")
    assert every.covers("h200", "attention.decode", "partition_size")
    assert (gates.evidence, gates.forbidden) == (("literal",), ("no policy",))
    assert gates.share_of("bi100", "shared-memory of multi_tile") == Fraction(29, 100)
    assert gates.share_of("bi100", "registers-per-thread") == 1
    assert gates.share_of("sm_90", "shared-memory") == Fraction(19, 20)


def test_a_pinned_sub_policy_is_all_its_fields(tmp_path: Path) -> None:
    text = '[gates]\npinned = ["bi100 reduce multi_tile"]\n'
    (pin,) = find_project(write_project(tmp_path, GOOD + text)).gates.pinned
    assert pin.covers("bi100", "reduce", "multi_tile.vec_size")
    assert not pin.covers("bi100", "reduce", "multi_tiles.vec_size")


def test_a_file_without_the_project_table_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert lines_of(tmp_path, 'targets = ["a"]\n', monkeypatch) == [
        "policygen.toml: project: missing; add this key",
        'policygen.toml:1: targets: unknown key; valid: "gates", "project"',
    ]
