"""Expressions as text: what people read has the value of the tree, and so has what it is once values are put in."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck
from hypothesis import assume
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from lang.example_scope import SCOPE
from lang.example_scope import random_key
from lang.example_scope import with_lets
from lang.random_expressions import RandomExpression
from lang.random_expressions import random_expressions
from policygen.lang.evaluate import evaluate
from policygen.lang.parse import ExpressionError
from policygen.lang.parse import parse
from policygen.lang.text import text_of
from policygen.lang.text import worked
from policygen.model.types import IntType

ENUMERATORS = re.compile(r"\b(int8|float32|float64|bfloat16|float16|other|plus|(?:min|max)(?!\())\b")
VERSIONS = re.compile(r"\b\d+\.\d+\b")
QUICK = settings(
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=200,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)


def read(text: str, names: Mapping[str, Any], kind: Any) -> Any:
    """The value of a text; quotes are put where the language wants them."""
    quoted = VERSIONS.sub(r"'\g<0>'", ENUMERATORS.sub(r"'\g<0>'", text))
    quoted = re.sub(r"\btrue\b", "True", re.sub(r"\bfalse\b", "False", quoted))
    try:
        expr = parse(quoted, SCOPE, kind)
    except ExpressionError as error:
        # without its conversions an int64 stands where an int32 must
        assume("int32" not in str(error))
        raise
    return evaluate(expr, names)


@QUICK
@given(random_expressions(), st.integers(0, 10_000))
def test_the_text_has_the_value_of_the_tree(case: RandomExpression, seed: int) -> None:
    names = with_lets(random_key(random.Random(seed), seed % 5))
    assert read(text_of(case.expr), names, case.expr.type) == evaluate(case.expr, names)


@QUICK
@given(random_expressions(), st.integers(0, 10_000))
def test_a_worked_expression_has_the_value_of_the_tree(case: RandomExpression, seed: int) -> None:
    assume(isinstance(case.expr.type, IntType))
    names = with_lets(random_key(random.Random(seed), seed % 5))
    text = worked(case.expr, names)
    # records and lists stay names, everything else is a value
    left = {name: names[name] for name in ("input", "inputs")}
    assert read(text, left, case.expr.type) == evaluate(case.expr, names), text


@pytest.mark.parametrize(
    ("text", "read_as", "with_values"),
    [
        ("int64(accum_size) * (offset_size + 1)", "accum_size * (offset_size + 1)", "16 * (8 + 1)"),
        ("accum_size - (offset_size - 1)", "accum_size - (offset_size - 1)", "16 - (8 - 1)"),
        ("4 if stable else accum_size // 4", "4 if stable else accum_size // 4", "16 // 4"),
        ("tile_bytes(accum_size, input.size)", "tile_bytes(accum_size, input.size)", "tile_bytes(16, 4)"),
        ("max(pitch, -3)", "max(pitch, -3)", "max(4, -3)"),
    ],
)
def test_what_people_read(text: str, read_as: str, with_values: str) -> None:
    expr = parse(text, SCOPE)
    names = {"accum_size": 16, "offset_size": 8, "stable": False, "pitch": 4, "input": {"size": 4}}
    assert text_of(expr) == read_as
    assert worked(expr, names) == with_values


@pytest.mark.parametrize(
    ("text", "read_as"),
    [
        ("operation_t == 'plus' or not stable", "operation_t == plus or not stable"),
        ("accum_t not in ('int8', 'float32')", "accum_t not in (int8, float32)"),
        ("cc >= '9.0' and accum_size in (1, 2)", "cc >= 9.0 and accum_size in (1, 2)"),
    ],
)
def test_conditions_as_people_read_them(text: str, read_as: str) -> None:
    assert text_of(parse(text, SCOPE)) == read_as
