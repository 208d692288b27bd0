"""C-1 and C-2: nothing to do is no division by zero, and a product may overflow where each factor fits."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from cases.reference_cases import case_of
from cases.reference_cases import reduced
from cases.reference_cases import scanned
from policygen.plan.even_share import even_share
from policygen.plan.offsets import checked_offset
from policygen.plan.offsets import offset_bits
from policygen.project import Project
from policygen.reference.catalogue import kernel_of
from policygen.reference.contract.sizes import BEYOND_INT32
from policygen.reference.contract.tile_log import TileLog
from policygen.reference.scan import Kind
from policygen.reference.scan import ScanProblem
from policygen.reference.values.elements import ELEMENTS
from policygen.reference.values.operators import plus
from policygen.validate.run import generator

FLOAT = ELEMENTS["float32"]
KEYS: dict[str, dict[str, Any]] = {
    "reduce": {"accum_t": "float32", "operation_t": "plus", "offset_size": 4},
    "scan": {"input_type": "float32", "operation_t": "plus", "offset_size": 4},
    "transform": {"output": {"value_type_size": 4}, "inputs": [{"value_type_size": 4}]},
    "radix_sort": {"key_type": "float32", "offset_size": 8},
    "merge_sort": {"key_size": 4},
    "merge": {"key_size": 4, "offset_size": 8},
}


@pytest.mark.parametrize("arguments", [(0, 4, 256), (-1, 4, 256), (5, 0, 256), (5, 4, 0)])
def test_nothing_to_do_launches_nothing(arguments: tuple[int, int, int]) -> None:
    assert even_share(*arguments).grid == 0


def test_shares_of_the_report() -> None:
    one = even_share(1, 100, 256)
    assert [list(one.strip_mine(block).tile_ranges()) for block in range(one.grid)] == [[(0, 1)]]
    five = even_share(1025, 4, 256)
    assert (five.total_tiles, five.grid, five.big_shares) == (5, 4, 1)
    tiles = sorted(tile for block in range(five.grid) for tile in five.strip_mine(block).tile_ranges())
    assert tiles == [(0, 256), (256, 512), (512, 768), (768, 1024), (1024, 1025)]
    twenty = even_share(10_000, 7, 512)
    assert (twenty.total_tiles, twenty.big_shares) == (20, 6)
    assert [twenty.rake(block).num_items for block in (0, 6)] == [1536, 10_000 - 6 * 1536]


@pytest.mark.parametrize("determinism", ["run_to_run", "not_guaranteed", "gpu_to_gpu"])
def test_a_reduction_of_nothing_is_its_initial_value(packaged: Project, determinism: str) -> None:
    case = case_of(packaged, "reduce", accum_t="float32", operation_t="plus", offset_size=4, determinism=determinism)
    assert reduced(case, plus(FLOAT), torch.empty(0), torch.tensor(2.5)).item() == 2.5


def test_a_scan_of_nothing_writes_nothing(packaged: Project) -> None:
    case = case_of(packaged, "scan", input_type="float32", operation_t="plus", offset_size=4)
    problem = ScanProblem(0, Kind(plus(FLOAT), FLOAT), "given", "exclusive", "none")
    assert scanned(case, problem, torch.empty(0), torch.tensor(1.0))["results"].numel() == 0


def test_segments_times_their_size_need_wide_offsets() -> None:
    assert offset_bits(16_000_000, 200) == 64
    with pytest.raises(ValueError, match="16000000 x 200 = 3200000000 does not fit a signed 32-bit offset"):
        checked_offset(16_000_000, 200, bits=32)


def test_rounding_up_to_tiles_does_not_wrap() -> None:
    share = even_share(2**31 - 1, 100, 4096)
    assert share.total_tiles == 2**19
    assert max(end for block in range(100) for _, end in share.strip_mine(block).tile_ranges()) == 2**31 - 1


@pytest.mark.parametrize("kernel", list(KEYS))
def test_tiles_past_the_range_of_an_int_cover_their_items(packaged: Project, kernel: str) -> None:
    reference = kernel_of(kernel)
    case = case_of(packaged, kernel, **KEYS[kernel])
    (problem,) = (p for p in reference.problems(case, quick=True) if p.num_items == BEYOND_INT32)
    log = TileLog()
    reference.run(case, problem, reference.inputs(case, problem, generator(case, problem, 0)), log)
    assert max(tile.end for tile in log.tiles()) == BEYOND_INT32
    for name, items in reference.coverage(case, problem).items():
        assert log.fault(name, items if isinstance(items, range) else range(items)) is None


@pytest.mark.parametrize("kernel", ["segmented_radix_sort", "segmented_sort"])
def test_segments_that_begin_past_the_range_of_an_int_are_covered(packaged: Project, kernel: str) -> None:
    reference = kernel_of(kernel)
    case = case_of(packaged, kernel, key_size=4)
    (problem,) = (p for p in reference.problems(case, quick=True) if not p.has_data)
    log = TileLog()
    reference.run(case, problem, reference.inputs(case, problem, generator(case, problem, 0)), log)
    assert min(tile.begin for tile in log.tiles()) == BEYOND_INT32
    for name, items in reference.coverage(case, problem).items():
        assert log.fault(name, items if isinstance(items, range) else range(items)) is None
