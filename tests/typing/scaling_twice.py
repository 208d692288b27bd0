# Type-checked by tests/test_scaling.py and never run: each line marked with an error must have just that error.
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

scale(resolved, ScalingRule.MEM_BOUND, 8)  # error: arg-type
scale(kept, ScalingRule.MEM_BOUND, 8)  # error: arg-type
scale(literal, ScalingRule.MEM_BOUND, 8)  # error: arg-type
scale(scale(nominal, ScalingRule.REG_BOUND, 8), ScalingRule.REG_BOUND, 8)  # error: arg-type
scale((256, 16), ScalingRule.MEM_BOUND, 8)  # error: arg-type
scale(nominal, "mem_bound", 8)  # error: arg-type
keep(nominal)  # error: arg-type
keep(resolved)  # error: arg-type
again: Nominal = resolved  # error: assignment
