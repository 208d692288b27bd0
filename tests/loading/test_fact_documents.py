from __future__ import annotations

import datetime

from policygen.loading.fact_documents import facts_from_document
from policygen.loading.toml_source import parse_toml
from policygen.model.dimensions import Dimension
from policygen.model.facts import EvidenceKind
from policygen.model.facts import Fact
from policygen.model.facts import Reading
from policygen.model.facts import Withdrawal
from policygen.model.problems import Location
from policygen.model.problems import SpecError


def read(text: str) -> tuple[dict[str, Fact], list[str]]:
    source = parse_toml(text.encode(), "t.toml")
    facts, problems = facts_from_document(source, source.data["fact"])
    return facts, str(SpecError(problems)).splitlines()


STATED = 'kind = "measured"\ndate = 2026-08-20\nsource = "s"\n'


def one(name: str, rest: str) -> list[str]:
    return read(f"[fact.{name}]\n[[fact.{name}.reading]]\n{rest}")[1]


def test_every_key_of_a_fact() -> None:
    facts, problems = read(
        """\
[fact.max_smem_per_block]
plausible = ["48 KiB", "32768 B"]
[[fact.max_smem_per_block.reading]]
value = "48 KiB"
kind = "measured"
date = 2026-08-20
source = '''two
   lines'''
method = "query"
conditions = { driver = "3.2.3", device = "0" }
applies = false
withdrawn = "why"
cc = ">=8.6,<9"
[[fact.max_smem_per_block.reading]]
formula = "smem_per_sm // 2"
kind = "derived"
date = 2026-08-19
source = "half"
effective = "why"
[[fact.max_smem_per_block.withdraw]]
value = "16 KiB"
reason = "why"
kind = "assumed"
date = 2026-08-01
source = "notes"
[fact.fp64_throughput]
unknown = "never measured"
"""
    )
    assert problems == []
    assert facts["max_smem_per_block"] == Fact(
        "max_smem_per_block",
        Dimension.BYTES,
        (
            Reading(
                49152,
                EvidenceKind.MEASURED,
                datetime.date(2026, 8, 20),
                "two lines",
                conditions=(("device", "0"), ("driver", "3.2.3")),
                method="query",
                applies=False,
                withdrawn="why",
                cc=(86, 89),
            ),
            Reading(
                None,
                EvidenceKind.DERIVED,
                datetime.date(2026, 8, 19),
                "half",
                formula="smem_per_sm // 2",
                effective="why",
            ),
        ),
        plausible=(32768, 49152),
        withdrawals=(Withdrawal(16384, "why", EvidenceKind.ASSUMED, datetime.date(2026, 8, 1), "notes"),),
    )
    assert facts["fp64_throughput"] == Fact("fp64_throughput", Dimension.FLOPS, (), unknown="never measured")
    assert [stated.location for stated in facts["max_smem_per_block"].readings] == [
        Location("t.toml", 3),
        Location("t.toml", 14),
    ]


def test_all_problems_are_found_in_one_pass() -> None:
    facts, problems = read(
        """\
[fact.wrap_size]
unknown = "x"
[fact.sm_count]
[[fact.sm_count.reading]]
value = "16"
kind = "mesured"
date = "2026-08-20"
sorce = "s"
[fact.l2_size]
plausible = ["6 MB"]
[[fact.l2_size.reading]]
value = 6291456
kind = "assumed"
date = 2026-08-01
source = " "
cc = "8.0"
[fact.warp_size]
[[fact.warp_size.reading]]
value = 32
kind = "assumed"
date = 2026-08-01
source = "s"
"""
    )
    assert list(facts) == ["warp_size"]
    assert problems == [
        't.toml:1: fact.wrap_size: unknown fact; did you mean "warp_size"?',
        "t.toml:4: fact.sm_count.reading[0].source: this key is missing",
        't.toml:6: fact.sm_count.reading[0].kind: expected one of "measured", "compiled", "documented", "derived", '
        '"assumed", "inadmissible", not "mesured"',
        't.toml:7: fact.sm_count.reading[0].date: expected a date such as 2026-08-20 without quotes, not "2026-08-20"',
        't.toml:8: fact.sm_count.reading[0].sorce: unknown key; did you mean "source"?',
        't.toml:10: fact.l2_size.plausible[0]: "6 MB" is in doubt: write "6 MiB" (6291456 bytes) or "6000000 B"',
        't.toml:12: fact.l2_size.reading[0].value: 6291456 needs a unit: write "6291456 B" or "6 MiB"',
        "t.toml:15: fact.l2_size.reading[0].source: is empty: say it in one line",
        't.toml:16: fact.l2_size.reading[0].cc: "8.0" is not a range: write such as ">=10.0" or ">=10.7,<11" or '
        '"==8.0"',
    ]


