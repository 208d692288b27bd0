"""Random keys: of the declared domains, reproducible, and where they have to be."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from policygen.loading.package_data import data_dir
from policygen.loading.spec_files import load_spec
from policygen.loading.spec_files import spec_files
from policygen.model.capabilities import KNOWN_CAPABILITIES
from policygen.parity.random_keys import random_keys
from policygen.resolve.instance import target_instance
from policygen.resolve.key import KeyReader
from policygen.resolve.resolver import Resolver
from policygen.resolve.specialise import rules_for
from policygen.spec import RuleSet
from policygen.spec import Spec
from policygen.spec import Status

ALGORITHMS = ("reduce", "scan", "transform")


@pytest.fixture(scope="module")
def spec() -> Spec:
    return load_spec(spec_files([(data_dir("specs"), "specs/")]))


def reference(spec: Spec, algorithm: str) -> RuleSet:
    return spec.references["cccl-3.5"][algorithm]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_keys_are_whole_and_of_the_domains(spec: Spec, algorithm: str) -> None:
    described = spec.algorithms[algorithm]
    reader = KeyReader(described)
    keys = random_keys(described, 500, 1, [reference(spec, algorithm)])
    assert [reader.read(key) for key in keys] == keys
    assert random_keys(described, 500, 1, [reference(spec, algorithm)]) == keys
    assert random_keys(described, 500, 2, [reference(spec, algorithm)]) != keys
    assert len(random_keys(described, 7, 1)) == 7


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_point_is_met(spec: Spec, algorithm: str) -> None:
    rules = reference(spec, algorithm)
    keys = random_keys(spec.algorithms[algorithm], 1000, 1, [rules])
    met = set()
    for cc in KNOWN_CAPABILITIES:
        resolver = Resolver(rules_for(spec, target_instance(spec, f"sm_{cc}"), algorithm))
        for key in keys:
            # a ladder that is left has met its point too
            met |= {str(step.point.id) for step in resolver.selected(key).trace if hasattr(step, "point")}
    active = {p.id for ladder in rules.ladders for p in ladder.points if p.status is Status.ACTIVE}
    assert active - met == set()


def test_reduce_keys_agree_and_disagree(spec: Spec) -> None:
    described = spec.algorithms["reduce"]
    keys = random_keys(described, 2000, 1, [reference(spec, "reduce")])
    reader = KeyReader(described)
    agree = [key for key in keys if key["accum_t"] != "other" and _usual_size(reader, key) == key["accum_size"]]
    assert 400 < len(agree) < 1800
    sizes = {key["accum_size"] for key in keys}
    assert {1, 3, 4, 5, 7, 8, 9, 16, 65536} <= sizes
    assert sum(size % 2 for size in sizes) > 50
    assert {"float16", "bfloat16"} <= {key["accum_t"] for key in keys}


def _usual_size(reader: KeyReader, key: dict[str, object]) -> object:
    return reader.read({name: value for name, value in key.items() if name != "accum_size"})["accum_size"]


def test_transform_lists_have_every_length_and_every_mixture(spec: Spec) -> None:
    keys = random_keys(spec.algorithms["transform"], 2000, 1, [reference(spec, "transform")])
    assert {len(key["inputs"]) for key in keys} == {*range(9)}
    different = {len({str(element) for element in key["inputs"]}) for key in keys if len(key["inputs"]) == 8}
    assert {1, 2, 8} <= different


def test_the_hash_seed_plays_no_part() -> None:
    code = (
        "from policygen.loading.package_data import data_dir\n"
        "from policygen.loading.spec_files import load_spec, spec_files\n"
        "from policygen.parity.random_keys import random_keys\n"
        "spec = load_spec(spec_files([(data_dir('specs'), 'specs/')]))\n"
        "print(random_keys(spec.algorithms['scan'], 50, 1, [spec.references['cccl-3.5']['scan']]))\n"
    )
    printed = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert printed[0] == printed[1]
