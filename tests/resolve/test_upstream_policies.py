"""Policies of NVIDIA targets that were established apart from the specs: by reading CCCL 3.5 and by running it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from typing import TypeAlias

import pytest

from policygen.loading.package_data import data_dir
from policygen.loading.spec_files import load_spec
from policygen.loading.spec_files import spec_files
from policygen.model.record import Record
from policygen.resolve.instance import target_instance
from policygen.resolve.resolver import Resolver
from policygen.resolve.specialise import rules_for
from policygen.scaling import scale_mem_bound

Resolve: TypeAlias = Callable[..., Record]


@pytest.fixture(scope="module")
def resolve() -> Resolve:
    spec = load_spec(spec_files([(data_dir("specs"), "specs/")]))
    resolvers: dict[tuple[str, str], Resolver] = {}

    def run(target: str, algorithm: str, **key: Any) -> Record:
        if (target, algorithm) not in resolvers:
            resolvers[target, algorithm] = Resolver(rules_for(spec, target_instance(spec, target), algorithm))
        return resolvers[target, algorithm].resolve(key).policy

    return run


def reduction(accum_t: str, **changes: Any) -> dict[str, Any]:
    return {"accum_t": accum_t, "operation_t": "plus", "offset_size": 4, **changes}


def lookback(kind: str, size: int, offset_size: int = 4, **changes: Any) -> dict[str, Any]:
    """The key of a scan that cannot look ahead, since its input is not contiguous."""
    key = {"input_type": kind, "accum_type": kind, "accum_size": size, "offset_size": offset_size}
    return {**key, "operation_t": "plus", "benchmark_match": True, "input_contiguous": False, **changes}


DETERMINISTIC = {"determinism": "gpu_to_gpu"}


@pytest.mark.parametrize(
    ("target", "key", "items", "threads", "tile_bytes"),
    [
        ("sm_100", reduction("float32"), 16, 512, 32768),
        ("sm_100", reduction("float64"), 8, 640, 40960),
        ("sm_100", reduction("int64"), 7, 512, 28672),
        ("sm_100", reduction("other", accum_size=8), 7, 512, 28672),
        ("sm_90", reduction("float32", **DETERMINISTIC), 13, 224, 11648),
        ("sm_86", reduction("float64", **DETERMINISTIC), 5, 128, 5120),
        ("sm_90", reduction("int8"), 32, 256, 8192),
        ("sm_90", reduction("int16"), 32, 256, 16384),
        ("sm_90", reduction("int128"), 4, 256, 16384),
        ("sm_90", reduction("other", accum_size=3), 21, 256, 16128),
        ("sm_90", reduction("other", accum_size=12), 5, 256, 15360),
    ],
)
def test_scaled_reductions(
    resolve: Resolve, target: str, key: dict[str, Any], items: int, threads: int, tile_bytes: int
) -> None:
    size = {"int8": 1, "int16": 2, "float32": 4, "int128": 16}.get(key["accum_t"], key.get("accum_size", 8))
    policy = resolve(target, "reduce", **key).multi_tile
    assert (policy.items_per_thread, policy.threads_per_block) == (items, threads)
    assert items * threads * size == tile_bytes


@pytest.mark.parametrize(
    ("nominal", "size", "items", "threads", "tile_bytes"),
    [
        ((1024, 16), 8, 8, 768, 49152),
        ((1024, 24), 7, 13, 544, 49504),
        ((256, 16), 3, 21, 256, 16128),
        ((640, 24), 16, 6, 512, 49152),
        ((512, 16), 12, 5, 512, 30720),
        ((384, 16), 8, 8, 384, 24576),
    ],
)
def test_counts_that_no_row_has(nominal: tuple[int, int], size: int, items: int, threads: int, tile_bytes: int) -> None:
    assert scale_mem_bound(*nominal, size) == (items, threads)
    assert items * threads * size == tile_bytes


@pytest.mark.parametrize(
    ("accum_t", "items", "threads"),
    [
        ("int8", 32, 256),
        ("uint8", 32, 256),
        ("int16", 32, 256),
        ("float16", 32, 256),
        ("float32", 16, 512),
        ("int32", 16, 256),
        ("float64", 8, 640),
        ("int64", 7, 512),
        ("int128", 4, 256),
    ],
)
def test_a_sum_on_ten_zero_by_accumulator(resolve: Resolve, accum_t: str, items: int, threads: int) -> None:
    policy = resolve("sm_100", "reduce", **reduction(accum_t)).multi_tile
    assert (policy.items_per_thread, policy.threads_per_block) == (items, threads)


@pytest.mark.parametrize(
    ("key", "threads", "items", "tile_bytes"),
    [
        (lookback("int8", 1), 512, 36, 18432),
        (lookback("int16", 2), 512, 26, 26624),
        (lookback("int32", 4), 384, 22, 33792),
        (lookback("int64", 8), 416, 11, 36608),
        (lookback("int8", 1, 8), 384, 28, 10752),
        (lookback("int32", 4, 8), 416, 19, 31616),
        (lookback("int64", 8, 8), 320, 11, 28160),
        # neither of the two has a row for offsets of 8 bytes: the rows of 9.0 answer
        (lookback("int16", 2, 8), 512, 24, 24576),
        (lookback("float64", 8, 8), 224, 12, 21504),
    ],
)
def test_lookback_sums_on_ten_zero(
    resolve: Resolve, key: dict[str, Any], threads: int, items: int, tile_bytes: int
) -> None:
    policy = resolve("sm_100", "scan", **key)
    assert policy.algorithm == "lookback"
    assert (policy.lookback.threads_per_block, policy.lookback.items_per_thread) == (threads, items)
    assert threads * items * key["accum_size"] == tile_bytes


@pytest.mark.parametrize(
    ("target", "threads", "items", "load"),
    [
        ("sm_75", 128, 3, "BLOCK_LOAD_WARP_TRANSPOSE"),
        ("sm_80", 512, 6, "BLOCK_LOAD_DIRECT"),
        ("sm_86", 128, 3, "BLOCK_LOAD_WARP_TRANSPOSE"),
        ("sm_90", 576, 5, "BLOCK_LOAD_WARP_TRANSPOSE"),
        ("sm_100", 576, 5, "BLOCK_LOAD_WARP_TRANSPOSE"),
    ],
)
def test_lookback_sums_of_sixteen_bytes(resolve: Resolve, target: str, threads: int, items: int, load: str) -> None:
    policy = resolve(target, "scan", **lookback("int128", 16)).lookback
    assert (policy.threads_per_block, policy.items_per_thread, policy.load_algorithm) == (threads, items, load)


@pytest.mark.parametrize(
    ("kind", "size", "warps", "items", "predecessors"),
    [
        ("float32", 4, 4, 87, 3),
        ("int32", 4, 4, 79, 3),
        ("int8", 1, 4, 159, 8),
        ("int16", 2, 6, 95, 2),
        ("float64", 8, 2, 87, 5),
        ("int128", 16, 5, 15, 8),
    ],
)
@pytest.mark.parametrize("target", ["sm_100", "sm_103", "sm_110"])
def test_lookahead_sums(
    resolve: Resolve, target: str, kind: str, size: int, warps: int, items: int, predecessors: int
) -> None:
    policy = resolve(target, "scan", **lookback(kind, size, input_contiguous=True))
    assert policy.algorithm == "lookahead"
    assert policy.lookback.threads_per_block == 0
    assert (
        policy.lookahead.reduce_and_scan_warps,
        policy.lookahead.items_per_thread,
        policy.lookahead.lookahead_items_per_thread,
    ) == (warps, items, predecessors)
