from __future__ import annotations

import pytest
from attrs import evolve

from plan.cuda_limits import limits_of
from policygen.model.facts import EvidenceKind
from policygen.plan.kernel_resources import KernelResources
from policygen.plan.occupancy import occupancy
from policygen.plan.residency import Residency
from policygen.plan.target_device import residency_from_facts

FACTS = {"sm_count": 16, "blocks_per_sm": 2, "subscription_factor": 5}


@pytest.mark.parametrize(("occupancy", "max_blocks"), [(None, 160), (2, 160), (1, 80)])
def test_both_readings_of_the_occupancy_are_reproducible(occupancy: int | None, max_blocks: int) -> None:
    assert residency_from_facts(FACTS, occupancy).max_blocks == max_blocks


def test_an_unknown_fact_is_not_guessed() -> None:
    with pytest.raises(ValueError, match="does not know blocks_per_sm, which a plan needs; give the occupancy"):
        residency_from_facts({**FACTS, "blocks_per_sm": None})
    with pytest.raises(ValueError, match="does not know sm_count"):
        residency_from_facts({}, occupancy=1)


def test_a_plan_takes_the_occupancy_that_was_computed() -> None:
    """256 threads of 33 registers are 6 blocks on an H200; 132 multiprocessors and 5 waves of them."""
    facts = {"sm_count": 132, "subscription_factor": 5}
    kernel = KernelResources(kernel="sum", threads=256, registers=33, static_smem=44)
    residency = residency_from_facts(facts, occupancy(limits_of("h200"), kernel))
    assert (residency.occupancy, residency.max_blocks) == (6, 6 * 132 * 5)


def test_a_plan_takes_no_bound_for_an_occupancy() -> None:
    kernel = KernelResources(kernel="sum", threads=512, static_smem=84)
    reason = "the occupancy of sum is not known for want of registers of the kernel; give it as a number"
    with pytest.raises(ValueError, match=reason):
        residency_from_facts(FACTS, occupancy(limits_of("h200"), kernel))
    kernel = evolve(kernel, registers=40, registers_are=EvidenceKind.DERIVED)
    with pytest.raises(ValueError, match="for want of registers that are the compiler's and not a model's"):
        residency_from_facts(FACTS, occupancy(limits_of("h200"), kernel))


def test_a_kernel_that_does_not_fit_has_no_plan() -> None:
    kernel = KernelResources(kernel="sum", threads=512, registers=200, static_smem=84)
    with pytest.raises(ValueError, match="sum does not run: not one block of it fits a multiprocessor, for its reg"):
        residency_from_facts(FACTS, occupancy(limits_of("h200"), kernel))


def test_the_tail_is_the_last_wave() -> None:
    waves = Residency(sm_count=16, occupancy=2).waves(82)
    assert (waves.waves, waves.tail_blocks, waves.resident_blocks) == (3, 18, 32)
    assert waves.utilisation == pytest.approx(82 / 96)


def test_full_and_empty_grids() -> None:
    residency = Residency(sm_count=16, occupancy=2)
    assert (residency.waves(64).tail_blocks, residency.waves(64).utilisation) == (32, 1.0)
    assert (residency.waves(0).waves, residency.waves(0).tail_blocks, residency.waves(0).utilisation) == (0, 0, 0.0)


@pytest.mark.parametrize("name", ["sm_count", "occupancy", "subscription_factor"])
def test_counts_are_at_least_one(name: str) -> None:
    with pytest.raises(ValueError, match=rf"^{name} is 0"):
        Residency(**{"sm_count": 16, "occupancy": 2, name: 0})


def test_a_grid_beyond_the_integers_of_upstream_is_refused() -> None:
    with pytest.raises(ValueError, match="occupancy x sm_count x subscription_factor is"):
        Residency(sm_count=2**20, occupancy=2**10)
