"""Device-wide selection of the k greatest or least keys (`cub::DeviceTopK`), as `dispatch_topk.cuh` launches it.

Input: [n] keys, with values or none, and k. Output: min(k, n) keys with their values, in any order; places past them
are not written. Counts are keys; `threads` and `items` are the policy's, a tile is threads x items.

A key has ceil(bits / bits_per_pass) digits. `DeviceTopKHistogramKernel` counts the highest one,
`DeviceTopKKernel` runs once for each further digit, `DeviceTopKLastFilterKernel` writes what is left
(`collectives.topk_passes`). Each runs on as many blocks as the device keeps resident, or as there are tiles. Candidates
are kept in two buffers of n / 128 keys (at least one).

Order: that of bits, as a radix sort has it (`values.radix_keys`), but for zeros: -0.0 comes before 0.0. NaN is beyond
infinity, by its sign. `policygen.reference.batched_topk` takes zeros for equal.

Ties: CUB 3.5 has `determinism::not_guaranteed` and `output_ordering::unsorted` alone, and compiles nothing else: of
keys that equal the k-th any may be taken, and another run may take others. (`tie_break::prefer_smaller_index` beside
these is compiled, and ignored.) So results are held against sets in which each key has its count, and a value has to be
one of its key's.

k beyond n is n. k = 0 writes nothing, but all of the input is read twice. For n = 0 grids of no blocks are launched,
which is an error upstream; here it is an empty result.

With BLOCK_LOAD_STRIPED, which the policy allows, upstream takes keys for blocked that are not: values are those of
other keys, and keys of a partial tile are lost. The kernel does the same; no policy asks for it.
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
from policygen.reference.collectives.counted_output import CountedOutput
from policygen.reference.collectives.counted_output import blank_output
from policygen.reference.collectives.digit_choice import DigitChoice
from policygen.reference.collectives.key_prefix import DigitPasses
from policygen.reference.collectives.pairs import Pairs
from policygen.reference.collectives.pairs import torn_apart
from policygen.reference.collectives.pairs import with_origins
from policygen.reference.collectives.topk_passes import FIRST_PASS
from policygen.reference.collectives.topk_passes import TopKGrid
from policygen.reference.collectives.topk_passes import TopKPasses
from policygen.reference.collectives.topk_passes import pass_name
from policygen.reference.contract.case import Case
from policygen.reference.contract.comparison import AnyOrder
from policygen.reference.contract.comparison import Exact
from policygen.reference.contract.comparison import Expectation
from policygen.reference.contract.kernel import Problem
from policygen.reference.contract.kernel import ReferenceKernel
from policygen.reference.contract.sizes import BEYOND_INT32
from policygen.reference.contract.sizes import LAST_TILES
from policygen.reference.contract.sizes import combinations
from policygen.reference.contract.sizes import sizes
from policygen.reference.contract.tile_log import TileLog
from policygen.reference.values.elements import ELEMENTS
from policygen.reference.values.radix_keys import RadixKeys
from policygen.reference.values.selection import Selection
from policygen.reference.values.selection import make_selectable
from policygen.reference.values.selection import selected
from policygen.reference.values.selection import selection_patterns
from policygen.reference.values.selection import selections_of

_FEW_BLOCKS: Final = 2
_MOST_ITEMS: Final = 1 << 21
_MOST_QUICK_ITEMS: Final = 1 << 17


@frozen
class TopKProblem(Problem):
    """A selection.

    Attributes:
        num_items: keys to select from.
        k: how many are asked for.
        selection: type of the keys, and which of them are wanted.
        pattern: of the keys.
        max_blocks: the most blocks of a grid.
        has_values: whether values go along.
        has_data: False for index arithmetic alone.
    """

    num_items: int
    k: int
    selection: Selection
    pattern: str
    max_blocks: int
    has_values: bool = False
    has_data: bool = True


@frozen(eq=False)
class TopKInputs:
    """What a selection is given.

    Attributes:
        items: keys as they lie in memory; values say where they are.
        seed: of the order in which atomic additions come.
    """

    items: Pairs
    seed: int


class TopKKernel(ReferenceKernel[TopKProblem, TopKInputs]):
    """See the module."""

    def problems(self, case: Case, *, quick: bool) -> Iterator[TopKProblem]:
        """See ReferenceKernel."""
        tile = case.policy.threads_per_block * case.policy.items_per_thread
        selections = selections_of(case.key.key_size)
        edges = sizes(tile, blocks=_FEW_BLOCKS, quick=quick)
        # where candidates fit the buffer: n / 128 of them
        middle = (2 * _FEW_BLOCKS + 1) * tile + 5
        found = combinations(
            edges,
            selections,
            lambda selection: selection_patterns(selection.element),
            middle,
            alike=lambda selection: selection.element.is_floating,
            quick=quick,
        )
        asked = cycle((0.3, 1.0, 0.0, 0.01, 1.5, 0.9))
        for number, ((n, selection, pattern), part) in enumerate(zip(found, asked, strict=False)):
            k = int(n * part) if n != middle else max(1, int(n * min(part, 0.99)))
            yield TopKProblem(n, k, selection, pattern, _FEW_BLOCKS, has_values=number % 2 == 1)
        yield TopKProblem(edges[-1], 0, selections[0], "random", _FEW_BLOCKS)
        yield TopKProblem(edges[-1], 1, selections[-1], "random", _FEW_BLOCKS, has_values=True)
        blocks = case.residency.resident_blocks
        if (blocks + 1) * tile <= (_MOST_QUICK_ITEMS if quick else _MOST_ITEMS):
            for selection in selections[:1] if quick else selections[::2]:
                yield TopKProblem(blocks * tile + tile // 2, 3 * tile // 4, selection, "random", blocks)
        yield TopKProblem(BEYOND_INT32, 100, selections[0], "random", blocks, has_data=False)

    def inputs(self, case: Case, problem: TopKProblem, random: torch.Generator) -> TopKInputs:
        """See ReferenceKernel."""
        n = problem.num_items if problem.has_data else 0
        keys = make_selectable(problem.pattern, problem.selection.element, n, random)
        raw = RadixKeys(problem.selection.element).raw(keys).to(case.device)
        seed = int(torch.randint(1 << 31, (1,), generator=random))
        return TopKInputs(with_origins(raw, has_values=problem.has_values), seed)

    def run(self, case: Case, problem: TopKProblem, inputs: TopKInputs, log: TileLog) -> Mapping[str, Tensor]:
        """See ReferenceKernel."""
        if not problem.has_data:
            grid = grid_of(case, problem.max_blocks)
            grid.tiles(problem.num_items, _first_tile(problem, grid.tile_items)).record(FIRST_PASS, log)
            return {}
        k = min(problem.k, problem.num_items)
        out = self.selected(case, problem, inputs, log)
        found = {"keys": out.items.keys[:k], "times each place was written": out.writes}
        if out.items.values is None:
            return found
        values = out.items.values[:k]
        return {
            **found,
            "keys with values of others": torn_apart(inputs.items, out.items.at(torch.arange(k, device=values.device))),
            "different values": torch.tensor(len(set(values.tolist()))),
        }

    def selected(self, case: Case, problem: TopKProblem, inputs: TopKInputs, log: TileLog) -> CountedOutput:
        """What is written to the output, which has as many places as were asked for."""
        out = blank_output(inputs.items, problem.k)
        if problem.num_items > 0:
            k = min(problem.k, problem.num_items)
            keys = RadixKeys(problem.selection.element)
            random = torch.Generator()
            random.manual_seed(inputs.seed)
            grid = grid_of(case, problem.max_blocks)
            TopKPasses(inputs.items, keys, problem.selection.is_greatest, k, grid, out, random, log).run()
        return out

    def expected(
        self,
        case: Case,  # noqa: ARG002 - the same for all
        problem: TopKProblem,
        inputs: TopKInputs,
    ) -> Mapping[str, Expectation]:
        """See ReferenceKernel."""
        if not problem.has_data:
            return {}
        k = min(problem.k, problem.num_items)
        keys = inputs.items.keys.cpu()
        writes = (torch.arange(problem.k) < k).to(torch.int64)
        found: dict[str, Expectation] = {
            "keys": AnyOrder(keys[selected(keys, problem.selection, k)]),
            "times each place was written": Exact(writes),
        }
        if problem.has_values:
            found["keys with values of others"] = Exact(torch.tensor(0))
            found["different values"] = Exact(torch.tensor(k))
        return found

    def coverage(self, case: Case, problem: TopKProblem) -> Mapping[str, int | range]:
        """See ReferenceKernel."""
        policy = case.policy
        tile = policy.threads_per_block * policy.items_per_thread
        if not problem.has_data:
            return {FIRST_PASS: range(_first_tile(problem, tile) * tile, problem.num_items)}
        n = problem.num_items
        found: dict[str, int | range] = {FIRST_PASS: n}
        if DigitPasses(8 * case.key.key_size, policy.bits_per_pass).count > 1:
            found[pass_name(1)] = n if problem.k > 0 else 0
        return found


def grid_of(case: Case, max_blocks: int) -> TopKGrid:
    """The grid of each kernel, as the policy has it."""
    policy = case.policy
    counter = ELEMENTS[f"uint{8 * case.key.offset_size}"]
    return TopKGrid(
        max_blocks,
        policy.items_per_thread,
        DigitChoice(policy.threads_per_block, policy.scan_algorithm, counter, case.warp_size),
        policy.bits_per_pass,
        is_striped=policy.load_algorithm == "BLOCK_LOAD_STRIPED",
    )


def _first_tile(problem: TopKProblem, tile_items: int) -> int:
    return max(0, ceil_div(problem.num_items, tile_items) - LAST_TILES)


KERNEL: Final = TopKKernel()
