"""What must not type-check: each line with an ignored error has it, as strict mypy finds ignores that nothing needs.

Never run; tests/test_scaling.py checks it without the comments, too.
"""

from __future__ import annotations

from policygen.scaling import Literal
from policygen.scaling import Nominal
from policygen.scaling import Resolved
from policygen.scaling import ScalingRule
from policygen.scaling import keep
from policygen.scaling import scale

nominal = Nominal(threads_per_block=256, items_per_thread=16)
literal = Literal(threads_per_block=256, items_per_thread=16)
resolved: Resolved = scale(nominal, ScalingRule.MEM_BOUND, 8)
kept: Resolved = keep(literal)

scale(resolved, ScalingRule.MEM_BOUND, 8)  # type: ignore[arg-type]
scale(kept, ScalingRule.MEM_BOUND, 8)  # type: ignore[arg-type]
scale(literal, ScalingRule.MEM_BOUND, 8)  # type: ignore[arg-type]
scale(scale(nominal, ScalingRule.REG_BOUND, 8), ScalingRule.REG_BOUND, 8)  # type: ignore[arg-type]
scale((256, 16), ScalingRule.MEM_BOUND, 8)  # type: ignore[arg-type]
scale(nominal, "mem_bound", 8)  # type: ignore[arg-type]
keep(nominal)  # type: ignore[arg-type]
keep(resolved)  # type: ignore[arg-type]
again: Nominal = resolved  # type: ignore[assignment]
