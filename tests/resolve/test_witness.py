from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache
from itertools import product
from pathlib import Path

import pytest
from attrs import evolve

from policygen.lang.parse import parse
from policygen.lang.tree import Expr
from policygen.lang.tree import Scope
from policygen.loading.spec_files import load_spec
from policygen.loading.spec_files import spec_files
from policygen.model.types import BOOL
from policygen.resolve.instance import target_instance
from policygen.resolve.resolver import Resolver
from policygen.resolve.specialise import rules_for
from policygen.resolve.trace import Left
from policygen.resolve.witness import Finding
from policygen.resolve.witness import Unproven
from policygen.resolve.witness import Unreachable
from policygen.resolve.witness import Witness
from policygen.resolve.witness import problems_of
from policygen.resolve.witness import reachability
from policygen.resolve.witness import reference_reachability
from policygen.resolve.witness import warnings_of
from policygen.spec import Point
from policygen.spec import Spec
from policygen.spec import Status

SPECS = Path(__file__).resolve().parents[2] / "specs"


@cache
def packaged() -> Spec:
    return load_spec(spec_files([(SPECS, "specs/")]))


@cache
def of_reference() -> tuple[Finding, ...]:
    return reference_reachability(packaged(), "cccl-3.5", packaged().targets["sm"])


def algorithm_of(spec: Spec, point: Point, target: str | None) -> str:
    rules = spec.references["cccl-3.5"] if target is None else spec.targets[target].rules
    return next(
        name
        for name, rule_set in rules.items()
        if any(p.location == point.location for ladder in rule_set.ladders for p in ladder.points)
    )


def resolver(spec: Spec, witness: Witness, algorithm: str) -> Resolver:
    return Resolver(rules_for(spec, target_instance(spec, witness.target_name, dict(witness.assumed)), algorithm))


def test_every_point_of_the_reference_is_reached_by_a_key_that_resolves_to_it() -> None:
    spec = packaged()
    active = [
        point
        for rule_set in spec.references["cccl-3.5"].values()
        for ladder in rule_set.ladders
        for point in ladder.points
        if point.status is Status.ACTIVE
    ]
    findings = [f for f in of_reference() if f.point.status is Status.ACTIVE]
    assert [f.point.location for f in findings] == [
        p.location for p in sorted(active, key=lambda p: (p.location.file, p.location.line or 0))
    ]
    for finding in findings:
        assert isinstance(finding, Witness), finding
        found = resolver(spec, finding, algorithm_of(spec, finding.point, None)).resolve(finding.key)
        if finding.answered:
            assert found.point_rule.location == finding.point.location
        else:
            left = [step.point.location for step in found.trace if isinstance(step, Left)]
            assert finding.point.location in left


def test_every_own_point_of_a_target_is_reached_by_a_key_that_resolves_to_it() -> None:
    spec = packaged()
    for target in spec.targets.values():
        for finding in reachability(spec, target):
            assert isinstance(finding, Witness), finding
            resolve = resolver(spec, finding, algorithm_of(spec, finding.point, target.name))
            key = resolve.whole_key(finding.key)
            assert key == finding.key
            assert resolve.matching_point(key).location == finding.point.location


def test_a_row_that_upstream_never_accepts_is_told_apart_from_a_dead_one() -> None:
    # 127 items x 128 threads x 4 bytes never fit 48 KiB: its keys fall through to lookback because of it
    rejected = [f.point.id for f in of_reference() if isinstance(f, Witness) and not f.answered]
    assert rejected == ["lookahead-sm120-other-4B-8B"]


def test_the_packaged_specs_have_neither_problems_nor_warnings() -> None:
    spec = packaged()
    findings = [*of_reference(), *(f for t in spec.targets.values() for f in reachability(spec, t))]
    assert problems_of(findings) == []
    assert warnings_of(findings) == []


def test_witnesses_are_the_same_each_time() -> None:
    spec = packaged()
    assert reference_reachability(spec, "cccl-3.5", spec.targets["sm"]) == of_reference()


