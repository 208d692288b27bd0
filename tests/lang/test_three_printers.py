"""Evaluation, the Python text and the C++ text of an expression give the same value, within the proven interval."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen
from hypothesis import HealthCheck
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from compilers import default_compiler
from lang.example_scope import DOMAINS
from lang.example_scope import FIELDS
from lang.example_scope import LET_EXPRESSIONS
from lang.example_scope import MOST_INPUTS
from lang.example_scope import random_key
from lang.example_scope import with_lets
from lang.printed_programs import bindings_of
from lang.printed_programs import cpp_program
from lang.printed_programs import python_text
from lang.printed_programs import python_value
from lang.printed_programs import python_values
from lang.printed_programs import run_cpp
from lang.random_expressions import RandomExpression
from lang.random_expressions import compilers_warn_of
from lang.random_expressions import different_expressions
from lang.random_expressions import random_expressions
from policygen.emit.cpp.expressions import constant
from policygen.emit.cpp.expressions import type_name
from policygen.lang.evaluate import evaluate
from policygen.lang.intervals import interval_of
from policygen.lang.simplify import substitute
from policygen.lang.tree import Const
from policygen.lang.tree import Expr
from policygen.lang.tree import free_names
from policygen.model.types import IntType

TREES = 300
KEYS = 20
CONSTANT_KEYS = 5
LENGTHS = range(MOST_INPUTS + 1)
QUICK = settings(
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
SCALARS = [name for name in FIELDS if name != "inputs"]


def keys_for(seed: int, count: int, length: int) -> list[dict[str, Any]]:
    rng = random.Random(seed * 8 + length)
    return [random_key(rng, length) for _ in range(count)]


def narrowed(expr: Expr, key: dict[str, Any], seed: int) -> Expr:
    """The expression with some fields of a key put in, and what follows from them folded."""
    chosen = random.Random(seed).sample(SCALARS, 4)
    bindings = bindings_of(key, chosen)
    for name, definition in LET_EXPRESSIONS.items():
        bindings[name] = substitute(definition, bindings)
    return substitute(expr, bindings)


@settings(QUICK, max_examples=200)
@given(random_expressions(), st.integers(0, 10_000))
def test_the_python_text_gives_the_value_of_the_tree(case: RandomExpression, seed: int) -> None:
    for length in (seed % 5, MOST_INPUTS):
        for key in keys_for(seed, 4, length):
            names = with_lets(key)
            value = evaluate(case.expr, names)
            printed = python_value(case.expr, {**names, **python_values(key)})
            assert (printed, type(printed)) == (value, type(value)), python_text(case.expr)


@settings(QUICK, max_examples=200)
@given(random_expressions(), st.integers(0, 10_000))
def test_a_value_lies_in_the_proven_interval_and_type(case: RandomExpression, seed: int) -> None:
    interval = interval_of(case.expr, DOMAINS, pytest.fail)
    for key in keys_for(seed, 8, seed % 5):
        value = evaluate(case.expr, with_lets(key))
        assert interval.low <= value <= interval.high, case.text
        if isinstance(case.expr.type, IntType):
            assert case.expr.type.low <= value <= case.expr.type.high


@settings(QUICK, max_examples=200)
@given(random_expressions(), st.integers(0, 10_000))
def test_putting_known_values_in_keeps_the_value_and_the_type(case: RandomExpression, seed: int) -> None:
    known, *others = keys_for(seed, 5, seed % 5)
    chosen = random.Random(seed).sample(SCALARS, 4)
    simpler = narrowed(case.expr, known, seed)
    assert simpler.type == case.expr.type
    assert not free_names(simpler) & {*LET_EXPRESSIONS, *(c for c in chosen if c != "input")}
    for key in (known, *others):
        merged = {**key, **{name: known[name] for name in chosen}}
        assert evaluate(simpler, merged) == evaluate(case.expr, with_lets(merged)), case.text


@settings(QUICK, max_examples=100)
@given(random_expressions(), st.integers(0, 10_000))
def test_with_every_value_known_nothing_but_a_constant_is_left(case: RandomExpression, seed: int) -> None:
    (key,) = keys_for(seed, 1, 2)
    bindings = bindings_of(key, SCALARS)
    for name, definition in LET_EXPRESSIONS.items():
        bindings[name] = substitute(definition, bindings)
    simpler = substitute(case.expr, bindings)
    assert free_names(simpler) <= {"input", "inputs"}  # a whole record is no constant
    if not free_names(simpler):
        assert simpler == Const(evaluate(case.expr, with_lets(key)), case.expr.type)


@frozen
class Printed:
    """A C++ function: what it prints, for keys of how many inputs, and the value for each of them."""

    text: str
    expr: Expr
    length: int
    values: tuple[Any, ...]


def compiled_values(
    batch: Sequence[Printed], keys: dict[int, list[dict[str, Any]]], folder: Path, name: str
) -> list[list[int]]:
    compiler = default_compiler()
    assert compiler is not None, "no C++ compiler found: install g++"
    main, constants = ["int main()", "{"], []
    for number, printed in enumerate(batch):
        main.append(f"  for (const auto& k : keys_{printed.length})")
        main.append(f'    std::printf("%lld ", static_cast<long long>(e{number}(k)));')
        main.append('  std::puts("");')
        # constant expressions: the compiler itself finds what is undefined
        calls = ", ".join(f"e{number}(keys_{printed.length}[{i}])" for i in range(CONSTANT_KEYS))
        constants.append(f"constexpr {type_name(printed.expr.type)} constants_{number}[] = {{{calls}}};")
        value = constant(Const(printed.values[0], printed.expr.type))
        constants.append(f"static_assert(constants_{number}[0] == {value});")
    source = cpp_program([(p.expr, p.length) for p in batch], keys, "\n".join([*constants, *main, "}"]))
    lines = run_cpp(source, folder, name, compiler).splitlines()
    return [[int(word) for word in line.split()] for line in lines]


@pytest.mark.slow
def test_the_cpp_text_gives_the_value_of_the_tree(tmp_path: Path) -> None:
    cases = different_expressions(2026, TREES)
    keys = {length: keys_for(99, KEYS, length) for length in LENGTHS}
    batch: list[Printed] = []
    for number, case in enumerate(cases):
        length = number % len(LENGTHS)
        names = [with_lets(key) for key in keys[length]]
        batch.append(Printed(case.text, case.expr, length, tuple(evaluate(case.expr, n) for n in names)))
        known = keys[length][0]
        simpler = narrowed(case.expr, known, number)
        if compilers_warn_of(simpler):
            simpler = case.expr
        batch.append(Printed(case.text, simpler, length, tuple(evaluate(simpler, n) for n in names)))
    for half in range(2):
        part = batch[half::2]  # the trees as they are, then with known values put in
        found = compiled_values(part, keys, tmp_path, f"half{half}")
        for printed, values in zip(part, found, strict=True):
            assert values == [int(v) for v in printed.values], printed.text
