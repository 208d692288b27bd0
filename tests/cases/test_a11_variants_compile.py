"""A-11: variants that nobody compiles: points beside the defaults, compiled into CUB's kernels."""

from __future__ import annotations

import pytest

from policygen.parity.toolchain import find_toolchain
from policygen.project import Project
from policygen.prove.cases import PolicyCase
from policygen.prove.cases import cases
from policygen.prove.compiled import Compiler
from policygen.prove.compiled import compile_all
from policygen.prove.compiled import instances_of
from policygen.prove.compiler_report import Resources

pytestmark = [pytest.mark.cuda, pytest.mark.slow]


def tuned(project: Project, algorithm: str) -> tuple[PolicyCase, ...]:
    """Two cases of points that are not the last of their ladder; of an algorithm without such points, its default."""
    found = cases(project.resolver("sm_90", algorithm)).policies
    beside = [c for c in found if c.row.resolution.point_rule is not c.row.resolution.ladder.points[-1]]
    return tuple((beside or list(found))[:2])


def test_points_beside_the_defaults_compile_in_every_algorithm(packaged: Project, pytestconfig: pytest.Config) -> None:
    assert pytestconfig.cache is not None
    chosen = [case for name in packaged.spec.algorithms for case in tuned(packaged, name)]
    assert {case.algorithm.name for case in chosen} == set(packaged.spec.algorithms)
    compiler = Compiler(find_toolchain(), "sm_90", pytestconfig.cache.mkdir("kernels"))
    instances = list(instances_of(chosen))
    outcomes = compile_all(instances, compiler, jobs=1).outcomes
    wrong = [f"{i}: {o}" for i, o in zip(instances, outcomes, strict=True) if not isinstance(o, Resources)]
    assert wrong == []
