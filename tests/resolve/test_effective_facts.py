from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

import pytest
from attrs import evolve

from policygen.model.fact_names import FACT_NAMES
from policygen.model.facts import EvidenceKind
from policygen.model.facts import Fact
from policygen.model.facts import Reading
from policygen.model.facts import Withdrawal
from policygen.model.problems import Location
from policygen.model.problems import SpecError
from policygen.resolve.facts import effective_facts
from policygen.resolve.facts import extend
from policygen.resolve.facts import override

MEASURED, COMPILED, DOCUMENTED, DERIVED, ASSUMED, INADMISSIBLE = EvidenceKind
DAY = datetime.date(2026, 8, 1)


def evaluate(formula: str, values: Mapping[str, int | None]) -> int | None:
    if None in values.values():
        return None
    return int(eval(formula, {"__builtins__": {}}, dict(values)))


def reading(value: int | None, kind: EvidenceKind = MEASURED, **other: Any) -> Reading:
    return evolve(Reading(value, kind, DAY, "source", Location("t.toml", 7)), **other)


def derived(formula: str, value: int | None = None) -> Reading:
    return reading(value, DERIVED, formula=formula)


def facts(**readings: Reading | tuple[Reading, ...]) -> dict[str, Fact]:
    return {
        name: Fact(
            name,
            FACT_NAMES[name].dimension,
            given if isinstance(given, tuple) else (given,),
            location=Location("t.toml", 5),
        )
        for name, given in readings.items()
    }


BASE = facts(
    bandwidth_per_sm=derived("memory_bandwidth // sm_count"),
    memory_bandwidth=reading(900, DOCUMENTED),
    sm_count=reading(16),
)


def problems(stated: Mapping[str, Fact]) -> str:
    with pytest.raises(SpecError) as caught:
        effective_facts(stated, evaluate)
    return str(caught.value)


def test_derived_value_is_recomputed_with_the_weakest_kind_of_its_inputs() -> None:
    fact = effective_facts(BASE, evaluate)["bandwidth_per_sm"]
    assert (fact.value, fact.kind) == (56, DOCUMENTED)
    assert fact.reading is not None
    assert (fact.reading.kind, fact.reading.basis) == (DERIVED, DOCUMENTED)
    assert str(fact) == "bandwidth_per_sm: 56 B/s (derived from documented 2026-08-01, source)"


def test_result_is_sorted_and_does_not_depend_on_the_order_of_facts() -> None:
    backwards = dict(reversed(BASE.items()))
    assert list(effective_facts(BASE, evaluate)) == sorted(BASE)
    assert list(effective_facts(backwards, evaluate).items()) == list(effective_facts(BASE, evaluate).items())


def test_derived_of_derived() -> None:
    stated = {**BASE, **facts(bytes_in_flight_per_sm=derived("bandwidth_per_sm * 2"))}
    assert effective_facts(stated, evaluate)["bytes_in_flight_per_sm"].value == 112


@pytest.mark.parametrize(
    "stated",
    [
        {**BASE, "sm_count": evolve(BASE["sm_count"], readings=(), unknown="nobody looked")},
        {name: fact for name, fact in BASE.items() if name != "sm_count"},
        {**BASE, **facts(bandwidth_per_sm=derived("memory_bandwidth // sm_count", 56), sm_count=())},
    ],
    ids=["unknown", "not stated", "stored"],
)
def test_unknown_input_makes_the_result_unknown(stated: dict[str, Fact]) -> None:
    fact = effective_facts(stated, evaluate)["bandwidth_per_sm"]
    assert (fact.value, fact.kind, fact.unknown) == (None, None, "an input of its formula is unknown")


def test_stored_value_must_equal_the_recomputed_one() -> None:
    right = {**BASE, **facts(bandwidth_per_sm=derived("memory_bandwidth // sm_count", 56))}
    assert effective_facts(right, evaluate)["bandwidth_per_sm"].value == 56
    wrong = {**BASE, **facts(bandwidth_per_sm=derived("memory_bandwidth // sm_count", 50))}
    assert problems(wrong) == (
        't.toml:7: fact.bandwidth_per_sm.formula: "memory_bandwidth // sm_count" gives 56 B/s but 50 B/s is stored: '
        "write that, or leave the value out"
    )


@pytest.mark.parametrize(
    ("formula", "reason"),
    [
        ("sm_count - sm_count", "gives 0: expected 1 to 2^63 - 1"),
        ("sm_count * 9223372036854775807", f"gives {16 * (2**63 - 1)}: expected 1 to 2^63 - 1"),
        ("sm_count // (sm_count - 16)", "has no value: integer division or modulo by zero"),
    ],
)
def test_formula_without_a_useful_value(formula: str, reason: str) -> None:
    stated = facts(sm_count=reading(16), l2_size=derived(formula))
    assert problems(stated) == f't.toml:7: fact.l2_size.formula: "{formula}" {reason}'


def test_circle_of_formulas() -> None:
    stated = facts(
        l2_size=derived("memory_size // 2"), memory_size=derived("smem_per_sm * 2"), smem_per_sm=derived("l2_size + 1")
    )
    assert problems(stated) == (
        "t.toml:5: fact.l2_size: formulas depend on one another: l2_size -> memory_size -> smem_per_sm -> l2_size"
    )
    itself = facts(sm_count=derived("sm_count + 1"))
    assert problems(itself) == "t.toml:5: fact.sm_count: formulas depend on one another: sm_count -> sm_count"


def test_withdrawn_formula_is_not_followed() -> None:
    stated = facts(sm_count=(reading(16), evolve(derived("sm_count + 1"), withdrawn="a slip")))
    assert effective_facts(stated, evaluate)["sm_count"].value == 16


