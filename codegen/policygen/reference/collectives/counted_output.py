"""An output that says how often each of its places was written: what selections and compactions write to."""

from __future__ import annotations

import torch
from attrs import frozen
from torch import Tensor

from policygen.reference.collectives.pairs import UNSET
from policygen.reference.collectives.pairs import Pairs


@frozen(eq=False)
class CountedOutput:
    """The output, and how often each of its places was written.

    Attributes:
        items: keys as they lie in memory, and values.
        writes: int64 [places].
    """

    items: Pairs
    writes: Tensor

    def put(self, places: Tensor, items: Pairs) -> None:
        """Writes items."""
        self.items.put(places, items)
        self.writes.index_add_(0, places, torch.ones_like(places))


def blank_output(items: Pairs, places: int) -> CountedOutput:
    """Memory for so many items like these that nothing has been written to."""
    device = items.keys.device
    keys = torch.full((places, *items.keys.shape[1:]), UNSET, device=device)
    values = None if items.values is None else torch.full((places,), UNSET, device=device)
    return CountedOutput(Pairs(keys, values), torch.zeros(places, dtype=torch.int64, device=device))
