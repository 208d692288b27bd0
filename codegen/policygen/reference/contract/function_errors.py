"""How far off elementary functions and conversions are, in roundings.

Source: CUDA C++ Programming Guide, mathematical functions, single precision: `expf` and `rsqrtf` differ from the
correctly rounded result by at most 2 units in the last place, over their full range; division is correctly rounded
(`-prec-div=true`, the default). A unit in the last place is at most 2u times the result, u being the unit roundoff, so
with the half unit of the rounding itself these are 5, 5 and 1 roundings. The guide's figures come from extensive tests,
not from proofs; the vectorised functions of torch on a CPU claim 1 unit.
"""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor

from policygen.reference.contract.error_bounds import relative_bound

EXP_ROUNDINGS: Final = 5
RSQRT_ROUNDINGS: Final = 5
DIVISION_ROUNDINGS: Final = 1

SMALLEST: Final = {
    torch.bfloat16: 2.0**-133,
    torch.float16: 2.0**-24,
    torch.float32: 2.0**-149,
    torch.float64: 2.0**-1074,
}
"""The least positive number of a type: what a result that underflows may be off by, at most."""


def stored_bound(exact: Tensor, bound: Tensor, dtype: torch.dtype) -> Tensor:
    """How far a result may be off once it is stored in another type.

    Args:
        exact: the exact results, float64.
        bound: how far off they may be before that.
        dtype: what they are stored in: one rounding, or half of the least number where the result is denormal.
    """
    return bound + (exact.abs() + bound) * relative_bound(1, dtype) + SMALLEST[dtype] / 2
