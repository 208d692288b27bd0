"""The raking layout (`cub::BlockRakingLayout`): a block's values in shared memory, raked by the threads of one warp."""

from __future__ import annotations

from attrs import frozen

from policygen.plan.counts import ceil_div


@frozen
class RakingLayout:
    """How the values of a block are shared among raking threads.

    Attributes:
        threads: threads of the block, one value each.
        segment: consecutive values of one raking thread.
        raking_threads: threads that rake; none of them without a value.
    """

    threads: int
    segment: int
    raking_threads: int


def raking_layout(threads: int, warp_size: int) -> RakingLayout:
    """The layout for a block: at most a warp rakes, and segments are as short as that allows."""
    segment = ceil_div(threads, min(threads, warp_size))
    return RakingLayout(threads, segment, ceil_div(threads, segment))
