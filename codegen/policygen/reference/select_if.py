"""Device-wide selection and partition (`cub::DeviceSelect`, `cub::DevicePartition`), by `dispatch_select_if.cuh`.

Input: [n] items of one type, and what says which are selected: a predicate on items (`If`), flags (`Flagged`), a
predicate on flags (`FlaggedIf`), or an equality, of whose runs the first item is selected (`Unique`). Output: the items
that are selected, and how many; of a partition, the others as well. Counts are items; `threads` and `items` are the
policy's, a tile is threads x items.

`DeviceSelectSweepKernel` takes a tile a block. A block loads its items blocked, flags them, counts flags
(`collectives.selection_counts`, lookback across tiles), and writes (`collectives.select_scatter`). What is past the end
of the last tile counts as selected, and is taken off again.

Order: selected items keep theirs. A partition writes rejected ones from the end of its output backwards, so that they
are in reverse; with two outputs they keep theirs. Exact; no result depends on timing. By `equal_to` each NaN begins a
run of its own, and 0.0 does not end one of -0.0.

A kernel counts in 32 bits. A selection, and a partition whose number of items has 64, goes through longer inputs launch
by launch (`collectives.launches`): 2^31 - 1 items each, which a selection rounds down to whole tiles. A launch is told
how many items the ones before it have selected, and how many there are in all, from which rejected items are put back;
the first item of a later launch is compared with the last one before it. Problems with small launches stand for that.

In place (`SelectPotentiallyInPlace`), input and output are one memory. A tile writes no further than where it ends, and
writes when all tiles before it have been loaded, but not all behind it (`collectives.agent_select`); the item before a
tile may have been written again, with the same value. Nothing after the last selected item is touched.

Where a tile does not fit into shared memory, CUB takes 64 threads and one item instead.

Not modelled: acquire and release on tile states in place, where loads do not go through shared memory, and prefetches:
they decide when a block sees something, not what; tiles that are kept in global memory, because not even the small
ones fit.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from typing import Final

import torch
from attrs import frozen
from torch import Tensor

from policygen.reference.collectives.agent_select import ByFlag
from policygen.reference.collectives.agent_select import ByHead
from policygen.reference.collectives.agent_select import ByItem
from policygen.reference.collectives.agent_select import SelectMemory
from policygen.reference.collectives.agent_select import Selector
from policygen.reference.collectives.agent_select import SelectSweep
from policygen.reference.collectives.launches import MOST_LAUNCH_ITEMS
from policygen.reference.collectives.launches import launches
from policygen.reference.collectives.lookback import ADVERSARIES
from policygen.reference.collectives.pairs import UNSET
from policygen.reference.collectives.regions import Tiles
from policygen.reference.collectives.sweep_shape import SweepShape
from policygen.reference.collectives.sweep_shape import sweep_shape
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
from policygen.reference.values.equalities import Equality
from policygen.reference.values.selections import SHARES
from policygen.reference.values.selections import Cut
from policygen.reference.values.selections import cuts_at
from policygen.reference.values.selections import drawn
from policygen.reference.values.selections import flags_for
from policygen.reference.values.selections import is_odd
from policygen.reference.values.selections import is_set
from policygen.reference.values.selections import odd_flags_for
from policygen.reference.values.selections import repeated
from policygen.reference.values.sort_keys import make_keys
from policygen.reference.values.sort_keys import sort_patterns

KERNEL_NAME: Final = "DeviceSelectSweepKernel"
_MOST_ITEMS: Final = 1 << 21
_MOST_QUICK_ITEMS: Final = 1 << 18


@frozen
class Kind:
    """What is selected, and by what.

    Attributes:
        item: type of the items.
        method: `if`, `flagged`, `flagged_if`, or `unique` with the name of an equality.
    """

    item: Element
    method: str

    @property
    def equality(self) -> Equality | None:
        """By which items are compared with those before them; None for other methods."""
        name, _, equality = self.method.partition(" ")
        return Equality(self.item, equality) if name == "unique" else None

    def __str__(self) -> str:
        return f"{self.item} {self.method}"


@frozen
class SelectProblem(Problem):
    """A selection or partition.

    Attributes:
        num_items: items to select from.
        kind: what is selected, and by what.
        pattern: of the items.
        share: how much is selected, one of `SHARES`.
        adversary: who decides what a tile finds of its predecessors, one of `ADVERSARIES`.
        launch_items: the most items of a launch.
        has_data: False for index arithmetic alone.
    """

    num_items: int
    kind: Kind
    pattern: str
    share: str
    adversary: str
    launch_items: int = MOST_LAUNCH_ITEMS
    has_data: bool = True


@frozen(eq=False)
class SelectInputs:
    """What a selection is given.

    Attributes:
        items: [num_items, *kind.item.trailing].
        flags: uint8 values, [num_items].
        predicate: on items, for `if`.
        seed: of the adversary.
    """

    items: Tensor
    flags: Tensor
    predicate: Cut | None
    seed: int


class SelectKernel(ReferenceKernel[SelectProblem, SelectInputs]):
    """See the module."""

    def problems(self, case: Case, *, quick: bool) -> Iterator[SelectProblem]:
        """See ReferenceKernel."""
        tile, kinds = shape_of(case).tile_items, kinds_of(case)
        found = combinations(
            sizes(tile, blocks=2, quick=quick),
            kinds,
            lambda kind: sort_patterns(kind.item, nan=True),
            tile + 5,
            alike=lambda kind: kind.item.is_floating,
            quick=quick,
        )
        for number, (num_items, kind, pattern) in enumerate(found):
            share = SHARES[number % len(SHARES)]
            yield SelectProblem(num_items, kind, pattern, share, ADVERSARIES[number % len(ADVERSARIES)])
        # several launches: of whole tiles, of one item less than two tiles, and of a little more than one
        for number, launch_items in enumerate((tile, 2 * tile - 1, tile + 3)):
            kind, share = kinds[number % len(kinds)], SHARES[0 if quick else number % len(SHARES)]
            yield SelectProblem(3 * tile + tile // 3, kind, "few", share, ADVERSARIES[number], launch_items)
        # so many tiles that one window does not reach back to the first
        many = min((case.warp_size + 3) * tile - 2, _MOST_QUICK_ITEMS if quick else _MOST_ITEMS)
        for number, adversary in enumerate(ADVERSARIES[2:] if quick else ADVERSARIES):
            yield SelectProblem(many, kinds[number % len(kinds)], "random", SHARES[0], adversary)
        most = BEYOND_INT32 if _uses_launches(case) else MOST_LAUNCH_ITEMS
        yield SelectProblem(most, kinds[0], "random", SHARES[0], ADVERSARIES[0], has_data=False)

    def inputs(self, case: Case, problem: SelectProblem, random: torch.Generator) -> SelectInputs:
        """See ReferenceKernel."""
        n, kind = problem.num_items if problem.has_data else 0, problem.kind
        selected = drawn(problem.share, n, random)
        items = make_keys(problem.pattern, kind.item, n, random)
        if kind.equality is not None:
            items = repeated(items, selected)
        flags = (odd_flags_for if kind.method == "flagged_if" else flags_for)(selected, random)
        return SelectInputs(
            items=items.to(case.device),
            flags=flags.to(case.device),
            predicate=cuts_at((problem.share,), kind.item, items)[0] if kind.method == "if" else None,
            seed=int(torch.randint(1 << 31, (1,), generator=random)),
        )

    def run(self, case: Case, problem: SelectProblem, inputs: SelectInputs, log: TileLog) -> Mapping[str, Tensor]:
        """See ReferenceKernel."""
        parts = _launches(case, problem)
        for tiles in parts:
            tiles.record(KERNEL_NAME, log)
        if not problem.has_data:
            return {}
        memory = _memory_of(case, inputs)
        sweep = SelectSweep(shape_of(case), problem.kind.item, _selector(problem.kind, inputs), memory)
        selected = torch.zeros((), dtype=torch.int64, device=case.device)
        random = torch.Generator()
        random.manual_seed(inputs.seed)
        for tiles in parts:
            selected = sweep.launch(tiles.to(case.device), selected, problem.adversary, random)
        return {"num_selected": selected, **memory.outputs()}

    def expected(self, case: Case, problem: SelectProblem, inputs: SelectInputs) -> Mapping[str, Expectation]:
        """See ReferenceKernel."""
        if not problem.has_data:
            return {}
        items, keep = inputs.items, _selected(problem.kind, inputs)
        selected, rejected = items[keep], items[~keep]
        untouched = torch.full_like(items, UNSET)
        found = {"num_selected": keep.sum()}
        match _way(case):
            case "Partition":
                found["items"] = torch.cat([selected, rejected.flip(0)])
            case "Partition to two outputs":
                found["items"] = torch.cat([selected, untouched[selected.shape[0] :]])
                found["rejected"] = torch.cat([rejected, untouched[rejected.shape[0] :]])
            case "SelectPotentiallyInPlace":
                found["items"] = torch.cat([selected, items[selected.shape[0] :]])
            case _:
                found["items"] = torch.cat([selected, untouched[selected.shape[0] :]])
        return {name: Exact(values, signed_zeros=True) for name, values in found.items()}

    def coverage(self, case: Case, problem: SelectProblem) -> Mapping[str, range]:
        """See ReferenceKernel."""
        parts = _launches(case, problem)
        return {KERNEL_NAME: range(int(parts[0].begins[0]) if parts else 0, problem.num_items)}

    def unbound(self, case: Case) -> Mapping[str, str]:
        """See ReferenceKernel."""
        return {"lookback": "its tile does not fit"} if _uses_fallback(case) else {}


def shape_of(case: Case) -> SweepShape:
    """The tile of a case."""
    return sweep_shape(case.policy.lookback, case.warp_size, uses_fallback=_uses_fallback(case))


def kinds_of(case: Case) -> tuple[Kind, ...]:
    """What the keys of a case select: all types, by each method that the calls have for them."""
    if case.key.flag_size_bytes:
        methods: tuple[str, ...] = ("flagged",) if _keeps_rejects(case) else ("flagged", "flagged_if")
    else:
        methods = ("if",) if _keeps_rejects(case) else ("if", "unique equal_to", "unique custom")
    items = (element_of(key.input_type, key.input_size_bytes) for key in case.keys)
    types = dict.fromkeys(item for item in items if item is not None)
    return tuple(Kind(item, method) for item in types for method in methods)


def _uses_fallback(case: Case) -> bool:
    """Whether CUB takes small tiles, because the policy's do not fit into shared memory."""
    return "shared-memory" in case.unmet


