"""What is compiled for a target: one case a policy and sizes, with types that stand for the others."""

from __future__ import annotations

import pytest

from policygen.fold.table import policy_table
from policygen.kernels import CppKind
from policygen.kernels import CppParameter
from policygen.lang.parse import parse
from policygen.lang.tree import Scope
from policygen.model.types import INT32
from policygen.project import Project
from policygen.prove.cases import cases
from policygen.prove.cases import instance
from policygen.prove.cpp_types import CppArgument
from policygen.prove.cpp_types import CppTypes


def element(name: str = "T", **more: str) -> CppParameter:
    scope = Scope({"size": INT32, "alignment": INT32})
    return CppParameter(
        name,
        CppKind.ELEMENT,
        parse("size", scope),
        alignment=parse("alignment", scope) if "alignment" in more else None,
        none=more.get("none", ""),
    )


@pytest.mark.parametrize(
    ("size", "spelled"),
    [
        (1, "signed char"),
        (4, "int"),
        (16, "__int128_t"),
        (12, "::policygen_proof::record<12, 4>"),
        (3, "::policygen_proof::record<3, 1>"),
        (64, "::policygen_proof::record<64, 16>"),
    ],
)
def test_an_element_of_some_size_is_a_number_or_a_record_of_natural_alignment(size: int, spelled: str) -> None:
    (found,) = CppTypes([element()]).arguments({"size": size})
    assert found.texts == (spelled,)


def test_an_element_of_another_alignment_is_a_record() -> None:
    (found,) = CppTypes([element(alignment="yes")]).arguments({"size": 8, "alignment": 4})
    assert (found.texts, found.shape) == (("::policygen_proof::record<8, 4>",), (8, 4))


def test_an_element_of_no_bytes_is_what_the_spec_says_or_an_error() -> None:
    (found,) = CppTypes([element(none="::cub::NullType")]).arguments({"size": 0})
    assert found.texts == ("::cub::NullType",)
    with pytest.raises(ValueError, match="T: an element of no bytes"):
        CppTypes([element()]).arguments({"size": 0})


def test_a_list_without_records_leaves_no_comma() -> None:
    out, none = CppArgument("OutT", ("float",), (4, 4)), CppArgument("InTs", (), (), is_list=True)
    two = CppArgument("InTs", ("int", "short"), ((4, 4), (2, 2)), is_list=True)
    text = "kernel<{policy}, {OutT*}, {InTs*}>"
    assert instance(text, [out, none]) == "kernel<{policy}, float*>"
    assert instance(text, [out, two]) == "kernel<{policy}, float*, int*, short*>"


@pytest.mark.parametrize("target", ["sm_90", "bi100", "h200"])
def test_every_common_key_is_in_one_case(packaged: Project, target: str) -> None:
    for name, algorithm in packaged.spec.algorithms.items():
        if algorithm.kernels:
            resolver = packaged.resolver(target, name)
            found = cases(resolver)
            assert sum(case.keys for case in found.policies) + len(found.unproved) == len(policy_table(resolver).rows)
            assert len({case.id for case in found.policies}) == len(found.policies)


def test_float32_and_plus_stand_for_all_keys_of_their_policy(packaged: Project) -> None:
    found = cases(packaged.resolver("sm_90", "reduce"))
    assert {"accum_t": "float32", "operation_t": "plus", "offset_size": 4} in [case.given for case in found.policies]
    assert "int32" not in [case.given["accum_t"] for case in found.policies]


def test_a_changed_policy_has_another_id(packaged: Project) -> None:
    on_sm_90, on_bi100 = (cases(packaged.resolver(target, "reduce")).policies for target in ("sm_90", "bi100"))
    by_key = {str(case.given): case for case in on_sm_90}
    pairs = [(by_key[str(case.given)], case) for case in on_bi100 if str(case.given) in by_key]
    assert pairs
    assert all((a.policy == b.policy) == (a.id == b.id) for a, b in pairs)
