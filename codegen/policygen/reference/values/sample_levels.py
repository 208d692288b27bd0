"""Samples of a histogram, the levels between its bins, and exact counts.

A kind is a type of samples with a type of levels; bins are computed in their common type, as C++ has it: the levels'
where the two differ, for the kinds here.
"""

from __future__ import annotations

from typing import Final

import torch
from attrs import frozen
from torch import Tensor

from policygen.reference.contract.error_bounds import relative_bound
from policygen.reference.values.elements import ELEMENTS
from policygen.reference.values.elements import Element
from policygen.reference.values.elements import sortable
from policygen.reference.values.elements import wrapped
from policygen.reference.values.inputs import make

_AMONG_LEVELS: Final = ("random", "levels", "equal", "sorted")
SAMPLE_PATTERNS: Final = (*_AMONG_LEVELS, "extremes")
FLOATING_SAMPLE_PATTERNS: Final = (*_AMONG_LEVELS, "zeros", "denormals", "infinities", "nan", "nans")

_LEVELS_OF: Final = {
    1: (("uint8", "int32"), ("int8", "int32"), ("uint8", "float32")),
    2: (("uint16", "int32"), ("int16", "int32")),
    4: (("float32", "float32"), ("uint32", "uint32"), ("int32", "int32")),
    8: (("float64", "float64"), ("uint64", "uint64"), ("int64", "int64")),
}
_BEYOND: Final = 8


@frozen
class SampleKind:
    """What is counted."""

    sample: Element
    level: Element

    def __str__(self) -> str:
        return f"{self.sample} {self.level}"

    @property
    def patterns(self) -> tuple[str, ...]:
        """Patterns of samples, the plainest first."""
        return FLOATING_SAMPLE_PATTERNS if self.sample.is_floating else SAMPLE_PATTERNS


def kinds_of_size(size: int) -> tuple[SampleKind, ...]:
    """The kinds with samples of so many bytes."""
    return tuple(SampleKind(ELEMENTS[sample], ELEMENTS[level]) for sample, level in _LEVELS_OF[size])


@frozen(eq=False)
class ChannelBins:
    """The bins of one channel.

    Attributes:
        kind: of the samples.
        levels: lower levels of all bins and the upper one of the last, in the levels' type, ascending: [bins + 1]. For
            even bins the first and the last alone: [2].
        bins: how many there are.
        is_even: whether they have one width.
    """

    kind: SampleKind
    levels: Tensor
    bins: int
    is_even: bool


def bounds_of(kind: SampleKind, bins: int) -> tuple[float, float]:
    """Lowest and highest level: bins lie in the middle of what samples may be, the highest is no part of them.

    Products of the range and the bins fit into what bins are computed in.
    """
    if kind.level.is_floating and kind.sample.is_floating:
        return -0.75, 0.7
    if kind.sample.size == 1:
        return (-100, 101) if kind.sample.signed else (3, 253)
    width = min((1 << (kind.sample.bits - 2)) + 5, ((1 << 64) - 1) // bins)
    lowest = -width // 3 if kind.sample.signed else width // 3
    return lowest, lowest + width


def make_bins(kind: SampleKind, bins: int, *, is_even: bool, random: torch.Generator) -> ChannelBins:
    """Makes bins; ranges are of any width, some of them empty."""
    low, high = bounds_of(kind, bins)
    dtype = kind.level.dtype
    if is_even:
        return ChannelBins(kind, torch.tensor([low, high], dtype=dtype), bins, is_even)
    inner = low + torch.rand(bins - 1, dtype=torch.float64, generator=random) * (high - low)
    inner = inner.to(dtype).sort().values
    if bins > _BEYOND:
        inner[bins // 3] = inner[bins // 3 - 1]
    ends = torch.tensor([low, high], dtype=dtype)
    return ChannelBins(kind, torch.cat([ends[:1], inner, ends[1:]]), bins, is_even)


def make_samples(pattern: str, channel: ChannelBins, count: int, random: torch.Generator) -> Tensor:
    """Makes samples of a channel: [count].

    Args:
        pattern: one of the kind's; `random` ones lie between the levels and a little outside of them, `levels` are
            levels and what is next to them.
        channel: its bins.
        count: how many.
        random: a generator on the CPU.
    """
    sample = channel.kind.sample
    if pattern not in _AMONG_LEVELS:
        return make(pattern, sample, count, random)
    low, high = (level.item() for level in (channel.levels[0], channel.levels[-1]))
    if pattern == "levels":
        chosen = low + torch.randint(channel.bins + 1, (count,), generator=random) * ((high - low) / channel.bins)
        if not channel.is_even:
            chosen = channel.levels[torch.randint(channel.levels.shape[0], (count,), generator=random)]
        step = 0 if sample.is_floating else torch.randint(-1, 2, (count,), generator=random)
        return _as_samples(chosen + step, sample)
    margin = (high - low) / _BEYOND
    spread = torch.rand(count if pattern != "equal" else 1, dtype=torch.float64, generator=random)
    found = _as_samples(low - margin + spread * (high - low + 2 * margin), sample)
    if pattern == "sorted":
        return sortable(sortable(found, sample).sort().values, sample) if sample.is_integer else found.sort().values
    return found.expand(count).clone()


def _as_samples(values: Tensor, sample: Element) -> Tensor:
    return values.to(sample.dtype) if sample.is_floating else wrapped(values.to(torch.int64), sample)


def exact_counts(samples: Tensor, channel: ChannelBins) -> tuple[Tensor, Tensor | None]:
    """Samples in each bin, found from the bins' edges.

    Args:
        samples: [n], on the CPU.
        channel: its bins.

    Returns:
        int64 [bins]; and how far each may be off where the place of a sample is a rounded number, None elsewhere: by
        the samples so near to an edge that rounding may put them on either side. Subtractions, a quotient and a
        product round in the levels' type here and in float64 for the reference: four times each.
    """
    kind = channel.kind
    if channel.is_even and kind.level.is_floating:
        return _counts_by_place(samples.to(torch.float64), channel)
    edges = _even_edges(channel) if channel.is_even else sortable(channel.levels, kind.level)
    places = sortable(samples, kind.sample) if kind.level == kind.sample else samples.to(kind.level.dtype)
    bins = torch.searchsorted(edges, places, right=True) - 1
    inside = (bins >= 0) & (bins < channel.bins) & ~torch.isnan(places)
    return torch.bincount(bins[inside], minlength=channel.bins), None


def _even_edges(channel: ChannelBins) -> Tensor:
    """The least number of each bin, and the first past the last one, in the order of `sortable`."""
    low, high = channel.levels.tolist()
    edges = [low + -(-number * (high - low) // channel.bins) for number in range(channel.bins + 1)]
    return sortable(torch.tensor(edges), channel.kind.level)


def _counts_by_place(samples: Tensor, channel: ChannelBins) -> tuple[Tensor, Tensor]:
    low, high = channel.levels.to(torch.float64)
    inside = samples[(samples >= low) & (samples < high)]
    place = (inside - low) * (channel.bins / (high - low))
    off = relative_bound(4, channel.kind.level.dtype) + relative_bound(4, torch.float64)
    at, first, last = (p.floor().to(torch.int64) for p in (place, place * (1 - off), place * (1 + off)))
    counts = torch.bincount(at.clamp(max=channel.bins - 1), minlength=channel.bins)
    unsure = first != last
    near = torch.bincount(first[unsure], minlength=channel.bins)[: channel.bins]
    # what is put past the last bin is lost, or is in the first one of another block
    near += torch.bincount(last[unsure] % channel.bins, minlength=channel.bins)[: channel.bins]
    return counts, near
