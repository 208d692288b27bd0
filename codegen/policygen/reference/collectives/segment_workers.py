"""Which worker of a policy takes segments (`cub::detail::batched_topk::find_smallest_covering_policy`)."""

from __future__ import annotations

from typing import Final

from policygen.model.record import Record
from policygen.reference.contract.case import Case

WORKERS: Final = tuple(f"worker_{number}" for number in range(6))
"""The policy's workers, in the order of its list."""


def worker_policy(case: Case, number: int) -> Record:
    """The policy of a worker."""
    found: Record = case.policy.worker_per_segment_policies[WORKERS[number]]
    return found


def tile_items(case: Case, number: int) -> int:
    """Keys that a worker's block holds."""
    worker = worker_policy(case, number)
    return int(worker.threads_per_block * worker.items_per_thread)


def selected_worker(case: Case, most: int) -> int:
    """The worker that CUB takes (`find_smallest_covering_policy`).

    Args:
        case: with the policy, and which workers do not fit into shared memory.
        most: keys of the largest segment that there may be.

    Raises:
        ValueError: no worker covers it: upstream does not compile.
    """
    covering = [number for number in usable_workers(case) if tile_items(case, number) >= most]
    if not covering:
        raise ValueError(f"no worker that fits covers segments of {most} keys")
    return covering[-1]


def usable_workers(case: Case) -> list[int]:
    """Workers whose shared memory fits, in the order of the list."""
    path = "shared-memory of worker_per_segment_policies"
    return [number for number, name in enumerate(WORKERS) if f"{path}.{name}" not in case.unmet]


def multi_worker_items(case: Case) -> int:
    """Keys of a tile of several blocks to a segment."""
    policy = case.policy.multi_worker_per_segment_policy
    return int(policy.threads_per_block * policy.items_per_thread)
