from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from plan.cuda_limits import limits_of
from policygen.model.capabilities import KNOWN_CAPABILITIES
from policygen.model.facts import EvidenceKind
from policygen.plan.kernel_resources import KernelResources
from policygen.plan.limits import LIMIT_NAMES
from policygen.plan.limits import Limits
from policygen.plan.occupancy import Resource
from policygen.plan.occupancy import Room
from policygen.plan.occupancy import occupancy

KIB = 1024


def kernel(threads: int, registers: int | None = 32, static: int | None = 0, dynamic: int = 0) -> KernelResources:
    return KernelResources(kernel="k", threads=threads, registers=registers, static_smem=static, dynamic_smem=dynamic)


def blocks(limits: Limits, resources: KernelResources) -> int:
    found = occupancy(limits, resources).blocks
    assert found is not None
    return found


# Any chip, also one with other warps, units and partitions than NVIDIA's.
OTHER_LIMITS = st.builds(
    Limits,
    warp_size=st.sampled_from([16, 32, 64]),
    max_threads_per_block=st.sampled_from([256, 512, 1024]),
    max_threads_per_sm=st.sampled_from([512, 1024, 1536, 2048, 8192]),
    max_blocks_per_sm=st.integers(1, 64),
    max_registers_per_thread=st.sampled_from([127, 255, 512]),
    max_registers_per_block=st.sampled_from([16384, 32768, 65536]),
    registers_per_sm=st.sampled_from([32768, 65536, 131072]),
    register_allocation_unit=st.sampled_from([1, 64, 256, 512]),
    warp_allocation_unit=st.sampled_from([1, 2, 4]),
    sm_partitions=st.sampled_from([1, 2, 4]),
    max_smem_per_block=st.sampled_from([32 * KIB, 48 * KIB]),
    max_smem_per_block_optin=st.sampled_from([48 * KIB, 99 * KIB, 227 * KIB]),
    smem_per_sm=st.sampled_from([64 * KIB, 100 * KIB, 228 * KIB]),
    reserved_smem_per_block=st.sampled_from([0, 1000, 1024]),
    smem_allocation_unit=st.sampled_from([1, 128, 256]),
)
LIMITS = st.sampled_from([limits_of(f"sm_{cc}") for cc in KNOWN_CAPABILITIES]) | OTHER_LIMITS
KERNELS = st.builds(
    KernelResources,
    kernel=st.just("k"),
    threads=st.integers(1, 1100),
    registers=st.integers(0, 300),
    static_smem=st.integers(0, 50 * KIB) | st.just(0),
    dynamic_smem=st.integers(0, 230 * KIB) | st.just(0),
)


def used(resources: KernelResources) -> tuple[int, int, int]:
    assert resources.registers is not None
    assert resources.static_smem is not None
    return resources.registers, resources.static_smem, resources.dynamic_smem


@given(LIMITS, KERNELS, st.integers(0, 2000), st.sampled_from(["threads", "registers", "static_smem", "dynamic_smem"]))
def test_who_takes_more_gets_no_more_blocks(limits: Limits, resources: KernelResources, more: int, field: str) -> None:
    if field == "dynamic_smem" and resources.dynamic_smem == 0:
        # the first byte opts in, and so allows more than static memory may have
        resources = evolve(resources, dynamic_smem=1)
    greedy = evolve(resources, **{field: getattr(resources, field) + more})
    assert blocks(limits, greedy) <= blocks(limits, resources)


@given(LIMITS, KERNELS)
def test_resident_blocks_are_within_every_limit(limits: Limits, resources: KernelResources) -> None:
    found = occupancy(limits, resources)
    registers, static, dynamic = used(resources)
    assert found.blocks is not None
    assert not found.at_most
    assert found.limited_by
    assert all(found.bounds[resource].blocks == found.blocks for resource in found.limited_by)
    if found.blocks == 0:
        return
    assert found.warps is not None
    assert found.max_warps is not None
    assert found.fraction is not None
    assert 0 < found.fraction <= 1
    facts = {name: getattr(limits, name) for name in LIMIT_NAMES}
    assert found.blocks <= facts["max_blocks_per_sm"]
    assert found.warps * facts["warp_size"] <= facts["max_threads_per_sm"]
    assert found.warps * facts["warp_size"] * registers <= facts["registers_per_sm"]
    assert found.blocks * (static + dynamic + facts["reserved_smem_per_block"]) <= facts["smem_per_sm"]
    assert resources.threads <= facts["max_threads_per_block"]
    assert registers <= facts["max_registers_per_thread"]
    assert static <= facts["max_smem_per_block"]
    assert static + dynamic <= facts["max_smem_per_block_optin" if dynamic else "max_smem_per_block"]


