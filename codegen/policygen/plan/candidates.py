"""Launch configurations that a tuner has to choose from: those that fit, and how many of them it looks at."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence


def surviving(
    candidates: Sequence[object], reason_against: Callable[[object], str], share: float = 1.0
) -> list[object]:
    """The candidates that nothing speaks against, the best of them if not all are wanted.

    Args:
        candidates: configurations of any kind, the most promising first.
        reason_against: why a candidate is out of the question, with the numbers; empty where it is not.
        share: which part of the survivors to keep, more than 0 and at most 1. It is taken of the survivors, never of
            all candidates, rounded down, and one is kept at the least.

    Returns:
        The survivors that are kept, in their order.

    Raises:
        ValueError: no candidate survives, with every one and the reason against it; or the share is out of bounds.
    """
    if not 0.0 < share <= 1.0:
        raise ValueError(f"share is {share}: expected more than 0 and at most 1")
    reasons = [(candidate, reason_against(candidate)) for candidate in candidates]
    found = [candidate for candidate, reason in reasons if not reason]
    if not found:
        told = "; ".join(f"{candidate}: {reason}" for candidate, reason in reasons)
        raise ValueError(f"none of {len(reasons)} candidates is left{f': {told}' if told else ''}")
    return found[: max(1, int(len(found) * share))]
