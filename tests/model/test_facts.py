from __future__ import annotations

import datetime
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from policygen.model.dimensions import Dimension
from policygen.model.facts import EvidenceKind
from policygen.model.facts import Fact
from policygen.model.facts import Reading
from policygen.model.facts import effective
from policygen.model.facts import formula_names
from policygen.model.facts import weakest
from policygen.model.problems import Location
from policygen.model.problems import SpecError

MEASURED, COMPILED, DOCUMENTED, DERIVED, ASSUMED, INADMISSIBLE = EvidenceKind
AUGUST = datetime.date(2026, 8, 1)


def reading(value: int | None, kind: EvidenceKind = ASSUMED, day: int = 1, **other: Any) -> Reading:
    plain = Reading(value, kind, AUGUST.replace(day=day), f"source {value}", Location("t.toml", value))
    return evolve(plain, **other)


def warp(*readings: Reading, plausible: tuple[int, ...] = (), unknown: str | None = None) -> Fact:
    return Fact("warp_size", Dimension.COUNT, readings, plausible, unknown, location=Location("t.toml", 1))


def problems(fact: Fact) -> str:
    with pytest.raises(SpecError) as caught:
        effective(fact)
    return str(caught.value)


def test_kinds_in_order_of_strength() -> None:
    names = ["measured", "compiled", "documented", "derived", "assumed", "inadmissible"]
    assert [kind.value for kind in sorted(EvidenceKind, key=lambda kind: kind.weakness)] == names
    assert weakest([MEASURED, ASSUMED, DOCUMENTED]) is ASSUMED


def test_strongest_kind_is_effective_though_older() -> None:
    fact = effective(warp(reading(32, ASSUMED, 20), reading(64, MEASURED, 1), reading(48, DOCUMENTED, 9)))
    assert (fact.value, fact.kind, fact.plausible) == (64, MEASURED, (64,))
    assert [str(conflict) for conflict in fact.conflicts] == [
        "warp_size: 64 (measured 2026-08-01, source 64) is used, not 48 (documented 2026-08-09, source 48)",
        "warp_size: 64 (measured 2026-08-01, source 64) is used, not 32 (assumed 2026-08-20, source 32)",
    ]


def test_newest_of_a_kind_is_effective() -> None:
    assert effective(warp(reading(32, day=1), reading(64, day=2), reading(16, day=1, withdrawn="slip"))).value == 64


def test_mark_with_a_reason_comes_first_and_the_conflict_says_why() -> None:
    fact = effective(warp(reading(64, MEASURED, 20), reading(32, ASSUMED, effective="kernels were written for it")))
    assert (fact.value, fact.kind) == (32, ASSUMED)
    assert [str(conflict) for conflict in fact.conflicts] == [
        "warp_size: 32 (assumed 2026-08-01, source 32) is used, not 64 (measured 2026-08-20, source 64); "
        "kernels were written for it"
    ]


@pytest.mark.parametrize(
    "never",
    [
        reading(64, INADMISSIBLE, 20),
        reading(64, MEASURED, 20, applies=False),
        reading(64, MEASURED, 20, withdrawn="wrong device"),
        reading(64, MEASURED, 20, withdrawn="wrong device", effective="was the choice"),
    ],
)
def test_readings_that_are_never_effective(never: Reading) -> None:
    assert effective(warp(never, reading(32))).value == 32
    alone = effective(warp(never))
    assert (alone.value, alone.kind, alone.reading, alone.plausible, alone.conflicts) == (None, None, None, (), ())
    assert str(alone) == "warp_size: unknown (no reading of it is in force)"


def test_conflict_with_what_is_no_evidence_is_reported_unless_withdrawn() -> None:
    fact = effective(
        warp(
            reading(16, MEASURED, 3, applies=False),
            reading(8, INADMISSIBLE, 2),
            reading(4, MEASURED, 2, withdrawn="x"),
            reading(32),
        )
    )
    assert [str(conflict).partition(" not ")[2] for conflict in fact.conflicts] == [
        "16 (measured 2026-08-03, does not apply, source 16)",
        "8 (inadmissible 2026-08-02, source 8)",
    ]


def test_one_conflict_a_value() -> None:
    fact = effective(warp(reading(64, MEASURED), reading(32, DOCUMENTED), reading(32), reading(64, day=2)))
    assert [conflict.other.kind for conflict in fact.conflicts] == [DOCUMENTED]


