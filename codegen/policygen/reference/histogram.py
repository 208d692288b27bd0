"""Device-wide histogram (`cub::DeviceHistogram`), as `dispatch_histogram.cuh` launches it.

Input: rows of pixels with a few samples each, of which the first channels are counted, and bins for each such channel:
even ones, by number and levels at either end, or ranges, by all levels. Output: how many samples each bin has, of each
channel. A sample belongs to a bin from its lower level on and below its upper one; NaN belongs to none.

`DeviceHistogramInitKernel` clears the output, 256 bins a block. `DeviceHistogramSweepKernel` runs on as many blocks as
the device keeps resident, in two dimensions where there are rows (`collectives.sweep_tiles`; rows with nothing between
them are one). A tile is threads x pixels_per_thread pixels. A block counts into bins of its own
(`collectives.agent_histogram`), in shared memory (`SMEM`), in global memory (`GMEM`), or in one of both by its column
(`BLEND`); of more than 256 bins always in global memory. In the end it adds its counts to the output.

Samples of one byte are counted as they are, in 256 bins, and the bin of each is looked for in the end; other samples'
bins are looked for at once (`collectives.sample_bins`).

Counts of integers are exact, in whatever order blocks add. Even bins of floating-point levels are rounded numbers: a
sample within four roundings of an edge may be on either side (`values.sample_levels`).

Odd in CUB 3.5, and here:
- a negative sample of one byte is in no bin, whatever the levels are;
- bins go through the samples' type on their way to the output: of samples of 16 bits with sign, bins past 32,767 stay
  empty;
- even bins of integers whose product with the range may not fit answer cudaErrorInvalidValue, and nothing is counted;
- see `collectives.sample_bins`, `collectives.agent_histogram`, `collectives.sweep_tiles` for others.

Not modelled: half precision and other types that are not primitive; samples behind an iterator, which are loaded one
by one as unaligned ones are; programmatic launches, which change when the sweep begins.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from itertools import cycle
from typing import Final

import torch
from attrs import frozen
from torch import Tensor

from policygen.plan.counts import ceil_div
from policygen.reference.collectives.agent_histogram import AgentHistogram
from policygen.reference.collectives.agent_histogram import BlockCounters
from policygen.reference.collectives.agent_histogram import agent_of
from policygen.reference.collectives.pairs import UNSET
from policygen.reference.collectives.sample_bins import BinOf
from policygen.reference.collectives.sample_bins import Itself
from policygen.reference.collectives.sample_bins import Scaled
from policygen.reference.collectives.sample_bins import bin_of
from policygen.reference.collectives.sweep_tiles import Image
from policygen.reference.collectives.sweep_tiles import SweepTiles
from policygen.reference.collectives.sweep_tiles import grid_of
from policygen.reference.collectives.sweep_tiles import stolen_tiles
from policygen.reference.collectives.sweep_tiles import strided_tiles
from policygen.reference.contract.case import Case
from policygen.reference.contract.comparison import Close
from policygen.reference.contract.comparison import Exact
from policygen.reference.contract.comparison import Expectation
from policygen.reference.contract.kernel import Given
from policygen.reference.contract.kernel import Problem
from policygen.reference.contract.kernel import ReferenceKernel
from policygen.reference.contract.sizes import BEYOND_INT32
from policygen.reference.contract.sizes import LAST_TILES
from policygen.reference.contract.sizes import combinations
from policygen.reference.contract.sizes import sizes
from policygen.reference.contract.tile_log import TileLog
from policygen.reference.values.sample_levels import ChannelBins
from policygen.reference.values.sample_levels import SampleKind
from policygen.reference.values.sample_levels import exact_counts
from policygen.reference.values.sample_levels import kinds_of_size
from policygen.reference.values.sample_levels import make_bins
from policygen.reference.values.sample_levels import make_samples

INIT: Final = "DeviceHistogramInitKernel"
SWEEP: Final = "DeviceHistogramSweepKernel"
MOST_SHARED_BINS: Final = 256
"""Bins of a channel beyond which blocks keep theirs in global memory."""

_INIT_THREADS: Final = 256
_BYTE_VALUES: Final = 256
_FEW_BLOCKS: Final = 3
_BINS: Final = (7, 256, 257, 1, 1000)
_MANY_BINS: Final = (1 << 15) + 10
_MISALIGNED: Final = (0, 1, 0, 0, 4)
_REFUSED: Final = "launches that were refused"
_LOADS: Final = "misaligned loads"


@frozen
class HistogramProblem(Problem):
    """A histogram.

    Attributes:
        row_pixels: pixels of a row.
        rows: how many.
        gap: samples between two rows.
        kind: types of samples and levels.
        pattern: of the samples.
        bins: of the first channel; further ones have one less each, but at least one.
        misaligned: samples by which the first one starts after a multiple of every vector.
        max_blocks: the most blocks of the sweep.
        is_refused: whether levels are so far apart that upstream refuses them.
        has_data: False for index arithmetic alone.
    """

    row_pixels: int
    rows: int
    gap: int
    kind: SampleKind
    pattern: str
    bins: int
    misaligned: int
    max_blocks: int
    is_refused: bool = False
    has_data: bool = True

    def image(self, channels: int) -> Image:
        """Its rows, as they are given."""
        return Image(self.row_pixels, self.rows, self.row_pixels * channels + self.gap, channels)


@frozen(eq=False)
class HistogramInputs:
    """What a histogram is given.

    Attributes:
        samples: all of them, those between rows too: [num_samples].
        channels: the bins of those that are counted.
        seed: of the order in which blocks come for tiles.
    """

    samples: Tensor
    channels: tuple[ChannelBins, ...]
    seed: int


class HistogramKernel(ReferenceKernel[HistogramProblem, HistogramInputs]):
    """See the module."""

    def keys(self, common: Sequence[Given]) -> Iterator[Given]:
        """The common keys, and such that count but some channels of a pixel."""
        yield from common
        for given in common:
            if given["num_channels"] > 1 and given["counter_size"] == 4 and given["sample_size"] in (1, 4):
                yield {**given, "num_active_channels": 3 if given["num_channels"] == 4 else 1}

    def problems(self, case: Case, *, quick: bool) -> Iterator[HistogramProblem]:
        """See ReferenceKernel."""
        kinds = kinds_of_size(case.key.sample_size)
        tile = case.policy.threads_per_block * case.policy.pixels_per_thread
        found = combinations(
            sizes(tile, vector=case.policy.vec_size, blocks=2, quick=quick),
            kinds,
            lambda kind: kind.patterns,
            tile + 5,
            alike=lambda kind: (kind.sample.is_floating, kind.level.is_floating),
            quick=quick,
        )
        for (n, kind, pattern), bins, misaligned in zip(found, cycle(_BINS), cycle(_MISALIGNED), strict=False):
            start = misaligned if _is_mendable(case) else 0
            yield HistogramProblem(n, 1, 0, kind, pattern, bins, start, _FEW_BLOCKS)
        whole_vectors = 4 * case.policy.vec_size
        for shape, kind in zip(
            ((tile + 3, 3, 5), (10, 7, 0), (tile, 2, whole_vectors), (3, 9, 1)), cycle(kinds), strict=False
        ):
            if _is_mendable(case) or shape[2] == 0:
                yield HistogramProblem(*shape, kind, "random", 100, 0, _FEW_BLOCKS)
        for kind in kinds:
            if kind.sample.name in ("int64", "uint64") and case.key.is_even:
                yield HistogramProblem(10, 1, 0, kind, "equal", 1000, 0, _FEW_BLOCKS, is_refused=True)
            if kind.sample.size == 2 and not quick:
                yield HistogramProblem(tile + 1, 1, 0, kind, "random", _MANY_BINS, 0, _FEW_BLOCKS)
        blocks = case.residency.resident_blocks
        far = -(-BEYOND_INT32 // case.key.num_channels)
        yield HistogramProblem(far, 1, 0, kinds[0], "random", 10, 0, blocks, has_data=False)

    def inputs(self, case: Case, problem: HistogramProblem, random: torch.Generator) -> HistogramInputs:
        """See ReferenceKernel."""
        image = problem.image(case.key.num_channels)
        channels = [_channel(case, problem, number, random) for number in range(case.key.num_channels)]
        count = image.num_samples if problem.has_data else 0
        samples = make_samples(problem.pattern, channels[0], count, random)
        column = torch.arange(count) % image.stride if count else torch.arange(0)
        for number, channel in enumerate(channels[1:], start=1):
            own = (column % image.channels == number) & (column < image.row_samples)
            samples[own] = make_samples(problem.pattern, channel, int(own.sum()), random)
        seed = int(torch.randint(1 << 31, (1,), generator=random))
        return HistogramInputs(samples.to(case.device), tuple(channels[: case.key.num_active_channels]), seed)

    def run(self, case: Case, problem: HistogramProblem, inputs: HistogramInputs, log: TileLog) -> Mapping[str, Tensor]:
        """See ReferenceKernel."""
        device = inputs.samples.device
        finders = [bin_of(channel, device) for channel in inputs.channels]
        if any(isinstance(finder, Scaled) and finder.may_overflow for finder in finders):
            return {_REFUSED: torch.tensor(1)}
        bins = [channel.bins for channel in inputs.channels]
        outputs = [torch.full((count,), UNSET, device=device) for count in bins]
        for begin in range(0, max(bins), _INIT_THREADS):
            log.record(INIT, begin // _INIT_THREADS, begin, min(begin + _INIT_THREADS, max(bins)))
            for out in outputs:
                out[begin : begin + _INIT_THREADS] = 0
        image = problem.image(case.key.num_channels).linear()
        agent = agent_of(case.policy, image.channels, case.key.num_active_channels, problem.kind.sample)
        grid = grid_of(image, agent.tile_pixels, problem.max_blocks)
        misaligned = torch.tensor(0)
        if grid[0] * grid[1] > 0:
            tiles = _tiles(case, problem, agent, image, grid, inputs.seed)
            tiles.record(SWEEP, log)
            address = problem.misaligned * problem.kind.sample.size
            is_aligned = agent.is_aligned(address, image)
            misaligned = agent.misaligned_loads(address, tiles, is_aligned=is_aligned)
            if problem.has_data:
                _sweep(case, agent, inputs, finders, tiles, grid, outputs, is_aligned=is_aligned)
        if not problem.has_data:
            return {}
        return {**{f"channel {number}": out for number, out in enumerate(outputs)}, _LOADS: misaligned}

    def expected(self, case: Case, problem: HistogramProblem, inputs: HistogramInputs) -> Mapping[str, Expectation]:
        """See ReferenceKernel."""
        if problem.is_refused:
            return {_REFUSED: Exact(torch.tensor(1))}
        if not problem.has_data:
            return {}
        image = problem.image(case.key.num_channels)
        samples, sample = inputs.samples.cpu(), problem.kind.sample
        found: dict[str, Expectation] = {_LOADS: Exact(torch.tensor(0))}
        for number, channel in enumerate(inputs.channels):
            places = torch.arange(image.rows).unsqueeze(1) * image.stride
            places = (places + torch.arange(image.row_pixels) * image.channels + number).flatten()
            own = samples[places]
            if sample.size == 1:
                own = own[own >= 0]
            counts, near = exact_counts(own, channel)
            if sample.name == "int16":
                counts[1 << 15 :] = 0
            exact = Exact(counts) if near is None else Close(counts.to(torch.float64), near.to(torch.float64))
            found[f"channel {number}"] = exact
        return found

    def coverage(self, case: Case, problem: HistogramProblem) -> Mapping[str, int | range]:
        """See ReferenceKernel."""
        if problem.is_refused:
            return {}
        found: dict[str, int | range] = {INIT: problem.bins}
        if problem.gap == 0:
            channels, tile = case.key.num_channels, case.policy.threads_per_block * case.policy.pixels_per_thread
            begin = 0 if problem.has_data else first_tile(problem.row_pixels, tile) * tile * channels
            found[SWEEP] = range(begin, problem.row_pixels * problem.rows * channels)
        return found


def first_tile(row_pixels: int, tile_pixels: int) -> int:
    """The first tile of a row that is so long that its last ones are enough."""
    return max(0, ceil_div(row_pixels, tile_pixels) - LAST_TILES)


def _is_mendable(case: Case) -> bool:
    """Whether upstream loads one by one what is not aligned: not of pixels of three of which one channel counts."""
    return bool(case.key.num_active_channels > 1 or case.key.num_channels == 1)


def _channel(case: Case, problem: HistogramProblem, number: int, random: torch.Generator) -> ChannelBins:
    bins = max(1, problem.bins - number)
    if problem.is_refused:
        return ChannelBins(problem.kind, torch.tensor([0, 1 << 62]), bins, is_even=True)
    return make_bins(problem.kind, bins, is_even=case.key.is_even, random=random)


def _tiles(
    case: Case, problem: HistogramProblem, agent: AgentHistogram, image: Image, grid: tuple[int, int], seed: int
) -> SweepTiles:
    first = 0 if problem.has_data else first_tile(image.row_pixels, agent.tile_pixels)
    if not case.policy.use_work_stealing:
        return strided_tiles(image, agent.tile_pixels, grid, first)
    random = torch.Generator()
    random.manual_seed(seed)
    return stolen_tiles(image, agent.tile_pixels, grid, random, first)


def _sweep(
    case: Case,
    agent: AgentHistogram,
    inputs: HistogramInputs,
    finders: Sequence[BinOf],
    tiles: SweepTiles,
    grid: tuple[int, int],
    outputs: Sequence[Tensor],
    *,
    is_aligned: bool,
) -> None:
    """All blocks count their tiles, and add what they have to the output."""
    is_byte = agent.sample.size == 1
    kept = [_BYTE_VALUES if is_byte else channel.bins for channel in inputs.channels]
    in_shared = _in_shared(case, max(kept), grid).to(inputs.samples.device)
    counters = [BlockCounters(bins, in_shared) for bins in kept]
    itself = Itself()
    for is_full in (True, False):
        own = tiles.chosen(tiles.is_full == is_full)
        if own.blocks.numel() == 0:
            continue
        pixels, valid = agent.pixels_of(inputs.samples, own, is_full=is_full, is_aligned=is_aligned)
        for number, (finder, channel) in enumerate(zip(finders, counters, strict=True)):
            bins = (itself if is_byte else finder)(pixels[..., number], valid)
            agent.accumulate(bins, own.blocks.to(bins.device), channel)
    for finder, channel, out in zip(finders, counters, outputs, strict=True):
        channel.store(out, finder if is_byte else itself, agent.sample)


def _in_shared(case: Case, bins: int, grid: tuple[int, int]) -> Tensor:
    """Which blocks keep their bins in shared memory."""
    column = torch.arange(grid[0] * grid[1]) % grid[0]
    preference = case.policy.mem_preference if bins <= MOST_SHARED_BINS else "GMEM"
    if preference == "BLEND":
        return column % 2 == 1
    return torch.full_like(column, preference == "SMEM", dtype=torch.bool)


KERNEL: Final = HistogramKernel()
