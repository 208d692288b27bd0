"""`policygen plan`: forms of the answer, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from cli.conftest import Run
from policygen.plan.planners import PLANNERS

REDUCE = ("plan", "reduce", "--target", "bi100")
KEY = ("--key", "accum_t=float32", "--key", "operation_t=plus", "--key", "offset_size=4")
SORT = ("plan", "radix_sort", "--target", "bi100", "--key", "key_type=uint32", "--key", "offset_size=4")


def values(text: str) -> dict[str, str]:
    return {name: value for name, value, *_ in (line.split() for line in text.splitlines())}


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("size", ["1000000", "1_000_000"])
def test_a_million_items(run: Run, size: str) -> None:
    result = run(*REDUCE, *KEY, "--num-items", size)
    assert (result.exit_code, result.stderr) == (0, "")
    found = values(result.stdout)
    assert (found["grid"], found["share.total_tiles"], found["temporary_bytes"]) == ("82", "82", "640")
    assert (found["waves.waves"], found["waves.tail_blocks"], found["waves.utilisation"]) == ("3", "18", "0.8542")
    assert found["point"] == "bi100/4B"


@pytest.mark.usefixtures("project")
def test_a_power_of_two_and_another_occupancy(run: Run) -> None:
    found = values(run(*REDUCE, *KEY, "--num-items", "2^20", "--occupancy", "1").stdout)
    assert (found["num_items"], found["max_blocks"], found["grid"]) == ("1048576", "80", "80")
    found = values(run(*REDUCE, *KEY, "--num-items", "2^20", "--set", "sm_count=50").stdout)
    assert found["max_blocks"] == "500"


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("exponent", [16, 27])
def test_the_policy_is_that_for_the_size(run: Run, exponent: int) -> None:
    key = ("--key", 'inputs=[{"value_type_size": 4}]', "--key", 'output={"value_type_size": 4}')
    plan = run("plan", "transform", "--target", "h200", *key, "--num-items", f"2^{exponent}", "--occupancy", "4")
    sized = ("--key", f"num_items={2**exponent}")
    resolved = run("resolve", "--target", "h200", "--algorithm", "transform", *key, *sized)
    assert f"point = {values(plan.stdout)['point']}" == resolved.stdout.splitlines()[-1]


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("form", ["text", "json", "markdown"])
def test_the_forms_of_an_answer(run: Run, form: str, golden: Callable[[str, str], None]) -> None:
    result = run(*SORT, "--num-items", "1000000", "--with", "end_bit=16", "--format", form)
    assert (result.exit_code, result.stderr) == (0, "")
    golden(f"plan/radix_sort.{form}", result.stdout)


@pytest.mark.usefixtures("project")
def test_numbers_that_need_no_policy(run: Run) -> None:
    arguments = ("plan", "even_share", "--target", "bi100", "--num-items", "2457600", "--with", "tile_items=12288")
    plan = json.loads(run(*arguments, "--format", "json").stdout)["plan"]
    assert (plan["max_blocks"], plan["share"]["tiles_per_block"], plan["share"]["big_shares"]) == (160, 1, 40)
    arguments = ("plan", "partitions", "--target", "bi100", "--num-items", "100000", "--with", "partition_items=1024")
    plan = json.loads(run(*arguments, "--format", "json").stdout)["plan"]
    assert (plan["partitions"]["num_partitions"], plan["partitions"]["last_items"]) == (98, 672)


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("plan", "redduce", "--target", "bi100"), 'no plan is called "redduce"; did you mean "reduce"?'),
        ((*REDUCE, *KEY, "--key", "num_items=1"), "num_items is given twice"),
        ((*REDUCE, *KEY, "--with", "k=1"), "--with k=1: reduce has no argument k"),
        ((*REDUCE, *KEY, "--set", "sm_count=many"), "--set sm_count=many"),
        ((*SORT, "--with", "endbit=1"), 'radix_sort has no argument endbit; did you mean "end_bit"?'),
        ((*SORT, "--with", "end_bit"), "--with end_bit: expected NAME=VALUE"),
        ((*SORT, "--with", "end_bit=x"), "--with end_bit=x: expected a number"),
        ((*SORT, "--with", "can_overwrite=2"), "--with can_overwrite=2: expected true or false"),
        ((*SORT, "--with", "end_bit=1", "--with", "end_bit=2"), "end_bit is given twice"),
        ((*SORT, "--with", "end_bit=40"), "end_bit is 40: a plan needs 0 to 32"),
        (("plan", "topk", "--target", "bi100", "--key", "key_size=4"), "topk needs --with k=..: keys to choose."),
        (("plan", "even_share", "--target", "bi100", "--key", "a=1"), "--key a=1: even_share has no key"),
        (("plan", "even_share", "--target", "bi10", "--with", "tile_items=1"), 'unknown target "bi10"'),
        (("plan", "reduce", "--target", "bi10", *KEY), 'unknown target "bi10"; did you mean "bi100"?'),
        (("plan", "reduce", "--target", "sm_90", *KEY), "does not know sm_count, which a plan needs; say it with"),
        (("plan", "reduce", "--target", "h200", *KEY), "does not know blocks_per_sm, which a plan needs"),
    ],
)
def test_what_is_refused(run: Run, arguments: tuple[str, ...], reason: str) -> None:
    result = run(*arguments, "--num-items", "1")
    assert (result.exit_code, result.stdout) == (2, "")
    assert reason in result.stderr


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("size", ["many", "-1", "_", "2^", "3^4", "1.5", "2^63", "9" * 25])
def test_a_size_that_is_none_is_refused(run: Run, size: str) -> None:
    result = run(*REDUCE, *KEY, "--num-items", size)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "num-items" in result.stderr or "num_items" in result.stderr


@pytest.mark.usefixtures("project")
def test_every_plan_is_in_the_help(run: Run) -> None:
    text = " ".join(run("plan", "--help").stdout.split())
    listed = text.partition("PLAN is ")[2].partition(".")[0].replace(" or ", ", ").split(", ")
    assert listed == sorted(PLANNERS)


def test_a_table_of_the_engine_says_what_its_numbers_count(run: Run) -> None:
    result = run("plan", "attention.decode", "--target", "bi100", "--key", "seq_len=100000", "--occupancy", "1")
    lines = [line.split(maxsplit=2) for line in result.stdout.splitlines()]
    assert ["num_partitions", "196", "partitions: of a sequence; 0 for v1 and for an empty sequence"] in lines
    assert ["waves", "49", "waves: rounds of resident blocks"] in lines
    told = json.loads(run("plan", "attention.prefill", "--target", "bi100", "--format", "json").stdout)
    assert told["plan"]["smem_bytes"] == 33_024
    assert told["not_in_effect"].startswith("triton: not usable on the serving image")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("reduce",), "reduce needs --num-items N: the problem size"),
        (("attention.decode", "--num-items", "5"), "attention.decode takes its sizes with --key"),
        (("attention.decode", "--key", "seq_len=-1"), "seq_len: expected an integer in 0 .. 2147450879, not -1"),
        (("attention.dekode",), 'unknown algorithm "attention.dekode"; did you mean "attention.decode"?'),
    ],
)
def test_what_a_table_does_not_take(run: Run, arguments: tuple[str, ...], reason: str) -> None:
    result = run("plan", arguments[0], "--target", "bi100", *arguments[1:])
    assert result.exit_code == 2
    assert reason in result.stderr