def _keeps_rejects(case: Case) -> bool:
    return bool(case.key.selection_impl == "Partition")


def _way(case: Case) -> str:
    """What becomes of the items: only a partition can have two outputs."""
    two_outputs = _keeps_rejects(case) and case.key.distinct_partitions
    return "Partition to two outputs" if two_outputs else str(case.key.selection_impl)


def _uses_launches(case: Case) -> bool:
    """Whether the number of items may have 64 bits: that of a selection always has."""
    return not _keeps_rejects(case) or case.key.offset_size_bytes == 8


def _launches(case: Case, problem: SelectProblem) -> list[Tiles]:
    """The tiles of each launch."""
    tile, n = shape_of(case).tile_items, problem.num_items
    items = problem.launch_items if _keeps_rejects(case) else max(1, problem.launch_items // tile) * tile
    return launches(n, tile, items if _uses_launches(case) else max(1, n), has_data=problem.has_data)


def _memory_of(case: Case, inputs: SelectInputs) -> SelectMemory:
    """Outputs that nothing has been written to, or the input's own memory."""
    items = inputs.items.clone()
    blank = torch.full_like(items, UNSET)
    match _way(case):
        case "SelectPotentiallyInPlace":
            return SelectMemory(items, items)
        case "Partition to two outputs":
            return SelectMemory(items, blank, blank.clone(), keeps_rejects=True)
    return SelectMemory(items, blank, keeps_rejects=_keeps_rejects(case))


def _selector(kind: Kind, inputs: SelectInputs) -> Selector:
    """What says which items are selected."""
    if kind.equality is not None:
        return ByHead(kind.equality)
    if inputs.predicate is not None:
        return ByItem(inputs.predicate)
    return ByFlag(inputs.flags, is_odd if kind.method == "flagged_if" else is_set)


def _selected(kind: Kind, inputs: SelectInputs) -> Tensor:
    """Which items are to be selected, bool [n]."""
    if kind.equality is not None:
        keep = torch.ones(inputs.items.shape[0], dtype=torch.bool, device=inputs.items.device)
        keep[1:] = ~kind.equality.same(inputs.items[1:], inputs.items[:-1])
        return keep
    if inputs.predicate is not None:
        return inputs.predicate(inputs.items)
    return is_odd(inputs.flags) if kind.method == "flagged_if" else is_set(inputs.flags)


KERNEL: Final = SelectKernel()
