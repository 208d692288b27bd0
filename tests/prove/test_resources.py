"""What the kernels behind a policy take: figures of the compiler where there are any, models else."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from policygen.fold.table import Row
from policygen.fold.table import policy_table
from policygen.model.facts import EvidenceKind
from policygen.plan.occupancy import occupancy
from policygen.project import Project
from policygen.prove.cases import CaseMaker
from policygen.prove.compiler_report import Resources
from policygen.prove.evidence import Evidence
from policygen.prove.evidence import PolicyEvidence
from policygen.prove.resources import KernelUse
from policygen.resolve.occupancy import limits_of

SUM = {"accum_t": "float32", "operation_t": "plus", "offset_size": 4}


@pytest.mark.parametrize(
    ("target", "algorithm", "key", "expected"),
    [
        ("bi100", "reduce", SUM, [("DeviceReduceKernel", 512, 84), ("DeviceReduceSingleTileKernel", 512, 84)]),
        # after the constraint has lowered the items
        (
            "bi100",
            "scan",
            {"input_type": "int128", "operation_t": "plus", "offset_size": 4},
            [("DeviceScanKernel", 256, 45072)],
        ),
    ],
)
def test_kernels_behind_a_policy(
    packaged: Project, target: str, algorithm: str, key: dict[str, Any], expected: list[tuple[str, int, int]]
) -> None:
    resolver = packaged.resolver(target, algorithm)
    found = KernelUse(resolver.rules, None).of(resolver.resolve(key))
    assert [(kernel.kernel, kernel.threads, kernel.static_smem) for kernel in found] == expected


@pytest.mark.parametrize("target", ["sm_60", "sm_90", "sm_120", "bi100"])
def test_every_policy_of_a_common_key_has_kernels_that_can_run(packaged: Project, target: str) -> None:
    """But for CUB's own misfits, which are reported where they are resolved."""
    limits = limits_of(packaged.target(target))
    for name in packaged.spec.algorithms:
        resolver = packaged.resolver(target, name)
        use = KernelUse(resolver.rules, None)
        for row in policy_table(resolver).rows:
            misfit = any("reported, not mended" in str(step) for step in row.resolution.trace)
            for kernel in use.of(row.resolution):
                found = occupancy(limits, kernel)
                assert found.blocks or misfit, (name, row.given, kernel)


def evidence(project: Project, target: str, figures: Resources) -> Evidence:
    resolver = project.resolver(target, "reduce")
    maker = CaseMaker(resolver.rules)
    row = Row(SUM, resolver.resolve(SUM))
    policy = maker.case(row, maker.arguments(row), 1)
    one = PolicyEvidence(policy.id, policy.point, SUM, {"DeviceReduceKernel": figures})
    return Evidence(target, "reduce", target, "13.0", "3.5.0", datetime.date(2026, 11, 30), (one,))


FIGURES = Resources(registers=37, shared=44, stack=0, spill_stores=0, spill_loads=0)


def test_evidence_for_exactly_that_policy_takes_the_place_of_the_model(packaged: Project) -> None:
    resolver = packaged.resolver("sm_90", "reduce")
    use = KernelUse(resolver.rules, evidence(packaged, "sm_90", FIGURES))
    first, second = use.of(resolver.resolve(SUM))
    assert (first.registers, first.registers_are) == (37, EvidenceKind.COMPILED)
    assert second.registers_are is EvidenceKind.DERIVED
    (other, _) = use.of(resolver.resolve(SUM | {"accum_t": "float64"}))
    assert other.registers_are is EvidenceKind.DERIVED


def test_what_was_compiled_for_a_proxy_is_no_figure_of_the_chip(packaged: Project) -> None:
    resolver = packaged.resolver("bi100", "reduce")
    use = KernelUse(resolver.rules, evidence(packaged, "bi100", FIGURES))
    assert [kernel.registers_are for kernel in use.of(resolver.resolve(SUM))] == [EvidenceKind.DERIVED] * 2