@pytest.fixture
def project(tmp_path: Path) -> Callable[..., Spec]:
    """Specs with some text of one file replaced."""

    def load(file: str, *changes: tuple[str, str]) -> Spec:
        for path in sorted(SPECS.rglob("*.toml")):
            copied = tmp_path / path.relative_to(SPECS)
            copied.parent.mkdir(parents=True, exist_ok=True)
            copied.write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
        text = (tmp_path / file).read_text(encoding="utf-8")
        for old, new in changes:
            assert old in text
            text = text.replace(old, new, 1)
        (tmp_path / file).write_text(text, encoding="utf-8")
        return load_spec(spec_files([(tmp_path, "specs/")]))

    return load


def bi100_reduce(project: Callable[..., Spec], head: str, *, before: str = "other") -> Finding:
    """The finding for a point `planted` put in front of a point of bi100's two-pass reduce."""
    anchor = f'[[rules.reduce.ladder.point]]\nid = "{before}"\n'
    body = "multi_tile = { literal = { threads_per_block = 256, items_per_thread = 8 }, vec_size = 4 }\n"
    planted = f'[[rules.reduce.ladder.point]]\nid = "planted"\n{head}\n{body}\n'
    spec = project("targets/bi100.toml", (anchor, planted + anchor))
    return planted_one(reachability(spec, spec.targets["bi100"]))


def planted_one(findings: tuple[Finding, ...]) -> Finding:
    (found,) = (f for f in findings if f.point.id == "planted")
    return found


@pytest.mark.parametrize(
    ("head", "why"),
    [
        ("match = { tuned_op = true, accum_size = 4 }", "4B (specs/targets/bi100.toml:"),
        ("match = { accum_size = 4, operation_t = ['plus', 'max'] }", "4B (specs/targets/bi100.toml:"),
        ("when = \"accum_size <= 2 and operation_t != 'other'\"", "1B (specs/targets/bi100.toml:"),
        ('when = "accum_size < 4 and accum_size > 8"', "no key of the declared domains"),
        ('when = "accum_size > 65536"', "no key of the declared domains"),
        ('when = "accum_size * 3 < 2"', "no key of the declared domains"),
        ('when = "accum_size == 4 and element(accum_t).size > 16"', "no key of the declared domains"),
        ("when = \"determinism == 'gpu_to_gpu'\"", "gpu-to-gpu-other"),
        ("match = { accum_size = 8, operation_t = 'min' }\nnum_items = '<=2^20'", "8B (specs/targets/bi100.toml:"),
        ('cc = ">=12.0"', "bi100 counts as 10.0, which is outside its cc range"),
    ],
)
def test_a_point_that_nothing_can_select_is_a_problem_at_its_line(
    project: Callable[..., Spec], head: str, why: str
) -> None:
    finding = bi100_reduce(project, head)
    assert isinstance(finding, Unreachable), finding
    (problem,) = problems_of([finding])
    assert problem.line == finding.point.location.line
    assert str(problem).startswith(f"specs/targets/bi100.toml:{problem.line}: planted: never selected: ")
    assert problem.reason.endswith('; remove it, or say status = "unreachable" with a reason')
    assert why in problem.reason
    assert warnings_of([finding]) == []


def test_a_proof_names_no_more_points_than_it_needs(project: Callable[..., Spec]) -> None:
    finding = bi100_reduce(project, "when = \"accum_size <= 2 and operation_t != 'other'\"")
    assert isinstance(finding, Unreachable)
    assert "1B" in finding.reason
    assert "2B" in finding.reason
    assert "between them" in finding.reason
    assert "4B" not in finding.reason


@pytest.mark.parametrize(
    "head",
    [
        'match = { accum_t = "float32", accum_size = 3 }',  # sizes are declared apart from types
        "match = { tuned_op = true, accum_size = 5 }",
        "when = \"operation_t != 'plus' and accum_size >= 4 and accum_size < 9\"",
        'when = "accum_size % 24 == 17"',
        'when = "accum_size * 3 == 300"',
        'when = "accum_size // 7 == 11"',
        'when = "accum_size * offset_size == 44"',
        "num_items = '>2^24'\nwhen = \"operation_t == 'other'\"",
        "num_items = '>=100,<101'\nmatch = { accum_size = 3 }",
        'when = "num_items > 77 and num_items < 79 and accum_size == 6"',
    ],
)
def test_a_point_that_some_key_selects_has_a_witness(project: Callable[..., Spec], head: str) -> None:
    assert isinstance(bi100_reduce(project, head), Witness)


