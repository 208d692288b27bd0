"""Device-wide selection of the first pair of each run of equal keys (`cub::DeviceSelect::UniqueByKey`).

Input: [n] keys of one type, [n] values of another, an equality of keys. Output: the first key of each run of
consecutive equal ones with its value, and how many these are. Counts are items; `threads` and `items` are the policy's,
a tile is threads x items.

`DeviceUniqueByKeySweepKernel` (`AgentUniqueByKey`) takes a tile a block: keys and values are loaded blocked, and a last
tile that is not full is filled up with its own first pair. Heads of runs are flagged (`collectives.discontinuity`),
what is past the end as well, and counted (`collectives.selection_counts`, lookback across tiles). Then keys go to
shared memory and from there to the output, and values after them.

Order: pairs keep theirs. Exact; no result depends on timing. By `equal_to` each NaN is a run of its own, and 0.0 does
not end one of -0.0. What is after the last pair in the output is not touched.

There is one launch, whatever the number of items: it is counted in 32 bits without a sign, or in 64, as many as the
call's number of items has.

Where a tile does not fit into shared memory, CUB takes 64 threads and one item instead.

Not modelled: tiles that are kept in global memory, because not even the small ones fit.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from typing import Final

import torch
from attrs import frozen
from torch import Tensor

from policygen.reference.collectives.discontinuity import flag_heads
from policygen.reference.collectives.launches import launches
from policygen.reference.collectives.lookback import ADVERSARIES
from policygen.reference.collectives.lookback import known_inclusive
from policygen.reference.collectives.pairs import UNSET
from policygen.reference.collectives.pairs import Pairs
from policygen.reference.collectives.pairs import with_origins
from policygen.reference.collectives.regions import Tiles
from policygen.reference.collectives.selection_counts import count_selections
from policygen.reference.collectives.shared_exchange import write_compacted
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
from policygen.reference.values.elements import ELEMENTS
from policygen.reference.values.equalities import Equality
from policygen.reference.values.equalities import equalities_of
from policygen.reference.values.operators import Operator
from policygen.reference.values.operators import plus
from policygen.reference.values.selections import SHARES
from policygen.reference.values.selections import drawn
from policygen.reference.values.selections import repeated
from policygen.reference.values.sort_keys import elements_of_size
from policygen.reference.values.sort_keys import make_keys
from policygen.reference.values.sort_keys import sort_patterns

KERNEL_NAME: Final = "DeviceUniqueByKeySweepKernel"

_PLACE: Final = ELEMENTS["int64"]
"""Values are the places that their keys came from."""

_MOST_ITEMS: Final = 1 << 21
_MOST_QUICK_ITEMS: Final = 1 << 18
_MOST_COUNTED: Final = {4: 2**32 - 1, 8: 2**32 + BEYOND_INT32}
"""Items for index arithmetic alone, by bytes of an offset."""


@frozen
class UniqueProblem(Problem):
    """A selection of unique keys.

    Attributes:
        num_items: pairs to select from.
        equality: of keys, with their type.
        pattern: of the keys.
        share: how many keys begin a run, one of `SHARES`.
        adversary: who decides what a tile finds of its predecessors, one of `ADVERSARIES`.
        has_data: False for index arithmetic alone.
    """

    num_items: int
    equality: Equality
    pattern: str
    share: str
    adversary: str
    has_data: bool = True


@frozen(eq=False)
class UniqueInputs:
    """What a selection is given: pairs, and the seed of the adversary."""

    items: Pairs
    seed: int


class UniqueByKeyKernel(ReferenceKernel[UniqueProblem, UniqueInputs]):
    """See the module."""

    def problems(self, case: Case, *, quick: bool) -> Iterator[UniqueProblem]:
        """See ReferenceKernel."""
        tile, equalities = shape_of(case).tile_items, equalities_of(elements_of_size(case.key.key_size))
        found = combinations(
            sizes(tile, blocks=2, quick=quick),
            equalities,
            lambda equality: sort_patterns(equality.element, nan=True),
            tile + 5,
            alike=lambda equality: equality.element.is_floating,
            quick=quick,
        )
        for number, (num_items, equality, pattern) in enumerate(found):
            share, adversary = SHARES[number % len(SHARES)], ADVERSARIES[number % len(ADVERSARIES)]
            yield UniqueProblem(num_items, equality, pattern, share, adversary)
        # so many tiles that one window does not reach back to the first
        many = min((case.warp_size + 3) * tile - 2, _MOST_QUICK_ITEMS if quick else _MOST_ITEMS)
        for number, adversary in enumerate(ADVERSARIES[2:] if quick else ADVERSARIES):
            yield UniqueProblem(many, equalities[number % len(equalities)], "random", SHARES[0], adversary)
        most = _MOST_COUNTED[case.key.offset_size]
        yield UniqueProblem(most, equalities[0], "random", SHARES[0], ADVERSARIES[0], has_data=False)

    def inputs(self, case: Case, problem: UniqueProblem, random: torch.Generator) -> UniqueInputs:
        """See ReferenceKernel."""
        n = problem.num_items if problem.has_data else 0
        keys = make_keys(problem.pattern, problem.equality.element, n, random)
        keys = repeated(keys, drawn(problem.share, n, random)).to(case.device)
        return UniqueInputs(with_origins(keys, has_values=True), int(torch.randint(1 << 31, (1,), generator=random)))

    def run(self, case: Case, problem: UniqueProblem, inputs: UniqueInputs, log: TileLog) -> Mapping[str, Tensor]:
        """See ReferenceKernel."""
        out, selected = inputs.items.blank(), torch.zeros((), dtype=torch.int64, device=case.device)
        for tiles in _tiles(case, problem):
            tiles.record(KERNEL_NAME, log)
            if problem.has_data:
                selected = _sweep(case, problem, inputs, tiles.to(case.device), out)
        return {"num_selected": selected, **out.outputs()} if problem.has_data else {}

    def expected(
        self,
        case: Case,  # noqa: ARG002 - the same for all
        problem: UniqueProblem,
        inputs: UniqueInputs,
    ) -> Mapping[str, Expectation]:
        """See ReferenceKernel."""
        if not problem.has_data:
            return {}
        keys = inputs.items.keys
        keep = torch.ones(keys.shape[0], dtype=torch.bool, device=keys.device)
        keep[1:] = ~problem.equality.same(keys[1:], keys[:-1])
        found: dict[str, Expectation] = {"num_selected": Exact(keep.sum())}
        for name, values in inputs.items.outputs().items():
            untouched = torch.full_like(values[~keep], UNSET)
            found[name] = Exact(torch.cat([values[keep], untouched]), signed_zeros=True)
        return found

    def coverage(self, case: Case, problem: UniqueProblem) -> Mapping[str, range]:
        """See ReferenceKernel."""
        parts = _tiles(case, problem)
        return {KERNEL_NAME: range(int(parts[0].begins[0]) if parts else 0, problem.num_items)}

    def unbound(self, case: Case) -> Mapping[str, str]:
        """See ReferenceKernel."""
        if _uses_fallback(case):
            return dict.fromkeys(("threads_per_block", "items_per_thread"), "its tile does not fit")
        return {}


def shape_of(case: Case) -> SweepShape:
    """The tile of a case."""
    return sweep_shape(case.policy, case.warp_size, uses_fallback=_uses_fallback(case))


def _uses_fallback(case: Case) -> bool:
    """Whether CUB takes small tiles, because the policy's do not fit into shared memory."""
    return "shared-memory" in case.unmet


