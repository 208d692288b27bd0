"""What a generated row says of itself: the point it comes from and the arithmetic, on one line."""

from __future__ import annotations

from policygen.fold.table import Row
from policygen.resolve.trace import Changed
from policygen.resolve.trace import Kept
from policygen.resolve.trace import Neutralised
from policygen.resolve.trace import Reported
from policygen.resolve.trace import Scaled
from policygen.resolve.trace import Shrunk
from policygen.resolve.trace import Step
from policygen.resolve.trace import reason_of_shrink


def row_reason(row: Row) -> str:
    """`bi100/plus-16B: lookback literal 256 x 12; lookback.items_per_thread 12 -> 11: ..`."""
    resolution = row.resolution
    parts = list(dict.fromkeys(text for step in resolution.trace if (text := _told(step)) is not None))
    return (
        f"{resolution.origin}/{resolution.point}: {'; '.join(parts)}"
        if parts
        else f"{resolution.origin}/{resolution.point}"
    )


def _told(step: Step) -> str | None:
    match step:
        case Scaled():
            n, r = step.nominal, step.resolved
            before, after = (f"{c.threads_per_block} x {c.items_per_thread}" for c in (n, r))
            return f"{step.path} {step.rule.value} {before} at {step.size} B -> {after}"
        case Kept():
            counts = " x ".join(str(c) for c in (step.threads, step.items) if c is not None)
            return f"{step.path} literal {counts}"
        case Changed():
            return f"{step.path} {step.before} -> {step.after}: {step.reason}"
        case Shrunk():
            changes = ", ".join(f"{path} {before} -> {after}" for path, before, after in step.changes)
            return f"{changes}: {reason_of_shrink(step)}"
        case Neutralised():
            return f"{'.'.join(step.neutral.path)} {step.before} -> {step.after}: {step.neutral.proof}"
        case Reported():
            if step.need is None or step.limit is None:
                return f"{step.constraint.id}: {step.constraint.reason or step.constraint.source}"
            return f"{step.constraint.id}: {step.need:,} of {step.limit:,} {step.constraint.unit}"
        case _:
            return None
