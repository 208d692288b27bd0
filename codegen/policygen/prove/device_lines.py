"""Reading what programs print on a GPU: lines of JSON, one a case, a run, an end."""

from __future__ import annotations

import json
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from typing import Final

from attrs import field
from attrs import frozen


@frozen(order=True)
class Launch:
    """A kernel as it was launched.

    Attributes:
        kernel: name of the function template.
        grid: blocks in each direction; block: threads in each.
        registers: 32-bit registers a thread.
        static_smem, dynamic_smem: bytes of shared memory a block.
        local_bytes: bytes of local memory a thread.
        blocks_per_sm: resident blocks a multiprocessor, as the driver says.
    """

    kernel: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    registers: int
    static_smem: int
    dynamic_smem: int
    local_bytes: int
    blocks_per_sm: int

    @property
    def threads(self) -> int:
        """Threads of a block."""
        found = 1
        for extent in self.block:
            found *= extent
        return found


@frozen
class Run:
    """One call with one size.

    Attributes:
        size: how the size came about; items: what it is.
        status: passed, failed, skipped (the device has no room) or refused (CUB takes no such size).
        recorded: whether the launches are known; else `seen` alone tells of blocks.
        launches: the kernels.
        seen: threads of the blocks that functors and iterators saw from inside, in whole warps.
        told: what was wrong, or why there is no result; empty if it passed.
        promised: the result where CUB promises the same with whatever blocks; else empty.
    """

    size: str
    items: int
    status: str
    recorded: bool
    launches: tuple[Launch, ...]
    seen: tuple[int, ...]
    told: str
    promised: str = ""

    def __str__(self) -> str:
        return f"{self.items:,} ({self.size})"


@frozen
class Case:
    """A call with one type of items.

    Attributes:
        call: the function of CUB's interface; type: of the items.
        policy: the policy as CUB prints it.
        same_as_cub: whether CUB has the same one for these types.
        counts: what sizes count; tile: how many of them a tile is; tile_of: which tile that is.
        kernels: what the policy decides about: name and threads.
        runs: one a size.
    """

    call: str
    type: str
    policy: str
    same_as_cub: bool
    counts: str
    tile: int
    tile_of: str
    kernels: tuple[tuple[str, int], ...]
    runs: tuple[Run, ...]


@frozen
class Device:
    """What a program ran on, and what it was made with. `driver` is empty where the system does not tell it."""

    date: str
    device: str
    compute_capability: str
    multiprocessors: int
    memory: int
    driver: str
    cuda_driver: str
    cuda_runtime: str
    nvcc: str
    cccl: str


@frozen
class Outcome:
    """What became of a program.

    Attributes:
        program: its name.
        device: None where it did not run.
        cases: what it ran.
        left_out: calls that it does not make, each with the reason.
        fault: why it did not come to its end; empty if it did.
        no_device: whether there was nothing to run it on.
    """

    program: str
    device: Device | None
    cases: tuple[Case, ...]
    left_out: tuple[tuple[str, str], ...] = ()
    fault: str = ""
    no_device: bool = False


_NO_DEVICE: Final = 3
_TIMED_OUT: Final = 124


@frozen
class _Begun:
    """A case whose runs are still to come."""

    line: Mapping[str, Any]
    runs: list[Run] = field(factory=list)


def exit_line(program: str, status: int) -> str:
    """The line behind those of a program that says how it ended."""
    return json.dumps({"line": "exit", "program": program, "status": status})


def not_compiled_line(program: str, said: str) -> str:
    """The line in the place of those of a program that does not compile."""
    return json.dumps({"line": "exit", "program": program, "not_compiled": said})


def outcomes(lines: Iterable[str]) -> tuple[Outcome, ...]:
    """Reads the lines of programs, each ended by its exit line; lines of anything else are passed over."""
    found: list[Outcome] = []
    own: list[Mapping[str, Any]] = []
    for line in _objects(lines):
        if line["line"] == "exit":
            found.append(_outcome(own, line))
            own = []
        else:
            own.append(line)
    return tuple(found)


def _objects(lines: Iterable[str]) -> Iterator[Mapping[str, Any]]:
    for text in lines:
        try:
            value = json.loads(text)
        except ValueError:
            continue
        if isinstance(value, dict) and isinstance(value.get("line"), str):
            yield value


def _outcome(lines: Sequence[Mapping[str, Any]], last: Mapping[str, Any]) -> Outcome:
    program = str(last["program"])
    if "not_compiled" in last:
        return Outcome(program, None, (), fault=f"does not compile: {last['not_compiled']}")
    device: Device | None = None
    begun: list[_Begun] = []
    left_out: list[tuple[str, str]] = []
    end: Mapping[str, Any] | None = None
    for line in lines:
        match line["line"]:
            case "program":
                device = Device(**{name: line[name] for name in _DEVICE})
            case "case":
                begun.append(_Begun(line))
            case "run":
                begun[-1].runs.append(_run(line))
            case "left_out":
                left_out.append((line["call"], line["reason"]))
            case "end":
                end = line
    status = int(last["status"])
    if device is None and status == _NO_DEVICE:
        return Outcome(program, None, (), no_device=True)
    return Outcome(program, device, tuple(map(_case, begun)), tuple(left_out), _fault(status, end, begun))


_DEVICE: Final = tuple(attribute.name for attribute in Device.__attrs_attrs__)


def _fault(status: int, end: Mapping[str, Any] | None, begun: Sequence[_Begun]) -> str:
    """Why a program did not come to its end."""
    if end is None:
        reached = f" after {begun[-1].line['call']}, {begun[-1].line['type']}" if begun else ""
        how = "was stopped, since it took too long" if status == _TIMED_OUT else f"ended with status {status}"
        return f"{how}{reached}"
    if "broken" in end:
        return f"what comes after it did not run: {end['broken']}"
    return ""


def _case(begun: _Begun) -> Case:
    line = begun.line
    return Case(
        call=line["call"],
        type=line["type"],
        policy=line["policy"],
        same_as_cub=line["same_as_cub"],
        counts=line["counts"],
        tile=line["tile"],
        tile_of=line["tile_of"],
        kernels=tuple(dict.fromkeys((kernel["name"], kernel["threads"]) for kernel in line["kernels"])),
        runs=tuple(begun.runs),
    )


def _run(line: Mapping[str, Any]) -> Run:
    told = line.get("reason", "")
    if line["status"] == "failed":
        place = f" of item {line['index']}" if line["index"] >= 0 else ""
        told = f"{line['what']}{place}: expected {line['expected']}, got {line['got']}"
    return Run(
        size=line["size"],
        items=line["items"],
        status=line["status"],
        recorded=line.get("recorded", False),
        launches=tuple(map(_launch, line.get("launches", ()))),
        seen=tuple(line.get("seen", ())),
        told=told,
        promised=line.get("promised", ""),
    )


def _launch(line: Mapping[str, Any]) -> Launch:
    return Launch(
        kernel=line["kernel"],
        grid=tuple(line["grid"]),
        block=tuple(line["block"]),
        registers=line["registers"],
        static_smem=line["static_smem"],
        dynamic_smem=line["dynamic_smem"],
        local_bytes=line["local_bytes"],
        blocks_per_sm=line["blocks_per_sm"],
    )