def with_shared_memory(resources: KernelResources, total: int) -> KernelResources:
    """The kernel with that many bytes: of dynamic memory where it has some."""
    _, static, dynamic = used(resources)
    if dynamic == 0:
        return evolve(resources, static_smem=total)
    return evolve(resources, static_smem=min(static, total - 1), dynamic_smem=max(total - static, 1))


@given(LIMITS, KERNELS)
def test_the_margin_is_exact(limits: Limits, resources: KernelResources) -> None:
    """Using it all keeps the blocks; one register or one byte beyond it loses one."""
    found = occupancy(limits, resources)
    if not found.blocks:
        assert (found.keeps, found.spare_registers, found.spare_shared_memory) == (None, None, None)
        return
    registers, static, dynamic = used(resources)
    assert found.spare_registers is not None
    assert found.spare_shared_memory is not None
    assert min(found.spare_registers, found.spare_shared_memory) >= 0
    most_registers, most_bytes = registers + found.spare_registers, static + dynamic + found.spare_shared_memory
    greedy = with_shared_memory(evolve(resources, registers=most_registers), most_bytes)
    assert blocks(limits, greedy) == found.blocks
    assert blocks(limits, evolve(resources, registers=most_registers + 1)) < found.blocks
    assert blocks(limits, with_shared_memory(resources, most_bytes + 1)) < found.blocks


@given(LIMITS, KERNELS)
def test_what_one_more_block_needs_is_exact(limits: Limits, resources: KernelResources) -> None:
    found = occupancy(limits, resources)
    assert found.blocks is not None
    frugal = evolve(resources, registers=0, static_smem=0, dynamic_smem=min(resources.dynamic_smem, 1))
    if found.one_more is None:
        assert blocks(limits, frugal) <= found.blocks
        return
    most_registers, most_bytes = found.one_more.registers, found.one_more.shared_memory
    assert most_registers is not None
    assert most_bytes is not None
    if most_bytes == 0 and resources.dynamic_smem:
        return  # no dynamic byte is left
    kept = with_shared_memory(evolve(resources, registers=most_registers), most_bytes)
    assert blocks(limits, kept) > found.blocks
    assert blocks(limits, evolve(kept, registers=most_registers + 1)) <= found.blocks
    assert blocks(limits, with_shared_memory(kept, most_bytes + 1)) <= found.blocks


@given(LIMITS, KERNELS, st.sets(st.sampled_from([*LIMIT_NAMES, "registers", "static_smem"])))
def test_what_is_not_known_makes_an_upper_bound(limits: Limits, resources: KernelResources, unknown: set[str]) -> None:
    truth = blocks(limits, resources)
    of_kernel: dict[str, Any] = {name: None for name in unknown if name not in LIMIT_NAMES}
    found = occupancy(
        evolve(limits, **{name: None for name in unknown if name in LIMIT_NAMES}), evolve(resources, **of_kernel)
    )
    assert found.blocks is None or found.blocks >= truth
    assert found.at_most or found.blocks == truth


@given(LIMITS, KERNELS, st.integers(0, 300))
def test_a_model_s_registers_give_a_lower_bound_or_do_not_matter(
    limits: Limits, resources: KernelResources, fewer: int
) -> None:
    """A model says no fewer registers than the compiler takes."""
    bound, _, _ = used(resources)
    truth = blocks(limits, evolve(resources, registers=max(bound - fewer, 0)))
    found = occupancy(limits, evolve(resources, registers_are=EvidenceKind.DERIVED))
    assert found.blocks is not None
    assert found.blocks <= truth
    assert found.at_least or found.blocks == truth


# A few figures that a reader can check by hand.


def test_threads_and_registers_limit_together() -> None:
    found = occupancy(limits_of("sm_90"), kernel(256, 32, 44))
    assert (found.blocks, found.warps, found.max_warps, found.fraction) == (8, 64, 64, 1.0)
    assert found.limited_by == (Resource.THREADS, Resource.REGISTERS)
    # 228 KiB over 8 blocks are 29,184 bytes each, and the driver has 1,024 of them
    assert (found.spare_registers, found.spare_shared_memory) == (0, 28160 - 44)
    assert found.one_more is None


def test_registers_are_allotted_in_units_of_a_warp() -> None:
    """33 registers a thread are 1,056 a warp, and 1,280 are allotted: 12 warps of a partition's 16,384."""
    found = occupancy(limits_of("sm_90"), kernel(256, 33))
    assert (found.blocks, found.limited_by) == (6, (Resource.REGISTERS,))
    assert (found.spare_registers, found.one_more) == (7, Room(32, 32256))


def test_a_warp_s_registers_come_from_one_partition() -> None:
    """104 registers are 3,328 a warp: a quarter of the registers holds 4 such warps, and half of them 9."""
    assert blocks(limits_of("sm_61"), kernel(9 * 32, 104)) == 16 // 9
    assert blocks(limits_of("sm_60"), kernel(9 * 32, 104)) == 18 // 9


