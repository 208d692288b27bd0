"""The items of one thread, reduced in the order that `cub::ThreadReduce` takes.

The order depends on type, operator, number and architecture: one after the other, a binary tree, a ternary tree, or
two trees side by side in the halves of a register. For numbers that are rounded the difference shows; for others
it is only where NaN and zeros go.
"""

from __future__ import annotations

import math
from enum import Enum
from typing import Final

import torch
from torch import Tensor

from policygen.reference.values.elements import split
from policygen.reference.values.operators import Operator

_TREE_FROM: Final = 6
_HALVES_FROM: Final = 4
_SHORT_HALVES_FROM: Final = 10


class Order(Enum):
    """How a thread combines its items."""

    SEQUENTIAL = "sequential"
    BINARY_TREE = "binary tree"
    TERNARY_TREE = "ternary tree"
    HALVES = "halves of a register"


def order_of(operator: Operator, length: int, capability: int | None) -> Order:
    """The order that CUB 3.5 takes.

    Args:
        operator: with its element.
        length: items of a thread, the prefix included.
        capability: compute capability x 10; None for hardware without the paths of one.
    """
    element, cc = operator.element, capability or 0
    extremum = operator.name in ("min", "max")
    if not operator.recognised or element.size >= 8 or element.words:
        return Order.SEQUENTIAL
    if element.name in ("int16", "uint16") and extremum and length >= _SHORT_HALVES_FROM and cc >= 90:
        return Order.HALVES
    if element.name in ("float16", "bfloat16") and length >= _HALVES_FROM:
        plus_from = 70 if element.name == "float16" else 80
        if cc >= (80 if extremum else plus_from):
            return Order.HALVES
    if length >= _TREE_FROM and element.is_integer:
        if element.size == 4 and extremum and cc >= 90:
            return Order.TERNARY_TREE
        if not extremum:
            return Order.SEQUENTIAL
    return Order.BINARY_TREE


def thread_reduce(items: Tensor, operator: Operator, order: Order, *, capability: int | None = None) -> Tensor:
    """Reduces the items of each thread.

    Args:
        items: [items, ...threads..., *element.trailing]: the items of a thread come first.
        operator: how two are combined.
        order: in which order.
        capability: compute capability x 10.

    Returns:
        [...threads..., *element.trailing].
    """
    match order:
        case Order.SEQUENTIAL:
            return _sequential(items, operator)
        case Order.BINARY_TREE:
            return _tree(items, operator, 2)
        case Order.TERNARY_TREE:
            return _tree(items, operator, 3)
        case Order.HALVES:
            return _halves(items, operator, capability or 0)


def thread_additions(length: int, order: Order) -> int:
    """The most combinations that an item passes through."""
    if order is Order.SEQUENTIAL:
        return length - 1
    if order is Order.HALVES:
        return math.ceil(math.log2(max(1, length // 2))) + 2
    return 2 * math.ceil(math.log2(length)) if order is Order.TERNARY_TREE else math.ceil(math.log2(length))


def _sequential(items: Tensor, operator: Operator) -> Tensor:
    total = items[0]
    for item in items[1:]:
        total = operator.combine(total, item)
    return total


def _tree(items: Tensor, operator: Operator, arity: int) -> Tensor:
    """Neighbours are combined, `arity` at a time from the left, until one is left."""
    while items.shape[0] > 1:
        level = items[0::arity]
        for place in range(1, arity):
            others = items[place::arity]
            whole = others.shape[0]
            level = torch.cat([operator.combine(level[:whole], others), level[whole:]])
        items = level
    return items[0]


def _halves(items: Tensor, operator: Operator, capability: int) -> Tensor:
    pairs = items.shape[0] // 2
    ternary = pairs >= _TREE_FROM and operator.name in ("min", "max") and capability >= 90
    halves = _tree(split(items[: 2 * pairs], 0, pairs, 2), operator, 3 if ternary else 2)
    total = operator.combine(halves[0], halves[1])
    return operator.combine(total, items[-1]) if items.shape[0] % 2 else total
