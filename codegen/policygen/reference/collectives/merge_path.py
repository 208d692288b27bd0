"""Merging two sorted sequences in parallel: where each worker begins, and how it goes on.

Merging is a path through a grid: a step right takes a key of the first sequence, a step down one of the second. After
d keys it crosses diagonal d, and where it does is found by a binary search (`cub::MergePath`; Odeh et al., Merge Path -
Parallel Merging Made Simple, 2012). So workers that begin at diagonals equally far apart have the same work, whatever
the keys are, and each merges on its own, one key after the other (`cub::SerialMerge`).

Of equal keys those of the first sequence come first: a merge is stable.
"""

from __future__ import annotations

import torch
from attrs import frozen
from torch import Tensor

from policygen.reference.values.key_orders import KeyOrder


@frozen(eq=False)
class Span:
    """A sequence in memory, for each of many workers: [begin, begin + count), int64 of any one shape."""

    begin: Tensor
    count: Tensor

    @property
    def end(self) -> Tensor:
        """One past the last."""
        return self.begin + self.count

    def after(self, taken: Tensor) -> Span:
        """What is left when some keys have been taken."""
        return Span(self.begin + taken, self.count - taken)


def merge_path(keys: Tensor, first: Span, second: Span, diagonal: Tensor, order: KeyOrder) -> Tensor:
    """How many of the first sequence are among so many merged keys.

    Args:
        keys: memory with both sequences, [n, *element.trailing].
        first: sorted sequences.
        second: others.
        diagonal: numbers of merged keys, at most those of both.
        order: of the keys.

    Returns:
        Of the same shape as the spans.
    """
    low = (diagonal - second.count).clamp(min=0)
    high = torch.minimum(diagonal, first.count)
    last = keys.shape[0] - 1
    while bool((searches := low < high).any()):
        middle = (low + high) >> 1
        key1 = _at(keys, (first.begin + middle).clamp(max=last))
        key2 = _at(keys, (second.begin + diagonal - 1 - middle).clamp(0, last))
        takes_second = order.before(key2, key1)
        high = torch.where(takes_second & searches, middle, high)
        low = torch.where(takes_second < searches, middle + 1, low)
    return low


def serial_merge(keys: Tensor, first: Span, second: Span, items: int, order: KeyOrder) -> Tensor:
    """Merges so many keys of two sequences, each worker for itself.

    Args:
        keys: memory with both sequences, [n, *element.trailing].
        first: sorted sequences.
        second: others.
        items: how many each worker takes; past the end of both, what it takes means nothing.
        order: of the keys.

    Returns:
        Where in memory the keys are, in their order: [items, ...].
    """
    # what follows the last key is not looked at
    memory = torch.cat([keys, keys[:1].expand(items, *keys.shape[1:])])
    place1, place2, end1, end2 = first.begin, second.begin, first.end, second.end
    taken = []
    for _ in range(items):
        comes_before = order.before(_at(memory, place2), _at(memory, place1))
        takes_second = (place2 < end2) & ((place1 >= end1) | comes_before)
        taken.append(torch.where(takes_second, place2, place1))
        place1, place2 = place1 + ~takes_second, place2 + takes_second
    return torch.stack(taken).clamp(max=keys.shape[0] - 1)


def _at(keys: Tensor, place: Tensor) -> Tensor:
    return keys.take(place) if keys.dim() == 1 else keys[place]
