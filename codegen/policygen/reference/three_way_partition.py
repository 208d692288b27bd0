"""Device-wide partition into three by two predicates (`cub::DevicePartition::If` with two).

Input: [n] items of one type, and two predicates. Output: the items of the first part, which the first predicate
selects; those of the second, which only the second one selects; all others; and how many are in the first two. Counts
are items; `threads` and `items` are the policy's, a tile is threads x items.

`DeviceThreeWayPartitionKernel` (`AgentThreeWayPartition`) takes a tile a block: loads items blocked, tells them apart,
counts both parts at once (`collectives.packed_counts`, `collectives.selection_counts`, lookback across tiles), and
writes them by way of shared memory (`collectives.three_way_scatter`). What is past the end of the last tile counts for
both parts, and is taken off again.

Order: items of each part keep theirs. Exact; no result depends on timing. Nothing behind a part's last item is touched.

A kernel counts in 32 bits, so longer inputs go launch by launch (`collectives.launches`): 2^31 - 1 items each, not
rounded to whole tiles. Each launch leaves the next how many items of each part, and others, there are so far. Problems
with small launches stand for that. CUB's own offsets have 4 bytes, always; policies for 8 are run with counts of 8.

A predicate has to return 0 or 1: what it returns is what is counted, as upstream, while selections take it for a bool
first.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from typing import Final

import torch
from attrs import frozen
from torch import Tensor

from policygen.reference.collectives.launches import MOST_LAUNCH_ITEMS
from policygen.reference.collectives.launches import launches
from policygen.reference.collectives.lookback import ADVERSARIES
from policygen.reference.collectives.lookback import known_inclusive
from policygen.reference.collectives.packed_counts import packed_counts
from policygen.reference.collectives.pairs import UNSET
from policygen.reference.collectives.regions import Tiles
from policygen.reference.collectives.selection_counts import count_selections
from policygen.reference.collectives.sweep_shape import SweepShape
from policygen.reference.collectives.sweep_shape import sweep_shape
from policygen.reference.collectives.three_way_scatter import SortedOut
from policygen.reference.contract.case import Case
from policygen.reference.contract.comparison import Exact
from policygen.reference.contract.comparison import Expectation
from policygen.reference.contract.kernel import Problem
from policygen.reference.contract.kernel import ReferenceKernel
from policygen.reference.contract.sizes import BEYOND_INT32
from policygen.reference.contract.sizes import combinations
from policygen.reference.contract.sizes import sizes
from policygen.reference.contract.tile_log import TileLog
from policygen.reference.values.elements import Element
from policygen.reference.values.elements import element_of
from policygen.reference.values.selections import Cut
from policygen.reference.values.selections import cuts_at
from policygen.reference.values.sort_keys import alike
from policygen.reference.values.sort_keys import make_keys
from policygen.reference.values.sort_keys import sort_patterns

KERNEL_NAME: Final = "DeviceThreeWayPartitionKernel"

SHARES: Final = (("few", "half"), ("half", "all"), ("half", "few"), ("none", "half"), ("all", "half"), ("few", "none"))
"""What either predicate selects, of all items; `half` selects what `few` does, and more."""

_PARTS: Final = ("first", "second", "others")
_MOST_ITEMS: Final = 1 << 21
_MOST_QUICK_ITEMS: Final = 1 << 18


@frozen
class ThreeWayProblem(Problem):
    """A partition into three.

    Attributes:
        num_items: items to tell apart.
        item: their type.
        pattern: of the items.
        shares: how much the predicates select, one of `SHARES`.
        adversary: who decides what a tile finds of its predecessors, one of `ADVERSARIES`.
        launch_items: the most items of a launch.
        has_data: False for index arithmetic alone.
    """

    num_items: int
    item: Element
    pattern: str
    shares: tuple[str, str]
    adversary: str
    launch_items: int = MOST_LAUNCH_ITEMS
    has_data: bool = True


@frozen(eq=False)
class ThreeWayInputs:
    """What a partition is given.

    Attributes:
        items: [num_items, *item.trailing].
        is_first: the first predicate.
        is_second: the second one.
        seed: of the adversary.
    """

    items: Tensor
    is_first: Cut
    is_second: Cut
    seed: int


class ThreeWayPartitionKernel(ReferenceKernel[ThreeWayProblem, ThreeWayInputs]):
    """See the module."""

    def problems(self, case: Case, *, quick: bool) -> Iterator[ThreeWayProblem]:
        """See ReferenceKernel."""
        tile, types = shape_of(case).tile_items, items_of(case)
        found = combinations(
            sizes(tile, blocks=2, quick=quick),
            types,
            lambda item: sort_patterns(item, nan=True),
            tile + 5,
            alike=alike,
            quick=quick,
        )
        for number, (num_items, item, pattern) in enumerate(found):
            # in turn, but not always the same for the same type
            shares = SHARES[(number + number // len(SHARES)) % len(SHARES)]
            yield ThreeWayProblem(num_items, item, pattern, shares, ADVERSARIES[number % len(ADVERSARIES)])
        # several launches: of whole tiles, of one item less than two tiles, and of a little more than one
        for number, launch_items in enumerate((tile, 2 * tile - 1, tile + 3)):
            item, adversary = types[number % len(types)], ADVERSARIES[number]
            yield ThreeWayProblem(3 * tile + tile // 3, item, "few", SHARES[0], adversary, launch_items)
        # so many tiles that one window does not reach back to the first
        many = min((case.warp_size + 3) * tile - 2, _MOST_QUICK_ITEMS if quick else _MOST_ITEMS)
        for number, adversary in enumerate(ADVERSARIES[2:] if quick else ADVERSARIES):
            yield ThreeWayProblem(many, types[number % len(types)], "random", SHARES[number], adversary)
        yield ThreeWayProblem(BEYOND_INT32, types[0], "random", SHARES[0], ADVERSARIES[0], has_data=False)

    def inputs(self, case: Case, problem: ThreeWayProblem, random: torch.Generator) -> ThreeWayInputs:
        """See ReferenceKernel."""
        n = problem.num_items if problem.has_data else 0
        items = make_keys(problem.pattern, problem.item, n, random)
        is_first, is_second = cuts_at(problem.shares, problem.item, items)
        seed = int(torch.randint(1 << 31, (1,), generator=random))
        return ThreeWayInputs(items.to(case.device), is_first, is_second, seed)

    def run(self, case: Case, problem: ThreeWayProblem, inputs: ThreeWayInputs, log: TileLog) -> Mapping[str, Tensor]:
        """See ReferenceKernel."""
        outputs = [torch.full_like(inputs.items, UNSET) for _ in _PARTS]
        counted = torch.zeros(len(_PARTS), dtype=torch.int64, device=case.device)
        random = torch.Generator()
        random.manual_seed(inputs.seed)
        for tiles in _launches(case, problem):
            tiles.record(KERNEL_NAME, log)
            if problem.has_data:
                found = _told_apart(case, problem, inputs, tiles.to(case.device), random)
                found.write(outputs, counted)
                counted = counted + found.in_all
        if not problem.has_data:
            return {}
        return {"num_selected": counted[:2], **dict(zip(_PARTS, outputs, strict=True))}

    def expected(
        self,
        case: Case,  # noqa: ARG002 - the same for all
        problem: ThreeWayProblem,
        inputs: ThreeWayInputs,
    ) -> Mapping[str, Expectation]:
        """See ReferenceKernel."""
        if not problem.has_data:
            return {}
        items = inputs.items
        first = inputs.is_first(items)
        second = inputs.is_second(items) & ~first
        found: dict[str, Expectation] = {"num_selected": Exact(torch.stack([first.sum(), second.sum()]))}
        untouched = torch.full_like(items, UNSET)
        for name, part in zip(_PARTS, (first, second, ~(first | second)), strict=True):
            chosen = items[part]
            found[name] = Exact(torch.cat([chosen, untouched[chosen.shape[0] :]]), signed_zeros=True)
        return found

    def coverage(self, case: Case, problem: ThreeWayProblem) -> Mapping[str, range]:
        """See ReferenceKernel."""
        parts = _launches(case, problem)
        return {KERNEL_NAME: range(int(parts[0].begins[0]) if parts else 0, problem.num_items)}


def shape_of(case: Case) -> SweepShape:
    """The tile of a case; there is no fallback."""
    return sweep_shape(case.policy.lookback, case.warp_size)


def items_of(case: Case) -> tuple[Element, ...]:
    """The types of items that a case is for."""
    found = (element_of(key.input_type, key.input_size) for key in case.keys)
    return tuple(dict.fromkeys(element for element in found if element is not None))


def _launches(case: Case, problem: ThreeWayProblem) -> list[Tiles]:
    """The tiles of each launch."""
    return launches(problem.num_items, shape_of(case).tile_items, problem.launch_items, has_data=problem.has_data)


def _told_apart(
    case: Case, problem: ThreeWayProblem, inputs: ThreeWayInputs, tiles: Tiles, random: torch.Generator
) -> SortedOut:
    """The items of a launch, by parts, and how many of either are before each."""
    shape, item, packed = shape_of(case), problem.item, packed_counts(case.key.offset_size)
    index = tiles.begins.unsqueeze(-1) + shape.places(case.device)
    exists = index < tiles.ends.unsqueeze(-1)
    nothing = item.unset(*index.shape, device=case.device)
    items = item.select(exists, inputs.items[torch.where(exists, index, 0)], nothing)
    is_first = inputs.is_first(items)
    is_second = inputs.is_second(items) & ~is_first
    is_first, is_second = is_first | ~exists, is_second | ~exists
    flags = packed.pack(is_first.to(torch.int64), is_second.to(torch.int64))
    known = known_inclusive(problem.adversary, tiles.begins.shape[0], random)
    counts = count_selections(flags, packed.operator, shape, known, packed.operator.filled(0, device=case.device))
    return SortedOut(shape, item, packed, tiles, items, (is_first, is_second), counts)


KERNEL: Final = ThreeWayPartitionKernel()
