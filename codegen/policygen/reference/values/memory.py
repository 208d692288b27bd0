"""Global memory by bytes: where alignment, vectors and copies of whole lines matter, and types do not."""

from __future__ import annotations

from typing import Final

import torch
from attrs import frozen
from torch import Tensor

GUARD: Final = 256
"""Bytes before and after an array that belong to others; a multiple of every alignment."""

UNWRITTEN: Final = 0xEE
"""What bytes hold that nobody has written."""

_LARGEST_ALIGNMENT: Final = 16


@frozen(eq=False)
class Array:
    """An array in global memory, with its neighbours.

    Attributes:
        memory: uint8 [GUARD + bytes + GUARD]; the address of a byte is its place in it.
        address: of the first element.
        size: bytes of an element.
        alignment: of the element's type, in bytes.
        num_items: elements.
    """

    memory: Tensor
    address: int
    size: int
    alignment: int
    num_items: int

    @property
    def elements(self) -> Tensor:
        """The elements by bytes, uint8 [num_items, size]: a view."""
        return self.memory[self.address : self.address + self.num_items * self.size].reshape(self.num_items, self.size)

    def is_aligned(self, bytes_: int) -> bool:
        """Whether the first element's address is a multiple of so many bytes."""
        return self.address % bytes_ == 0


def array(num_items: int, size: int, alignment: int, misaligned: int, contents: Tensor) -> Array:
    """An array in memory.

    Args:
        num_items: elements.
        size: bytes of an element.
        alignment: of the element's type.
        misaligned: elements by which it starts past an address that is a multiple of every alignment.
        contents: of the memory, neighbours included: uint8, at least `array_bytes` of them.
    """
    memory = contents[: array_bytes(num_items, size, misaligned)].clone()
    return Array(memory, GUARD + misaligned * size, size, alignment, num_items)


def array_bytes(num_items: int, size: int, misaligned: int) -> int:
    """Bytes of an array with its neighbours."""
    return (num_items + misaligned) * size + 2 * GUARD


def random_bytes(count: int, random: torch.Generator) -> Tensor:
    """Bytes of any value, on the CPU."""
    return torch.randint(256, (count,), generator=random, dtype=torch.uint8)


def vector_alignment(size: int, alignment: int, vector: int) -> int:
    """What a vector of elements is aligned to, in bytes (`alignof(CubVector)`).

    Args:
        size: bytes of an element; of 1, 2, 4 and 8 it is taken for a number, whose vectors the hardware loads whole,
            16 bytes at most; vectors of others are structs.
        alignment: of the element's type.
        vector: elements of the vector.
    """
    is_number = size == alignment and size in (1, 2, 4, 8)
    if not is_number or vector == 3:
        return alignment
    return min(size * vector, _LARGEST_ALIGNMENT)
