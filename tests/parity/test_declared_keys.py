"""The systematic cover of the declared domains."""

from __future__ import annotations

import pytest

from policygen.loading.package_data import data_dir
from policygen.loading.spec_files import load_spec
from policygen.loading.spec_files import spec_files
from policygen.model.capabilities import KNOWN_CAPABILITIES
from policygen.model.types import EnumType
from policygen.parity.declared_keys import declared_keys
from policygen.parity.declared_keys import neighbourhoods
from policygen.resolve.instance import target_instance
from policygen.resolve.key import KeyReader
from policygen.resolve.resolver import Resolver
from policygen.resolve.specialise import rules_for
from policygen.spec import Spec
from policygen.spec import Status


@pytest.fixture(scope="module")
def spec() -> Spec:
    return load_spec(spec_files([(data_dir("specs"), "specs/")]))


@pytest.mark.parametrize("algorithm", ["for", "reduce", "scan", "select_if", "transform"])
def test_keys_are_whole_of_the_domains_and_always_the_same(spec: Spec, algorithm: str) -> None:
    keys = declared_keys(spec, algorithm, spec.targets["sm"], budget=500)
    reader = KeyReader(spec.algorithms[algorithm])
    assert [reader.read(key) for key in keys] == keys
    assert keys == declared_keys(spec, algorithm, spec.targets["sm"], budget=500)
    assert len({repr(key) for key in keys}) == len(keys)


@pytest.mark.parametrize("algorithm", ["radix_sort", "reduce", "scan", "select_if", "transform"])
def test_every_enumerator_domain_end_and_declared_value_is_there(spec: Spec, algorithm: str) -> None:
    keys = declared_keys(spec, algorithm, spec.targets["sm"])
    for field in spec.algorithms[algorithm].key:
        if field.name in ("num_items", "inputs", "output"):
            continue
        met = {key[field.name] for key in keys}
        if isinstance(field.type, EnumType):
            assert met == set(field.type.enumeration.names)
        elif field.values is not None:
            assert met == set(field.values)
        elif field.interval is not None:
            assert {field.interval.low, field.interval.high} <= met
        else:
            assert met == {False, True}


def test_thresholds_are_met_from_both_sides(spec: Spec) -> None:
    sizes = {key["accum_size"] for key in declared_keys(spec, "reduce", spec.targets["sm"])}
    assert {*range(1, 18), 31, 32, 33, 65535, 65536} <= sizes


@pytest.mark.parametrize("algorithm", ["reduce", "scan", "select_if"])
def test_each_point_has_a_neighbourhood_that_begins_with_a_key_of_its_own(spec: Spec, algorithm: str) -> None:
    around = neighbourhoods(spec, algorithm, spec.targets["sm"])
    ladders = spec.references["cccl-3.5"][algorithm].ladders
    assert set(around) == {p.id for ladder in ladders for p in ladder.points if p.status is Status.ACTIVE}
    resolvers = [
        Resolver(rules_for(spec, target_instance(spec, f"sm_{cc}", {"nvcc": "13.4"}), algorithm))
        for cc in KNOWN_CAPABILITIES
    ]
    for point, keys in around.items():
        met = {str(step.point.id) for r in resolvers for step in r.selected(keys[0]).trace if hasattr(step, "point")}
        assert point in met
