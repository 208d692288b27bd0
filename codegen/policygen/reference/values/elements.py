"""Element types, and the tensors that hold them.

A floating-point element is a scalar of its own dtype. An integer of up to 64 bits is an int64 scalar, whatever its
width: torch has no arithmetic for most unsigned types, so values wrap around in the wider type by `wrapped`; 64-bit
unsigned ones are held by their bits. Anything else is a few int64 words in a trailing dimension: a 128-bit integer is
(low, high), an affine map (factor, summand), a matrix its four entries by rows.
"""

from __future__ import annotations

import math
from typing import Final

import torch
from attrs import frozen
from torch import Tensor


@frozen
class Element:
    """An element type.

    Attributes:
        name: as keys spell it, or what it is.
        size: bytes that it has on the device.
        dtype: what tensors of it have.
        words: length of the trailing dimension; 0 for scalars.
        signed: of integers, whether negative values exist.
        primitive: whether CUB counts it as arithmetic.
    """

    name: str
    size: int
    dtype: torch.dtype = torch.int64
    words: int = 0
    signed: bool = True
    primitive: bool = True

    @property
    def is_floating(self) -> bool:
        """Whether it is a floating-point scalar."""
        return self.dtype.is_floating_point

    @property
    def is_integer(self) -> bool:
        """Whether it is an integer of up to 64 bits."""
        return not self.words and not self.is_floating

    @property
    def bits(self) -> int:
        """Bits that it has on the device."""
        return 8 * self.size

    @property
    def trailing(self) -> tuple[int, ...]:
        """The dimensions of one element in a tensor."""
        return (self.words,) if self.words else ()

    @property
    def lowest(self) -> int:
        """The least value of an integer, as it is held."""
        return -(1 << (self.bits - 1)) if self.signed or self.size == 8 else 0

    @property
    def highest(self) -> int:
        """The greatest value of an integer, as it is held."""
        return (1 << (self.bits - 1)) - 1 if self.signed or self.size == 8 else (1 << self.bits) - 1

    def unset(self, *shape: int, device: torch.device | str = "cpu") -> Tensor:
        """Registers and lanes that nothing has been put into: whatever looks at them goes wrong.

        Args:
            shape: of the tensor, without the dimension of an element.
            device: where it is to be.
        """
        worst = [1e4, -1e4] if self.is_floating else [0x55, 0x2A] if self.words else [self.highest, self.lowest]
        count = math.prod((*shape, *self.trailing))
        values = torch.tensor(worst, dtype=self.dtype, device=device).repeat(count // 2 + 1)
        return values[:count].reshape(*shape, *self.trailing)

    def select(self, condition: Tensor, yes: Tensor, no: Tensor) -> Tensor:
        """Elements by a condition each; the three are broadcast, the trailing dimension of an element apart."""
        return torch.where(condition.unsqueeze(-1) if self.words else condition, yes, no)

    def __str__(self) -> str:
        return self.name


def _integers() -> dict[str, Element]:
    sizes = (1, 2, 4, 8)
    names = [("int", True), ("uint", False)]
    return {f"{n}{8 * size}": Element(f"{n}{8 * size}", size, signed=signed) for n, signed in names for size in sizes}


ELEMENTS: Final = _integers() | {
    "float16": Element("float16", 2, torch.float16, primitive=False),
    "bfloat16": Element("bfloat16", 2, torch.bfloat16, primitive=False),
    "float32": Element("float32", 4, torch.float32),
    "float64": Element("float64", 8, torch.float64),
    "int128": Element("int128", 16, words=2, primitive=False),
    "uint128": Element("uint128", 16, words=2, primitive=False),
}
"""Elements by the enumerators of keys. CUB does not count half precision and 128 bits as arithmetic."""

BY_SIZE: Final = {1: "uint8", 2: "uint16", 4: "uint32", 8: "uint64", 16: "uint128"}
"""What stands for a size where a key says no more."""


def words_element(name: str, size: int, words: int) -> Element:
    """A struct of so many bytes, held in int64 words."""
    return Element(name, size, words=words, primitive=False)


def element_of(type_name: str, size: int) -> Element | None:
    """The element that a key's enumerator names; None for `other`, whose operator says what it is."""
    if type_name == "boolean":
        return ELEMENTS["uint8"]
    found = ELEMENTS.get(type_name)
    return found if found is not None and found.size == size else None


def wrapped(values: Tensor, element: Element) -> Tensor:
    """Integers reduced to the bits of their element, as arithmetic on the device does."""
    if element.size == 8:
        return values
    mask = (1 << element.bits) - 1
    if not element.signed:
        return values & mask
    half = 1 << (element.bits - 1)
    return ((values + half) & mask) - half


def sortable(values: Tensor, element: Element) -> Tensor:
    """Integers as int64 whose signed order is the order of the element: 64-bit unsigned ones lose their sign bit."""
    return values ^ torch.iinfo(torch.int64).min if element.size == 8 and not element.signed else values


def split(values: Tensor, dimension: int, outer: int, inner: int) -> Tensor:
    """One dimension as two: [..., outer * inner, ...] as [..., outer, inner, ...]."""
    shape = values.shape
    return values.reshape(*shape[:dimension], outer, inner, *shape[dimension + 1 :])
