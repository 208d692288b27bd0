"""The tiles that a kernel worked on, as it worked on them: what shows that the policy was the loop bound."""

from __future__ import annotations

import torch
from attrs import frozen
from torch import Tensor


@frozen
class Tile:
    """One tile: items [begin, end) of what its kernel reads, taken by a block."""

    kernel: str
    block: int
    begin: int
    end: int

    def __str__(self) -> str:
        return f"{self.kernel} block {self.block}: [{self.begin}, {self.end})"


class TileLog:
    """Collects tiles in the order in which a kernel takes them.

    Record from the same index arithmetic that gathers the data: a boundary that is computed a second time proves
    nothing.
    """

    def __init__(self) -> None:
        self._parts: list[tuple[str, Tensor]] = []

    def record(self, kernel: str, block: int, begin: int, end: int) -> None:
        """Notes one tile."""
        self._parts.append((kernel, torch.tensor([[block, begin, end]])))

    def record_all(
        self, kernel: str, blocks: Tensor | range | int, begins: Tensor | range, ends: Tensor | range
    ) -> None:
        """Notes many tiles at once: one block each, or one block for all."""
        begin = _integers(begins)
        block = torch.full_like(begin, blocks) if isinstance(blocks, int) else _integers(blocks)
        self._parts.append((kernel, torch.stack([block, begin, _integers(ends)], dim=1)))

    @property
    def kernels(self) -> tuple[str, ...]:
        """Names of the kernels that took tiles, in order of their first."""
        return tuple(dict.fromkeys(name for name, _ in self._parts))

    def table(self, kernel: str) -> Tensor:
        """Tiles of a kernel, int64 [tiles, 3]: block, begin, end."""
        found = [part for name, part in self._parts if name == kernel]
        return torch.cat(found) if found else torch.empty(0, 3, dtype=torch.int64)

    def tiles(self) -> tuple[Tile, ...]:
        """All tiles."""
        return tuple(Tile(name, *row) for name, part in self._parts for row in part.tolist())

    def same_as(self, other: TileLog) -> bool:
        """Whether the same blocks took the same tiles in the same order."""
        return self.kernels == other.kernels and all(
            torch.equal(self.table(name), other.table(name)) for name in self.kernels
        )

    def fault(self, kernel: str, items: range) -> str | None:
        """Where a kernel's tiles do not cover some items exactly once, and no others; None if they do."""
        table = self.table(kernel)
        begins, ends = table[:, 1], table[:, 2]
        if bool((begins > ends).any()):
            return f"{kernel}: a tile ends before it begins"
        if bool((begins[1:] < begins[:-1]).any()):
            order = torch.argsort(begins, stable=True)
            begins, ends = begins[order], ends[order]
        filled = begins < ends
        begins, ends = begins[filled], ends[filled]
        expected = torch.cat([torch.tensor([items.start]), ends])
        found = torch.cat([begins, torch.tensor([items.stop])])
        wrong = torch.nonzero(expected != found)
        if wrong.numel() == 0:
            return None
        at, begin = int(expected[wrong[0, 0]]), int(found[wrong[0, 0]])
        what = f"items [{at}, {begin}) are in no tile" if at < begin else f"items [{begin}, {at}) are in two tiles"
        return f"{kernel}: {what} (of {items.start} to {items.stop})"


def _integers(values: Tensor | range) -> Tensor:
    if isinstance(values, range):
        return torch.arange(values.start, values.stop, values.step)
    return values.to("cpu", torch.int64)
