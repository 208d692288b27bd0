"""Three more of CCCL's selectors, written in the spec language: they load beside the packaged specs and answer alike."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from policygen.load.spec_files import load_spec
from policygen.load.spec_files import spec_files
from policygen.model.types import EnumType
from policygen.model.types import IntType
from policygen.parity.oracle import Oracle
from policygen.parity.toolchain import Toolchain
from policygen.parity.toolchain import ToolchainMissing
from policygen.parity.toolchain import find_toolchain
from policygen.resolve.instance import target_instance
from policygen.resolve.resolver import Resolver
from policygen.resolve.specialise import rules_for
from policygen.resolve.trace import Used
from policygen.spec import Algorithm
from policygen.spec import Spec
from policygen.spec import Status
from sketches.shapes import SHAPES

HERE = Path(__file__).parent
CAPABILITIES = (50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121)
ALGORITHMS = ("radix_sort", "select_if", "segmented_reduce")
KEYS = 10_000

# Sizes beside those of element types, where rules change: one item beyond 128 bytes, a block of no threads.
SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 24, 31, 32, 40, 48, 64, 96, 128, 129, 256, 500, 1024, 4096, 49152, 65536)


@pytest.fixture(scope="module")
def spec() -> Spec:
    return load_spec(spec_files([(HERE / "specs", "sketches/"), (HERE.parents[1] / "specs", "specs/")]))


def resolver(spec: Spec, algorithm: str, cc: int, nvcc: str = "13.0") -> Resolver:
    return Resolver(rules_for(spec, target_instance(spec, f"sm_{cc}", {"nvcc": nvcc}), algorithm))


def policy(spec: Spec, algorithm: str, cc: int, **key: Any) -> Any:
    return resolver(spec, algorithm, cc).resolve(key).policy


def random_key(algorithm: Algorithm, choose: random.Random) -> dict[str, Any]:
    """A key of the declared domains; its fields need not be consistent with each other."""
    key: dict[str, Any] = {}
    for field in algorithm.key:
        match field.type:
            case _ if field.name == "num_items":
                continue
            case EnumType(enumeration):
                key[field.name] = choose.choice([e.name for e in enumeration.enumerators if e.refines is None])
            case IntType() if field.values is not None:
                key[field.name] = choose.choice(field.values)
            case IntType():
                assert field.interval is not None
                zero = field.interval.low == 0 and choose.random() < 0.4
                key[field.name] = 0 if zero else choose.choice(SIZES[:8] if choose.random() < 0.6 else SIZES)
            case _:
                key[field.name] = choose.random() < 0.5
    return key


def test_the_sketches_load_beside_the_packaged_specs(spec: Spec) -> None:
    assert {"reduce", "scan", "transform", *ALGORITHMS} <= set(spec.algorithms)
    assert {"reduce", "scan", "transform", *ALGORITHMS} <= set(spec.references["cccl-3.5"])


def test_a_vocabulary_adds_to_the_packaged_one(spec: Spec) -> None:
    assert {"block_load_bytes", "exchange_bytes"} <= set(spec.vocabulary.scope.functions)
    assert {"radix_digits", "element"} <= set(spec.vocabulary.scope.tables)


@pytest.mark.parametrize(
    ("algorithm", "active", "disabled", "unreachable"),
    [("radix_sort", 21, 4, 22), ("select_if", 81, 0, 0), ("segmented_reduce", 1, 0, 0)],
)
def test_every_row_of_upstream_is_a_point(
    spec: Spec, algorithm: str, active: int, disabled: int, unreachable: int
) -> None:
    points = [p for ladder in spec.references["cccl-3.5"][algorithm].ladders for p in ladder.points]
    counts = [sum(p.status is status for p in points) for status in (Status.ACTIVE, Status.DISABLED, Status.UNREACHABLE)]
    assert counts == [active, disabled, unreachable]
    assert all(p.reason for p in points if p.status is not Status.ACTIVE)


def test_rows_for_large_keys_do_not_answer(spec: Spec) -> None:
    found = resolver(spec, "radix_sort", 100).resolve({"key_type": "int32", "offset_size": 4})
    onesweep = found.policy.onesweep
    assert (found.point, onesweep.threads_per_block, onesweep.items_per_thread) == ("sm90-large-keys", 384, 20)


def test_a_row_for_small_keys_answers(spec: Spec) -> None:
    found = resolver(spec, "radix_sort", 100).resolve({"key_type": "int16", "offset_size": 4})
    assert (found.point, found.policy.onesweep.items_per_thread) == ("sm100-k2-o4", 20)
    onesweep = policy(spec, "radix_sort", 90, key_type="int16", offset_size=4).onesweep
    assert (onesweep.threads_per_block, onesweep.items_per_thread) == (512, 19)


def test_an_upsweep_copies_the_downsweep_that_is_scaled_once(spec: Spec) -> None:
    found = policy(spec, "radix_sort", 50, key_type="int64", offset_size=4)
    assert found.downsweep.items_per_thread == found.upsweep.items_per_thread == 19
    # what the ladder's base says of the upsweep does not stand in front of what is copied
    assert found.alt_upsweep.load_modifier == found.alt_downsweep.load_modifier == "LOAD_LDG"


def test_a_policy_may_hold_that_of_another_algorithm(spec: Spec) -> None:
    scan = policy(spec, "radix_sort", 80, key_type="float32", offset_size=8).scan
    assert (scan.algorithm, scan.lookback.threads_per_block, scan.lookback.items_per_thread) == ("lookback", 512, 11)
    assert (scan.lookahead.lookahead_stages, scan.lookahead.items_per_thread) == (2, 0)


def test_a_segmented_reduction_takes_what_reduce_resolves_to(spec: Spec) -> None:
    key = {"accum_t": "float64", "operation_t": "plus", "offset_size": 4}
    found = resolver(spec, "segmented_reduce", 100).resolve(key)
    first_pass = policy(spec, "reduce", 100, **key).multi_tile
    assert found.policy.large_reduce == first_pass
    for part, threads_per_warp in ((found.policy.medium_reduce, 32), (found.policy.small_reduce, 1)):
        assert part.threads_per_warp == threads_per_warp
        assert (part.threads_per_block, part.items_per_thread) == (first_pass.threads_per_block, first_pass.items_per_thread)


def test_the_trace_says_whose_policy_is_used(spec: Spec) -> None:
    found = resolver(spec, "segmented_reduce", 100).resolve({"accum_t": "float64", "operation_t": "plus", "offset_size": 4})
    used = [step for step in found.trace if isinstance(step, Used)]
    assert [(step.name, step.algorithm, step.point.id) for step in used] == [("reduction", "reduce", "sm100-plus-f64-o4")]
    assert "reduction is the policy of reduce, of its point sm100-plus-f64-o4" in str(used[0])


@pytest.mark.parametrize(("implementation", "modifier"), [("Select", "LOAD_LDG"), ("SelectPotentiallyInPlace", "LOAD_CA")])
def test_a_selection_in_place_does_not_read_through_the_read_only_cache(
    spec: Spec, implementation: str, modifier: str
) -> None:
    found = policy(spec, "select_if", 86, input_type="int32", selection_impl=implementation)
    assert (found.lookback.threads_per_block, found.lookback.load_modifier) == (128, modifier)


@pytest.fixture(scope="module")
def toolchain() -> Toolchain:
    try:
        return find_toolchain()
    except ToolchainMissing as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="module")
def oracle(toolchain: Toolchain, pytestconfig: pytest.Config) -> Oracle:
    if not toolchain.cccl_version.startswith("3.5."):
        pytest.skip(f"the reference is CCCL 3.5; found {toolchain.cccl_version}")
    assert pytestconfig.cache is not None
    return Oracle.build(SHAPES, toolchain, pytestconfig.cache.mkdir("host-programs"))


@pytest.mark.cuda
@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_ten_thousand_keys_resolve_to_upstreams_policies(spec: Spec, oracle: Oracle, algorithm: str) -> None:
    choose = random.Random(f"sketches of {algorithm}")
    keys = [random_key(spec.algorithms[algorithm], choose) for _ in range(KEYS)]
    nvcc = oracle.toolchain.nvcc_version
    resolvers = [resolver(spec, algorithm, cc, nvcc) for cc in CAPABILITIES]
    wholes = [resolvers[0].whole_key(key) for key in keys]
    differences: list[str] = []
    for key, whole, answers in zip(keys, wholes, oracle.evaluate(algorithm, keys, CAPABILITIES), strict=True):
        for cc, ours, theirs in zip(CAPABILITIES, resolvers, answers, strict=True):
            differences += [f"{key} on {cc}: {text}" for text in compared(ours.selected(whole).policy, theirs)]
    assert differences == []


def compared(ours: Mapping[str, Any], theirs: Mapping[str, Any], path: str = "") -> list[str]:
    """One line for each field that differs."""
    found: list[str] = []
    for name in dict.fromkeys([*ours, *theirs]):
        left, right = ours.get(name), theirs.get(name)
        if isinstance(left, Mapping) and isinstance(right, Mapping):
            found += compared(left, right, f"{path}{name}.")
        elif left != right:
            found.append(f"{path}{name} is {left}, upstream's {right}")
    return found