def test_a_reading_has_a_value_or_a_formula() -> None:
    assert one("sm_count", STATED) == [
        "t.toml:2: fact.sm_count.reading[0].value: this key is missing: only a derived reading may leave it out"
    ]
    assert one("sm_count", 'value = 1\nkind = "derived"\ndate = 2026-08-20\nsource = "s"\n') == [
        "t.toml:2: fact.sm_count.reading[0].formula: a derived reading needs one, such as "
        '"memory_bandwidth // sm_count"'
    ]
    assert one("sm_count", 'formula = "device_count"\n' + STATED) == [
        't.toml:3: fact.sm_count.reading[0].formula: only a reading of kind "derived" has a formula, not "measured"'
    ]


def test_formula_names_facts_and_integer_arithmetic_alone() -> None:
    def formula(text: str) -> list[str]:
        problems = one("sm_count", f'formula = "{text}"\nkind = "derived"\ndate = 2026-08-20\nsource = "s"\n')
        return [problem.removeprefix("t.toml:3: fact.sm_count.reading[0].formula: ") for problem in problems]

    expected = "is not a formula: facts, whole numbers, + - * // and parentheses"
    assert formula("memory_bandwidth / 2.5") == [f'"memory_bandwidth / 2.5" {expected}']
    assert formula("memory_bandwidth ** 2") == [f'"memory_bandwidth ** 2" {expected}']
    assert formula("1 + 2") == ['"1 + 2" names no fact']
    assert formula("memory_bandwith // sm_count") == [
        'unknown fact "memory_bandwith"; did you mean "memory_bandwidth"?'
    ]


def test_zero_is_not_unknown() -> None:
    assert one("sm_count", "value = 0\n" + STATED) == [
        "t.toml:3: fact.sm_count.reading[0].value: zero is no value of a fact: leave the reading out and say "
        'unknown = "why"'
    ]
    assert one("reserved_smem_per_block", 'value = "0 B"\n' + STATED) == []


def test_what_is_never_effective_cannot_be_marked() -> None:
    assert one("sm_count", 'value = 1\neffective = "why"\napplies = false\n' + STATED) == [
        "t.toml:4: fact.sm_count.reading[0].effective: a reading with applies = false is never effective"
    ]
    inadmissible = STATED.replace("measured", "inadmissible")
    assert one("sm_count", 'value = 1\neffective = "why"\n' + inadmissible) == [
        "t.toml:4: fact.sm_count.reading[0].effective: an inadmissible reading is never effective"
    ]


def test_a_fact_says_something() -> None:
    assert read("[fact.sm_count]\n")[1] == ['t.toml:1: fact.sm_count: has no reading: add one, or say unknown = "why"']
    assert read('[fact.sm_count]\nunknown = ""\n')[1][-1] == (
        "t.toml:2: fact.sm_count.unknown: is empty: say it in one line"
    )
    assert read("[fact]\nsm_count = 16\n")[1] == ["t.toml:2: fact.sm_count: expected a table, not 16"]


def test_a_withdrawal_has_a_reason() -> None:
    withdraw = "[[fact.warp_size.withdraw]]\nvalue = 64\n"
    assert read(withdraw)[1] == ["t.toml:1: fact.warp_size.withdraw[0].reason: this key is missing"]
    assert read(withdraw + 'reason = ""\n')[1] == [
        "t.toml:3: fact.warp_size.withdraw[0].reason: is empty: say it in one line"
    ]
