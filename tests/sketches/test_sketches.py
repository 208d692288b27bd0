"""Three more of CCCL's selectors in the spec language: they load beside the packaged specs and answer alike."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from policygen.lang.evaluate import evaluate
from policygen.loading.spec_files import load_spec
from policygen.loading.spec_files import spec_files
from policygen.model.types import EnumType
from policygen.model.types import IntType
from policygen.parity.compare import compare
from policygen.parity.oracle import Oracle
from policygen.parity.random_keys import random_keys
from policygen.parity.shape import SelectorShape
from policygen.parity.spec_shapes import selector_shape
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
SIZES = (
    1,
    2,
    3,
    4,
    5,
    6,
    7,
    8,
    9,
    12,
    15,
    16,
    17,
    24,
    31,
    32,
    40,
    48,
    64,
    96,
    128,
    129,
    256,
    500,
    1024,
    4096,
    49152,
    65536,
)


@pytest.fixture(scope="module")
def spec() -> Spec:
    return load_spec(spec_files([(HERE / "specs", "sketches/"), (HERE.parents[1] / "specs", "specs/")]))


def resolver(spec: Spec, algorithm: str, cc: int) -> Resolver:
    return Resolver(rules_for(spec, target_instance(spec, f"sm_{cc}"), algorithm))


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


def storage(spec: Spec, algorithm: str, constraint: str, **names: Any) -> int:
    needs = [c.need for c in spec.algorithms[algorithm].constraints if c.id.startswith(constraint)]
    assert needs[0] is not None
    return int(evaluate(needs[0], {"target": {"warp_size": 32}, **names}))


# sizeof of CUB's own TempStorage, as nvcc gives it.
@pytest.mark.parametrize(
    ("threads", "items", "rank", "scan", "bits", "partitions", "key_size", "offset_size", "expected"),
    [
        (384, 20, "RADIX_RANK_MATCH_EARLY_COUNTS_ANY", "BLOCK_SCAN_RAKING_MEMOIZE", 8, 1, 4, 4, 31744),
        (384, 3, "RADIX_RANK_MATCH_EARLY_COUNTS_ANY", "BLOCK_SCAN_RAKING_MEMOIZE", 8, 1, 4, 4, 16032),
        (256, 5, "RADIX_RANK_MATCH_EARLY_COUNTS_ANY", "BLOCK_SCAN_WARP_SCANS", 8, 4, 2, 8, 35904),
        (512, 4, "RADIX_RANK_MATCH", "BLOCK_SCAN_WARP_SCANS", 7, 1, 1, 4, 10848),
        (256, 2, "RADIX_RANK_MATCH_EARLY_COUNTS_ATOMIC_OR", "BLOCK_SCAN_WARP_SCANS", 8, 2, 2, 4, 25664),
    ],
)
def test_onesweep_needs_the_storage_of_cubs_agent(
    spec: Spec,
    threads: int,
    items: int,
    rank: str,
    scan: str,
    bits: int,
    partitions: int,
    key_size: int,
    offset_size: int,
    expected: int,
) -> None:
    onesweep = {"threads_per_block": threads, "items_per_thread": items, "rank_algorithm": rank}
    onesweep |= {"scan_algorithm": scan, "radix_bits": bits, "rank_private_partitions": partitions}
    names = {"onesweep": onesweep, "dominant_size": key_size, "offset_size": offset_size}
    assert storage(spec, "radix_sort", "shared-memory-onesweep", **names) == expected


@pytest.mark.parametrize(
    ("threads", "items", "load", "rank", "scan", "bits", "key_size", "value_size", "offset_size", "expected"),
    [
        (512, 23, "BLOCK_LOAD_TRANSPOSE", "RADIX_RANK_MATCH", "BLOCK_SCAN_WARP_SCANS", 7, 2, 0, 4, 24064),
        (256, 47, "BLOCK_LOAD_TRANSPOSE", "RADIX_RANK_MEMOIZE", "BLOCK_SCAN_WARP_SCANS", 6, 2, 0, 4, 33856),
        (128, 5, "BLOCK_LOAD_TRANSPOSE", "RADIX_RANK_MEMOIZE", "BLOCK_SCAN_RAKING_MEMOIZE", 4, 1, 0, 4, 5280),
        (160, 9, "BLOCK_LOAD_WARP_TRANSPOSE", "RADIX_RANK_BASIC", "BLOCK_SCAN_WARP_SCANS", 5, 1, 0, 8, 10912),
        (512, 2, "BLOCK_LOAD_TRANSPOSE", "RADIX_RANK_MATCH", "BLOCK_SCAN_RAKING_MEMOIZE", 7, 1, 0, 4, 12448),
        (384, 8, "BLOCK_LOAD_DIRECT", "RADIX_RANK_MATCH", "BLOCK_SCAN_RAKING_MEMOIZE", 7, 4, 8, 4, 24576),
    ],
)
def test_a_downsweep_needs_the_storage_of_cubs_agent(
    spec: Spec,
    threads: int,
    items: int,
    load: str,
    rank: str,
    scan: str,
    bits: int,
    key_size: int,
    value_size: int,
    offset_size: int,
    expected: int,
) -> None:
    sweep = {"threads_per_block": threads, "items_per_thread": items, "load_algorithm": load}
    sweep |= {"rank_algorithm": rank, "scan_algorithm": scan, "radix_bits": bits}
    names = {"downsweep": sweep, "alt_downsweep": sweep, "key_size": key_size, "value_size": value_size}
    assert storage(spec, "radix_sort", "shared-memory-downsweep", **names, offset_size=offset_size) == expected


@pytest.mark.parametrize(
    ("threads", "bits", "offset_size", "expected"), [(256, 7, 4, 32768), (512, 6, 4, 32768), (128, 5, 8, 8192)]
)
def test_an_upsweep_needs_the_storage_of_cubs_agent(
    spec: Spec, threads: int, bits: int, offset_size: int, expected: int
) -> None:
    sweep = {"threads_per_block": threads, "radix_bits": bits}
    names = {"upsweep": sweep, "alt_upsweep": sweep, "offset_size": offset_size}
    assert storage(spec, "radix_sort", "shared-memory-upsweep", **names) == expected


@pytest.mark.parametrize(
    ("threads", "items", "load", "size", "flag_size", "offset_size", "expected"),
    [
        (128, 10, "BLOCK_LOAD_DIRECT", 4, 0, 4, 5120),
        (384, 22, "BLOCK_LOAD_WARP_TRANSPOSE", 1, 1, 4, 8448),
        (512, 1, "BLOCK_LOAD_DIRECT", 8, 0, 8, 8384),
        (256, 4, "BLOCK_LOAD_WARP_TRANSPOSE", 8, 1, 8, 8192),
        (992, 1, "BLOCK_LOAD_DIRECT", 1, 1, 4, 2160),
    ],
)
def test_a_selection_needs_the_storage_of_cubs_agent(
    spec: Spec, threads: int, items: int, load: str, size: int, flag_size: int, offset_size: int, expected: int
) -> None:
    lookback = {"threads_per_block": threads, "items_per_thread": items, "load_algorithm": load}
    lookback |= {"scan_algorithm": "BLOCK_SCAN_WARP_SCANS"}
    names = {"lookback": lookback, "input_size_bytes": size, "input_alignment": size, "flag_size_bytes": flag_size}
    assert storage(spec, "select_if", "shared-memory", **names, offset_size_bytes=offset_size) == expected


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.algorithm)
def test_a_spec_describes_the_selector_as_it_is(spec: Spec, shape: SelectorShape) -> None:
    assert selector_shape(spec.algorithms[shape.algorithm]) == shape


@pytest.mark.cuda
@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("aimed", [False, True], ids=["blind", "aimed"])
def test_ten_thousand_keys_resolve_to_upstreams_policies(
    spec: Spec, oracle: Oracle, algorithm: str, aimed: bool
) -> None:
    described = spec.algorithms[algorithm]
    if aimed:
        keys = random_keys(described, KEYS, 1, [spec.references["cccl-3.5"][algorithm]])
    else:
        # these know nothing of the spec's points, so they also meet the rows that a spec might lack
        choose = random.Random(f"sketches of {algorithm}")
        whole = resolver(spec, algorithm, 90).whole_key
        keys = [whole(random_key(described, choose)) for _ in range(KEYS)]
    report = compare(spec, algorithm, CAPABILITIES, keys, oracle, oracle.toolchain.nvcc_version)
    assert report.compared == KEYS * len(CAPABILITIES)
    assert [str(mismatches) for mismatches in report.by_point()] == []