def test_what_is_neither_reached_nor_proven_is_a_warning(project: Callable[..., Spec]) -> None:
    finding = bi100_reduce(project, 'when = "int64(accum_size) * accum_size == 3 * accum_size + 7"')
    assert isinstance(finding, Unproven)
    assert problems_of([finding]) == []
    (line,) = warnings_of([finding])
    assert line.startswith(f"specs/targets/bi100.toml:{finding.point.location.line}: planted: unproven: none of ")


def test_the_same_condition_written_twice_is_proven_whatever_it_computes(project: Callable[..., Spec]) -> None:
    condition = "int64(accum_size) * accum_size % 1009 == 17 * offset_size"
    earlier = (
        f'[[rules.reduce.ladder.point]]\nid = "earlier"\nwhen = "{condition}"\n'
        "multi_tile = { literal = { threads_per_block = 256, items_per_thread = 8 }, vec_size = 4 }\n"
    )
    finding = bi100_reduce(project, f'when = "{condition} and accum_size > 4"\n')
    assert not isinstance(finding, Unreachable)
    anchor = '[[rules.reduce.ladder.point]]\nid = "other"\n'
    planted = earlier.replace('"earlier"', '"planted"').replace(condition, f"{condition} and accum_size > 4")
    spec = project("targets/bi100.toml", (anchor, earlier + planted + anchor))
    found = planted_one(reachability(spec, spec.targets["bi100"]))
    assert isinstance(found, Unreachable)
    assert found.reason.startswith("earlier (")


def test_a_point_behind_an_unconditional_one(project: Callable[..., Spec]) -> None:
    anchor = "[rules.scan.let]"
    planted = (
        '[[rules.reduce.ladder.point]]\nid = "planted"\nmatch = { accum_size = 3 }\n'
        "multi_tile = { literal = { threads_per_block = 256, items_per_thread = 8 }, vec_size = 4 }\n\n"
    )
    spec = project("targets/bi100.toml", (anchor, planted + anchor))
    found = planted_one(reachability(spec, spec.targets["bi100"]))
    assert isinstance(found, Unreachable)
    assert found.reason.startswith("other (specs/targets/bi100.toml:")
    assert found.reason.endswith("comes first and answers every key that it could answer")


REDUCE = "references/cccl-3.5/reduce.toml"
SCAN = "references/cccl-3.5/scan.toml"


def reference_point(project: Callable[..., Spec], file: str, *changes: tuple[str, str]) -> Finding:
    spec = project(file, *changes)
    return planted_one(reference_reachability(spec, "cccl-3.5", spec.targets["sm"]))


def test_a_capability_range_without_a_capability(project: Callable[..., Spec]) -> None:
    old = 'id = "sm100-plus-8B-o8"\ncc = ">=10.0"'
    found = reference_point(project, REDUCE, (old, 'id = "planted"\ncc = ">=9.1,<10.0"'))
    assert isinstance(found, Unreachable)
    assert found.reason == "no capability of sm lies in its cc range"


def test_a_reference_point_needs_one_capability_only(project: Callable[..., Spec]) -> None:
    old = 'id = "sm100-plus-8B-o8"\ncc = ">=10.0"'
    found = reference_point(project, REDUCE, (old, "id = \"planted\"\ncc = '>=7.0'\nwhen = \"cc == '8.7'\""))
    assert isinstance(found, Witness)
    assert (found.target_name, found.cc) == ("sm_87", 87)


def test_reasons_that_differ_are_told_by_capability(project: Callable[..., Spec]) -> None:
    old = '[[ladder.point]]\nid = "sm50"\n'
    new = '[[ladder.point]]\nid = "planted"\ncc = "<7.0"\nwhen = "cc >= \'6.0\'"\n'
    body = "multi_tile = { nominal = { threads_per_block = 256, items_per_thread = 16 }, vec_size = 4 }\n\n"
    found = reference_point(project, REDUCE, (old, new + body + old))
    assert isinstance(found, Unreachable)
    assert "on 5.0, 5.2, 5.3: its condition never holds" in found.reason
    assert "on 6.0, 6.1, 6.2: sm60 (specs/references/cccl-3.5/reduce.toml:" in found.reason


def accepting(project: Callable[..., Spec], accept: str) -> Finding:
    """A lookback point for 9.0 alone, behind a lookahead ladder that is always entered there."""
    text = (SPECS / SCAN).read_text(encoding="utf-8")
    written = next(line for line in text.splitlines() if line.startswith("accept = "))
    return reference_point(
        project,
        SCAN,
        (written, f'accept = "{accept}"'),
        ("match = { require_stable_reduction_order = true }\n", ""),
        ('id = "sm90-1B"\ncc = ">=9.0"', 'id = "planted"\ncc = "==9.0"'),
    )


