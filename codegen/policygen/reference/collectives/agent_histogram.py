"""What blocks of a histogram do with their tiles (`cub::detail::histogram::AgentHistogram`).

A thread holds `pixels_per_thread` pixels in registers. Samples come as vectors where there is one channel and all rows
begin at a multiple of a vector, as pixels where there are several and rows begin at a multiple of one, else one by one.
All of these leave them blocked; BLOCK_LOAD_STRIPED leaves vectors, pixels or samples striped. Samples that are striped
one by one belong to other channels than those that they are counted for: upstream's fault, but no policy has that.

Vectors are taken for aligned pixels of several channels, too, where but one of them is counted. Pixels of three need
not be aligned as vectors are, and samples of a thread need not be whole vectors: then upstream reads from an address
that the hardware refuses, or leaves samples out. Both can be seen here.

A block adds to bins of its own, in shared memory or in its part of global memory: a run of equal bins of a thread at
once (`rle_compress`), or one by one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from typing import Final

import torch
from attrs import frozen
from torch import Tensor

from policygen.reference.collectives.sample_bins import BinOf
from policygen.reference.collectives.sweep_tiles import Image
from policygen.reference.collectives.sweep_tiles import SweepTiles
from policygen.reference.values.elements import Element
from policygen.reference.values.elements import wrapped

STRIPED: Final = "BLOCK_LOAD_STRIPED"
_MOST_ALIGNED: Final = 16
_ALIGNED_AS_ONE: Final = 3


def alignment_of(samples: int, size: int) -> int:
    """Of a vector of 1 to 4 samples, in bytes: three are aligned as one is."""
    return min(_MOST_ALIGNED, size * (1 if samples == _ALIGNED_AS_ONE else samples))


@frozen
class AgentHistogram:
    """A block of a histogram.

    Attributes:
        threads: threads of a block.
        pixels: pixels of a thread.
        channels: samples of a pixel.
        active: channels that are counted, the first ones.
        vector: samples of a vector.
        is_striped: whether loads leave things striped.
        is_compressed: whether runs are added at once.
        sample: type of a sample.
    """

    threads: int
    pixels: int
    channels: int
    active: int
    vector: int
    is_striped: bool
    is_compressed: bool
    sample: Element

    @property
    def tile_pixels(self) -> int:
        """Pixels of a tile."""
        return self.threads * self.pixels

    @property
    def samples(self) -> int:
        """Samples of a thread."""
        return self.pixels * self.channels

    def is_aligned(self, address: int, image: Image) -> bool:
        """Whether rows begin where vectors or pixels may.

        Args:
            address: of the first sample, in bytes.
            image: with its rows.
        """
        row_bytes = self.sample.size * image.stride
        if self.channels > 1:
            alignment = alignment_of(self.channels, self.sample.size)
            return address % alignment == 0 and row_bytes % alignment == 0
        alignment = alignment_of(self.vector, self.sample.size)
        in_vectors = self.samples % self.vector == 0
        return in_vectors and address % alignment == 0 and (image.rows == 1 or row_bytes % alignment == 0)

    def misaligned_loads(self, address: int, tiles: SweepTiles, *, is_aligned: bool) -> Tensor:
        """Tiles whose vectors lie where the hardware does not read them."""
        if not (is_aligned and self.active == 1):
            return torch.tensor(0)
        at = address + tiles.begins[tiles.is_full] * self.sample.size
        return (at % alignment_of(self.vector, self.sample.size) != 0).sum()

    def held(self, *, is_full: bool, is_aligned: bool) -> Tensor:
        """Which sample of a tile a thread has at each place: int64 [threads, samples]; -1 for none."""
        if is_aligned and is_full and self.active == 1:
            return self._arranged(self.vector)
        return self._arranged(self.channels if is_aligned else 1)

    def _arranged(self, together: int) -> Tensor:
        """Where samples come so many at a time."""
        thread, count = torch.arange(self.threads).unsqueeze(1), self.samples // together
        load = torch.arange(count)
        first = thread + self.threads * load if self.is_striped else thread * count + load
        places = (first.unsqueeze(-1) * together + torch.arange(together)).flatten(1)
        return torch.nn.functional.pad(places, (0, self.samples - count * together), value=-1)

    def is_valid(self, count: Tensor) -> Tensor:
        """Which pixels of a tile that is not full there are: bool [tiles, threads, pixels].

        Args:
            count: samples of each tile, [tiles].
        """
        thread = torch.arange(self.threads, device=count.device).unsqueeze(1)
        pixel = torch.arange(self.pixels, device=count.device)
        place = thread + self.threads * pixel if self.is_striped else thread * self.pixels + pixel
        return place * self.channels < count.view(-1, 1, 1)

    def pixels_of(
        self, samples: Tensor, tiles: SweepTiles, *, is_full: bool, is_aligned: bool
    ) -> tuple[Tensor, Tensor]:
        """Loads tiles.

        Args:
            samples: all of them.
            tiles: those that are full, or those that are not.
            is_full: which of both.
            is_aligned: whether loads are vectorised.

        Returns:
            Samples [tiles, threads, pixels, channels], and which pixels there are. Others are not unset as elsewhere:
            what is out of all bins would go unnoticed.
        """
        device = samples.device
        held = self.held(is_full=is_full, is_aligned=is_aligned).to(device)
        counts = tiles.counts.to(device)
        exists = (held >= 0) & (held < counts.view(-1, 1, 1))
        index = torch.where(exists, tiles.begins.to(device).view(-1, 1, 1) + held, 0)
        found = samples[index]
        valid = self.is_valid(torch.full_like(counts, self.threads * self.samples) if is_full else counts)
        return found.view(-1, self.threads, self.pixels, self.channels), valid

    def accumulate(self, bins: Tensor, blocks: Tensor, counters: BlockCounters) -> None:
        """Adds the pixels of one channel.

        Args:
            bins: of each pixel, -1 for none: [tiles, threads, pixels].
            blocks: who has each tile, [tiles].
            counters: of the channel.
        """
        block = blocks.view(-1, 1, 1).expand_as(bins)
        if not self.is_compressed:
            counted = bins >= 0
            counters.add(block[counted], bins[counted], torch.ones_like(bins[counted]))
            return
        ends = torch.ones_like(bins, dtype=torch.bool)
        ends[..., :-1] = bins[..., :-1] != bins[..., 1:]
        place = torch.arange(1, self.pixels + 1, device=bins.device).expand_as(bins)
        # where the run before a pixel's own ended
        begun = torch.where(ends, place, 0).cummax(-1).values
        begun = torch.nn.functional.pad(begun[..., :-1], (1, 0))
        counted = ends & (bins >= 0)
        counters.add(block[counted], bins[counted], (place - begun)[counted])


def agent_of(policy: Mapping[str, Any], channels: int, active: int, sample: Element) -> AgentHistogram:
    """The agent of a `HistogramPolicy`."""
    return AgentHistogram(
        policy["threads_per_block"],
        policy["pixels_per_thread"],
        channels,
        active,
        policy["vec_size"],
        policy["load_algorithm"] == STRIPED,
        policy["rle_compress"],
        sample,
    )


class BlockCounters:
    """The bins that blocks keep of one channel.

    In shared memory there is a place past a block's last bin, which is never looked at; in global memory it is the
    first bin of the next block.
    """

    def __init__(self, bins: int, in_shared: Tensor) -> None:
        """Clears them.

        Args:
            bins: of the channel.
            in_shared: which blocks keep them in shared memory, [blocks].
        """
        self._bins = bins
        self._in_shared = in_shared
        blocks, device = in_shared.shape[0], in_shared.device
        self._shared = torch.zeros(blocks, bins + 1, dtype=torch.int64, device=device)
        self._global = torch.zeros(blocks * bins + 1, dtype=torch.int64, device=device)

    def add(self, blocks: Tensor, bins: Tensor, counts: Tensor) -> None:
        """Adds counts to bins of blocks."""
        shared = self._in_shared[blocks]
        place = (blocks * (self._bins + 1) + bins)[shared]
        self._shared.view(-1).index_add_(0, place, counts[shared])
        place = (blocks * self._bins + bins)[~shared]
        self._global.index_add_(0, place, counts[~shared])

    def store(self, out: Tensor, output_bin: BinOf, sample: Element) -> None:
        """Adds what is counted to the output; bins go through the samples' type on the way.

        Args:
            out: of the channel, [bins].
            output_bin: the bin of the output.
            sample: type of the samples.
        """
        own = self._global[:-1].view(-1, self._bins)
        counts = torch.where(self._in_shared.unsqueeze(1), self._shared[:, :-1], own)
        bins = cast(torch.arange(self._bins, device=out.device), sample)
        to = output_bin(bins.expand_as(counts), counts > 0)
        out.index_add_(0, to[to >= 0], counts[to >= 0])


def cast(bins: Tensor, sample: Element) -> Tensor:
    """Bins as samples: those that the samples' type does not hold become others."""
    return bins.to(sample.dtype) if sample.is_floating else wrapped(bins, sample)
