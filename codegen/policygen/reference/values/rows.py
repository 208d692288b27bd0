"""Rows of numbers in global memory, with what lies before, between and after them."""

from __future__ import annotations

from typing import Final

import torch
from attrs import frozen
from torch import Tensor

from policygen.reference.contract.comparison import Close

GUARD: Final = 64
"""Numbers before and after that belong to others; a multiple of every vector."""


@frozen(eq=False)
class Rows:
    """Rows in memory.

    Attributes:
        memory: one after the other, places that are multiples of a vector being aligned to it; NaN where no row is.
        start: place of the first number.
        rows: how many.
        columns: numbers of a row.
        stride: numbers from one row to the next.
    """

    memory: Tensor
    start: int
    rows: int
    columns: int
    stride: int

    @property
    def values(self) -> Tensor:
        """The rows, [rows, columns]: a view."""
        return self.memory.as_strided((self.rows, self.columns), (self.stride, 1), self.start)

    def places(self, row: Tensor, column: Tensor) -> Tensor:
        """Where numbers lie."""
        return self.start + row * self.stride + column

    def copy(self) -> Rows:
        """The same in memory of its own, for a kernel to write to."""
        return Rows(self.memory.clone(), self.start, self.rows, self.columns, self.stride)

    def expectation(self, values: Tensor, bound: Tensor) -> Close:
        """What memory has to hold once rows have been written: nothing else has changed.

        Args:
            values: float64 [rows, columns].
            bound: how far each may be off.
        """
        memory = self.memory.to("cpu", torch.float64)
        bounds = torch.zeros_like(memory)
        for whole, part in ((memory, values), (bounds, bound)):
            whole.as_strided((self.rows, self.columns), (self.stride, 1), self.start).copy_(part)
        return Close(memory, bounds)


def rows_of(values: Tensor, *, shift: int = 0, gap: int = 0, device: str = "cpu") -> Rows:
    """Puts rows into memory.

    Args:
        values: [rows, columns].
        shift: numbers by which they start past an address that is a multiple of every vector.
        gap: numbers between a row and the next.
        device: where.
    """
    rows, columns = values.shape
    stride = columns + gap
    memory = torch.full((2 * GUARD + shift + rows * stride,), float("nan"), dtype=values.dtype)
    found = Rows(memory.to(device), GUARD + shift, rows, columns, stride)
    found.values.copy_(values)
    return found


def unwritten(rows: int, columns: int, dtype: torch.dtype, *, shift: int = 0, gap: int = 0, device: str) -> Rows:
    """Memory for rows that nobody has written."""
    return rows_of(torch.full((rows, columns), float("nan"), dtype=dtype), shift=shift, gap=gap, device=device)
