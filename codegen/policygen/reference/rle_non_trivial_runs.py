"""Device-wide search for runs longer than one (`cub::DeviceRunLengthEncode::NonTrivialRuns`).

Input: [n] keys. Output: for each run of two equal keys or more where it begins and how many keys it has, and how many
such runs there are, half of n at most; memory behind them is left as it is. Counts are items; `threads` and `items` are
the policy's, a tile is threads x items.

`DeviceRleSweepKernel` takes a tile a block, in one pass of decoupled lookback (`collectives.agent_rle`); there is no
launch for less than two items. Offsets have 32 bits, whatever the number of items has: where it has 8 bytes, the
launches of as many whole tiles as these hold come one after the other, and each goes on with the run that the one
before left open (`DeviceRleSweepKernel of partitions`). This counts also where there is one launch only: then it is the
first and the last. Launches of one to three tiles stand here for those of 2^31 items.

Where a launch begins with the head of such a run, CUB's lengths are wrong (see `collectives.agent_rle`): that run's is
too great by the length of the run before it, whose own is 0. No policy changes that, so this is what is expected of the
kernel here. A policy with 8, 16 or 32 items that does not store with time slicing has wrong lengths, too, and fails.

NaN equals nothing, so no NaN is in a run of two; 0.0 and -0.0 are equal. Exact; no result depends on timing.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from typing import Final

import torch
from torch import Tensor

from policygen.reference.collectives.agent_rle import AgentRle
from policygen.reference.collectives.agent_rle import FoundRuns
from policygen.reference.collectives.agent_rle import OpenRun
from policygen.reference.collectives.lookback import ADVERSARIES
from policygen.reference.collectives.lookback import known_inclusive
from policygen.reference.collectives.whole_tile_launches import first_of_last_tiles
from policygen.reference.collectives.whole_tile_launches import launches
from policygen.reference.collectives.whole_tile_launches import tiles_past_offsets
from policygen.reference.contract.case import Case
from policygen.reference.contract.comparison import Exact
from policygen.reference.contract.comparison import Expectation
from policygen.reference.contract.kernel import ReferenceKernel
from policygen.reference.contract.tile_log import TileLog
from policygen.reference.values.elements import ELEMENTS
from policygen.reference.values.elements import Element
from policygen.reference.values.elements import element_of
from policygen.reference.values.run_reference import runs_of
from policygen.reference.values.run_searches import RunSearch
from policygen.reference.values.run_searches import RunSearchInputs
from policygen.reference.values.run_searches import run_search_inputs
from policygen.reference.values.run_searches import run_searches

KERNEL_NAME: Final = "DeviceRleSweepKernel"
OF_PARTITIONS: Final = "DeviceRleSweepKernel of partitions"

_PAST_OFFSETS: Final = "tiles past offsets of 32 bits"


class NonTrivialRunsKernel(ReferenceKernel[RunSearch, RunSearchInputs]):
    """See the module."""

    def problems(self, case: Case, *, quick: bool) -> Iterator[RunSearch]:
        """See ReferenceKernel."""
        tile, keys = _tile_items(case), _elements_of(case)
        yield from run_searches(case, tile, keys, quick=quick)
        # every second item is a head: as many runs as there can be
        yield RunSearch(5 * tile + 1, keys[0], "pairs", None, ADVERSARIES[2])

    def inputs(self, case: Case, problem: RunSearch, random: torch.Generator) -> RunSearchInputs:
        """See ReferenceKernel."""
        return run_search_inputs(case, problem, _tile_items(case), random)

    def run(self, case: Case, problem: RunSearch, inputs: RunSearchInputs, log: TileLog) -> Mapping[str, Tensor]:
        """See ReferenceKernel."""
        agent, keys = _agent(case, problem), inputs.keys
        random = torch.Generator()
        random.manual_seed(inputs.seed)
        out = FoundRuns(*(_blank(case, keys.shape[0]).to(keys.device) for _ in range(2)))
        before: OpenRun | None = None
        first, past_offsets = _first_item(case, problem), 0
        for tiles in launches(_launched(problem), agent.tile_items, problem.launch_tiles, first_item=first):
            tiles.record(_kernel_of(problem), log)
            past_offsets += tiles_past_offsets(tiles)
            if problem.has_data:
                known = known_inclusive(problem.adversary, tiles.begins.shape[0], random)
                before = agent.launch(keys, tiles.to(case.device), known, before, out)
        if not problem.has_data:
            return {_PAST_OFFSETS: torch.tensor(past_offsets)}
        count = torch.tensor(0 if before is None else before.runs)
        return {"offsets": out.offsets, "lengths": out.lengths, "runs": count}

    def expected(self, case: Case, problem: RunSearch, inputs: RunSearchInputs) -> Mapping[str, Expectation]:
        """See ReferenceKernel."""
        if not problem.has_data:
            return {_PAST_OFFSETS: Exact(torch.tensor(0))}
        runs = runs_of(inputs.keys, problem.key)
        is_longer = runs.lengths > 1
        offsets, lengths = runs.begins[is_longer], runs.lengths[is_longer]
        if problem.launch_tiles is not None:
            step = problem.launch_tiles * _tile_items(case)
            lengths = _as_launched(offsets, lengths, range(step, problem.num_items, step))
        behind = _blank(case, problem.num_items)[offsets.shape[0] :]
        return {
            "offsets": Exact(torch.cat([offsets, behind])),
            "lengths": Exact(torch.cat([lengths, behind])),
            "runs": Exact(torch.tensor(offsets.shape[0])),
        }

    def coverage(self, case: Case, problem: RunSearch) -> Mapping[str, range]:
        """See ReferenceKernel."""
        return {_kernel_of(problem): range(_first_item(case, problem), _launched(problem))}


def _as_launched(offsets: Tensor, lengths: Tensor, begins: range) -> Tensor:
    """Lengths as CUB has them where launches begin at some places: see the module.

    Args:
        offsets: where runs begin, int64 [runs].
        lengths: how long they are, int64 [runs].
        begins: first items of all launches but the first.
    """
    found = lengths.clone()
    # the first run has none before it
    for run in range(1, offsets.shape[0]):
        if int(offsets[run]) in begins:
            found[run] += found[run - 1]
            found[run - 1] = 0
    return found


def _tile_items(case: Case) -> int:
    return int(case.policy.lookback.threads_per_block * case.policy.lookback.items_per_thread)


def _agent(case: Case, problem: RunSearch) -> AgentRle:
    own = case.policy.lookback
    return AgentRle(
        own.threads_per_block,
        own.items_per_thread,
        problem.key,
        ELEMENTS[f"int{8 * case.key.length_size}"],
        own.store_with_time_slicing,
        case.warp_size,
    )


def _elements_of(case: Case) -> tuple[Element, ...]:
    """Types of keys."""
    found = (element_of(key.key_type, key.key_size) for key in case.keys)
    return tuple(dict.fromkeys(element for element in found if element is not None))


def _blank(case: Case, num_items: int) -> Tensor:
    """Memory for offsets or lengths that nothing has been written to."""
    return ELEMENTS[f"int{8 * case.key.length_size}"].unset(num_items)


def _kernel_of(problem: RunSearch) -> str:
    return KERNEL_NAME if problem.launch_tiles is None else OF_PARTITIONS


def _launched(problem: RunSearch) -> int:
    """The items that are looked at: an item alone is in no run of two."""
    return problem.num_items if problem.num_items > 1 else 0


def _first_item(case: Case, problem: RunSearch) -> int:
    return 0 if problem.has_data else first_of_last_tiles(problem.num_items, _tile_items(case))


KERNEL: Final = NonTrivialRunsKernel()
