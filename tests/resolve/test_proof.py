"""Explanations: the points that were tried, why each does not answer, and arithmetic that gives what was resolved."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases.small_specs import COPY
from cases.small_specs import SmallSpecs
from policygen.fold.table import policy_table
from policygen.lang.evaluate import evaluate
from policygen.lang.parse import parse
from policygen.lang.tree import Scope
from policygen.model.types import BOOL
from policygen.model.types import INT32
from policygen.project import Project
from policygen.project import load
from policygen.resolve.arithmetic import scaling_formulas
from policygen.resolve.explanation import Explanation
from policygen.resolve.explanation import explanation
from policygen.resolve.resolver import Resolver
from policygen.resolve.trace import Scaled
from policygen.resolve.unmet import unmet
from policygen.scaling import Nominal
from policygen.scaling import ScalingRule
from policygen.scaling import scale

REPOSITORY = Path(__file__).parents[2]
KEYS = 8
"""Common keys of an algorithm that are explained, spread over all of them."""


@pytest.fixture(scope="module")
def project() -> Project:
    return load(REPOSITORY)


@given(
    rule=st.sampled_from(ScalingRule),
    threads=st.integers(1, 1024),
    items=st.integers(1, 256),
    size=st.one_of(st.integers(1, 64), st.integers(1, 2**17)),
)
def test_the_formulas_of_scaling_give_the_counts(rule: ScalingRule, threads: int, items: int, size: int) -> None:
    nominal = Nominal(threads, items)
    resolved = scale(nominal, rule, size)
    formulas = scaling_formulas(Scaled("at", rule, size, nominal, resolved))
    assert value(formulas.items) == resolved.items_per_thread
    assert value(formulas.threads) == resolved.threads_per_block


def value(formula: str) -> Any:
    return evaluate(parse(formula, Scope()), {})


def explained(project: Project, target: str) -> Iterator[tuple[Resolver, Explanation]]:
    for algorithm in (*project.built_algorithms, *project.engine_tables(target)):
        resolver = project.resolver(target, algorithm)
        rows = policy_table(resolver).rows
        for row in rows[:: max(1, len(rows) // KEYS)]:
            yield resolver, explanation(project.spec, resolver, row.resolution)


@pytest.mark.parametrize("target", ["bi100", "sm_90", "sm_120"])
def test_every_explanation_ends_in_the_point_that_answered(project: Project, target: str) -> None:
    for resolver, told in explained(project, target):
        resolution = told.resolution
        selected = [step.data for step in told.steps if "condition" in step.data]
        assert selected[-1]["point"] == resolution.point
        # whoever comes before the point in its own ladder was tried, and for nothing else in it
        tried = [step.data for step in told.steps if step.data.get("ladder") == _name(resolution.ladder)]
        missed = [point["point"] for data in tried for point in data.get("tried", ())]
        original = _ladder(project, resolver, resolution.ladder.origin, resolution.ladder.id)
        ids = [point.id for point in original.points]
        assert missed == ids[: ids.index(resolution.point)]
        for data in tried:
            for point in data.get("tried", ()):
                assert point["unmet"] or point["other"], (resolver.rules.algorithm.name, point)


def _name(ladder: Any) -> str:
    return f"{ladder.origin}/{ladder.id}"


def _ladder(project: Project, resolver: Resolver, origin: str, name: str) -> Any:
    algorithm, target = resolver.rules.algorithm, resolver.rules.instance.target
    reference = project.spec.references.get(target.reference, {}).get(algorithm.name)
    sets = [target.rules.get(algorithm.name), algorithm.rules, reference]
    return next(la for s in sets if s is not None for la in s.ladders if (la.origin, la.id) == (origin, name))


@pytest.mark.parametrize("target", ["bi100", "sm_90"])
def test_terms_make_up_the_need(project: Project, target: str) -> None:
    judged = 0
    for resolver, told in explained(project, target):
        models = {c.id: c.model for c in (*resolver.rules.constraints, *resolver.rules.fit)}
        for step in told.steps:
            if "terms" not in step.data:
                continue
            values = [term["value"] for term in step.data["terms"]]
            assert (max if models[step.data["constraint"]] == "union" else sum)(values) == step.data["need"]
            assert step.data["margin"] == step.data["limit"] - step.data["need"]
            judged += 1
    assert judged > 500


def test_every_derived_field_is_worked(project: Project) -> None:
    derived = 0
    for _, told in explained(project, "bi100"):
        for step in told.steps:
            for entry in step.data.get("derived", ()):
                assert told.resolution.policy.as_dict()[entry["field"]] == entry["value"]
                derived += 1
    assert derived > 100


def test_a_shrunk_need_is_that_of_the_policy_before(project: Project) -> None:
    resolver = project.resolver("bi100", "scan")
    resolution = resolver.resolve({"input_type": "int128", "operation_t": "plus", "offset_size": 4})
    told = explanation(project.spec, resolver, resolution)
    (step,) = (step for step in told.steps if step.data.get("changes"))
    assert step.data["changes"] == [{"field": "lookback.items_per_thread", "before": 12, "after": 11}]
    assert (step.data["need"], step.data["need_after"], step.data["limit"]) == (49168, 45072, 49152)
    assert max(term["value"] for term in step.data["terms"]) == 49168


LADDER = """
[[ladder.point]]
id = "later"
cc = ">=10.0"
match = { size = 1 }
[[ladder.point]]
id = "gone"
match = { size = 2 }
status = "disabled"
reason = "slower than its neighbour"
[[ladder.point]]
id = "narrow"
match = { size = 1 }
[[ladder.point]]
id = "wide"
when = "size > 8 and offset_size == 4"
[[ladder.point]]
id = "small-problems"
num_items = "<=2^20"
[[ladder.point]]
id = "rest"
"""


def ladder_lines(specs: SmallSpecs, **key: Any) -> list[str]:
    specs.algorithm(COPY)
    body = "literal = { threads_per_block = 128, items_per_thread = 4 }\n"
    specs.ladder(
        LADDER.replace("items_per_thread = 4\n", "").replace("[[ladder.point]]\n", f"[[ladder.point]]\n{body}")
    )
    spec = specs.load()
    resolver = specs.resolver("sm_90")
    told = explanation(spec, resolver, resolver.resolve(key))
    return [line for line in told.lines() if line.startswith("select: ")]


@pytest.fixture
def specs(tmp_path: Path) -> SmallSpecs:
    return SmallSpecs(tmp_path)


def test_why_each_point_did_not_answer(specs: SmallSpecs) -> None:
    tried, answers = ladder_lines(specs, element_t="int16", offset_size=8)
    assert tried == (
        "select: not of cccl-3.5/rungs: cc = 9.0, not >= 10.0 (later); disabled: slower than its neighbour (gone); "
        "size = 2, not 1 or > 8 (narrow, wide); num_items = unknown, not 0 to 1,048,576 (small-problems)"
    )
    assert answers.startswith("select: cccl-3.5/rest (")
    assert answers.endswith(") answers every key that is left")


def test_the_first_condition_that_fails_is_told(specs: SmallSpecs) -> None:
    tried, answers = ladder_lines(specs, element_t="int32", size=16, offset_size=8, num_items=1000)
    assert "size = 16, not 2 or 1 (gone, narrow); offset_size = 8, not 4 (wide)" in tried
    assert "small-problems" in answers


def test_many_points_of_one_reason_are_counted(specs: SmallSpecs) -> None:
    specs.algorithm(COPY)
    counts = "literal = {{ threads_per_block = 128, items_per_thread = 4 }}"
    point = f'[[ladder.point]]\nid = "of-{{0}}"\nmatch = {{{{ size = {{0}} }}}}\n{counts}\n'
    points = "".join(point.format(size) for size in range(2, 12))
    specs.ladder(points + point.format(1).replace("match = { size = 1 }\n", ""))
    resolver = specs.resolver("sm_90")
    told = explanation(specs.load(), resolver, resolver.resolve({"element_t": "int8"}))
    (line,) = (line for line in told.lines() if line.startswith("select: not of"))
    assert line.endswith("size = 1, not 2, 3, 4, 5, 6, 7, 8, 9, 10 or 11 (10 points, of-2 to of-11)")


SCOPE_TEXTS = {
    "a == 4 and b == 2": "a = 3, not 4",
    "a == 3 and b > 2": "b = 2, not > 2",
    "a == 4 or b == 1": "a = 3, not 4 and b = 2, not 1",
    "not (a == 3 and b == 2)": "a = 3, not != 3 and b = 2, not != 2",
    "not (a > 2 or b == 1)": "a = 3, not <= 2",
    "a * 2 < b": "a * 2 = 6, not < b = 2",
    "a in (1, 2)": "a = 3, not 1 or 2",
    "not a in (1, 3)": "a = 3, not other than 1 or 3",
    "wide": "a = 3, not > 8",
    "not narrow": "a = 3, not > 4",
    "2 > a": "a = 3, not < 2",
    "(a == 1) if b == 2 else (a == 3)": "a = 3, not 1",
}


@pytest.mark.parametrize("text", SCOPE_TEXTS)
def test_what_is_unmet(text: str) -> None:
    scope = Scope({"a": INT32, "b": INT32, "wide": BOOL, "narrow": BOOL})
    lets = {"wide": parse("a > 8", scope), "narrow": parse("a <= 4", scope)}
    names = {"a": 3, "b": 2, "wide": False, "narrow": True}
    expr = parse(text, scope, BOOL)
    assert not evaluate(expr, names)
    assert " and ".join(map(str, unmet(expr, names, lets))) == SCOPE_TEXTS[text]


def test_a_failing_element_is_named(project: Project) -> None:
    algorithm = project.spec.algorithms["transform"]
    expr = parse("all(i.value_type_size == 4 for i in inputs)", algorithm.scope)
    names = {"inputs": ({"value_type_size": 4}, {"value_type_size": 2})}
    assert [str(u) for u in unmet(expr, names, {})] == ["inputs[1].value_type_size = 2, not 4"]


def test_a_contract_says_what_a_table_is_good_for(project: Project) -> None:
    told = {t.algorithm: t for _, t in explained(project, "bi100") if t.contract is not None}
    withheld = next(
        name
        for name in told
        if (engine := project.spec.engine[name].engine) is not None and engine.backend and engine.precompiled
    )
    contract = told[withheld].contract
    assert contract is not None
    assert not contract.in_effect
    assert contract.reason
    decode = told["attention.decode"]
    assert any(line.startswith("contract: attention.decode answers the kernel to call") for line in decode.lines())
    assert "tokens: partition_size, last_partition" in next(li for li in decode.lines() if li.startswith("units: "))
    assert decode.as_dict()["contract"]["units"]["grid_x"] == "blocks"


def test_steps_are_told_to_programs_too(project: Project) -> None:
    _, told = random.Random(0).choice(list(explained(project, "sm_90")))
    data = told.as_dict()["steps"]
    assert [step["stage"] for step in data] == [step.stage for step in told.steps]
    assert all(step["text"] for step in data)
