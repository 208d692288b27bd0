"""Policies of algorithms whose rules copy, hold or take over what others resolve to."""

from __future__ import annotations

from typing import Any

import pytest

from policygen.loading.package_data import data_dir
from policygen.loading.spec_files import load_spec
from policygen.loading.spec_files import spec_files
from policygen.resolve.instance import target_instance
from policygen.resolve.resolver import Resolver
from policygen.resolve.specialise import rules_for
from policygen.resolve.trace import Used
from policygen.spec import Spec
from policygen.spec import Status


@pytest.fixture(scope="module")
def spec() -> Spec:
    return load_spec(spec_files([(data_dir("specs"), "specs/")]))


def resolver(spec: Spec, algorithm: str, cc: int) -> Resolver:
    return Resolver(rules_for(spec, target_instance(spec, f"sm_{cc}"), algorithm))


def policy(spec: Spec, algorithm: str, cc: int, **key: Any) -> Any:
    return resolver(spec, algorithm, cc).resolve(key).policy


@pytest.mark.parametrize(
    ("algorithm", "active", "disabled", "unreachable"),
    [("radix_sort", 21, 4, 22), ("select_if", 81, 0, 0), ("segmented_reduce", 1, 0, 0)],
)
def test_every_row_of_upstream_is_a_point(
    spec: Spec, algorithm: str, active: int, disabled: int, unreachable: int
) -> None:
    points = [p for ladder in spec.references["cccl-3.5"][algorithm].ladders for p in ladder.points]
    counts = [
        sum(p.status is status for p in points) for status in (Status.ACTIVE, Status.DISABLED, Status.UNREACHABLE)
    ]
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
        assert (part.threads_per_block, part.items_per_thread) == (
            first_pass.threads_per_block,
            first_pass.items_per_thread,
        )


def test_the_trace_says_whose_policy_is_used(spec: Spec) -> None:
    found = resolver(spec, "segmented_reduce", 100).resolve(
        {"accum_t": "float64", "operation_t": "plus", "offset_size": 4}
    )
    used = [step for step in found.trace if isinstance(step, Used)]
    assert [(step.name, step.algorithm, step.point.id) for step in used] == [
        ("reduction", "reduce", "sm100-plus-f64-o4")
    ]
    assert "reduction is reduce's policy from its point sm100-plus-f64-o4" in str(used[0])


@pytest.mark.parametrize(
    ("implementation", "modifier"), [("Select", "LOAD_LDG"), ("SelectPotentiallyInPlace", "LOAD_CA")]
)
def test_a_selection_in_place_does_not_read_through_the_read_only_cache(
    spec: Spec, implementation: str, modifier: str
) -> None:
    found = policy(spec, "select_if", 86, input_type="int32", selection_impl=implementation)
    assert (found.lookback.threads_per_block, found.lookback.load_modifier) == (128, modifier)
