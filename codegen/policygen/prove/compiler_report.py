"""Reading what ptxas says of the kernels of a translation unit."""

from __future__ import annotations

import re
from typing import Final
from typing import TypeAlias

from attrs import evolve
from attrs import field
from attrs import frozen


@frozen
class Resources:
    """What a compiled kernel uses.

    Attributes:
        registers: 32-bit registers a thread.
        shared: bytes of static shared memory a block.
        stack: bytes of stack a thread.
        spill_stores, spill_loads: bytes a thread that registers spill to local memory and read back.
        milliseconds: time that ptxas took; not the same from run to run.
    """

    registers: int
    shared: int
    stack: int
    spill_stores: int
    spill_loads: int
    milliseconds: float = field(default=0.0, eq=False)

    @property
    def spills(self) -> bool:
        """Whether registers are kept in local memory."""
        return self.spill_stores > 0 or self.spill_loads > 0


@frozen
class Overflow:
    """A kernel that does not compile, for its static shared memory.

    Attributes:
        need: bytes that it asks for.
        limit: bytes that there are.
    """

    need: int
    limit: int


@frozen
class Rejected:
    """A kernel that does not compile, for another reason; `said` is what the compiler says, in one line."""

    said: str


Outcome: TypeAlias = Resources | Overflow | Rejected
"""What became of one kernel."""

_CASE: Final = re.compile(r"policygen_case_(\d+)_")
_ENTRY: Final = re.compile(r"Compiling entry function '([^']+)'")
_OVERFLOW: Final = re.compile(
    r"Entry function '([^']+)' uses too much shared data \(0x([0-9a-f]+) bytes, 0x([0-9a-f]+) max\)"
)
_FRAME: Final = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED: Final = re.compile(r"Used (\d+) registers(?:.*?, (\d+) bytes smem)?")
_TIME: Final = re.compile(r"Compile time = ([0-9.]+) ms")
_ERROR: Final = re.compile(r"\berror\b\s*:?\s*(.+)")


def outcomes(said: str) -> dict[int, Outcome]:
    """The outcomes by the numbers of the instances, for those that ptxas speaks of.

    Args:
        said: what `nvcc -Xptxas -v` prints. Functions beside the entry functions are passed over.
    """
    found: dict[int, Outcome] = {}
    number: int | None = None
    frame = (0, 0, 0)
    entry = ""
    in_entry = False
    last: int | None = None
    for line in said.splitlines():
        if (over := _OVERFLOW.search(line)) is not None:
            case = _CASE.search(over[1])
            if case is not None:
                found[int(case[1])] = Overflow(int(over[2], 16), int(over[3], 16))
        elif (started := _ENTRY.search(line)) is not None:
            entry = started[1]
            case = _CASE.search(entry)
            number, frame = (None if case is None else int(case[1])), (0, 0, 0)
        elif "Function properties for" in line:
            in_entry = line.rsplit(" ", 1)[1] == entry
        elif (stack := _FRAME.search(line)) is not None:
            if in_entry:
                frame = (int(stack[1]), int(stack[2]), int(stack[3]))
        elif (used := _USED.search(line)) is not None and number is not None:
            if number not in found:  # of a kernel that does not fit ptxas may say both
                found[number] = Resources(int(used[1]), int(used[2] or 0), *frame)
                last = number
            number = None
        elif (took := _TIME.search(line)) is not None and last is not None:
            known = found[last]
            assert isinstance(known, Resources)
            found[last] = evolve(known, milliseconds=float(took[1]))
            last = None
    return found


def first_error(said: str) -> str:
    """The first error in what a compiler says, in one line."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    for line in lines:
        if _ERROR.search(line) is not None:
            return line
    return lines[0] if lines else "nothing was said"