def test_same_kind_and_date_with_different_values_needs_a_mark() -> None:
    pair = (reading(32), reading(64))
    message = (
        "t.toml:64: fact.warp_size: 32 and 64 are both assumed, 2026-08-01: "
        'mark one with effective = "why", or withdraw one'
    )
    assert problems(warp(*pair)) == message
    assert problems(warp(*pair, reading(16, MEASURED))) == message
    assert effective(warp(pair[0], evolve(pair[1], effective="why"))).value == 64
    assert effective(warp(pair[0], evolve(pair[1], withdrawn="why"))).value == 32
    assert effective(warp(reading(32), reading(32, source="another"))).value == 32


def test_two_marks_are_an_error() -> None:
    fact = warp(reading(32, effective="a"), reading(64, MEASURED, effective="b"))
    assert problems(fact) == (
        "t.toml:32: fact.warp_size: more than one reading is marked effective: t.toml:64, t.toml:32"
    )


def test_said_to_be_unknown() -> None:
    assert str(effective(warp(unknown="never measured"))) == "warp_size: unknown (never measured)"
    assert effective(warp(reading(70, MEASURED, applies=False), unknown="emulated")).unknown == "emulated"
    assert problems(warp(reading(32), unknown="never measured")) == (
        "t.toml:32: fact.warp_size: unknown is said (never measured) but a reading is in force; drop one"
    )


def test_plausible_values_follow_their_readings() -> None:
    both = warp(reading(64, MEASURED), reading(32), plausible=(32, 64))
    assert effective(both).plausible == (32, 64)
    withdrawn = evolve(both, readings=(evolve(both.readings[0], withdrawn="not this device"), both.readings[1]))
    assert (effective(withdrawn).value, effective(withdrawn).plausible) == (32, (32,))
    other = evolve(both, readings=(both.readings[0], evolve(both.readings[1], withdrawn="a guess")))
    assert (effective(other).value, effective(other).plausible) == (64, (64,))
    assert effective(evolve(both, plausible=(32,))).plausible == (32, 64)


@pytest.mark.parametrize("extra", [(), (reading(16, INADMISSIBLE),), (reading(16, MEASURED, applies=False),)])
def test_plausible_value_without_a_reading_in_force(extra: tuple[Reading, ...]) -> None:
    assert problems(warp(reading(64), *extra, plausible=(16, 64))) == (
        "t.toml:1: fact.warp_size.plausible: 16 has no reading in force behind it: add one, or leave it out"
    )


def test_readings_of_a_family_speak_of_their_capabilities() -> None:
    fact = warp(reading(1, cc=(80, 80)), reading(2, cc=(86, 89)), plausible=(1, 2))
    assert [effective(fact, cc).value for cc in (80, 86, 89, 90, None)] == [1, 2, 2, None, None]
    assert effective(fact, 86).plausible == (2,)
    assert effective(fact, 90).unknown == "no reading speaks of it"
    assert effective(warp(reading(3), reading(1, MEASURED, cc=(80, 80))), 80).value == 1


def test_stated_comes_before_derived_of_the_same_strength() -> None:
    derived = reading(36, DERIVED, 1, basis=MEASURED, formula="a // b")
    fact = effective(warp(derived, reading(40, MEASURED, 1)))
    assert (fact.value, fact.kind) == (40, MEASURED)
    assert str(fact.conflicts[0]).endswith("not 36 (derived from measured 2026-08-01, source 36)")


def test_formula_names() -> None:
    assert formula_names("(memory_bandwidth + 1) // sm_count * sm_count") == ("memory_bandwidth", "sm_count")


ANY_READING = st.builds(
    reading,
    st.integers(1, 4),
    st.sampled_from(EvidenceKind),
    st.integers(1, 28),
    applies=st.booleans(),
    withdrawn=st.sampled_from([None, "why"]),
)


@given(st.lists(ANY_READING, max_size=5), st.randoms())
def test_choice_does_not_depend_on_the_order_of_readings(readings: list[Reading], random: Any) -> None:
    def outcome(ordered: list[Reading]) -> object:
        try:
            fact = effective(warp(*ordered))
        except SpecError:
            return None
        return (fact.value, fact.kind, fact.plausible, {(c.used.value, c.other.value) for c in fact.conflicts})

    shuffled = readings[:]
    random.shuffle(shuffled)
    assert outcome(readings) == outcome(shuffled)


@given(st.lists(ANY_READING, max_size=5))
def test_effective_value_has_evidence_and_every_other_value_is_reported_once(readings: list[Reading]) -> None:
    try:
        fact = effective(warp(*readings))
    except SpecError:
        return
    in_force = {reading.value for reading in readings if reading.in_force}
    assert (fact.value in in_force) if in_force else (fact.value is None)
    if fact.value is not None:
        assert fact.value in fact.plausible
        others = [conflict.other.value for conflict in fact.conflicts]
        assert len(others) == len(set(others))
        assert set(others) == {reading.value for reading in readings if reading.withdrawn is None} - {fact.value}
