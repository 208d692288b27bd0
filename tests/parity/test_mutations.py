"""Numbers of live points, changed one by one: parity finds each at its line, or no key of the domains can tell."""

from __future__ import annotations

import random
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from attrs import fields
from attrs import frozen
from attrs import has

from policygen.lang.tree import Const
from policygen.lang.tree import Function
from policygen.lang.tree import Table
from policygen.loading.package_data import data_dir
from policygen.loading.spec_files import load_spec
from policygen.loading.spec_files import spec_files
from policygen.model.capabilities import KNOWN_CAPABILITIES
from policygen.model.types import IntType
from policygen.parity.compare import Mismatch
from policygen.parity.compare import mismatches
from policygen.parity.declared_keys import declared_keys
from policygen.parity.declared_keys import neighbourhoods
from policygen.parity.oracle import Oracle
from policygen.parity.random_keys import random_keys
from policygen.parity.spec_shapes import oracle_key
from policygen.parity.spec_shapes import selector_shape
from policygen.parity.toolchain import ToolchainMissing
from policygen.parity.toolchain import find_toolchain
from policygen.spec import Point
from policygen.spec import RuleSet
from policygen.spec import Spec
from policygen.spec import Status

pytestmark = [pytest.mark.cuda, pytest.mark.slow]

REFERENCE = "cccl-3.5"
MUTATIONS = 200
EQUIVALENT = 0.1
"""The greatest share of the mutations that no key can tell from the original."""
SEED = 3

Steps = tuple[str | int, ...]


@frozen
class Number:
    """A number of a point.

    Attributes:
        steps: attributes and positions from the point to it; `cc` has `low` or `high` after it.
        value: what it is.
    """

    algorithm: str
    point: str
    steps: Steps
    value: int


def numbers(spec: Spec) -> list[Number]:
    found: list[Number] = []
    for algorithm, rules in spec.references[REFERENCE].items():
        for point in live_points(rules):
            for part in ("when", "policy"):
                for steps, const in constants(getattr(point, part), (part,)):
                    assert isinstance(const.value, int)
                    found.append(Number(algorithm, point.id, steps, const.value))
            if point.cc is not None:
                bounds = (("low", point.cc.low), ("high", point.cc.high))
                found += [Number(algorithm, point.id, ("cc", n), v) for n, v in bounds if v in KNOWN_CAPABILITIES]
    return found


def live_points(rules: RuleSet) -> Iterator[Point]:
    return (p for ladder in rules.ladders for p in ladder.points if p.status is Status.ACTIVE)


def constants(tree: Any, steps: Steps) -> Iterator[tuple[Steps, Const]]:
    """The integers in conditions and sub-policies; none of a record that is left as it is value-initialised."""
    for step, part in parts(tree):
        if isinstance(part, Const):
            if isinstance(part.value, int) and not isinstance(part.value, bool) and isinstance(part.type, IntType):
                yield (*steps, step), part
        else:
            own = list(constants(part, (*steps, step)))
            if any(const.value for _, const in own):
                yield from own


def parts(tree: Any) -> Iterator[tuple[str | int, Any]]:
    if isinstance(tree, tuple):
        yield from enumerate(tree)
    elif has(type(tree)) and not isinstance(tree, Function | Table):
        for attribute in fields(type(tree)):
            if attribute.name not in ("type", "struct", "location"):
                yield attribute.name, getattr(tree, attribute.name)


def replaced(tree: Any, steps: Steps, value: int) -> Any:
    if not steps:
        return evolve(tree, value=value) if isinstance(tree, Const) else value
    step, *rest = steps
    if isinstance(step, int):
        return (*tree[:step], replaced(tree[step], tuple(rest), value), *tree[step + 1 :])
    return evolve(tree, **{step: replaced(getattr(tree, step), tuple(rest), value)})


def mutated(spec: Spec, number: Number, value: int) -> Spec:
    rules = spec.references[REFERENCE][number.algorithm]
    ladders = tuple(
        evolve(
            ladder,
            points=tuple(replaced(p, number.steps, value) if p.id == number.point else p for p in ladder.points),
        )
        for ladder in rules.ladders
    )
    reference = {**spec.references[REFERENCE], number.algorithm: evolve(rules, ladders=ladders)}
    return evolve(spec, references={**spec.references, REFERENCE: reference})


