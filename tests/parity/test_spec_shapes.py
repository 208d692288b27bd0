"""Selectors' shapes, derived from the specs, against those written by hand."""

from __future__ import annotations

import attrs
import pytest

from parity.shapes import REDUCE
from parity.shapes import SCAN
from parity.shapes import TRANSFORM
from policygen.loading.package_data import data_dir
from policygen.loading.spec_files import load_spec
from policygen.loading.spec_files import spec_files
from policygen.model.types import INT64
from policygen.model.types import RecordType
from policygen.model.types import Struct
from policygen.model.types import StructField
from policygen.parity.host_program import host_program
from policygen.parity.shape import RecordField
from policygen.parity.shape import SelectorShape
from policygen.parity.spec_shapes import oracle_key
from policygen.parity.spec_shapes import selector_shape
from policygen.spec import Algorithm
from policygen.spec import Spec


@pytest.fixture(scope="module")
def spec() -> Spec:
    return load_spec(spec_files([(data_dir("specs"), "specs/")]))


@pytest.fixture
def reduce(spec: Spec) -> Algorithm:
    return spec.algorithms["reduce"]


@pytest.mark.parametrize("shape", [REDUCE, SCAN, TRANSFORM], ids=lambda shape: shape.algorithm)
def test_the_shape_is_that_of_cub(spec: Spec, shape: SelectorShape) -> None:
    assert selector_shape(spec.algorithms[shape.algorithm]) == shape


def test_a_refinement_is_what_it_refines(reduce: Algorithm) -> None:
    key = {"accum_t": "float16", "operation_t": "plus", "offset_size": 4, "accum_size": 2, "determinism": "run_to_run"}
    assert oracle_key(reduce, {**key, "num_items": -1}) == {**key, "accum_t": "other"}


def test_records_and_lists_are_translated(spec: Spec) -> None:
    iterator = {
        "value_type_size": 4,
        "value_type_alignment": 4,
        "value_type_is_trivially_relocatable": True,
        "is_contiguous": False,
    }
    key = {"requires_stable_address": False, "dense_output": True, "inputs": (iterator,) * 2, "output": iterator}
    assert oracle_key(spec.algorithms["transform"], {**key, "num_items": 1024}) == key


def test_the_elements_of_an_array_are_named_by_their_subscripts(reduce: Algorithm) -> None:
    passes = StructField("passes", RecordType(reduce.policy), array=True)
    shape = selector_shape(attrs.evolve(reduce, policy=Struct("Passes", (passes,))))
    (array,) = shape.policy
    assert isinstance(array, RecordField)
    assert [(e.name, e.member) for e in array.fields] == [("multi_tile", "[0]"), ("single_tile", "[1]")]
    assert "answers.integer(policy.passes[1].vec_size);" in host_program([shape])


def test_an_algorithm_that_is_not_in_cub(reduce: Algorithm) -> None:
    with pytest.raises(ValueError, match=r"^reduce has no selector in CUB: specs/algorithms/reduce\.toml has no `cub`"):
        selector_shape(attrs.evolve(reduce, cub=None))


def test_a_type_that_selectors_have_not(reduce: Algorithm) -> None:
    key = tuple(attrs.evolve(f, type=INT64) if f.name == "accum_size" else f for f in reduce.key)
    with pytest.raises(ValueError, match=r"^reduce\.accum_size: CUB's selectors have no int64"):
        selector_shape(attrs.evolve(reduce, key=key))
