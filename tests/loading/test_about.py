"""Reading what one algorithm needs: the same rules as with everything read, and no other file looked at."""

from __future__ import annotations

from pathlib import Path

import pytest

from loading.specs import SPECS
from loading.specs import SpecFolder
from policygen.loading.about import built_on
from policygen.loading.spec_files import load_spec
from policygen.loading.spec_files import spec_files
from policygen.model.problems import SpecError
from policygen.project import Project
from policygen.project import load
from policygen.spec import Spec

REPOSITORY = SPECS.parent


@pytest.fixture(scope="module")
def whole() -> Spec:
    return load_spec(spec_files([(SPECS, "specs/")]))


def test_every_algorithm_and_table_is_the_same_when_it_is_read_alone(whole: Spec) -> None:
    files = spec_files([(SPECS, "specs/")])
    for name in (*whole.algorithms, *whole.engine):
        only = built_on(name, [file.path for file in files])
        assert only is not None, name
        part = load_spec(files, only)
        assert {*part.algorithms, *part.engine} == only
        for one in only:
            assert part.described(one) == whole.described(one)
        for reference, rules in whole.references.items():
            assert part.references[reference] == {n: r for n, r in rules.items() if n in only}
        assert list(part.targets) == list(whole.targets)
        for target in whole.targets.values():
            same = part.targets[target.name]
            assert same.rules == {n: r for n, r in target.rules.items() if n in only}
            assert (same.facts, same.features, same.location) == (target.facts, target.features, target.location)


def test_what_an_algorithm_is_built_on() -> None:
    paths = [file.path for file in spec_files([(SPECS, "specs/")])]
    assert built_on("scan", paths) == frozenset({"scan"})
    assert built_on("segmented_reduce", paths) == frozenset({"segmented_reduce", "reduce"})
    assert "topk" in (built_on("sampling.topk", paths) or ())
    assert built_on("sacn", paths) is None


@pytest.fixture
def project(tmp_path: Path) -> Project:
    SpecFolder(tmp_path)
    (tmp_path / "policygen.toml").write_text('[project]\ntargets = ["bi100"]\n', encoding="utf-8")
    return load(tmp_path)


def test_a_broken_file_of_another_algorithm_is_not_looked_at(project: Project) -> None:
    (project.root.specs / "algorithms" / "scan.toml").write_text('name = "scan"\nbroken', encoding="utf-8")
    assert list(project.about("reduce").spec.algorithms) == ["reduce"]
    with pytest.raises(SpecError, match=r"scan\.toml:2"):
        _ = project.about("radix_sort").spec
    with pytest.raises(SpecError, match=r"scan\.toml:2"):
        _ = project.spec


def test_a_file_whose_name_is_not_that_of_its_place_is_read(project: Project) -> None:
    folder = project.root.specs / "references" / "cccl-3.5"
    (folder / "reduce.toml").rename(folder / "sums.toml")
    told = project.about("reduce").resolver("sm_90", "reduce")
    whole = load(project.root.folder).resolver("sm_90", "reduce")
    key = {"accum_t": "float32", "operation_t": "plus", "offset_size": 4}
    assert told.resolve(key).policy == whole.resolve(key).policy


def test_an_algorithm_in_a_file_of_another_name_takes_reading_all(project: Project) -> None:
    folder = project.root.specs / "algorithms"
    text = (folder / "merge.toml").read_text(encoding="utf-8")
    (folder / "mine.toml").write_text(text.replace('"merge"', '"theirs"', 1), encoding="utf-8")
    assert project.about("theirs") is project


def test_specs_that_are_read_are_not_read_again(project: Project) -> None:
    assert project.spec
    assert project.about("reduce") is project
