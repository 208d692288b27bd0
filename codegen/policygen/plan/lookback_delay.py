"""What the delay of a lookback scan does at a grid: sleep, fence or nothing.

Source: the delay constructors of `agent/single_pass_scan_operators.cuh`. The sleep lengths and the size of the grid
are read by the running kernel, so the machine code is the same in every case; its effect is not.
"""

from __future__ import annotations

from typing import Final

from attrs import frozen

from policygen.plan.counts import checked

GRID_THRESHOLD: Final = 500
"""Blocks from which a gated delay sleeps."""

GATED_DELAYS: Final = ("no_delay", "fixed_delay", "reduce_by_key")
"""Kinds that only fence below the threshold."""

UNGATED_DELAYS: Final = (
    "exponential_backoff",
    "exponential_backoff_jitter",
    "exponential_backoff_jitter_window",
    "exponential_backon_jitter_window",
    "exponential_backon_jitter",
    "exponential_backon",
)
"""Kinds that sleep at any grid."""

NOTHING: Final = "nothing"
FENCE: Final = "fence"
SLEEP: Final = "sleep"

DELAY_EFFECTS: Final = (NOTHING, FENCE, SLEEP)
"""What a delay does to a thread."""


@frozen
class DelayActivity:
    """The effect of a delay at one grid, each one of `DELAY_EFFECTS`.

    Attributes:
        before: once, before a tile looks at its predecessors (the latency of an L2 write).
        each_poll: each time that a predecessor is not ready.
    """

    before: str
    each_poll: str

    @property
    def sleeps(self) -> bool:
        """Whether the sleep lengths of the policy matter at all."""
        return SLEEP in (self.before, self.each_poll)


def delay_activity(
    kind: str, *, delay_ns: int, l2_write_latency_ns: int, grid: int, compute_capability: int | None
) -> DelayActivity:
    """The effect of a lookback delay.

    Args:
        kind: an enumerator of `LookbackDelayAlgorithm`, without leading underscores.
        delay_ns: `delay` of the policy, in nanoseconds.
        l2_write_latency_ns: `l2_write_latency` of the policy, in nanoseconds.
        grid: blocks of the launch.
        compute_capability: major x 10 + minor that the kernel is compiled for; there is no sleep below 70. None for
            hardware that has none: what the source says for a capability that nobody has tuned.

    Raises:
        ValueError: no delay has that name, or a number is negative.
    """
    for name, value in (("delay_ns", delay_ns), ("l2_write_latency_ns", l2_write_latency_ns), ("grid", grid)):
        checked(name, value, 0)
    if kind not in (known := GATED_DELAYS + UNGATED_DELAYS):
        raise ValueError(f'no lookback delay is called "{kind}": use one of {", ".join(known)}')
    if compute_capability is not None and compute_capability < 70:
        return DelayActivity(NOTHING, FENCE)
    if kind in UNGATED_DELAYS:
        return DelayActivity(SLEEP, SLEEP)
    polls = kind == "fixed_delay" or (kind == "reduce_by_key" and compute_capability == 80)
    return DelayActivity(
        before=_gated(l2_write_latency_ns, grid),
        each_poll=_gated(delay_ns, grid) if polls else NOTHING,
    )


def _gated(nanoseconds: int, grid: int) -> str:
    if nanoseconds == 0:
        return NOTHING
    return FENCE if grid < GRID_THRESHOLD else SLEEP


def first_ungated_items(tile_items: int) -> int:
    """The fewest items whose grid of one tile a block reaches the threshold, where a gated delay starts to sleep."""
    return (GRID_THRESHOLD - 1) * checked("tile_items", tile_items, 1) + 1
