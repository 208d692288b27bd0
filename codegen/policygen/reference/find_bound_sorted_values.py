"""Bounds of sorted values in a sorted range (`cub::DeviceFind::LowerBoundSortedValues`, `UpperBoundSortedValues`).

Input: a range and values, both sorted by one order, of types that may differ. Output: for each value the number of
items of the range that are before it (lower bound), or not after it (upper bound): int64 [values]. Counts are items of
both; a tile is threads x items of the policy (`dispatch_find_bound_sorted_values.cuh`).

Both are merged, but nothing is moved: `device_partition_find_bound_sorted_values_kernel` finds by merge path, a thread
for each, where each tile of the merged sequence begins in both; `device_find_bound_sorted_values_kernel` brings a
tile's items to shared memory, in a buffer for each type that has room for a whole tile, and each thread walks its part.
Where it comes to a value, it stores how many items of the range it has passed. For lower bounds a value comes before
the items that equal it, which is a merge by the order "not after"; for upper bounds behind them.

The order has to be a strict weak one, of items and values alike: with `<` NaN has no place. Here both are compared in
the type that both can be converted to. Exact; no result depends on timing.

Not modelled: the error where range and values have more items together than the offset's type can count.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from itertools import cycle
from typing import Final

import torch
from attrs import frozen
from torch import Tensor

from policygen.plan.counts import ceil_div
from policygen.reference.collectives.merge_path import Span
from policygen.reference.collectives.merge_path import merge_path
from policygen.reference.collectives.merge_path import serial_merge
from policygen.reference.collectives.tile_merge import record_merge
from policygen.reference.contract.case import Case
from policygen.reference.contract.comparison import Exact
from policygen.reference.contract.comparison import Expectation
from policygen.reference.contract.kernel import Problem
from policygen.reference.contract.kernel import ReferenceKernel
from policygen.reference.contract.sizes import BEYOND_INT32
from policygen.reference.contract.sizes import combinations
from policygen.reference.contract.sizes import first_tile
from policygen.reference.contract.sizes import sizes
from policygen.reference.contract.tile_log import TileLog
from policygen.reference.values.elements import ELEMENTS
from policygen.reference.values.elements import Element
from policygen.reference.values.elements import wrapped
from policygen.reference.values.key_orders import ORDERS
from policygen.reference.values.key_orders import KeyOrder
from policygen.reference.values.sort_keys import make_keys
from policygen.reference.values.sort_keys import sort_patterns

PARTITION: Final = "device_partition_find_bound_sorted_values_kernel"
KERNEL_NAME: Final = "device_find_bound_sorted_values_kernel"
PARTITION_THREADS: Final = 256
"""Threads of a block that find where tiles begin: no matter of the policy."""

MODES: Final = ("lower", "upper")
_PARTS: Final = ((1, 2), (1, 3), (0, 1), (1, 1), (7, 8), (1, 9))
_FAMILIES: Final = (
    {1: "int8", 2: "int16", 4: "int32", 8: "int64", 16: "int128"},
    {1: "uint8", 2: "uint16", 4: "uint32", 8: "uint64", 16: "uint128"},
    {2: "float16", 4: "float32", 8: "float64"},
)
_MOST_ITEMS: Final = 1 << 21
_UNSET: Final = -0x55


@frozen
class Kind:
    """What is compared, and how.

    Attributes:
        item: type of the range's items.
        value: type of the values; each of the two can be converted to the wider one.
        name: of the order, one of `ORDERS`.
    """

    item: Element
    value: Element
    name: str

    @property
    def order(self) -> KeyOrder:
        """The order, in the wider type."""
        return KeyOrder(max(self.item, self.value, key=lambda element: element.size), self.name)

    def __str__(self) -> str:
        return f"{self.item} {self.value} {self.name}"


@frozen
class NotAfter(KeyOrder):
    """Whether the first of two keys comes before the second or equals it: no strict order, but one to merge by."""

    def before(self, first: Tensor, second: Tensor) -> Tensor:
        """See KeyOrder."""
        return ~super().before(second, first)


@frozen
class BoundProblem(Problem):
    """A search for bounds.

    Attributes:
        items: of the range.
        values: that are looked for.
        kind: types and order.
        pattern: of the range.
        mode: one of `MODES`.
        has_data: False for index arithmetic alone: the last tiles, where the whole range comes before the values.
    """

    items: int
    values: int
    kind: Kind
    pattern: str
    mode: str
    has_data: bool = True

    @property
    def num_items(self) -> int:
        """Items of the range and values."""
        return self.items + self.values

    @property
    def order(self) -> KeyOrder:
        """The order by which both are merged: whether a value comes before an item."""
        order = self.kind.order
        return NotAfter(order.element, order.name) if self.mode == "lower" else order


class BoundKernel(ReferenceKernel[BoundProblem, Tensor]):
    """See the module. Inputs are the items of the range, then the values, in the wider type."""

    def problems(self, case: Case, *, quick: bool) -> Iterator[BoundProblem]:
        """See ReferenceKernel."""
        tile, kinds = _tile_items(case), kinds_of(case)
        found = combinations(
            sizes(tile, blocks=2, quick=quick),
            kinds,
            lambda kind: sort_patterns(kind.item, nan=False),
            2 * tile + 5,
            alike=lambda kind: (kind.name, kind.item.is_floating),
            quick=quick,
        )
        for number, ((n, kind, pattern), (part, whole)) in enumerate(zip(found, cycle(_PARTS), strict=False)):
            items = n * part // whole
            for mode in MODES if not quick or n <= tile else (MODES[number % 2],):
                yield BoundProblem(items, n - items, kind, pattern, mode)
        if not quick:
            # so many tiles that one block does not find where all of them begin
            n = min(PARTITION_THREADS * tile + 1, _MOST_ITEMS)
            yield BoundProblem(n // 2, n - n // 2, kinds[0], "random", MODES[0])
        for mode in MODES:
            yield BoundProblem(2**31 - 1, BEYOND_INT32 - 2**31 + 1, kinds[0], "random", mode, has_data=False)

    def inputs(self, case: Case, problem: BoundProblem, random: torch.Generator) -> Tensor:
        """See ReferenceKernel."""
        kind, order = problem.kind, problem.kind.order
        items, values = (problem.items, problem.values) if problem.has_data else (0, 0)
        haystack = make_keys(problem.pattern, kind.item, items, random)
        needles = make_keys("random", kind.value, values, random)
        if items:
            # half of them are in the range
            chosen = torch.rand(values, generator=random) < 0.5
            picked = haystack[torch.randint(items, (int(chosen.sum()),), generator=random)]
            needles[chosen] = _converted(picked, kind.item, kind.value)
        haystack, needles = (
            keys[order.sorted_by(keys)]
            for keys in (_converted(haystack, kind.item, order.element), _converted(needles, kind.value, order.element))
        )
        return torch.cat([haystack, needles]).to(case.device)

    def run(self, case: Case, problem: BoundProblem, inputs: Tensor, log: TileLog) -> Mapping[str, Tensor]:
        """See ReferenceKernel."""
        tile = _tile_items(case)
        tiles = ceil_div(problem.num_items, tile)
        begins = torch.arange(_first_tile(case, problem), tiles + 1) * tile
        diagonals = begins.clamp(max=problem.num_items)
        if problem.num_items:
            _record_partition(_first_tile(case, problem), tiles + 1, log)
        if not problem.has_data:
            first, second = _spans(problem, diagonals, diagonals.clamp(max=problem.items))
            record_merge(KERNEL_NAME, first, second, log)
            return {}
        bounds = torch.full((problem.values,), _UNSET, device=case.device)
        if problem.num_items:
            diagonals = diagonals.to(case.device)
            zero = torch.zeros_like(diagonals)
            haystack, needles = Span(zero, zero + problem.items), Span(zero + problem.items, zero + problem.values)
            taken = merge_path(inputs, haystack, needles, diagonals, problem.order)
            first, second = _spans(problem, diagonals, taken)
            record_merge(KERNEL_NAME, first, second, log)
            _walk(case, problem, inputs, first, second, bounds)
        return {"bounds": bounds}

    def expected(
        self,
        case: Case,  # noqa: ARG002 - the same for all
        problem: BoundProblem,
        inputs: Tensor,
    ) -> Mapping[str, Expectation]:
        """See ReferenceKernel."""
        if not problem.has_data:
            return {}
        # a stable sort of all puts a value before the items that equal it if it comes before them; what is before it
        # then are items, but for the values before it
        items, values = inputs[: problem.items], inputs[problem.items :]
        together, first = ((values, items), 0) if problem.mode == "lower" else ((items, values), problem.items)
        order = problem.kind.order.sorted_by(torch.cat(together))
        places = torch.empty_like(order)
        places[order] = torch.arange(order.shape[0])
        return {"bounds": Exact(places[first : first + problem.values] - torch.arange(problem.values))}

    def coverage(self, case: Case, problem: BoundProblem) -> Mapping[str, range]:
        """See ReferenceKernel."""
        tile, first = _tile_items(case), _first_tile(case, problem)
        found = {KERNEL_NAME: range(first * tile, problem.num_items)}
        if problem.num_items:
            begin = first // PARTITION_THREADS * PARTITION_THREADS
            found[PARTITION] = range(begin, ceil_div(problem.num_items, tile) + 1)
        return found


def kinds_of(case: Case) -> tuple[Kind, ...]:
    """Types of the sizes of a key, in all orders; different types lose too much by the coarse one."""
    found: list[Kind] = []
    for family in _FAMILIES:
        if case.key.range_type_size in family and case.key.values_type_size in family:
            item, value = (ELEMENTS[family[size]] for size in (case.key.range_type_size, case.key.values_type_size))
            found += [Kind(item, value, name) for name in (ORDERS if item == value else ORDERS[:2])]
    return tuple(found)


def _tile_items(case: Case) -> int:
    return int(case.policy.threads_per_block * case.policy.items_per_thread)


def _first_tile(case: Case, problem: BoundProblem) -> int:
    return first_tile(problem.num_items, _tile_items(case), has_data=problem.has_data)


def _converted(keys: Tensor, source: Element, target: Element) -> Tensor:
    """Keys in another type of the same family: wider ones lose nothing, narrower ones wrap around or are rounded."""
    if source == target or target.is_floating:
        return keys.to(target.dtype)
    if target.words:
        high = keys >> 63 if source.signed else torch.zeros_like(keys)
        return torch.stack([keys, high], dim=-1)
    return wrapped(keys[..., 0] if source.words else keys, target)


def _record_partition(first: int, end: int, log: TileLog) -> None:
    """Notes the beginnings of tiles that each block finds."""
    begins = torch.arange(first // PARTITION_THREADS * PARTITION_THREADS, end, PARTITION_THREADS)
    log.record_all(PARTITION, begins // PARTITION_THREADS, begins, (begins + PARTITION_THREADS).clamp(max=end))


def _spans(problem: BoundProblem, diagonals: Tensor, taken: Tensor) -> tuple[Span, Span]:
    """What each tile has of the range and of the values, which lie behind it."""
    values = diagonals - taken
    return (
        Span(taken[:-1], taken[1:] - taken[:-1]),
        Span(problem.items + values[:-1], values[1:] - values[:-1]),
    )


def _walk(case: Case, problem: BoundProblem, keys: Tensor, first: Span, second: Span, bounds: Tensor) -> None:
    """What blocks do with their tiles, of which they know the part of either sequence."""
    threads, per_thread, tile = case.policy.threads_per_block, case.policy.items_per_thread, _tile_items(case)
    shared = torch.cat([_staged(problem, keys, part, tile) for part in (first, second)])
    tiles = torch.arange(first.begin.shape[0], device=keys.device).unsqueeze(-1)
    count1, count2 = first.count.unsqueeze(-1), second.count.unsqueeze(-1)
    diagonal = torch.minimum(torch.arange(threads, device=keys.device) * per_thread, count1 + count2)
    begin1 = (tiles * tile).expand_as(diagonal)
    begin2 = begin1 + first.begin.shape[0] * tile
    own1, own2 = Span(begin1, count1.expand_as(diagonal)), Span(begin2, count2.expand_as(diagonal))
    taken1 = merge_path(shared, own1, own2, diagonal, problem.order)
    taken2 = diagonal - taken1
    met = serial_merge(shared, own1.after(taken1), own2.after(taken2), per_thread, problem.order)
    # past the end of a tile, nothing is met
    step = torch.arange(per_thread, device=keys.device).reshape(-1, 1, 1)
    is_value = (met >= begin2[:1, :1]) & (diagonal + step < count1 + count2)
    passed = first.begin.unsqueeze(-1) + taken1 + (~is_value).cumsum(0)
    value = second.begin.unsqueeze(-1) - problem.items + met - begin2
    bounds[value[is_value]] = passed[is_value]


def _staged(problem: BoundProblem, keys: Tensor, part: Span, tile_items: int) -> Tensor:
    """A buffer of all tiles with their items of one sequence, [tiles * tile_items, *trailing]; the rest is unset."""
    place = torch.arange(tile_items, device=keys.device)
    exists = place < part.count.unsqueeze(-1)
    buffer = problem.kind.order.element.unset(part.begin.shape[0], tile_items, device=keys.device)
    buffer[exists] = keys[(part.begin.unsqueeze(-1) + place)[exists]]
    return buffer.flatten(0, 1)


KERNEL: Final = BoundKernel()
