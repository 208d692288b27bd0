"""What spec files share: vocabularies add up, algorithms include or use others, points build on a ladder's base."""

from __future__ import annotations

from pathlib import Path

import pytest

from policygen.loading.spec_files import load_spec
from policygen.loading.spec_files import spec_files
from policygen.model.problems import SpecError
from policygen.spec import Counts
from policygen.spec import Spec
from policygen.spec import SubPolicy

BASE = """
name = "base"
title = "Base"
policy = { struct = "BasePolicy" }
[enumeration.Way]
enumerators = ["SLOW", "FAST"]
[struct.Stage]
threads_per_block = { type = "int32", role = "threads" }
items_per_thread = { type = "int32", role = "items" }
way = "Way"
[struct.BasePolicy]
stage = "Stage"
[key.size]
type = "int32"
values = [4, 8]
[key.weight]
type = "int32"
range = [1, 8]
default = "1"
[function.twice]
params = { x = "int32" }
result = "2 * x"
[table.lanes]
keys = { size = "int32" }
columns = { count = "int32" }
default = [1]
rows = [[4, 32]]
"""

DERIVED = """
name = "derived"
title = "Derived"
policy = { struct = "DerivedPolicy" }
include = ["base"]
[struct.DerivedPolicy]
first = "Stage"
second = "Stage"
[key.size]
type = "int32"
values = [4, 8]
"""

RULES = """
algorithm = "derived"
source = "tests"
[[ladder]]
id = "only"
[ladder.base]
first = { scale = { rule = "mem_bound", by = "size" }, way = "SLOW" }
second = { scale = { rule = "mem_bound", by = "size" }, way = "SLOW" }
[[ladder.point]]
id = "point"
"""


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / (f"{name}.toml" if name == "vocabulary" else f"algorithms/{name}.toml")
        if name == "rules":
            path = folder / "references" / "made-up" / "derived.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def load(*folders: Path) -> Spec:
    return load_spec(spec_files([(folder, f"{folder.name}/") for folder in folders]))


def reasons(*folders: Path) -> list[str]:
    with pytest.raises(SpecError) as raised:
        load(*folders)
    return [str(problem) for problem in raised.value.problems]


def only_point(spec: Spec) -> dict[str, SubPolicy]:
    (ladder,) = spec.references["made-up"]["derived"].ladders
    parts = dict(ladder.points[0].policy.fields)
    return {name: part for name, part in parts.items() if isinstance(part, SubPolicy)}


def test_vocabularies_of_all_folders_add_up(tmp_path: Path) -> None:
    ours = write(tmp_path / "ours", vocabulary='[struct.Pair]\nleft = "Side"\n')
    packaged = write(tmp_path / "packaged", vocabulary='[enumeration.Side]\nenumerators = ["LEFT", "RIGHT"]\n')
    vocabulary = load(ours, packaged).vocabulary
    assert (list(vocabulary.enumerations), list(vocabulary.structs)) == (["Side"], ["Pair"])


def test_a_vocabulary_does_not_declare_a_type_anew(tmp_path: Path) -> None:
    text = '[enumeration.Side]\nenumerators = ["LEFT"]\n'
    ours = write(tmp_path / "ours", vocabulary=text.replace("LEFT", "RIGHT"))
    packaged = write(tmp_path / "packaged", vocabulary=text)
    (reason,) = reasons(ours, packaged)
    assert reason.startswith("ours/vocabulary.toml:1: enumeration.Side: the type Side is declared otherwise")


def test_a_vocabulary_may_repeat_another_in_the_same_words(tmp_path: Path) -> None:
    text = '[enumeration.Side]\nenumerators = ["LEFT"]\n[function.twice]\nparams = { a = "int32" }\nresult = "a + a"\n'
    ours, packaged = write(tmp_path / "ours", vocabulary=text), write(tmp_path / "packaged", vocabulary=text)
    assert list(load(ours, packaged).vocabulary.enumerations) == ["Side"]