def another(number: Number, choose: random.Random) -> int:
    if number.steps[0] == "cc":
        place = KNOWN_CAPABILITIES.index(number.value)
        return choose.choice(
            [KNOWN_CAPABILITIES[p] for p in (place - 1, place + 1) if 0 <= p < len(KNOWN_CAPABILITIES)]
        )
    changed = [v for v in (number.value - 1, number.value + 1, number.value * 2) if v > 0 or v > number.value]
    return choose.choice(changed)


class Answers:
    """CCCL's answers for the keys of one algorithm, asked for once."""

    def __init__(self, spec: Spec, oracle: Oracle, algorithm: str) -> None:
        self._spec, self._oracle, self._algorithm = spec, oracle, algorithm
        self._target = spec.targets["sm"]
        self._around = neighbourhoods(spec, algorithm, self._target)
        self._known: dict[str, tuple[Sequence[Mapping[str, Any]], Any]] = {}

    def near(self, point: str) -> tuple[Sequence[Mapping[str, Any]], Any]:
        """A point's neighbourhood, and one key for each of the other points."""
        if point not in self._known:
            keys = [*self._around.get(point, []), *(keys[0] for keys in self._around.values())]
            self._known[point] = (keys, self._ask(keys))
        return self._known[point]

    @cached_property
    def everywhere(self) -> tuple[Sequence[Mapping[str, Any]], Any]:
        described, rules = self._spec.algorithms[self._algorithm], self._spec.references[REFERENCE][self._algorithm]
        keys = declared_keys(self._spec, self._algorithm, self._target)
        keys += random_keys(described, 4000, SEED, [rules])
        return keys, self._ask(keys)

    def _ask(self, keys: Sequence[Mapping[str, Any]]) -> Any:
        described = self._spec.algorithms[self._algorithm]
        return self._oracle.evaluate(self._algorithm, [oracle_key(described, key) for key in keys], KNOWN_CAPABILITIES)


@pytest.fixture(scope="module")
def spec() -> Spec:
    return load_spec(spec_files([(data_dir("specs"), "specs/")]))


@pytest.fixture(scope="module")
def oracle(spec: Spec, pytestconfig: pytest.Config) -> Oracle:
    try:
        toolchain = find_toolchain()
    except ToolchainMissing as missing:
        pytest.skip(str(missing))
    if not toolchain.cccl_version.startswith("3.5."):
        pytest.skip(f"the reference is CCCL 3.5; found {toolchain.cccl_version}")
    assert pytestconfig.cache is not None
    cache = Path(pytestconfig.cache.mkdir("host-programs"))
    return Oracle.build([selector_shape(a) for a in spec.algorithms.values()], toolchain, cache)


def differences(
    broken: Spec, number: Number, keys: Sequence[Mapping[str, Any]], theirs: Any, nvcc: str
) -> tuple[Mismatch, ...]:
    return mismatches(broken, number.algorithm, KNOWN_CAPABILITIES, keys, theirs, nvcc)


def test_two_hundred_changed_numbers_are_found_where_they_are(spec: Spec, oracle: Oracle) -> None:
    choose, nvcc = random.Random(SEED), oracle.toolchain.nvcc_version
    chosen = choose.sample(numbers(spec), MUTATIONS)
    answers: dict[str, Answers] = {}
    equivalent: list[str] = []
    elsewhere: list[str] = []
    for number in chosen:
        value = another(number, choose)
        broken = mutated(spec, number, value)
        if number.algorithm not in answers:
            answers[number.algorithm] = Answers(spec, oracle, number.algorithm)
        asked = answers[number.algorithm]
        told = f"{number.algorithm}: {number.point}: {number.steps}: {number.value} to {value}"
        found = differences(broken, number, *asked.near(number.point), nvcc)
        found = found or differences(broken, number, *asked.everywhere, nvcc)
        if not found:
            equivalent.append(told)
        else:
            places = {mismatch.point for mismatch in found}
            places |= {other.split(" ")[0] for mismatch in found for other in mismatch.also}
            if number.point not in places:
                elsewhere.append(f"{told}: found at {sorted(places)}")
    assert elsewhere == []
    assert len(equivalent) <= EQUIVALENT * MUTATIONS, equivalent
