"""Values with a flag that a segment begins, and an operator that does not combine across such a flag.

Source: Schwartz, Ultracomputers, ACM TOPLAS 2 (1980): (v1, f1) before (v2, f2) is (v2, f2) if f2, else (v1 + v2, f1).
This is associative if the operator on the values is, so one scan does for many segments (`schwarz_scan_op`).
"""

from __future__ import annotations

import torch
from attrs import evolve
from attrs import field
from attrs import frozen
from torch import Tensor

from policygen.reference.values.operators import Operator


@frozen
class Flagged(Operator):
    """An operator on values with a flag, which is a further word behind those of the value.

    Attributes:
        inner: the operator on the values.
    """

    inner: Operator = field(kw_only=True)

    def combine(self, earlier: Tensor, later: Tensor) -> Tensor:
        """See Operator."""
        combined = self.inner.combine(self.values(earlier), self.values(later))
        begins = later[..., -1] != 0
        value = self.inner.element.select(begins, self.values(later), combined)
        return self.pack(value, torch.where(begins, later[..., -1], earlier[..., -1]))

    def identity(self) -> Tensor:
        """See Operator."""
        return self.pack(self.inner.identity(), torch.tensor(0))

    def pack(self, values: Tensor, flags: Tensor) -> Tensor:
        """Values with their flags: [..., words]."""
        words = values if self.inner.element.words else values.unsqueeze(-1)
        flags = flags.to(words).unsqueeze(-1)
        return torch.cat([words, flags.expand(*words.shape[:-1], 1)], dim=-1)

    def values(self, flagged: Tensor) -> Tensor:
        """The values alone."""
        return flagged[..., :-1] if self.inner.element.words else flagged[..., 0]


def flagged(operator: Operator) -> Flagged:
    """An operator on values with flags: none that CUB recognises, and one that does not commute."""
    element = operator.element
    # the flag is a byte, and as much padding as the alignment of the value asks for; nothing depends on it here
    own = evolve(element, name=f"{element.name} flagged", size=2 * element.size, words=max(1, element.words) + 1)
    return Flagged(operator.name, evolve(own, primitive=False), recognised=False, commutative=False, inner=operator)
