"""B-1: a sort of large values whose tile does not fit shared memory: what is done about it is said."""

from __future__ import annotations

import re
from typing import Any

import pytest

from cases.small_specs import told
from policygen.project import Project
from policygen.resolve.resolver import Resolution

LIMIT = 49_152


def sort(project: Project, target: str, value_size: int, key_size: int = 4) -> Resolution:
    return project.resolve(target, "merge_sort", key_size=key_size, value_size=value_size)


def verdicts(resolution: Resolution) -> list[str]:
    """What the trace says of shared memory."""
    return [
        line.removeprefix("constrain: ") for line in told(resolution) if line.startswith("constrain: shared-memory")
    ]


def test_upstream_scales_by_the_key_alone(packaged: Project) -> None:
    """B-1: 256 x 17 for keys of 4 bytes, whatever the values are: 4,352 items of 16 bytes are 69,632."""
    for value_size in (0, 4, 16, 384, 1024):
        policy = sort(packaged, "sm_90", value_size).policy
        assert (policy.threads_per_block, policy.items_per_thread) == (256, 17)
    assert 256 * 17 * 16 == 69_632 > LIMIT


FALLBACK = "reported, not mended: CUB then takes its fallback of 64 threads and one item, if that fits"
GLOBAL = "reported, not mended: needs global scratch: CUB keeps the tiles in global memory"


@pytest.mark.parametrize("target", ["sm_50", "sm_75", "sm_80", "sm_90", "sm_120"])
@pytest.mark.parametrize(
    ("value_size", "expected"),
    [
        (
            4,
            [
                "shared-memory: 17,424 of 49,152 bytes, margin 31,728",
                "shared-memory-fallback: 272 of 49,152 bytes, margin 48,880",
            ],
        ),
        (
            8,
            [
                "shared-memory: 34,832 of 49,152 bytes, margin 14,320",
                "shared-memory-fallback: 528 of 49,152 bytes, margin 48,624",
            ],
        ),
        (
            16,
            [
                f"shared-memory: needs 69,648 of 49,152 bytes: {FALLBACK}",
                "shared-memory-fallback: 1,040 of 49,152 bytes, margin 48,112",
            ],
        ),
        (
            384,
            [
                f"shared-memory: needs 1,671,552 of 49,152 bytes: {FALLBACK}",
                "shared-memory-fallback: 24,960 of 49,152 bytes, margin 24,192",
            ],
        ),
        (
            1024,
            [
                f"shared-memory: needs 4,457,472 of 49,152 bytes: {FALLBACK}",
                f"shared-memory-fallback: needs 66,560 of 49,152 bytes: {GLOBAL}",
            ],
        ),
    ],
)
def test_an_nvidia_target_says_what_cub_does(
    packaged: Project, target: str, value_size: int, expected: list[str]
) -> None:
    """B-1: the fallback where it fits (64 x 384 = 24,576 and bookkeeping), global scratch where not (65,536)."""
    found = verdicts(sort(packaged, target, value_size))
    assert found == expected


@pytest.mark.parametrize(
    ("value_size", "threads", "items", "expected"),
    [
        (4, 256, 17, "shared-memory: 17,424 of 49,152 bytes, margin 31,728"),
        (16, 256, 11, "shared-memory: items_per_thread 17 -> 11: 69,648 bytes of 49,152 do not fit, 45,072 do"),
        (
            384,
            64,
            1,
            "shared-memory: items_per_thread 17 -> 1, threads_per_block 256 -> 64: "
            "1,671,552 bytes of 49,152 do not fit, 24,960 do",
        ),
        (
            1024,
            64,
            1,
            "shared-memory: items_per_thread 17 -> 1, threads_per_block 256 -> 64: "
            "4,457,472 bytes of 49,152 do not fit, 66,560 do",
        ),
    ],
)
def test_bi100_lowers_the_counts_and_says_so(
    packaged: Project, value_size: int, threads: int, items: int, expected: str
) -> None:
    found = sort(packaged, "bi100", value_size)
    assert (found.policy.threads_per_block, found.policy.items_per_thread) == (threads, items)
    assert verdicts(found)[0] == expected


def test_bi100_says_that_a_value_of_1024_bytes_needs_global_scratch(packaged: Project) -> None:
    found = verdicts(sort(packaged, "bi100", 1024))
    assert found[-1] == f"shared-memory-fallback: needs 66,560 of 49,152 bytes: {GLOBAL}"
    assert any(line.startswith("shared-memory: needs 66,560 of 49,152 bytes: reported, not mended") for line in found)


@pytest.mark.parametrize("target", ["bi100", "sm_90"])
@pytest.mark.parametrize("key_size", [1, 2, 4, 8, 16, 64, 700, 4096])
@pytest.mark.parametrize("value_size", [0, 1, 8, 16, 48, 384, 755, 756, 1024])
def test_whatever_the_sizes_a_tile_fits_or_the_trace_says_that_it_does_not(
    packaged: Project, target: str, key_size: int, value_size: int
) -> None:
    """B-1: the size of the values counts as the size of the keys does, and no overflow is silent."""
    found = sort(packaged, target, value_size, key_size)
    tile = found.policy.threads_per_block * found.policy.items_per_thread * max(key_size, value_size, 1)
    reported = any(line.startswith("shared-memory: needs") for line in verdicts(found))
    assert tile <= LIMIT or reported
    fallback_fits = 64 * max(key_size, value_size) + 16 <= LIMIT
    assert any("needs global scratch" in line for line in verdicts(found)) is not fallback_fits


OTHERS: dict[str, dict[str, Any]] = {
    "unique_by_key": {"key_size": 4, "value_size": 4096},
    "reduce_by_key": {"key_size": 4096, "accum_t": "int32"},
    "merge": {"key_size": 4, "value_size": 4096, "offset_size": 4},
}


@pytest.mark.parametrize("algorithm", OTHERS)
def test_other_algorithms_with_keys_and_values_judge_both(packaged: Project, algorithm: str) -> None:
    """B-1: the larger of key and value decides, also where upstream selects by the other one."""
    lines = verdicts(packaged.resolve("sm_90", algorithm, **OTHERS[algorithm]))
    assert any(re.match(r"shared-memory[\w-]*: needs .*global memory", line) for line in lines), lines