def test_an_algorithm_includes_the_declarations_of_another(tmp_path: Path) -> None:
    text = DERIVED + '[let]\nfour = "twice(2)"\nlanes_of_size = "lanes(size).count"\n'
    spec = load(write(tmp_path / "specs", base=BASE, derived=text))
    assert [field.name for field in spec.algorithms["derived"].policy.fields] == ["first", "second"]
    assert set(spec.algorithms["derived"].declares.structs) == {"Stage", "BasePolicy", "DerivedPolicy"}


def test_rules_name_the_types_of_their_algorithm(tmp_path: Path) -> None:
    rules = 'algorithm = "derived"\nsource = "tests"\n[let]\n'
    rules += "way = { type = \"Way\", value = \"'FAST' if size == 8 else 'SLOW'\" }\n"
    spec = load(write(tmp_path / "specs", base=BASE, derived=DERIVED, rules=rules))
    assert [let.name for let in spec.references["made-up"]["derived"].lets] == ["way"]


def test_an_included_algorithm_exists(tmp_path: Path) -> None:
    text = DERIVED.replace('include = ["base"]', 'include = ["bass"]')
    assert 'include[0]: unknown algorithm "bass"' in reasons(write(tmp_path / "specs", base=BASE, derived=text))[0]


def test_an_included_type_is_not_declared_anew(tmp_path: Path) -> None:
    text = DERIVED + '[struct.Stage]\nway = "Way"\n'
    (reason,) = reasons(write(tmp_path / "specs", base=BASE, derived=text))
    assert "struct.Stage: the type Stage is declared otherwise" in reason


def test_algorithms_do_not_include_each_other(tmp_path: Path) -> None:
    text = BASE.replace('name = "base"', 'name = "base"\ninclude = ["derived"]')
    assert any(
        "build on each other" in reason for reason in reasons(write(tmp_path / "specs", base=text, derived=DERIVED))
    )


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        ('{ size = "size" }', None),
        ('{ size = "4 if size == 4 else 8" }', None),
        ('{ size = "size + 1" }', "expected an integer in 4 .. 8, but this ranges over 5 .. 9"),
        ('{ size = "min(8, size + 1)" }', "base allows 4, 8: give one, or a key field of these values"),
        ('{ size = "size", weight = "size + 1" }', "expected an integer in 1 .. 8"),
        ('{ weight = "1" }', "base needs size too"),
        ('{ size = "size", height = "1" }', "no key field of base"),
    ],
)
def test_a_used_algorithm_gets_keys_of_its_domain(tmp_path: Path, key: str, reason: str | None) -> None:
    folder = write(tmp_path / "specs", base=BASE, derived=f'{DERIVED}[use.other]\nalgorithm = "base"\nkey = {key}\n')
    if reason is None:
        assert [use.name for use in load(folder).algorithms["derived"].uses] == ["other"]
    else:
        assert reason in reasons(folder)[0]


def test_a_use_has_a_name_of_its_own(tmp_path: Path) -> None:
    text = DERIVED + '[use.size]\nalgorithm = "base"\nkey = { size = "size" }\n'
    (reason,) = reasons(write(tmp_path / "specs", base=BASE, derived=text))
    assert "use.size: `size` is defined already" in reason


FEATURE = '[feature.speed]\ndoc = "ways beside the slow one"\n'
ALTERNATIVE = """
[[alternative]]
field = "stage.way"
value = VALUE
requires = "speed"
otherwise = "'SLOW'"
"""


@pytest.mark.parametrize(
    ("value", "replaced"), [('"FAST"', ["FAST"]), ('["FAST", "FASTER"]', ["FAST", "FASTER"])], ids=["one", "several"]
)
def test_an_alternative_stands_in_for_one_value_or_several(tmp_path: Path, value: str, replaced: list[str]) -> None:
    base = BASE.replace('"FAST"]', '"FAST", "FASTER"]') + ALTERNATIVE.replace("VALUE", value)
    alternatives = load(write(tmp_path / "specs", base=base, vocabulary=FEATURE)).algorithms["base"].alternatives
    assert [alternative.value for alternative in alternatives] == replaced
    assert {alternative.path for alternative in alternatives} == {("stage", "way")}


