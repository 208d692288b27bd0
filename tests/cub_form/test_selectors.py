"""CUB forms select as CUB does: for every algorithm, on many types, on every architecture."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cub_form.nvcc import compile_cuda
from cub_form.nvcc import toolchain_or_skip
from cub_form.selector_program import COMPARISONS
from cub_form.selector_program import selector_program
from policygen.build import build
from policygen.emit.cpp.expressions import identifier
from policygen.emit.writer import apply
from policygen.emit.writer import plan
from policygen.project import Project
from policygen.project import load
from policygen.tune import TemplateParameter

ROOT = Path(__file__).parents[2]
INCLUDE = ROOT / "generated" / "include"
# device code alone: selectors are constant expressions, and one front end is enough to evaluate them
DEVICE = ("-arch=sm_90", "-ptx")

pytestmark = pytest.mark.cuda


@pytest.fixture(scope="module")
def project() -> Project:
    return load(ROOT)


@pytest.fixture(scope="module")
def family(project: Project, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The headers of the family `cuda`, built."""
    folder = tmp_path_factory.mktemp("family")
    made = build(project, ["cuda"])
    apply(plan(folder, made.artifacts, made.owners))
    return folder / "include"


def test_every_algorithm_has_a_form(project: Project) -> None:
    assert sorted(COMPARISONS) == sorted(project.spec.algorithms)
    there = {p.name for p in (INCLUDE / "policygen" / "sm_90").glob("cub_tuning_*.cuh")}
    assert there == {f"cub_tuning_{identifier(name)}.cuh" for name in COMPARISONS}


@pytest.mark.slow
def test_an_architecture_selects_as_cub(project: Project, tmp_path: Path) -> None:
    algorithms = list(project.spec.algorithms.values())
    capabilities = project.spec.targets["sm"].capabilities
    done = compile_cuda(tmp_path, selector_program(algorithms, "sm_90", capabilities), INCLUDE, *DEVICE)
    assert done.accepted, done.said


@pytest.mark.slow
def test_a_family_selects_as_cub(project: Project, family: Path, tmp_path: Path) -> None:
    algorithms = list(project.spec.algorithms.values())
    capabilities = project.spec.targets["cuda"].architectures
    done = compile_cuda(tmp_path, selector_program(algorithms, "cuda", capabilities), family, *DEVICE)
    assert done.accepted, done.said


CONTROL = """
void control()
{
  using Plus = cuda::std::plus<>;
  same<policygen::sm_90::reduce::selector<float, unsigned, Plus>,
       cub::detail::reduce::policy_selector_from_types<double, unsigned, Plus>>();
}
"""


def test_a_difference_does_not_compile(project: Project, tmp_path: Path) -> None:
    algorithms = [project.spec.algorithms["reduce"]]
    done = compile_cuda(tmp_path, selector_program(algorithms, "sm_90", [90], CONTROL), INCLUDE, *DEVICE)
    assert "another policy than CUB's" in done.said
    assert "difference_at" in done.said
    assert "Capability=90" in done.said.replace(" ", "")


@pytest.mark.slow
def test_headers_are_clean_on_the_host_and_under_a_wrapped_namespace(project: Project, tmp_path: Path) -> None:
    names = [identifier(name) for name in project.spec.algorithms]
    lines = [f"#include <policygen/sm_90/cub_tuning_{name}.cuh>" for name in names]
    lines += ["int main()", "{", "  constexpr cuda::compute_capability cc{90};", "  const auto policy ="]
    lines.append("    policygen::sm_90::reduce::selector_for<const int*, int, cuda::std::plus<>, int>{}(cc);")
    lines += ["  return policy.multi_tile.threads_per_block == 256 ? 0 : 1;", "}"]
    wrapped = "-DTHRUST_CUB_WRAPPED_NAMESPACE=wrapped"
    done = compile_cuda(tmp_path, "\n".join(lines), INCLUDE, "-arch=sm_90", "-c", wrapped)
    assert done.accepted, done.said


def test_parameters_are_those_of_cubs_own_selectors(project: Project) -> None:
    include = toolchain_or_skip().include
    for algorithm in project.spec.algorithms.values():
        assert algorithm.cub is not None
        assert algorithm.tune is not None
        text = (include / algorithm.cub.header).read_text(encoding="utf-8")
        found = re.search(rf"template <([^;{{}}]*)>\nstruct {algorithm.tune.upstream}\n", text)
        if found is None:
            assert f"struct {algorithm.tune.upstream}\n" in text
            assert algorithm.tune.parameters == ()
            continue
        theirs = [part.split() for part in re.split(r",\s*", found[1])]
        ours = [_declared(p) for p in algorithm.tune.parameters]
        assert [_unscoped(part) for part in theirs] == ours, algorithm.name


def _declared(parameter: TemplateParameter) -> list[str]:
    default = ["=", parameter.default] if parameter.default else []
    return _unscoped([parameter.kind, parameter.name, *default])


def _unscoped(words: list[str]) -> list[str]:
    """A declaration without namespaces, as CUB writes it within its own."""
    return ["class" if word == "typename" else re.sub(r"(?:::)?(?:\w+::)*(?=__\w+$|\w+$)", "", word) for word in words]
