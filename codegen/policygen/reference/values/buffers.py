"""Buffers to copy: their sizes, by pattern, and where they lie."""

from __future__ import annotations

from typing import Final

import torch
from attrs import frozen
from torch import Tensor

from policygen.reference.values.memory import GUARD
from policygen.reference.values.memory import UNWRITTEN
from policygen.reference.values.memory import random_bytes

SIZE_PATTERNS: Final = ("mixed", "small", "empty", "equal", "large", "remainders", "sparse")
PLACEMENTS: Final = ("any", "aligned", "alike")
"""Addresses: any, multiples of a vector, or such that source and target are as far from one."""

_VECTOR: Final = 16
_EDGES_OF: Final = 400
_SPARSE: Final = 1500
_REMAINDERS: Final = (0, 1, 31, 32, 33, 47)


@frozen(eq=False)
class Buffers:
    """Buffers in memory.

    Attributes:
        memory: that of the sources, uint8.
        out: that of the targets, in which nothing has been written.
        sources: addresses, int64 [buffers].
        targets: addresses, int64 [buffers]; they do not overlap, sources may.
        sizes: items of each, int64 [buffers].
        item: bytes of an item.
    """

    memory: Tensor
    out: Tensor
    sources: Tensor
    targets: Tensor
    sizes: Tensor
    item: int

    def to(self, device: torch.device | str) -> Buffers:
        """The same on another device."""
        memory, out, sources, targets, sizes = (
            part.to(device) for part in (self.memory, self.out, self.sources, self.targets, self.sizes)
        )
        return Buffers(memory, out, sources, targets, sizes, self.item)


def make_sizes(pattern: str, count: int, thresholds: tuple[int, int], tile: int, random: torch.Generator) -> Tensor:
    """Sizes of buffers.

    Args:
        pattern: one of `SIZE_PATTERNS`.
        count: how many.
        thresholds: the greatest sizes that threads and warps copy.
        tile: items that a block copies at once of larger ones.
        random: a generator on the CPU.
    """
    to_warps, to_blocks = thresholds
    small = torch.randint(to_warps + 2, (count,), generator=random)
    match pattern:
        case "small":
            return small
        case "empty":
            return torch.zeros_like(small)
        case "equal":
            return torch.full_like(small, to_warps)
        case "sparse":
            is_large = torch.arange(count) % _SPARSE == _SPARSE - 1
            return torch.where(is_large, to_blocks + 1 + small, 0)
        case "large":
            return tile * torch.randint(1, 4, (count,), generator=random) + small
        case "remainders":
            rest = torch.tensor(_REMAINDERS)
            return to_blocks + tile + rest[torch.arange(count) % len(_REMAINDERS)]
    edges = [0, 1, to_warps - 1, to_warps, to_warps + 1, to_blocks - 1, to_blocks, to_blocks + 1, 2 * tile]
    turns = torch.arange(0, count, _EDGES_OF)
    for turn in turns.tolist():
        end = min(count, turn + len(edges))
        small[turn:end] = torch.tensor(edges[::-1][: end - turn])
    return small[torch.randperm(count, generator=random)]


def make_buffers(sizes: Tensor, item: int, placement: str, spare: int, random: torch.Generator) -> Buffers:
    """Puts buffers into memory: targets one after the other with a few bytes between them, sources anywhere.

    Args:
        sizes: items of each.
        item: bytes of an item.
        placement: one of `PLACEMENTS`.
        spare: bytes behind the last buffer that belong to others.
        random: a generator on the CPU.
    """
    count, length = sizes.shape[0], sizes * item
    source, target = torch.randint(_VECTOR, (2, count), generator=random)
    if placement != "any":
        source = target = torch.zeros_like(source) if placement == "aligned" else source
    alignment = item & -item
    source, target = source // alignment * alignment, target // alignment * alignment
    # one vector more than a buffer, rounded up to vectors
    room = torch.where(length > 0, (length + 2 * _VECTOR) // _VECTOR * _VECTOR + _VECTOR, 0)
    begins = GUARD + room.cumsum(0) - room
    total = GUARD + int(room.sum()) + GUARD + spare
    order = torch.randperm(count, generator=random)
    shuffled = torch.empty_like(begins)
    shuffled[order] = GUARD + room[order].cumsum(0) - room[order]
    out = torch.full((total,), UNWRITTEN, dtype=torch.uint8)
    return Buffers(random_bytes(total, random), out, shuffled + source, begins + target, sizes, item)


def copied(buffers: Buffers) -> Tensor:
    """What memory holds when all buffers are copied, one after the other: uint8."""
    out, memory = buffers.out.cpu().clone(), buffers.memory.cpu()
    filled = torch.nonzero(buffers.sizes.cpu()).squeeze(-1)
    places = (part.cpu()[filled].tolist() for part in (buffers.sources, buffers.targets, buffers.sizes))
    for source, target, size in zip(*places, strict=True):
        length = size * buffers.item
        out[target : target + length] = memory[source : source + length]
    return out
