"""From text to tree: what is allowed, what it means, and one clear line for everything else."""

from __future__ import annotations

from typing import Any

import pytest

from lang.example_scope import ELEMENT
from lang.example_scope import OPERATION
from lang.example_scope import SCOPE
from policygen.lang.evaluate import evaluate
from policygen.lang.parse import ExpressionError
from policygen.lang.parse import parse
from policygen.lang.tree import Call
from policygen.lang.tree import Const
from policygen.lang.tree import Member
from policygen.model.types import BOOL
from policygen.model.types import COMPUTE_CAPABILITY
from policygen.model.types import INT32
from policygen.model.types import INT64
from policygen.model.types import TOOLKIT
from policygen.model.types import Type

ALLOWED = (
    "is not allowed here: the language has integers, truth values, comparisons, and/or/not, in, `a if c else b`, "
    "+ - * // %, dotted names and its own functions"
)
NUMBERS = "is not allowed: numbers are integers, and versions are quoted, such as '9.0'"
TOO_DEEP = "not an expression: nested more than 100 levels deep; name parts of it with let"
FOLD = "fold is written fold(list, start, lambda total, x: ..)"

REFUSED = {
    # calls
    "system(accum_size) + 1": "a call of `system` is not allowed: it is no function of the language",
    "open('x')": "a call of `open` is not allowed: it is no function of the language",
    "__import__('os')": "a call of `__import__` is not allowed: it is no function of the language",
    "clampp(1, 2, 3)": 'a call of `clampp` is not allowed: it is no function of the language; did you mean "clamp"?',
    "tile_byte(1, 2)": "a call of `tile_byte` is not allowed: it is no function of the language; "
    'did you mean "tile_bytes"?',
    "accum_size.bit_length()": "`accum_size.bit_length` cannot be called: only named functions can",
    "clamp(1, 2)": "clamp takes 3 arguments, not 2",
    "is_power_of_two(1, 2)": "is_power_of_two takes 1 argument, not 2",
    "min(1)": "min takes 2 to 16 arguments, not 1",
    "min(*inputs)": "min takes 2 to 16 arguments, not 1",
    "max(a=1)": "max: arguments are given by position",
    "weight()": "weight takes 1 argument, not 0",
    "steps(4)": "steps takes 2 arguments, not 1",
    "weight": "`weight` is a function: call it, such as weight(..)",
    "steps + 1": "`steps` is a function: call it, such as steps(..)",
    "len": "`len` is a function: call it, such as len(..)",
    # attributes
    "accum_size.__class__": "`accum_size` is int32 and has no fields",
    "input.sise": 'input_info has no field `sise`; did you mean "size"?',
    "input.colour": "input_info has no field `colour`; "
    'valid: "alignment", "delay", "element", "offset", "size", "trivial"',
    "inputs.size": "`inputs` is list of input_info and has no fields",
    "inputs[0].size": f"`inputs[0]` {ALLOWED}",
    # names
    "accum_sise": 'unknown name `accum_sise`; did you mean "accum_size"?',
    "zzzzzzzz": "unknown name `zzzzzzzz`",
    # literals
    "1.5 * accum_size": f"`1.5` {NUMBERS}",
    "1j": f"`1j` {NUMBERS}",
    "None": f"`None` {NUMBERS}",
    "b'x'": f"`b'x'` {NUMBERS}",
    "f'{accum_size}'": f"`f'{{accum_size}}'` {ALLOWED}",
    "'float32'": "'float32' is a quoted name where nothing says which enumeration it is from",
    "'a' == 'b'": "'a' is a quoted name where nothing says which enumeration it is from",
    "'float32' if stable else 'int8'": "'float32' is a quoted name where nothing says which enumeration it is from",
    "'a' + 1": "expected an integer, but `'a'` is a quoted name",
    "not 'a'": "expected bool, but 'a' is a quoted name",
    "99999999999999999999": "99999999999999999999 is beyond 64 bits",
    "-9223372036854775809": "-9223372036854775809 is beyond 64 bits",
    "9223372036854775808": "9223372036854775808 is beyond 64 bits",
    f"0x{'f' * 6000}": "an integer of 24000 bits is beyond 64 bits",
    f"-0x{'f' * 6000}": "an integer of 24000 bits is beyond 64 bits",
    "9" * 5000: f"not an expression: an integer is beyond 64 bits in `{'9' * 120}..`",
    # displays and other syntax
    "[x.size for x in inputs]": f"`[x.size for x in inputs]` {ALLOWED}",
    "(x.size for x in inputs)": f"`(x.size for x in inputs)` {ALLOWED}",
    "lambda x: x": f"`lambda x: x` {ALLOWED}",
    "min(lambda x: x, 1)": f"`lambda x: x` {ALLOWED}",
    "(1, 2)": f"`(1, 2)` {ALLOWED}",
    "(x := 3)": f"`(x := 3)` {ALLOWED}",
    "~accum_size": f"`~accum_size` {ALLOWED}",
    "+accum_size": f"`+accum_size` {ALLOWED}",
    "accum_size +": "not an expression: invalid syntax in `accum_size +`",
    "import os": "not an expression: invalid syntax in `import os`",
    "": "expected an expression, but the text is empty",
    " \n ": "expected an expression, but the text is empty",
    # operators
    "accum_size / 2": "`accum_size / 2`: the operators are + - * // %; division is written //",
    "accum_size ** 2": "`accum_size ** 2`: the operators are + - * // %",
    "accum_size << 2": "`accum_size << 2`: the operators are + - * // %",
    "accum_size is 4": "`is` is not allowed: compare with == or !=",
    "accum_size is not 4": "`is` is not allowed: compare with == or !=",
    # types
    "stable + 1": "expected an integer, but `stable` is bool",
    "-stable": "expected an integer, but `stable` is bool",
    "stable and accum_size": "expected bool, but `accum_size` is int32",
    "stable or accum_size + 1": "expected bool, but `accum_size + 1` is int32",
    "not num_items": "expected bool, but `num_items` is int64",
    "1 if accum_size else 2": "expected bool, but `accum_size` is int32",
    "1 if stable else stable": "expected int32, but `stable` is bool",
    "accum_size == stable": "expected int32, but `stable` is bool",
    "stable == 1": "expected bool, but `1` is int32",
    "stable < True": "truth values are compared with == and !=, not <",
    "min(1, True)": "expected an integer, but `True` is bool",
    "weight(stable)": "expected int64, but `stable` is bool",
    "is_plain(inputs)": "expected input_info, but `inputs` is list of input_info",
    "input == input": "input_info cannot be compared; compare its fields",
    "accum_size == 3000000000": "`accum_size` is int32 and never reaches 3000000000",
    "2147483648 > any32": "`any32` is int32 and never reaches 2147483648",
    "delay >= -1": "`delay` is uint32 and never reaches -1",
    "int64(accum_size) < 3000000000": "`accum_size` is int32 and never reaches 3000000000",
    # enumerators
    "accum_t == 'flot32'": "'flot32' is not an enumerator of element_t; did you mean \"float32\"?",
    "'flot32' != accum_t": "'flot32' is not an enumerator of element_t; did you mean \"float32\"?",
    "accum_t in ('int8', 'flaot64')": "'flaot64' is not an enumerator of element_t; did you mean \"float64\"?",
    "element_size('float23').size": "'float23' is not an enumerator of element_t; did you mean \"float32\"?",
    "operation_t == 'float32'": "'float32' is not an enumerator of operation_kind; "
    'valid: "max", "min", "other", "plus"',
    "accum_t == operation_t": "expected element_t, but `operation_t` is operation_kind",
    "accum_t == input.element": "compare `accum_t` with a quoted enumerator of element_t",
    "accum_t < 'other'": "enumerators are compared with ==, != and in, not <",
    "accum_t == 1": "expected element_t, but `1` is int32",
    "stable if stable else 'a'": "expected bool, but 'a' is a quoted name",
    # in
    "accum_size in ()": "`in` needs a list of constants such as (4, 8), not `()`",
    "accum_t in 'float32'": "`in` needs a list of constants such as (4, 8), not `'float32'`",
    "accum_size in (4, delta)": "`in` needs constants; `delta` is none",
    "accum_size in (4, True)": "expected int32, but `True` is bool",
    "accum_size in (4, 3000000000)": "`accum_size` is int32 and never reaches 3000000000",
    "stable in (True, False)": "`in` is for integers and enumerators; `stable` is bool",
    # versions
    "cc >= 9.0": f"`9.0` {NUMBERS}",
    "cc >= 90": "expected compute_capability, but `90` is int32",
    "cc >= '9'": "expected compute_capability: '9' is not a version: write major.minor, such as '9.0'",
    "cc >= '9.10'": "expected compute_capability: '9.10' is not a version: write major.minor, such as '9.0'",
    "cc == 'sm_90'": "expected compute_capability: 'sm_90' is not a version: write major.minor, such as '9.0'",
    # lists
    "all(x.trivial for x in input)": "expected a list, but `input` is input_info",
    "all(x.size for x in inputs)": "expected bool, but `x.size` is int32",
    "all(x.trivial for x in inputs if x.size)": "expected bool, but `x.size` is int32",
    "sum(x.trivial for x in inputs)": "expected an integer, but `x.trivial` is bool",
    "all(inputs)": "all runs over one list: all(x.size > 0 for x in inputs)",
    "sum(1, 2)": "sum runs over one list: sum(x.size for x in inputs)",
    "all(x.trivial for x in inputs for y in inputs)": "all runs over one list: all(x.size > 0 for x in inputs)",
    "all(x.trivial for x, y in inputs)": "all: the variable is one name",
    "all(x.trivial async for x in inputs)": "all: the variable is one name",
    "min(x.size for x in inputs)": "min over a list says what an empty list gives: min((.. for x in list), default=0)",
    "max((x.size for x in inputs), key=1)": (
        "max over a list says what an empty list gives: max((.. for x in list), default=0)"
    ),
    "sum((x.size for x in inputs), start=0)": "sum takes no keyword",
    "len(input)": "expected a list, but `input` is input_info",
    "len()": "len takes 1 argument, not 0",
    "fold(inputs, 0)": "fold takes 3 arguments, not 2",
    "fold(inputs, 0, 1)": FOLD,
    "fold(inputs, 0, lambda t: t)": FOLD,
    "fold(inputs, 0, lambda t, x=1: t)": FOLD,
    "fold(inputs, 0, lambda t, x, *y: t)": FOLD,
    "fold(inputs, 0, lambda t, x: x.trivial)": "expected an integer, but `x.trivial` is bool",
    # names that hide others
    "all(stable.trivial for stable in inputs)": "the variable `stable` hides another name: choose a new one",
    "all(min.trivial for min in inputs)": "the variable `min` hides another name: choose a new one",
    "all(len.trivial for len in inputs)": "the variable `len` hides another name: choose a new one",
    "all(any.trivial for any in inputs)": "the variable `any` hides another name: choose a new one",
    "all(steps.trivial for steps in inputs)": "the variable `steps` hides another name: choose a new one",
    "all(weight.trivial for weight in inputs)": "the variable `weight` hides another name: choose a new one",
    "all(any(x.trivial for x in inputs) for x in inputs)": "the variable `x` hides another name: choose a new one",
    "fold(inputs, 0, lambda delta, x: delta)": "the variable `delta` hides another name: choose a new one",
    # depth
    f"{'(' * 300}1{')' * 300}": f"{TOO_DEEP} in `{'(' * 120}..`",
    f"{'-' * 300}accum_size": TOO_DEEP,
    f"{'not ' * 5000}stable": TOO_DEEP,
    "+".join("1" * 200): TOO_DEEP,
    "+".join("1" * 20_000): TOO_DEEP,
    f"{'max((x.size for x in inputs), default=' * 90}0{')' * 90}": TOO_DEEP,
}


