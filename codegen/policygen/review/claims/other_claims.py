"""G and H: what the notes say of folding, and of the rest."""

from __future__ import annotations

from typing import Final

from policygen.fold.arch_list import fold_by_value
from policygen.fold.arch_list import fold_contiguous
from policygen.model.record import Record
from policygen.plan.partitions import is_unpartitioned
from policygen.plan.reduce_plan import fits_single_tile
from policygen.review.claims.claim import Answers
from policygen.review.claims.claim import Claim
from policygen.review.upstream import Upstream
from policygen.review.weights import PHASES

_CHIP: Final = "bi100"
_ABA: Final = ("7.5", "8.0", "8.6")


def _scans(upstream: Upstream, architectures: tuple[str, ...]) -> list[Record]:
    key = {"input_type": "int32", "operation_t": "plus", "offset_size": 4}
    return [upstream.resolve(architecture, "scan", **key).policy for architecture in architectures]


def _shared(upstream: Upstream) -> Answers:
    key = {"accum_t": "float32", "operation_t": "plus", "offset_size": 4}
    policies = [upstream.resolve(cc, "reduce", **key).policy for cc in ("7.5", "8.0", "8.6", "9.0")]
    return {"kernels of a reduction for 7.5 to 9.0 are fewer than 4": len(set(fold_contiguous(policies))) < 4}


def _by_standard(upstream: Upstream) -> Answers:
    policies = _scans(upstream, _ABA)
    return {
        "kernels of a scan of int32 for 7.5, 8.0, 8.6 in C++17": len(set(fold_contiguous(policies))),
        "in C++20": len(set(fold_by_value(policies))),
    }


def _shared_memory(upstream: Upstream) -> Answers:
    static, opted = "max_smem_per_block", "max_smem_per_block_optin"
    return {
        "static limit as on 9.0": upstream.fact(_CHIP, static) == upstream.fact("9.0", static),
        "limit of kernels that opt in as on 9.0": upstream.fact(_CHIP, opted) == upstream.fact("9.0", opted),
    }


def _by_multiprocessor(upstream: Upstream) -> Answers:
    bandwidth, count = upstream.fact(_CHIP, "memory_bandwidth"), upstream.fact(_CHIP, "sm_count")
    share = f"{bandwidth / count / 1e9:.2f}" if bandwidth and count else "unknown"
    return {"50 over the multiprocessors": f"{50 / count:.1f}" if count else "unknown", "GB/s each": share}


def _tile(upstream: Upstream) -> Answers:
    key = {"accum_t": "float32", "operation_t": "plus", "offset_size": 4}
    counts = upstream.resolve(_CHIP, "reduce", **key).policy.single_tile
    return {"items of the single tile": counts.threads_per_block * counts.items_per_thread}


def _conditions(_: Upstream) -> Answers:
    # short of a partition, longer than the tile: the notes' test and CUB's part
    length, partition, tile = 1_000, 1_024, 512
    cub = fits_single_tile(length, determinism="run_to_run", single_tile_items=tile)
    notes = is_unpartitioned(length, partition_items=partition, reduce_tile_items=tile)
    return {"both say the same of 1,000 items, a partition of 1,024 and a tile of 512": cub is notes}


def _shares(_: Upstream) -> Answers:
    return {phase.name: f"{phase.share:.0%}" for phase in PHASES}


OTHER_CLAIMS: Final = (
    Claim("G1", "N0", "", "capabilities with the same policy share a kernel",
          {"kernels of a reduction for 7.5 to 9.0 are fewer than 4": True}, _shared, "`policygen.fold`"),
    Claim("G2", "N0", "scan", "only neighbours in the list of architectures share one",
          {"kernels of a scan of int32 for 7.5, 8.0, 8.6 in C++17": 3, "in C++20": 3},
          _by_standard, "`policygen.fold`"),
    Claim("H1", "N3", "", "48 KiB of shared memory are as on NVIDIA's, so constraints apply as they are",
          {"static limit as on 9.0": True, "limit of kernels that opt in as on 9.0": True},
          _shared_memory, f"the facts of {_CHIP} and of 9.0"),
    Claim("H3", "N3", "", "50 / 16 is 3.1, and 900 GB/s / 16 is 56.25",
          {"50 over the multiprocessors": "3.1", "GB/s each": "56.25"}, _by_multiprocessor, f"the facts of {_CHIP}"),
    Claim("H4", "N0", "reduce", "the single tile is 512 x 24 = 12,288 items",
          {"items of the single tile": 12_288}, _tile, f"the policy of a float32 sum on {_CHIP}"),
    Claim("H5", "N2", "reduce", "the engine's single-tile test has CUB's two conditions",
          {"both say the same of 1,000 items, a partition of 1,024 and a tile of 512": True},
          _conditions, "`policygen.plan`"),
    Claim("H6", "N4", "", "the weights are 83, 14 and 3 per cent",
          {"decode": "83%", "prefill": "14%", "cache": "3%"}, _shares, "`policygen.review.weights`"),
)  # fmt: skip
