"""Device-wide run-length encoding (`cub::DeviceRunLengthEncode::Encode`): a reduction by keys of ones.

Input: [n] keys. Output: for each run of equal keys one key and how many keys it has, and how many runs there are, as
many as n at most; memory behind them is left as it is. Counts are items; `threads` and `items` are the policy's, a tile
is threads x items.

The kernel is that of the reduction by keys, `DeviceReduceByKeyKernel` (`collectives.agent_reduce_by_key`): each key has
the value 1, in the type that lengths are added up in, 4 or 8 bytes. Offsets have 32 bits, whatever the number of items
has: where it has 8 bytes, the launches of as many whole tiles as these hold come one after the other, and each goes on
with the run that the one before left open (`DeviceReduceByKeyKernel of partitions`). This counts also where there is
one launch only: then it is the first and the last. Launches of one to three tiles stand here for those of 2^31 items.

A run's key is its last one: of -0.0 and 0.0, which are equal, that is what counts. NaN equals nothing, so each NaN is a
run of its own. All results are exact; no result depends on timing.

Not modelled: tiles that do not fit into 48 KiB. The kernel then takes 64 threads and one item, but is launched with
the policy's threads and a block for each of the policy's tiles, so that its results would be wrong. No common key's
policy is one of these.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from typing import Final

import torch
from torch import Tensor

from policygen.reference.collectives.agent_reduce_by_key import AgentReduceByKey
from policygen.reference.collectives.agent_reduce_by_key import Open
from policygen.reference.collectives.agent_reduce_by_key import Runs
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
from policygen.reference.values.operators import plus
from policygen.reference.values.run_reference import runs_of
from policygen.reference.values.run_searches import RunSearch
from policygen.reference.values.run_searches import RunSearchInputs
from policygen.reference.values.run_searches import run_search_inputs
from policygen.reference.values.run_searches import run_searches

KERNEL_NAME: Final = "DeviceReduceByKeyKernel"
OF_PARTITIONS: Final = "DeviceReduceByKeyKernel of partitions"

_PAST_OFFSETS: Final = "tiles past offsets of 32 bits"


class EncodeKernel(ReferenceKernel[RunSearch, RunSearchInputs]):
    """See the module."""

    def problems(self, case: Case, *, quick: bool) -> Iterator[RunSearch]:
        """See ReferenceKernel."""
        tile, keys = _tile_items(case), _elements_of(case)
        yield from run_searches(case, tile, keys, quick=quick)

    def inputs(self, case: Case, problem: RunSearch, random: torch.Generator) -> RunSearchInputs:
        """See ReferenceKernel."""
        return run_search_inputs(case, problem, _tile_items(case), random)

    def run(self, case: Case, problem: RunSearch, inputs: RunSearchInputs, log: TileLog) -> Mapping[str, Tensor]:
        """See ReferenceKernel."""
        agent, keys, length = _agent(case, problem), inputs.keys, _length_of(case)
        random = torch.Generator()
        random.manual_seed(inputs.seed)
        ones = torch.ones((), dtype=length.dtype, device=keys.device).expand(keys.shape[0])
        out = Runs(*(element.unset(keys.shape[0], device=keys.device) for element in (problem.key, length)))
        before: Open | None = None
        first, past_offsets = _first_item(case, problem), 0
        for tiles in launches(problem.num_items, agent.tile_items, problem.launch_tiles, first_item=first):
            tiles.record(_kernel_of(problem), log)
            past_offsets += tiles_past_offsets(tiles)
            if problem.has_data:
                known = known_inclusive(problem.adversary, tiles.begins.shape[0], random)
                before = agent.launch(keys, ones, tiles.to(case.device), known, before, out)
        if not problem.has_data:
            return {_PAST_OFFSETS: torch.tensor(past_offsets)}
        return {"keys": out.keys, "lengths": out.totals, "runs": torch.tensor(0 if before is None else before.runs)}

    def expected(self, case: Case, problem: RunSearch, inputs: RunSearchInputs) -> Mapping[str, Expectation]:
        """See ReferenceKernel."""
        if not problem.has_data:
            return {_PAST_OFFSETS: Exact(torch.tensor(0))}
        keys = inputs.keys.cpu()
        runs = runs_of(keys, problem.key)
        behind = slice(runs.count, None)
        return {
            "keys": Exact(
                torch.cat([keys[runs.ends - 1], problem.key.unset(keys.shape[0])[behind]]), signed_zeros=True
            ),
            "lengths": Exact(torch.cat([runs.lengths, _length_of(case).unset(keys.shape[0])[behind]])),
            "runs": Exact(torch.tensor(runs.count)),
        }

    def coverage(self, case: Case, problem: RunSearch) -> Mapping[str, range]:
        """See ReferenceKernel."""
        return {_kernel_of(problem): range(_first_item(case, problem), problem.num_items)}


def _tile_items(case: Case) -> int:
    return int(case.policy.lookback.threads_per_block * case.policy.lookback.items_per_thread)


def _agent(case: Case, problem: RunSearch) -> AgentReduceByKey:
    own = case.policy.lookback
    return AgentReduceByKey(
        own.threads_per_block,
        own.items_per_thread,
        problem.key,
        plus(_length_of(case)),
        own.scan_algorithm,
        case.warp_size,
    )


def _elements_of(case: Case) -> tuple[Element, ...]:
    """Types of keys."""
    found = (element_of(key.key_t, key.key_size) for key in case.keys)
    return tuple(dict.fromkeys(element for element in found if element is not None))


def _length_of(case: Case) -> Element:
    """The type of lengths."""
    return ELEMENTS[f"int{8 * case.key.length_size}"]


def _kernel_of(problem: RunSearch) -> str:
    return KERNEL_NAME if problem.launch_tiles is None else OF_PARTITIONS


def _first_item(case: Case, problem: RunSearch) -> int:
    return 0 if problem.has_data else first_of_last_tiles(problem.num_items, _tile_items(case))


KERNEL: Final = EncodeKernel()