@pytest.mark.parametrize(
    "accept",
    ["True", "accum_size > 0", "lookahead.reduce_and_scan_warps < 9", "input_contiguous or not input_contiguous"],
)
def test_a_point_behind_a_ladder_that_accepts_everything(project: Callable[..., Spec], accept: str) -> None:
    found = accepting(project, accept)
    assert isinstance(found, Unreachable)
    assert "lookahead" in found.reason


@pytest.mark.parametrize("accept", ["lookahead.items_per_thread > 200", "input_value_alignment < 64"])
def test_a_point_behind_a_ladder_that_may_be_left(project: Callable[..., Spec], accept: str) -> None:
    assert isinstance(accepting(project, accept), Witness)


def test_a_ladder_whose_acceptance_cannot_be_decided_is_unproven(project: Callable[..., Spec]) -> None:
    # never false, but only because of how the items follow from the accumulator
    found = accepting(project, "lookahead.items_per_thread <= 255 or accum_size * 0 == 1")
    assert isinstance(found, Unproven)


def test_a_feature_that_no_capability_has(project: Callable[..., Spec]) -> None:
    spec = project(SCAN, ('id = "lookahead-sm90-stable"', 'id = "planted"'))
    family = evolve(spec.targets["sm"], features={"bulk_copy": None})
    found = planted_one(reference_reachability(spec, "cccl-3.5", family))
    assert isinstance(found, Unreachable)
    assert found.reason == "the ladder lookahead needs lookahead_scan, which sm lacks"


def test_a_point_for_a_later_compiler_names_it(project: Callable[..., Spec]) -> None:
    old = 'id = "lookahead-sm120-other"\ncc = ">=12.0"'
    found = reference_point(project, SCAN, (old, 'id = "planted"\ncc = "==12.0"'))
    assert isinstance(found, Witness)
    assert found.assumed == (("nvcc", "13.4"),)


UNREACHABLE = 'status = "unreachable"\nreason = "upstream never selects it"\n'


def test_a_point_said_to_be_unreachable_is_tried_as_if_it_were_active(project: Callable[..., Spec]) -> None:
    alive = bi100_reduce(project, f"match = {{ accum_size = 3 }}\n{UNREACHABLE}")
    assert isinstance(alive, Witness)
    (problem,) = problems_of([alive])
    assert problem.line == alive.point.location.line
    assert problem.reason.startswith('status = "unreachable", but on bi100 it would answer accum_t=')
    dead = bi100_reduce(project, f"match = {{ tuned_op = true, accum_size = 4 }}\n{UNREACHABLE}")
    assert isinstance(dead, Unreachable)
    assert problems_of([dead]) == []
    unknown = bi100_reduce(project, f'when = "int64(accum_size) * accum_size == 3 * accum_size + 7"\n{UNREACHABLE}')
    (line,) = warnings_of([unknown])
    assert "said to be unreachable, which is unproven" in line


def test_a_disabled_point_needs_no_witness_and_shadows_nothing(project: Callable[..., Spec]) -> None:
    spec = project("targets/bi100.toml", ('id = "2B"\n', 'id = "2B"\nstatus = "disabled"\nreason = "slow"\n'))
    ids = [f.point.id for f in reachability(spec, spec.targets["bi100"])]
    assert "2B" not in ids
    disabled = bi100_reduce_with(project, "match = { tuned_op = true, accum_size = 2 }")
    assert isinstance(disabled, Witness)


def bi100_reduce_with(project: Callable[..., Spec], head: str) -> Finding:
    anchor = '[[rules.reduce.ladder.point]]\nid = "other"\n'
    body = "multi_tile = { literal = { threads_per_block = 256, items_per_thread = 8 }, vec_size = 4 }\n"
    spec = project(
        "targets/bi100.toml",
        ('id = "2B"\n', 'id = "2B"\nstatus = "disabled"\nreason = "slow"\n'),
        (anchor, f'[[rules.reduce.ladder.point]]\nid = "planted"\n{head}\n{body}\n{anchor}'),
    )
    return planted_one(reachability(spec, spec.targets["bi100"]))


