"""What build says where the compiler's figures contradict a spec's models, or show that registers spill."""

from __future__ import annotations

import datetime

import pytest
from attrs import evolve

from policygen.project import Project
from policygen.prove.against_models import Held
from policygen.prove.against_models import held_against
from policygen.prove.cases import cases
from policygen.prove.compiler_report import Resources
from policygen.prove.evidence import Evidence
from policygen.prove.evidence import PolicyEvidence
from policygen.prove.models import Models


def held(project: Project, **changed: int) -> Held:
    """Evidence for all policies of reduce but the last, as the models say; the first one's figures are changed."""
    resolver = project.resolver("sm_90", "reduce")
    models = Models(resolver.rules)
    policies: list[PolicyEvidence] = []
    for case in cases(resolver).policies[:-1]:
        figures = {}
        for kernel in case.kernels:
            predicted = models.predicted(case, kernel)
            assert predicted.shared is not None
            assert predicted.registers is not None
            figures[kernel.kernel.name] = Resources(predicted.registers, predicted.shared, 0, 0, 0)
        if not policies:
            figures["DeviceReduceKernel"] = evolve(figures["DeviceReduceKernel"], **changed)
        policies.append(PolicyEvidence(case.id, case.point, case.given, figures))
    day = datetime.date(2026, 11, 30)
    return held_against(resolver, models, Evidence("sm_90", "reduce", "sm_90", "13.0", "3.5.0", day, tuple(policies)))


def test_evidence_that_agrees_says_nothing(packaged: Project) -> None:
    found = held(packaged)
    assert found.warnings == ()
    assert found.compiled == found.policies - 1 > 0


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"shared": 12_345}, "takes 12,345 bytes of static shared memory, and the model says "),
        ({"registers": 254}, "takes 254 registers a thread, and the bound is "),
        ({"spill_stores": 48, "spill_loads": 60}, "1 kernel spills registers, of "),
    ],
)
def test_evidence_that_disagrees_is_told_with_its_source(packaged: Project, changed: dict[str, int], said: str) -> None:
    (warning,) = held(packaged, **changed).warnings
    assert said in warning
    assert "DeviceReduceKernel" in warning
    assert warning.endswith("(compiled 2026-11-30, nvcc 13.0 for sm_90, CCCL 3.5.0)")