def _tiles(case: Case, problem: UniqueProblem) -> list[Tiles]:
    """The tiles of the one launch, if there are items."""
    n = problem.num_items
    return launches(n, shape_of(case).tile_items, max(1, n), has_data=problem.has_data)


def _count(case: Case) -> Operator:
    """How offsets are added."""
    return plus(ELEMENTS[f"uint{8 * case.key.offset_size}"])


def _sweep(case: Case, problem: UniqueProblem, inputs: UniqueInputs, tiles: Tiles, out: Pairs) -> Tensor:
    """Selects from all tiles, and returns how many pairs are selected."""
    shape, items, equality = shape_of(case), inputs.items, problem.equality
    index = tiles.begins.unsqueeze(-1) + shape.places(case.device)
    exists = index < tiles.ends.unsqueeze(-1)
    loaded = items.at(torch.where(exists, index, tiles.begins.unsqueeze(-1)))
    assert loaded.values is not None
    assert out.values is not None
    before = items.keys[(tiles.begins - 1).clamp(min=0)]
    flags = flag_heads(loaded.keys, equality, before, tiles.begins > 0) | ~exists
    random = torch.Generator()
    random.manual_seed(inputs.seed)
    count = _count(case)
    known = known_inclusive(problem.adversary, tiles.begins.shape[0], random)
    counts = count_selections(flags.to(torch.int64), count, shape, known, count.filled(0, device=index.device))
    selections = counts.totals - (shape.tile_items - (tiles.ends - tiles.begins))
    write_compacted(loaded.keys, equality.element, flags, counts, selections, counts.before, out.keys)
    write_compacted(loaded.values, _PLACE, flags, counts, selections, counts.before, out.values)
    return counts.before[-1] + selections[-1]


KERNEL: Final = UniqueByKeyKernel()