def test_conditions_on_lists_and_records_find_keys(project: Callable[..., Spec]) -> None:
    anchor = '[[rules.transform.ladder.point]]\nid = "vectorized-or-prefetch"\n'
    for condition in (
        "len(inputs) == 3",
        "len(inputs) == 2 and all(x.value_type_size < 4 and not x.is_contiguous for x in inputs)",
        "sum(x.value_type_size for x in inputs) == 48 and output.value_type_size == 12",
        "any(x.value_type_alignment == 64 for x in inputs) and not dense_output",
        "min((x.value_type_size for x in inputs), default=100) > 40 and len(inputs) > 0",
    ):
        point = f'[[rules.transform.ladder.point]]\nid = "planted"\nwhen = "{condition}"\nalgorithm = "prefetch"\n'
        body = "min_bytes_in_flight = 16384\nprefetch = { literal = { threads_per_block = 256 } }\n\n"
        spec = project("targets/bi100.toml", (anchor, point + body + anchor))
        assert isinstance(planted_one(reachability(spec, spec.targets["bi100"])), Witness), condition
    point = point.replace(condition, "len(inputs) < 9")
    follower = point.replace("planted", "never").replace("len(inputs) < 9", "len(inputs) == 8")
    spec = project("targets/bi100.toml", (anchor, point + body + follower + body + anchor))
    found = [f for f in reachability(spec, spec.targets["bi100"]) if f.point.id == "never"]
    assert isinstance(found[0], Unreachable)


ATOMS = (
    *(f"accum_size {op} {value}" for op in ("<", "<=", "==", "!=", ">=", ">") for value in (2, 4, 5, 9)),
    *("operation_t == 'plus'", "operation_t in ('min', 'other')", "offset_size == 8", "accum_t != 'float32'"),
    *("determinism == 'not_guaranteed'", "element(accum_t).size == accum_size", "accum_size % 3 == 1"),
    "is_power_of_two(accum_size)",
)


@pytest.mark.parametrize("seed", range(30))
def test_verdicts_agree_with_trying_every_key(seed: int) -> None:
    spec = packaged()
    draw = random.Random(seed)
    algorithm, rule_set = spec.algorithms["reduce"], spec.targets["bi100"].rules["reduce"]
    (like,) = (p for ladder in rule_set.ladders for p in ladder.points if p.id == "other")
    points = [evolve(like, id=f"p{i}", when=random_condition(draw, algorithm.scope)) for i in range(10)]
    ladders = [
        evolve(
            rule_set.ladders[1],
            id=f"ladder{number}",
            when=random_condition(draw, algorithm.scope),
            points=tuple(points[number * 5 : number * 5 + 5]),
            accept=parse(accept, algorithm.scope, BOOL),
        )
        for number, accept in enumerate(("accum_size < 9 or offset_size == 4", "operation_t != 'max'"))
    ]
    rules = evolve(rule_set, ladders=(*ladders, evolve(rule_set.ladders[1], id="rest", points=(like,))))
    target = evolve(spec.targets["bi100"], rules={"reduce": rules})
    resolve = Resolver(rules_for(spec, target_instance(evolve(spec, targets={"bi100": target}), "bi100"), "reduce"))
    considered: set[str] = set()
    for values in product(
        ("float32", "int64", "other", "int8"),
        ("plus", "min", "max", "other"),
        (4, 8),
        range(1, 15),
        ("run_to_run", "not_guaranteed"),
    ):
        key = dict(zip(("accum_t", "operation_t", "offset_size", "accum_size", "determinism"), values, strict=True))
        candidate = resolve.selected({**key, "num_items": -1})
        considered |= {candidate.point.id, *(s.point.id for s in candidate.trace if isinstance(s, Left))}
    for finding in reachability(spec, target):
        if isinstance(finding, Unreachable):
            assert finding.point.id not in considered, finding.reason
        if isinstance(finding, Unproven):
            assert finding.point.id not in considered
        if finding.point.id in considered:
            assert isinstance(finding, Witness)


def random_condition(draw: random.Random, scope: Scope) -> Expr:
    atoms = [draw.choice(ATOMS) for _ in range(draw.randint(1, 4))]
    text = draw.choice((" and ", " or ")).join(f"not ({a})" if draw.random() < 0.2 else a for a in atoms)
    return parse(text, scope, BOOL)
