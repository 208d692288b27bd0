"""Occupancy as `explain` and `audit` tell it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from policygen.model.facts import EvidenceKind
from policygen.plan.kernel_resources import KernelResources
from policygen.plan.occupancy import occupancy
from policygen.project import Project
from policygen.project import load
from policygen.resolve.explanation import explanation
from policygen.resolve.occupancy import limits_of
from policygen.resolve.occupancy import occupancy_data
from policygen.resolve.occupancy import occupancy_line

SUM = {"accum_t": "float32", "operation_t": "plus", "offset_size": 4}
COMPILED, DERIVED = EvidenceKind.COMPILED, EvidenceKind.DERIVED
BI100_LACKS = (
    "max_blocks_per_sm, register_allocation_unit, warp_allocation_unit, sm_partitions, reserved_smem_per_block, "
    "smem_allocation_unit, smem_per_sm"
)


@pytest.fixture(scope="module")
def packaged() -> Project:
    return load(Path(__file__).parents[2])


@pytest.mark.parametrize(
    ("target", "taken", "expected"),
    [
        (
            "sm_90",
            {"threads": 256, "registers": 32, "registers_are": COMPILED, "static_smem": 44},
            "8 blocks a SM (64 of 64 warps), limited by threads and registers; registers 32 (compiled), margin 0; "
            "shared memory 44 bytes, margin 28,116",
        ),
        (
            "sm_90",
            {"threads": 256, "registers": 33, "registers_are": DERIVED, "static_smem": 44},
            "at least 6 blocks a SM (48 of 64 warps), limited by registers; registers 33 at most (derived from the "
            "model), margin 7; shared memory 44 bytes, margin 37,844; one more block with 1 register a thread less",
        ),
        (
            "sm_120",
            {"threads": 384, "registers": 40, "registers_are": COMPILED, "static_smem": 16, "dynamic_smem": 98304},
            "1 block a SM (12 of 48 warps), limited by shared memory; registers 40 (compiled), margin 128; "
            "shared memory 16 static and 98,304 dynamic bytes, margin 3,056; one more block with 48,144 bytes less",
        ),
        (
            "sm_120",
            {"threads": 1024, "registers": 65, "registers_are": COMPILED, "static_smem": 0, "dynamic_smem": 101377},
            "no block fits, for want of registers and shared memory; registers 65 (compiled); "
            "shared memory 0 static and 101,377 dynamic bytes; one block with 1 register a thread less and 1 byte less",
        ),
        (
            "sm_90",
            {"threads": 512, "registers": 200, "registers_are": DERIVED, "static_smem": 44},
            "by the model no block fits, for want of registers; registers 200 at most (derived from the model); "
            "shared memory 44 bytes; one block with 72 registers a thread less",
        ),
        (
            "sm_90",
            {"threads": 256, "static_smem": 44},
            "at most 8 blocks a SM (64 of 64 warps), limited by threads; registers unknown, up to 32 a thread allow as "
            "many; shared memory 44 bytes, margin 28,116",
        ),
        (
            "sm_90",
            {"threads": 256, "static_smem": 40000},
            "at most 5 blocks a SM (40 of 64 warps), limited by shared memory; registers unknown, up to 48 a thread "
            "allow as many; shared memory 40,000 bytes, margin 5,568; one more block with at most 40 registers a "
            "thread and 2,112 bytes less",
        ),
        (
            "sm_90",
            {"threads": 2048, "registers": 16, "registers_are": COMPILED, "static_smem": 0},
            "no block fits, for want of threads; registers 16 (compiled); shared memory 0 bytes",
        ),
        (
            "bi100",
            {"threads": 512, "registers": 40, "registers_are": DERIVED, "static_smem": 84},
            "about 3 blocks a SM (24 of 128 warps), limited by registers; registers 40 at most (derived from the "
            f"model), margin at most 2; shared memory 84 bytes, margin unknown; not known of the target: {BI100_LACKS}",
        ),
    ],
)
def test_a_line_for_a_kernel(packaged: Project, target: str, taken: dict[str, Any], expected: str) -> None:
    kernel = KernelResources(kernel="DeviceReduceKernel", **taken)
    found = occupancy(limits_of(packaged.target(target)), kernel)
    assert occupancy_line(found) == f"DeviceReduceKernel: {expected}"


def test_a_kernel_as_data(packaged: Project) -> None:
    kernel = KernelResources(kernel="sum", threads=256, registers=33, registers_are=COMPILED, static_smem=44)
    data = occupancy_data(occupancy(limits_of(packaged.target("sm_90")), kernel))
    assert json.loads(json.dumps(data)) == {
        "kernel": "sum",
        "threads": 256,
        "registers": 33,
        "registers_are": "compiled",
        "static_smem": 44,
        "dynamic_smem": 0,
        "blocks": 6,
        "at_most": False,
        "at_least": False,
        "warps": 48,
        "max_warps": 64,
        "limited_by": ["registers"],
        "bounds": {"threads": 8, "blocks": 32, "registers": 6, "shared memory": 202},
        "margin": {"registers": 7, "shared_memory": 37844},
        "keeps": {"registers": 40, "shared_memory": 37888},
        "one_more": {"registers": 32, "shared_memory": 32256},
        "unknown": [],
    }


def test_an_explanation_has_a_line_for_each_kernel_that_it_is_given(packaged: Project) -> None:
    resolver = packaged.resolver("sm_90", "reduce")
    resolution = resolver.resolve(SUM)
    assert not any(line.startswith("occupancy: ") for line in explanation(packaged.spec, resolver, resolution).lines())
    kernels = (
        KernelResources(kernel="DeviceReduceKernel", threads=256, registers=32, static_smem=44),
        KernelResources(kernel="DeviceReduceSingleTileKernel", threads=256, registers=40, static_smem=44),
    )
    told = explanation(packaged.spec, resolver, resolution, kernels)
    lines = [line for line in told.lines() if line.startswith("occupancy: ")]
    assert [line.split(" a SM")[0] for line in lines] == [
        "occupancy: DeviceReduceKernel: 8 blocks",
        "occupancy: DeviceReduceSingleTileKernel: 6 blocks",
    ]
    assert [kernel["blocks"] for kernel in told.as_dict()["occupancy"]] == [8, 6]


def test_another_value_of_a_limit_counts(packaged: Project) -> None:
    """What `--set` says is what occupancy goes by."""
    kernel = KernelResources(kernel="sum", threads=256, registers=32, static_smem=44)
    instance = packaged.target("sm_90", {"registers_per_sm": "32768"})
    assert occupancy(limits_of(instance), kernel).blocks == 4