def test_a_block_s_registers_are_checked_in_fours_of_warps() -> None:
    """17 warps of 104 registers would fit the register file, but 20 are checked: 66,560 of 65,536."""
    found = occupancy(limits_of("sm_80"), kernel(17 * 32, 104))
    assert (found.blocks, found.limited_by, found.at_most) == (0, (Resource.REGISTERS,), False)
    assert found.one_more == Room(96, 48 * KIB)


def test_half_the_register_file_for_a_block_where_the_part_is_small() -> None:
    assert blocks(limits_of("sm_53"), kernel(512, 65)) == 0
    assert blocks(limits_of("sm_52"), kernel(512, 65)) == 1


@pytest.mark.parametrize(
    ("target", "static", "dynamic", "expected"),
    [
        ("sm_90", 0, 147456, 1),
        ("sm_90", 0, 232448, 1),
        ("sm_90", 0, 232449, 0),
        ("sm_120", 0, 101376, 1),
        ("sm_120", 0, 101377, 0),
        ("sm_75", 0, 65536, 1),
        ("sm_75", 0, 65537, 0),
        ("sm_90", 49152, 0, 4),
        ("sm_90", 49153, 0, 0),
        ("sm_90", 49152, 100, 4),
        ("sm_90", 49153, 100, 0),
        ("sm_60", 49152, 0, 1),
        ("sm_60", 49152, 1, 0),
        ("sm_80", 0, 0, 32),
    ],
)
def test_shared_memory_of_a_block(target: str, static: int, dynamic: int, expected: int) -> None:
    """What may be static and what an opt-in allows; both leave the driver's reserve out."""
    assert blocks(limits_of(target), kernel(64, 32, static, dynamic)) == expected


def test_more_threads_than_a_block_may_have() -> None:
    found = occupancy(limits_of("sm_90"), kernel(1056))
    assert (found.blocks, found.limited_by, found.keeps, found.one_more) == (0, (Resource.THREADS,), None, None)


def test_registers_that_are_not_known_leave_an_upper_bound_and_the_registers_that_reach_it() -> None:
    found = occupancy(limits_of("sm_90"), kernel(512, None, 84))
    assert (found.blocks, found.at_most, found.unknown) == (4, True, ("registers of the kernel",))
    assert found.keeps is not None
    assert (found.keeps.registers, found.spare_registers) == (32, None)


def test_dynamic_memory_bounds_the_blocks_though_the_static_is_not_known() -> None:
    found = occupancy(limits_of("sm_90"), kernel(64, 32, None, 100 * KIB))
    assert (found.blocks, found.at_most, found.limited_by) == (2, True, (Resource.SHARED_MEMORY,))
    assert found.unknown == ("static shared memory of the kernel",)
    assert occupancy(limits_of("sm_90"), kernel(64, 32, None, 228 * KIB)).blocks == 0


def test_bi100_knows_its_threads_and_registers_but_not_how_they_are_allotted() -> None:
    """65,536 registers over 512 threads of 40 are 3 blocks, if they are allotted one by one; 8,192 threads are 16."""
    found = occupancy(limits_of("bi100"), kernel(512, 40, 84))
    assert (found.blocks, found.at_most, found.limited_by) == (3, True, (Resource.REGISTERS,))
    assert found.bounds[Resource.THREADS].blocks == 16
    assert found.bounds[Resource.SHARED_MEMORY].blocks is None
    assert {"smem_per_sm", "register_allocation_unit", "max_blocks_per_sm"} <= set(found.unknown)
    assert found.spare_shared_memory is None


def test_bi100_refuses_what_is_known_not_to_fit() -> None:
    found = occupancy(limits_of("bi100"), kernel(512, None, 49153))
    assert (found.blocks, found.at_most, found.limited_by) == (0, False, (Resource.SHARED_MEMORY,))


def test_an_opt_in_that_is_not_known_never_fits_for_certain() -> None:
    limits = evolve(limits_of("sm_90"), max_smem_per_block_optin=None)
    assert occupancy(limits, kernel(64, 32, 0, 49152)).at_most is False
    found = occupancy(limits, kernel(64, 32, 0, 49153))
    assert (found.at_most, found.unknown) == (True, ("max_smem_per_block_optin",))


def test_nothing_known_is_no_number() -> None:
    found = occupancy(Limits(), kernel(256))
    assert (found.blocks, found.at_most, found.warps, found.fraction, found.limited_by) == (None, True, None, None, ())


@pytest.mark.parametrize(("field", "value"), [("threads", 0), ("registers", -1), ("static_smem", -1)])
def test_resources_are_counts(field: str, value: int) -> None:
    wrong: dict[str, Any] = {field: value}
    with pytest.raises(ValueError, match=rf"^{field} is {value}"):
        evolve(kernel(256), **wrong)