@pytest.mark.parametrize(("text", "message"), REFUSED.items(), ids=[text[:60] for text in REFUSED])
def test_what_is_refused_says_why_in_one_line(text: str, message: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse(text, SCOPE)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "expected", "message"),
    [
        ("accum_size + 1", BOOL, "expected bool, but `accum_size + 1` is int32"),
        ("stable", INT32, "expected int32, but `stable` is bool"),
        ("'plus'", INT32, "expected int32, but 'plus' is a quoted name"),
        ("'plsu'", OPERATION, "'plsu' is not an enumerator of operation_kind; did you mean \"plus\"?"),
        ("'int8' if stable else 'int9'", ELEMENT, "'int9' is not an enumerator of element_t; did you mean \"int8\"?"),
    ],
)
def test_the_place_of_an_expression_asks_for_a_type(text: str, expected: Type, message: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse(text, SCOPE, expected)
    assert str(caught.value) == message


def test_an_unknown_name_can_be_asked_for() -> None:
    with pytest.raises(ExpressionError) as caught:
        parse("accum_size + nonsense", SCOPE)
    assert caught.value.unknown == "nonsense"


def test_deep_is_not_refused_before_it_is_too_deep() -> None:
    text = " if stable else ".join(map(str, range(60)))
    assert evaluate(parse(text, SCOPE), {"stable": False}) == 59
    assert evaluate(parse("+".join("1" * 60), SCOPE), {}) == 60
    assert parse(" and ".join(["stable"] * 5000), SCOPE).type == BOOL


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2 + 3 * 4", 14),
        ("(2 + 3) * 4", 20),
        ("20 - 5 - 3", 12),
        ("20 - (5 - 3)", 18),
        ("100 // 7 * 7", 98),
        ("100 // (7 * 7)", 2),
        ("7 * 100 % 30", 10),
        ("-7 // 2", -3),
        ("-7 % 3", -1),
        ("7 // -2", -3),
        ("7 % -3", 1),
        ("-7 // -2", 3),
        ("- (7 % 3)", -1),
        ("2 - -3", 5),
        ("-(-3)", 3),
        ("1 + 2 == 3 and not 1 > 2", True),
        ("True or False and False", True),
        ("(True or False) and False", False),
        ("not True or True", True),
        ("not (True or True)", False),
        ("not 1 == 2", True),
        ("True == (1 < 2)", True),
        ("1 if True else 2 if True else 3", 1),
        ("1 if False else 2 if False else 3", 3),
        ("(1 if True else 2) + 10", 11),
        ("1 if True else 2 + 10", 1),
        ("1 < 2 < 3", True),
        ("1 < 3 < 2", False),
        ("3 > 2 != 1 <= 1", True),
        ("1 == 1 in (1, 2)", True),
        ("0x10 + 1_000", 1016),
        ("-9223372036854775808 + 1", -(2**63) + 1),
    ],
)
def test_precedence_is_python_s_and_division_is_c_s(text: str, value: Any) -> None:
    found = evaluate(parse(text, SCOPE), {})
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("2147483647", INT32),
        ("2147483648", INT64),
        ("-2147483648", INT32),
        ("-2147483649", INT64),
        ("accum_size * delta", INT32),
        ("accum_size * num_items", INT64),
        ("int64(accum_size) * delta", INT64),
        ("int32(num_items)", INT32),
        ("-num_items", INT64),
        ("delay + 1", INT64),
        ("-delay", INT64),
        ("min(accum_size, delta)", INT32),
        ("min(accum_size, num_items)", INT64),
        ("ceil_div(delay, 2)", INT64),
        ("accum_size if stable else num_items", INT64),
        ("nominal_4b_items(16, 4)", INT32),
        ("len(inputs)", INT32),
        ("sum(x.size for x in inputs)", INT32),
        ("sum(x.delay for x in inputs)", INT64),
        ("max((x.size for x in inputs), default=num_items)", INT64),
        ("fold(inputs, 0, lambda t, x: t + x.size)", INT32),
        ("fold(inputs, 0, lambda t, x: t + x.offset)", INT64),
        ("tile_bytes(1, 1)", INT64),
        ("scale_mem_bound(256, 16, 4).items_per_thread", INT32),
        ("accum_size < num_items", BOOL),
        ("element_size(accum_t).widened", ELEMENT),
    ],
)
def test_integers_have_64_bits_where_an_operand_has(text: str, kind: Type) -> None:
    assert parse(text, SCOPE).type == kind