@pytest.mark.parametrize(
    ("value", "at", "reason"),
    [
        ('["FAST", "FSAT"]', "alternative[0].value[1]", "expected an enumerator of Way, not 'FSAT'"),
        ("[]", "alternative[0].value", "expected at least one value"),
    ],
    ids=["unknown", "none"],
)
def test_the_values_of_an_alternative_exist(tmp_path: Path, value: str, at: str, reason: str) -> None:
    base = BASE + ALTERNATIVE.replace("VALUE", value)
    (problem,) = reasons(write(tmp_path / "specs", base=base, vocabulary=FEATURE))
    assert f"{at}: {reason}" in problem


def test_a_record_of_equal_fields_may_be_an_array(tmp_path: Path) -> None:
    base = BASE.replace(
        "[struct.BasePolicy]\n", '[struct.Stages]\nfirst = "Stage"\nsecond = "Stage"\n[struct.BasePolicy]\n'
    )
    base = base.replace('stage = "Stage"\n', 'stages = { type = "Stages", array = true }\nstage = "Stage"\n')
    policy = load(write(tmp_path / "specs", base=base)).algorithms["base"].policy
    assert [(field.name, field.array) for field in policy.fields] == [("stages", True), ("stage", False)]


@pytest.mark.parametrize("kind", ["Stage", "int32"])
def test_an_array_has_elements_of_one_type(tmp_path: Path, kind: str) -> None:
    base = BASE.replace('stage = "Stage"\n', f'stage = {{ type = "{kind}", array = true }}\n')
    (problem,) = reasons(write(tmp_path / "specs", base=base))
    assert (
        f"struct.BasePolicy.stage.array: only a struct whose fields are all of one type is an array, not {kind}"
        in problem
    )


def test_a_default_does_not_refer_to_itself_through_lets(tmp_path: Path) -> None:
    text = DERIVED.replace("values = [4, 8]\n", 'values = [4, 8]\ndefault = "outer"\n')
    text += '[let]\ninner = "size"\nouter = "inner"\n'
    assert "refers to itself" in reasons(write(tmp_path / "specs", base=BASE, derived=text))[0]


def test_a_copy_stands_in_front_of_the_base_and_behind_its_own_point(tmp_path: Path) -> None:
    rules = f'{RULES}first = {{ nominal = {{ threads_per_block = 64, items_per_thread = 2 }}, way = "FAST" }}\n'
    rules += 'second = { copy = "first" }\n'
    second = only_point(load(write(tmp_path / "specs", base=BASE, derived=DERIVED, rules=rules)))["second"]
    assert second.counts is Counts.RESOLVED
    assert second.scale is None
    assert all(type(value).__name__ == "Field" for _, value in second.fields)
    rules = rules.replace('{ copy = "first" }', '{ copy = "first", way = "SLOW" }')
    second = only_point(load(write(tmp_path / "again", base=BASE, derived=DERIVED, rules=rules)))["second"]
    assert getattr(dict(second.fields)["way"], "value", None) == "SLOW"


def test_literal_counts_leave_the_scale_of_the_base_behind(tmp_path: Path) -> None:
    literal = "literal = { threads_per_block = 64, items_per_thread = 2 }"
    rules = f"{RULES}first = {{ {literal} }}\nsecond = {{ {literal} }}\n"
    first = only_point(load(write(tmp_path / "specs", base=BASE, derived=DERIVED, rules=rules)))["first"]
    assert (first.counts, first.scale) == (Counts.LITERAL, None)


def test_a_scale_beside_literal_counts_is_a_mistake(tmp_path: Path) -> None:
    counts = 'literal = { threads_per_block = 64, items_per_thread = 2 }, scale = { rule = "mem_bound", by = "size" }'
    rules = f"{RULES}first = {{ {counts} }}\n"
    assert (
        "literal counts are never scaled"
        in reasons(write(tmp_path / "specs", base=BASE, derived=DERIVED, rules=rules))[0]
    )
