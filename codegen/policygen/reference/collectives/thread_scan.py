"""The items of one thread, scanned one after the other (`cub::detail::ThreadScanInclusive`, `ThreadScanExclusive`)."""

from __future__ import annotations

import torch
from torch import Tensor

from policygen.reference.values.operators import Operator


def thread_scan(items: Tensor, operator: Operator, prefix: Tensor, has_prefix: Tensor, *, inclusive: bool) -> Tensor:
    """Scans the items of each thread.

    Args:
        items: [items, ...threads..., *element.trailing]: the items of a thread come first.
        operator: how two are combined.
        prefix: what comes before a thread's first item: [...threads..., *element.trailing].
        has_prefix: which threads have a prefix: [...threads...].
        inclusive: whether an item's result includes the item.

    Returns:
        Of the same shape as `items`. Without a prefix, the first result of an exclusive scan has no meaning.
    """
    results = [] if inclusive else [prefix]
    total = operator.element.select(has_prefix, operator.combine(prefix, items[0]), items[0])
    for item in items[1:]:
        results.append(total)
        total = operator.combine(total, item)
    return torch.stack([*results, total] if inclusive else results)