def test_a_narrowing_is_written_into_the_tree() -> None:
    narrowed = parse("num_items", SCOPE, INT32)
    assert isinstance(narrowed, Call)
    assert (narrowed.function, narrowed.type) == ("int32", INT32)
    assert isinstance(parse("delay", SCOPE, INT32), Call)
    assert parse("accum_size", SCOPE, INT64) == parse("accum_size", SCOPE)


@pytest.mark.parametrize("text", ["accum_size < num_items", "num_items > accum_size", "accum_size == any64"])
def test_a_comparison_of_different_widths_narrows_nothing(text: str) -> None:
    names = {"accum_size": 8, "num_items": 2**40, "any64": 2**40 + 8}
    assert evaluate(parse(text, SCOPE), names) is ("==" not in text)


@pytest.mark.parametrize(
    ("text", "holds_for"),
    [
        ("accum_t == 'other'", {"other", "float16", "bfloat16"}),
        ("'other' == accum_t", {"other", "float16", "bfloat16"}),
        ("accum_t == 'float16'", {"float16"}),
        ("accum_t == 'float32'", {"float32"}),
        ("accum_t != 'other'", {"int8", "float32", "float64"}),
        ("accum_t != 'bfloat16'", {"int8", "float32", "float64", "other", "float16"}),
        ("accum_t in ('int8', 'other')", {"int8", "other", "float16", "bfloat16"}),
        ("accum_t in ('other', 'float16')", {"other", "float16", "bfloat16"}),
        ("accum_t not in ('float16', 'float32')", {"int8", "float64", "other", "bfloat16"}),
        ("(accum_t if stable else 'int8') == 'other'", {"other", "float16", "bfloat16"}),
    ],
)
def test_a_rule_for_the_general_enumerator_holds_for_what_refines_it(text: str, holds_for: set[str]) -> None:
    expr = parse(text, SCOPE)
    found = {name for name in ELEMENT.enumeration.names if evaluate(expr, {"accum_t": name, "stable": True})}
    assert found == holds_for


