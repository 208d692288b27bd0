"""Broken specs: each fault gives one clear line that says where, what was expected and what to write instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from loading.specs import SpecFolder
from policygen.build import build
from policygen.model.problems import SpecError
from policygen.project import load

REDUCE = "references/cccl-3.5/reduce.toml"
SCAN = "references/cccl-3.5/scan.toml"
BI100 = "targets/bi100.toml"


@pytest.fixture
def specs(tmp_path: Path) -> SpecFolder:
    return SpecFolder(tmp_path)


def test_the_packaged_specs_have_no_problem(specs: SpecFolder) -> None:
    assert specs.problems() == []


def test_a_typo_in_a_field(specs: SpecFolder) -> None:
    old = 'items_per_thread = 16 }, vec_size = 2 }\nbenchmark = "ipt_16.tpb_512'
    line = specs.edit(REDUCE, old, old.replace("vec_size", "vec_sz"))
    assert specs.problems() == [
        f"specs/{REDUCE}:{line}: ladder[1].point[0].multi_tile.vec_sz: "
        'ReducePassPolicy has no such field; did you mean "vec_size"?'
    ]


def test_a_field_that_is_not_set(specs: SpecFolder) -> None:
    old = 'items_per_thread = 16 }, vec_size = 2 }\nbenchmark = "ipt_16.tpb_512'
    line = specs.edit(REDUCE, old, old.replace(", vec_size = 2", ""))
    assert specs.problems() == [
        f"specs/{REDUCE}:{line - 4}: ladder[1].point[0]: "
        "multi_tile.vec_size is not set: set it here or in the ladder's base"
    ]


def test_a_typo_in_a_key_of_a_point(specs: SpecFolder) -> None:
    old = 'match = { operation_t = "plus", accum_t = "float64"'
    line = specs.edit(REDUCE, old, old.replace("operation_t", "operaton_t"))
    assert specs.problems() == [
        f"specs/{REDUCE}:{line}: ladder[1].point[1].match.operaton_t: "
        'no key field or let name; did you mean "operation_t"?'
    ]


def test_an_unknown_key_of_a_ladder(specs: SpecFolder) -> None:
    line = specs.edit(REDUCE, "when = \"determinism == 'gpu_to_gpu'\"", "whenn = \"determinism == 'gpu_to_gpu'\"")
    assert specs.problems() == [f'specs/{REDUCE}:{line}: ladder[0].whenn: unknown key; did you mean "when"?']


def test_a_duplicate_id(specs: SpecFolder) -> None:
    line = specs.edit(SCAN, 'id = "sm80-2B"', 'id = "sm80-1B"')
    assert specs.problems() == [
        f'specs/{SCAN}:{line}: ladder[1].point[17].id: "sm80-1B" is the id of another point already, '
        f"at specs/{SCAN}:{line - 8}"
    ]


def test_a_duplicate_key(specs: SpecFolder) -> None:
    line = specs.edit(REDUCE, 'id = "sm60"\n', 'id = "sm60"\nid = "sm61"\n')
    (problem,) = specs.problems()
    assert problem.startswith(f"specs/{REDUCE}:{line + 1}: ")
    assert "id" in problem


def test_a_cycle_in_extends(specs: SpecFolder) -> None:
    line = specs.edit(SCAN, 'id = "sm86"\ncc = ">=8.6"\n', 'id = "sm86"\ncc = ">=8.6"\nextends = "sm60"\n')
    path = f"specs/{SCAN}:{line + 2}: ladder[1].point[15].extends"
    assert f"{path}: the points extend each other: sm86 -> sm60 -> sm86" in specs.problems()


def test_a_wrong_unit(specs: SpecFolder) -> None:
    path = specs.folder / BI100
    text = path.read_text()
    assert '"6 MiB"' in text
    line = text[: text.index('"6 MiB"')].count("\n") + 1
    path.write_text(text.replace('"6 MiB"', '"6 MB"', 1))
    (problem,) = specs.problems()
    assert problem.startswith(f"specs/{BI100}:{line}: fact.l2_size.reading[0].value: ")
    assert 'write "' in problem
    assert "MiB" in problem


def test_a_bare_number_for_a_size(specs: SpecFolder) -> None:
    path = specs.folder / BI100
    path.write_text(path.read_text().replace('"6 MiB"', "6291456", 1))
    (problem,) = specs.problems()
    assert "6291456" in problem
    assert '"6291456 B"' in problem


def test_a_huge_integer(specs: SpecFolder) -> None:
    line = specs.edit(REDUCE, "threads_per_block = 640", "threads_per_block = 99999999999999999999")
    (problem,) = specs.problems()
    assert problem.startswith(f"specs/{REDUCE}:{line}: ")
    assert "64" in problem


def test_an_integer_beyond_a_block(specs: SpecFolder) -> None:
    line = specs.edit(REDUCE, "threads_per_block = 640", "threads_per_block = 6400")
    assert specs.problems() == [
        f"specs/{REDUCE}:{line}: ladder[1].point[1].multi_tile.nominal.threads_per_block: "
        "expected an integer in 1 .. 1024, but this ranges over 6400"
    ]


def test_a_file_that_is_not_utf_8(specs: SpecFolder) -> None:
    path = specs.folder / REDUCE
    path.write_bytes(path.read_bytes() + b"# \xff\n")
    size = path.stat().st_size - 2
    (problem,) = specs.problems()
    assert problem.startswith(f"specs/{REDUCE}")
    assert f"{size}" in problem or "byte" in problem


def test_a_call_that_is_not_allowed(specs: SpecFolder) -> None:
    line = specs.edit(SCAN, 'large_accum = "accum_size > 128"', "large_accum = \"__import__('os') != accum_size\"")
    problems = specs.problems()
    assert problems[0].startswith(f"specs/{SCAN}:{line}: let.large_accum: a call of `__import__` is not allowed")
    assert len([p for p in problems if "__import__" in p]) == 1


def test_an_unknown_feature(specs: SpecFolder) -> None:
    line = specs.edit(SCAN, 'requires = ["lookahead_scan"]', 'requires = ["lookahed_scan"]')
    assert specs.problems() == [
        f'specs/{SCAN}:{line}: ladder[0].requires[0]: unknown feature "lookahed_scan"; did you mean "lookahead_scan"?'
    ]


def test_an_unknown_feature_of_a_target(specs: SpecFolder) -> None:
    line = specs.edit(BI100, "cp_async            = false", "cp_asink            = false")
    assert specs.problems() == [
        f"specs/{BI100}:{line - 2}: features: says nothing about cp_async: write cp_async = true or false",
        f'specs/{BI100}:{line}: features.cp_asink: unknown feature; did you mean "cp_async"?',
    ]


def test_an_empty_file(specs: SpecFolder) -> None:
    (specs.folder / BI100).write_text("")
    (problem,) = specs.problems()
    assert problem.startswith(f"specs/{BI100}: ")
    assert "empty" in problem


def test_a_literal_point_whose_vector_does_not_divide_its_items(specs: SpecFolder) -> None:
    line = specs.edit(
        BI100,
        "literal = { threads_per_block = 512, items_per_thread = 32 }, vec_size = 4",
        "literal = { threads_per_block = 512, items_per_thread = 30 }, vec_size = 4",
    )
    (problem,) = specs.problems()
    assert problem.endswith("vec_size 4 does not divide 30 items: the vectorised path is never taken")
    assert abs(int(problem.split(":")[1]) - line) <= 3


def test_a_count_that_does_not_say_whether_it_is_scaled(specs: SpecFolder) -> None:
    specs.edit(
        BI100,
        "multi_tile = { literal = { threads_per_block = 192, items_per_thread = 16 }, vec_size = 1 }",
        "multi_tile = { threads_per_block = 192, literal = { items_per_thread = 16 }, vec_size = 1 }",
    )
    ways = "nominal = { threads_per_block = .. } or literal = { threads_per_block = .. }"
    assert any(f"say whether this count is scaled: {ways}" in p for p in specs.problems())


def test_literal_counts_are_never_scaled(specs: SpecFolder) -> None:
    specs.edit(
        BI100,
        "multi_tile = { literal = { threads_per_block = 192, items_per_thread = 16 }, vec_size = 1 }",
        "multi_tile = { literal = { threads_per_block = 192, items_per_thread = 16 }, vec_size = 1, "
        'scale = { rule = "mem_bound", by = "accum_size" } }',
    )
    assert [p.partition(": ")[2] for p in specs.problems()] == [
        "rules.reduce.ladder[1].point[5].multi_tile.scale: literal counts are never scaled: leave the rule out"
    ]


def test_overflow_and_division_by_zero_are_excluded_for_the_declared_domains(specs: SpecFolder) -> None:
    specs.edit(SCAN, 'large_accum = "accum_size > 128"', 'large_accum = "accum_size * accum_size > 128"')
    assert [p.partition(": ")[2] for p in specs.problems()] == [
        "let.large_accum: `*` can overflow int32: it ranges over 1 .. 4294967296; write int64(..) around an operand"
    ]


def test_division_by_zero_asks_for_a_guard(specs: SpecFolder) -> None:
    specs.edit(SCAN, 'large_accum = "accum_size > 128"', 'large_accum = "128 // (accum_size - 1) > 0"')
    assert [p.partition(": ")[2] for p in specs.problems()] == [
        "let.large_accum: `//` can divide by zero: the divisor ranges over 0 .. 65535; "
        "guard it, such as `a // b if b > 0 else 0`"
    ]


def test_all_problems_of_all_files_are_found_in_one_run(specs: SpecFolder) -> None:
    specs.edit(SCAN, 'requires = ["lookahead_scan"]', 'requires = ["lookahed_scan"]')
    specs.edit(REDUCE, "threads_per_block = 640", "threads_per_block = 6400")
    specs.edit(BI100, "cp_async            = false", 'cp_async            = "maybe"')
    assert [p.split(":")[0] for p in specs.problems()] == [f"specs/{REDUCE}", f"specs/{SCAN}", f"specs/{BI100}"]


def test_a_disabled_point_needs_a_reason(specs: SpecFolder) -> None:
    specs.edit(SCAN, 'reason = "upstream withdrew it: it regresses for large inputs"\n', "")
    assert [p.partition(": ")[2] for p in specs.problems()] == [
        "ladder[1].point[5].status: a point that is disabled needs a reason"
    ]


def test_an_unreachable_point_fails_the_build(tmp_path: Path) -> None:
    specs = SpecFolder(tmp_path)
    old = '[[ladder.point]]\nid = "sm60"\ncc = ">=6.0"\nmulti_tile'
    added = (
        '[[ladder.point]]\nid = "sm70-f32"\ncc = ">=10.0"\n'
        'match = { operation_t = "plus", accum_t = "float32", offset_size = 4, accum_size = 4 }\n'
        "multi_tile = { nominal = { threads_per_block = 128, items_per_thread = 8 }, vec_size = 4 }\n\n"
    )
    line = specs.edit(REDUCE, old, added + old)
    (tmp_path / "policygen.toml").write_text('[project]\ntargets = ["bi100"]\n')
    with pytest.raises(SpecError) as caught:
        build(load(tmp_path), ["bi100"])
    (problem,) = caught.value.problems
    assert (problem.line, problem.key) == (line, "sm70-f32")
    assert "never selected: " in problem.reason
    assert 'status = "unreachable"' in problem.reason


def test_a_word_of_the_language_is_no_name(specs: SpecFolder) -> None:
    specs.edit(SCAN, 'large_accum = "accum_size > 128"', 'large_accum = "accum_size > 128"\nsum = "accum_size + 1"')
    assert [p.partition(": ")[2] for p in specs.problems()] == [
        "let.sum: `sum` is a word of the language or of generated files; choose another name"
    ]
