"""Copies of bytes by vectors, wherever both ends lie (`cub::detail::batch_memcpy::vectorized_copy`).

Stores are vectors of 16 bytes at addresses that are multiples of 16; what is before the first and after the last goes
byte by byte, and so does everything where no vector fits. A vector is loaded as words of 4 bytes: four where the source
is a multiple of 4 there, else five, which are shifted by the bytes that are too much (`LoadVector`).

How far vectors reach is so computed that words end with the source, but they may begin up to 3 bytes before it:
upstream leaves out as many bytes as lie before the source in its first word, not those that are left of that word. Such
a word has bytes of the source, so it can be read; what was read too much is shifted out.
"""

from __future__ import annotations

from typing import Final

import torch
from attrs import frozen
from torch import Tensor

from policygen.reference.collectives.regions import Regions

VECTOR: Final = 16
"""Bytes of a vector."""

_WORD: Final = 4
_MASK: Final = 0xFFFFFFFF


@frozen(eq=False)
class Copies:
    """Copies, each on its own: addresses and bytes, int64 [copies]."""

    sources: Tensor
    targets: Tensor
    counts: Tensor

    def chosen(self, which: Tensor) -> Copies:
        """Some of them, by a mask."""
        return Copies(self.sources[which], self.targets[which], self.counts[which])

    def part(self, begins: Tensor, ends: Tensor) -> tuple[Tensor, Tensor]:
        """Addresses of some bytes of each copy: of sources, and of targets."""
        source = Regions(self.sources + begins, self.sources + ends).index()
        return source, Regions(self.targets + begins, self.targets + ends).index()


@frozen(eq=False)
class VectorRange:
    """Bytes of each copy that go by vectors: [begins, ends), int64 [copies]; empty where none do."""

    begins: Tensor
    ends: Tensor


def vector_range(copies: Copies) -> VectorRange:
    """Where vectors begin and end (`GetAlignedPtrs`)."""
    before = copies.targets % VECTOR
    extra = copies.sources % _WORD
    begin = -(-(extra + before) // VECTOR) * VECTOR
    padding = -(copies.sources + begin - before) % _WORD
    end = (copies.counts - padding + before) // VECTOR * VECTOR
    end = torch.where(padding + before > copies.counts, begin, end)
    is_empty = end <= begin
    nothing = torch.zeros_like(begin)
    return VectorRange(torch.where(is_empty, nothing, begin - before), torch.where(is_empty, nothing, end - before))


def vectorized_copy(memory: Tensor, out: Tensor, copies: Copies) -> Tensor:
    """Copies bytes.

    Args:
        memory: that of the sources, uint8; an address is a place in it.
        out: that of the targets.
        copies: what to copy.

    Returns:
        How many vectors read a word that has no byte of their source, or bytes past it, and how many were stored at
        other addresses than multiples of 16.
    """
    vectors = vector_range(copies)
    for begins, ends in ((torch.zeros_like(vectors.begins), vectors.begins), (vectors.ends, copies.counts)):
        source, target = copies.part(begins, ends)
        out[target] = memory[source]
    count = (vectors.ends - vectors.begins) // VECTOR
    number = Regions(torch.zeros_like(count), count).index()
    copy = torch.arange(count.shape[0], device=count.device).repeat_interleave(count)
    offset = vectors.begins[copy] + number * VECTOR
    source, target = copies.sources[copy] + offset, copies.targets[copy] + offset
    place = torch.arange(VECTOR, device=out.device)
    out[target.unsqueeze(-1) + place] = _loaded(memory, source)
    begin, end = copies.sources[copy], copies.sources[copy] + copies.counts[copy]
    first = source - source % _WORD
    last = first + VECTOR + torch.where(source % _WORD == 0, 0, _WORD)
    outside = (first + _WORD <= begin) | (last > end)
    return outside.sum() + (target % VECTOR != 0).sum()


def _loaded(memory: Tensor, source: Tensor) -> Tensor:
    """Vectors by words: uint8 [vectors, 16]."""
    excess = source % _WORD
    place = torch.arange(VECTOR + _WORD, device=memory.device)
    index = (source - excess).unsqueeze(-1) + place
    # the fifth word is read only where it is needed
    index = torch.where((place >= VECTOR) & (excess.unsqueeze(-1) == 0), 0, index)
    read = memory[index].to(torch.int64).view(-1, VECTOR // _WORD + 1, _WORD)
    words = sum(read[..., byte] << (8 * byte) for byte in range(_WORD))
    assert isinstance(words, Tensor)
    shifted = (((words[:, 1:] << 32) | words[:, :-1]) >> (8 * excess).unsqueeze(-1)) & _MASK
    found = torch.where(excess.unsqueeze(-1) == 0, words[:, :-1], shifted)
    return torch.stack([(found >> (8 * byte)) & 0xFF for byte in range(_WORD)], dim=-1).flatten(1).to(torch.uint8)