def test_an_enumerator_is_listed_once() -> None:
    expr = parse("accum_t in ('other', 'float16', 'other')", SCOPE)
    assert isinstance(expr, Member)
    assert expr.values == ("other", "float16", "bfloat16")


def test_quoted_names_take_their_type_from_their_place() -> None:
    assert parse("'plus'", SCOPE, OPERATION) == Const("plus", OPERATION)
    chosen = parse("'plus' if stable else ('min' if is_wide else 'max')", SCOPE, OPERATION)
    assert chosen.type == OPERATION
    assert evaluate(chosen, {"stable": False, "is_wide": True}) == "min"
    assert evaluate(parse("element_size('float64').size", SCOPE), {}) == 8


@pytest.mark.parametrize(
    ("text", "kind", "packed"),
    [
        ("'9.0'", COMPUTE_CAPABILITY, 90),
        ("'12.1'", COMPUTE_CAPABILITY, 121),
        ("'13.4'", TOOLKIT, 1304),
        ("'13.10'", TOOLKIT, 1310),
    ],
)
def test_versions_are_packed_as_their_kind_has_it(text: str, kind: Type, packed: int) -> None:
    assert parse(text, SCOPE, kind) == Const(packed, kind)


def test_versions_are_compared_by_number_and_not_by_letter() -> None:
    expr = parse("'9.0' <= cc < '10.3'", SCOPE)
    assert [cc for cc in (80, 89, 90, 100, 103, 120) if evaluate(expr, {"cc": cc})] == [90, 100]
    assert evaluate(parse("cc in ('9.0', '12.1')", SCOPE), {"cc": 121}) is True


