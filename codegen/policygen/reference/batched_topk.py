"""Selection of the k greatest or least keys of many segments (`cub::DeviceBatchedTopK`).

Input: segments of keys of one type, with values or none; a bound of their sizes, known to the compiler; k, the same for
all or one each. Output: min(k, size) keys of each segment with their values, in any order; places past them are not
written. Counts are keys.

A block for each segment (`device_segmented_topk_kernel`), as `dispatch_batched_topk.cuh` launches it. Of the policy's
workers, CUB takes the last whose tile (threads x items) covers the largest segment that there may be, and whose shared
memory fits: the smallest tile, as the list is in falling order. Its block holds the whole segment in registers
(`collectives.block_topk`).

Order: that of bits, as a radix sort has it, zeros of both signs being equal (`cub::DeviceTopK` tells them apart). NaN
is beyond infinity, by its sign. Of keys that equal the k-th any may be taken: CUB 3.5 compiles nothing but
`determinism::not_guaranteed` with `tie_break::unspecified` and `output_ordering::unsorted`.

Several blocks for a segment: a worker queues segments that are larger than its tile, and the last block scans how many
tiles of `multi_worker_per_segment_policy` each of them takes (`collectives.segment_queue`). CUB 3.5 has this code, but
selects only workers that cover every segment, so that no call gets there, and has no kernel that would empty the queue.
It is modelled as it is written; a segment that is queued has no output.

An empty segment trips an assertion of block_topk in builds that have assertions, though nothing is wrong.

Not modelled: striped loads and stores, which the policy allows and upstream does not take into account; the scan of
all sizes where every segment is large, which is `cub::DeviceScan`.
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
from policygen.reference.collectives.block_topk import BlockTopK
from policygen.reference.collectives.counted_output import CountedOutput
from policygen.reference.collectives.counted_output import blank_output
from policygen.reference.collectives.pairs import Pairs
from policygen.reference.collectives.pairs import torn_apart
from policygen.reference.collectives.pairs import with_origins
from policygen.reference.collectives.regions import Regions
from policygen.reference.collectives.segment_queue import queued
from policygen.reference.collectives.segment_queue import record_large
from policygen.reference.collectives.segment_workers import WORKERS
from policygen.reference.collectives.segment_workers import multi_worker_items
from policygen.reference.collectives.segment_workers import selected_worker
from policygen.reference.collectives.segment_workers import tile_items
from policygen.reference.collectives.segment_workers import usable_workers
from policygen.reference.collectives.segment_workers import worker_policy
from policygen.reference.collectives.segments import Segments
from policygen.reference.contract.case import Case
from policygen.reference.contract.comparison import AnyOrder
from policygen.reference.contract.comparison import Exact
from policygen.reference.contract.comparison import Expectation
from policygen.reference.contract.kernel import Problem
from policygen.reference.contract.kernel import ReferenceKernel
from policygen.reference.contract.sizes import BEYOND_INT32
from policygen.reference.contract.sizes import LAST_TILES
from policygen.reference.contract.sizes import combinations
from policygen.reference.contract.tile_log import TileLog
from policygen.reference.values.radix_keys import RadixKeys
from policygen.reference.values.selection import Selection
from policygen.reference.values.selection import make_selectable
from policygen.reference.values.selection import selected
from policygen.reference.values.selection import selection_patterns
from policygen.reference.values.selection import selections_of

LARGE_TILES: Final = "tiles of several blocks"
_UNKNOWN_SIZE: Final = 4


@frozen
class BatchedTopKProblem(Problem):
    """Selections.

    Attributes:
        segments: their sizes.
        most: the bound of the sizes.
        ks: what is asked for of each segment, in turn.
        selection: type of the keys, and which of them are wanted.
        pattern: of the keys.
        first: items before the first segment.
        queues: the worker that queues larger segments, which no call of CUB 3.5 selects; -1 for what it does select.
        has_data: False for index arithmetic alone.
    """

    segments: Segments
    most: int
    ks: tuple[int, ...]
    selection: Selection
    pattern: str
    first: int = 0
    queues: int = -1
    has_data: bool = True


@frozen(eq=False)
class BatchedTopKInputs:
    """What a selection is given.

    Attributes:
        items: keys as they lie in memory; values say where they are.
        regions: the segments.
        k: what is asked for of each, int64 [segments].
        arrival: in which order blocks come.
        seed: of the order in which atomic additions come.
    """

    items: Pairs
    regions: Regions
    k: Tensor
    arrival: Tensor
    seed: int

    def wanted(self) -> Tensor:
        """Keys that there are to be found of each segment."""
        return torch.minimum(self.k, self.regions.num_items)


class BatchedTopKKernel(ReferenceKernel[BatchedTopKProblem, BatchedTopKInputs]):
    """See the module."""

    def problems(self, case: Case, *, quick: bool) -> Iterator[BatchedTopKProblem]:
        """See ReferenceKernel."""
        selections = selections_of(case.key.key_size or _UNKNOWN_SIZE)
        turning = cycle(selections)
        smaller = 0
        for number in reversed(usable_workers(case)):
            tile, worker = tile_items(case, number), worker_policy(case, number)
            lengths = Segments((tile, smaller + 1, tile - 1, 1, 0))
            for selection in [next(turning)] if quick else selections:
                yield BatchedTopKProblem(lengths, tile, (tile // 3, 1, tile, 2, 0), selection, "random")
            # the first that the smaller tiles do not cover
            lengths = Segments((smaller + 1, min(3, smaller + 1)))
            yield BatchedTopKProblem(lengths, smaller + 1, (smaller // 2 + 1, 1), next(turning), "repeated")
            lengths = Segments((tile, tile + 1, 1) if quick else (tile, tile + 1, 3 * tile + 5, tile - 1, 1))
            yield BatchedTopKProblem(lengths, tile, (tile // 2,), next(turning), "random", queues=number)
            # more in the queue than the last block scans at once, and items past 2^31
            scanned = worker.threads_per_block * worker.epilogue.items_per_thread
            many = Segments((1 << 20,), repeats=scanned + 5, others=(1,))
            yield BatchedTopKProblem(many, tile, (1,), next(turning), "random", queues=number, has_data=False)
            smaller = max(smaller, tile)
        tile = tile_items(case, usable_workers(case)[-1])
        lengths = Segments((tile, tile - 1, tile // 2, 7, 2, 1, 0), gap=1)
        found = combinations(
            [lengths],
            selections,
            lambda selection: selection_patterns(selection.element),
            lengths,
            alike=lambda selection: selection.element.is_floating,
            quick=quick,
        )
        asked = cycle(((tile // 4, 3, tile), (tile // 2, 1), (tile - 2, 0)))
        for (_, selection, pattern), ks in zip(found, asked, strict=False):
            yield BatchedTopKProblem(lengths, tile, ks, selection, pattern)
        far = Segments((tile,), repeats=LAST_TILES)
        first = BEYOND_INT32 - LAST_TILES * tile // 2
        yield BatchedTopKProblem(far, tile, (1,), selections[0], "random", first, has_data=False)

    def inputs(self, case: Case, problem: BatchedTopKProblem, random: torch.Generator) -> BatchedTopKInputs:
        """See ReferenceKernel."""
        regions = problem.segments.regions(case.device, problem.first)
        n = problem.segments.num_items if problem.has_data else 0
        keys = make_selectable(problem.pattern, problem.selection.element, n, random)
        raw = RadixKeys(problem.selection.element).raw(keys).to(case.device)
        ks = torch.tensor(problem.ks, device=case.device)
        return BatchedTopKInputs(
            with_origins(raw, has_values=case.key.value_size > 0),
            regions,
            k=ks.repeat(regions.blocks // len(problem.ks) + 1)[: regions.blocks],
            arrival=torch.randperm(regions.blocks, generator=random).to(case.device),
            seed=int(torch.randint(1 << 31, (1,), generator=random)),
        )

    def run(
        self, case: Case, problem: BatchedTopKProblem, inputs: BatchedTopKInputs, log: TileLog
    ) -> Mapping[str, Tensor]:
        """See ReferenceKernel."""
        number = selected_worker(case, problem.most) if problem.queues < 0 else problem.queues
        regions, name = inputs.regions, kernel_name(number)
        found: dict[str, Tensor] = {}
        if problem.queues >= 0:
            found = _queue(case, number, inputs, log)
        is_small = regions.num_items <= tile_items(case, number)
        log.record_all(name, torch.nonzero(is_small).squeeze(-1), regions.begins[is_small], regions.ends[is_small])
        if not problem.has_data:
            return found
        out = _selected(case, number, problem, inputs, is_small)
        written = torch.nonzero(out.writes).squeeze(-1)
        items = out.items.at(written)
        segments = torch.arange(regions.blocks, device=written.device).repeat_interleave(inputs.k)[written]
        found["keys"] = _rows(segments, items.keys, problem.selection)
        found["times each place was written"] = out.writes
        if items.values is not None:
            found["keys with values of others"] = torn_apart(inputs.items, items)
            found["different values"] = torch.tensor(len(set(items.values.tolist())))
        return found

    def expected(self, case: Case, problem: BatchedTopKProblem, inputs: BatchedTopKInputs) -> Mapping[str, Expectation]:
        """See ReferenceKernel."""
        found: dict[str, Expectation] = {}
        sizes = inputs.regions.num_items.cpu()
        is_small = torch.ones_like(sizes, dtype=torch.bool)
        if problem.queues >= 0:
            is_small = sizes <= tile_items(case, problem.queues)
            found |= _expected_queue(case, inputs, is_small)
        if not problem.has_data:
            return found
        wanted = torch.where(is_small & (sizes < inputs.k.cpu()), sizes, torch.where(is_small, inputs.k.cpu(), 0))
        found["keys"] = AnyOrder(_expected_rows(problem, inputs, wanted))
        found["times each place was written"] = Exact(_first_of_each(inputs.k.cpu(), wanted).to(torch.int64))
        if inputs.items.values is not None:
            found["keys with values of others"] = Exact(torch.tensor(0))
            found["different values"] = Exact(wanted.sum())
        return found

    def coverage(self, case: Case, problem: BatchedTopKProblem) -> Mapping[str, int | range]:
        """See ReferenceKernel."""
        if problem.queues >= 0:
            worker, large = (
                problem.queues,
                [n for n in problem.segments.all_lengths if n > tile_items(case, problem.queues)],
            )
            multi = multi_worker_items(case)
            return {epilogue_name(worker): len(large), LARGE_TILES: sum(ceil_div(n, multi) for n in large)}
        if problem.segments.gap:
            return {}
        name = kernel_name(selected_worker(case, problem.most))
        return {name: range(problem.first, problem.first + problem.segments.num_items)}

    def unbound(self, case: Case) -> Mapping[str, str]:
        """See ReferenceKernel."""
        passed_over = set(range(len(WORKERS))) - set(usable_workers(case))
        return {f"worker_per_segment_policies.{WORKERS[n]}": "its tile does not fit" for n in passed_over}


def kernel_name(number: int) -> str:
    """How the log calls the kernel with a worker."""
    return f"device_segmented_topk_kernel, worker {number}"


def epilogue_name(number: int) -> str:
    """How it calls the scan by the last block."""
    return f"{kernel_name(number)}, epilogue"


def _queue(case: Case, number: int, inputs: BatchedTopKInputs, log: TileLog) -> dict[str, Tensor]:
    """The large segments, as they are left to several blocks."""
    worker = worker_policy(case, number)
    queue = queued(inputs.regions.num_items, tile_items(case, number), multi_worker_items(case), inputs.arrival)
    name = epilogue_name(number)
    offsets = queue.offsets(worker.epilogue, worker.threads_per_block, case.warp_size, name, log)
    record_large(queue, offsets, LARGE_TILES, log)
    return {"queued segments": queue.ids, "tile offsets": offsets}


def _expected_queue(case: Case, inputs: BatchedTopKInputs, is_small: Tensor) -> dict[str, Expectation]:
    """Large segments in the order of arrival, and the tiles of all that are before each."""
    ids = inputs.arrival.cpu()
    ids = ids[~is_small[ids]]
    tiles = -(-inputs.regions.num_items.cpu()[ids] // multi_worker_items(case))
    return {"queued segments": Exact(ids), "tile offsets": Exact(tiles.cumsum(0) - tiles)}


def _selected(
    case: Case, number: int, problem: BatchedTopKProblem, inputs: BatchedTopKInputs, is_small: Tensor
) -> CountedOutput:
    """What the blocks of all small segments write; each segment has as many places as are asked for."""
    keys, worker = RadixKeys(problem.selection.element), worker_policy(case, number)
    tiles = inputs.regions.chosen(is_small).as_tiles(tile_items(case, number))
    index, exists = tiles.index(), tiles.exists()
    held = inputs.items.at(torch.where(exists, index, 0))
    unset = keys.raw(keys.element.unset(*index.shape, device=index.device))
    held = Pairs(keys.element.select(exists, held.keys, unset), held.values)
    random = torch.Generator()
    random.manual_seed(inputs.seed)
    wanted = inputs.wanted()[is_small]
    block = BlockTopK(keys, worker.threads_per_block, case.warp_size, problem.selection.is_greatest)
    found = block.select(held, tiles.ends - tiles.begins, wanted, random)
    out = blank_output(inputs.items, int(inputs.k.sum()))
    begins = (inputs.k.cumsum(0) - inputs.k)[is_small].unsqueeze(1)
    place = torch.arange(index.shape[1], device=index.device)
    is_stored = place < wanted.unsqueeze(1)
    out.put((begins + place)[is_stored], found.at(is_stored))
    return out


def _rows(segments: Tensor, keys: Tensor, selection: Selection) -> Tensor:
    """Segment and key of each result, zeros of both signs as one: int64 [n, 1 + words]."""
    if selection.element.is_floating:
        keys = torch.where(keys == RadixKeys(selection.element).sign, 0, keys)
    return torch.cat([segments.unsqueeze(1), keys.unsqueeze(1) if keys.dim() == 1 else keys], dim=1)


def _expected_rows(problem: BatchedTopKProblem, inputs: BatchedTopKInputs, wanted: Tensor) -> Tensor:
    keys = inputs.items.keys.cpu()
    rows = [_rows(torch.empty(0, dtype=torch.int64), keys[:0], problem.selection)]
    bounds = zip(inputs.regions.begins.tolist(), inputs.regions.ends.tolist(), wanted.tolist(), strict=True)
    for segment, (begin, end, k) in enumerate(bounds):
        own = keys[begin:end]
        chosen = own[selected(own, problem.selection, k, zeros_differ=False)]
        rows.append(_rows(torch.full((k,), segment), chosen, problem.selection))
    return torch.cat(rows)


def _first_of_each(places: Tensor, count: Tensor) -> Tensor:
    """Of the places of each segment the first ones: bool [all places]."""
    begins = (places.cumsum(0) - places).repeat_interleave(places)
    return torch.arange(begins.shape[0]) - begins < count.repeat_interleave(places)


KERNEL: Final = BatchedTopKKernel()