def test_every_problem_of_every_fact_is_reported() -> None:
    stated = facts(sm_count=(reading(1), reading(2)), warp_size=(reading(3), reading(4)), l2_size=derived("sm_count-1"))
    assert [line.split(": ")[1] for line in problems(stated).splitlines()] == ["fact.sm_count", "fact.warp_size"]


def test_capability_selects_readings_and_formulas() -> None:
    stated = facts(
        smem_per_sm=(reading(100, cc=(86, 89)), reading(228, cc=(90, 103))),
        max_smem_per_block_optin=derived("smem_per_sm - 1"),
    )
    answers = {cc: effective_facts(stated, evaluate, cc=cc)["max_smem_per_block_optin"].value for cc in (86, 90, 110)}
    assert answers == {86: 99, 90: 227, 110: None}


def test_extension_appends_readings_and_takes_the_parent_for_the_rest() -> None:
    child = facts(sm_count=reading(15, date=datetime.date(2026, 9, 1)), l2_size=reading(5))
    joined = extend(BASE, child)
    assert list(joined) == sorted({*BASE, "l2_size"})
    assert [stated.value for stated in joined["sm_count"].readings] == [16, 15]
    assert effective_facts(joined, evaluate)["bandwidth_per_sm"].value == 60


def test_extension_marks_and_plausible_values_take_the_place_of_the_parents() -> None:
    parent = facts(warp_size=(reading(64, effective="why"), reading(32, ASSUMED)))
    parent["warp_size"] = evolve(parent["warp_size"], plausible=(32, 64))
    child = facts(warp_size=reading(32, ASSUMED, effective="another device"))
    inherited = effective_facts(extend(parent, child), evaluate)["warp_size"]
    assert (inherited.value, inherited.plausible) == (32, (32, 64))
    child["warp_size"] = evolve(child["warp_size"], plausible=(32,))
    assert effective_facts(extend(parent, child), evaluate)["warp_size"].plausible == (32,)


def test_extension_withdraws_with_a_reason() -> None:
    parent = facts(warp_size=(reading(64), reading(64, DOCUMENTED), reading(32, ASSUMED)))
    parent["warp_size"] = evolve(parent["warp_size"], plausible=(32, 64))
    child = facts(warp_size=())
    child["warp_size"] = evolve(child["warp_size"], withdrawals=(Withdrawal(64, "32 lanes on this chip"),))
    joined = extend(parent, child)
    assert [stated.withdrawn for stated in joined["warp_size"].readings] == ["32 lanes on this chip"] * 2 + [None]
    assert joined["warp_size"].withdrawals == ()
    fact = effective_facts(joined, evaluate)["warp_size"]
    assert (fact.value, fact.plausible, fact.conflicts) == (32, (32,), ())
    named = (Withdrawal(64, "why", kind=DOCUMENTED, date=DAY, source="source"),)
    child["warp_size"] = evolve(child["warp_size"], withdrawals=named)
    assert effective_facts(extend(parent, child), evaluate)["warp_size"].value == 64


def test_withdrawing_what_the_parent_does_not_have() -> None:
    child = facts(warp_size=(), l2_size=())
    child["warp_size"] = evolve(
        child["warp_size"], withdrawals=(Withdrawal(64, "why", location=Location("c.toml", 3)),)
    )
    child["l2_size"] = evolve(child["l2_size"], withdrawals=(Withdrawal(1024, "why", location=Location("c.toml", 4)),))
    with pytest.raises(SpecError) as caught:
        extend(facts(warp_size=reading(32)), child)
    assert str(caught.value).splitlines() == [
        "c.toml:3: fact.warp_size.withdraw: withdraws a reading 64 that the extended target does not have",
        "c.toml:4: fact.l2_size.withdraw: withdraws a reading 1 KiB that the extended target does not have",
    ]
    assert extend({}, BASE) == extend(BASE, {}) == {name: BASE[name] for name in sorted(BASE)}


def test_withdrawal_in_a_target_that_extends_none() -> None:
    own = facts(warp_size=reading(64))
    withdrawal = Withdrawal(64, "why", location=Location("c.toml", 3))
    own["warp_size"] = evolve(own["warp_size"], withdrawals=(withdrawal,))
    assert problems(own) == (
        "c.toml:3: fact.warp_size.withdraw: withdraws a reading of the target that this one extends, but it extends "
        "none; a reading of this file is withdrawn where it stands"
    )


def test_extension_lifts_unknown_when_it_has_a_reading() -> None:
    parent = {"smem_per_sm": evolve(facts(smem_per_sm=())["smem_per_sm"], unknown="no query was kept")}
    assert effective_facts(extend(parent, facts(smem_per_sm=reading(65536))), evaluate)["smem_per_sm"].value == 65536
    assert extend(parent, facts(smem_per_sm=()))["smem_per_sm"].unknown == "no query was kept"


def test_override_is_the_only_plausible_value_and_shows_as_a_conflict() -> None:
    stated = facts(warp_size=(reading(64, effective="why"), reading(32, ASSUMED)), sm_count=reading(16))
    stated["warp_size"] = evolve(stated["warp_size"], plausible=(32, 64))
    fact = effective_facts(override(stated, "warp_size", 32, "--set warp_size=32"), evaluate)["warp_size"]
    assert (fact.value, fact.plausible) == (32, (32,))
    assert [str(conflict) for conflict in fact.conflicts] == [
        "warp_size: 32 (assumed, --set warp_size=32) is used, not 64 (measured 2026-08-01, source); set for this run"
    ]
    assert effective_facts(override(BASE, "sm_count", 8, "--set"), evaluate)["bandwidth_per_sm"].value == 112
    assert effective_facts(override({}, "nvcc", 1304, "--set"), evaluate)["nvcc"].value == 1304