def test_a_table_answers_with_its_default_for_every_other_key() -> None:
    sizes = parse("element_size(accum_t).size", SCOPE)
    assert [evaluate(sizes, {"accum_t": name}) for name in ("int8", "float16", "bfloat16")] == [1, 2, 16]
    assert evaluate(parse("steps(4, not stable).count", SCOPE), {"stable": True}) == -3


@pytest.mark.parametrize(
    ("text", "on_two", "on_none"),
    [
        ("all(x.size > 4 for x in inputs)", False, True),
        ("all(x.size > 4 for x in inputs if x.trivial)", True, True),
        ("any(x.size > 4 for x in inputs)", True, False),
        ("any(x.size > 4 for x in inputs if not x.trivial)", False, False),
        ("sum(x.size for x in inputs)", 12, 0),
        ("sum(x.size for x in inputs if x.trivial)", 8, 0),
        ("min((x.size for x in inputs), default=99)", 4, 99),
        ("max((x.size for x in inputs), default=99)", 99, 99),
        ("max((x.size for x in inputs if not x.trivial), default=0)", 4, 0),
        ("fold(inputs, 1, lambda t, x: t * 10 + x.size)", 184, 1),
        ("len(inputs)", 2, 0),
    ],
)
def test_lists(text: str, on_two: Any, on_none: Any) -> None:
    expr = parse(text, SCOPE)
    two = ({"size": 8, "trivial": True}, {"size": 4, "trivial": False})
    assert evaluate(expr, {"inputs": two}) == on_two
    assert evaluate(expr, {"inputs": ()}) == on_none
