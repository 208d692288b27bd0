"""The compute capabilities that policygen knows, as major * 10 + minor."""

from __future__ import annotations

from typing import Final

KNOWN_CAPABILITIES: Final = (
    *(50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 88, 89),
    *(90, 100, 103, 110, 120, 121),
)
"""Every capability that `sm_N` may name, ascending."""

LOWEST_CAPABILITY: Final = 0
"""Lower end of a range that has none of its own."""

HIGHEST_CAPABILITY: Final = 2**31 - 1
"""Upper end of a range that has none of its own; an int32, as in the generated headers."""


def nearest_capability(number: int) -> int:
    """Returns the known capability that `number` most likely stands for.

    A slip of one digit (9 or 1000 or 900 for 90) comes before the nearest by value; of two at the same
    distance the lower one is taken.
    """
    slips = (number * 10, number // 10, number // 100)
    for slip in slips:
        if slip in KNOWN_CAPABILITIES:
            return slip
    return min(KNOWN_CAPABILITIES, key=lambda known: (abs(known - number), known))
