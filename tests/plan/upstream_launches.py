"""What CCCL's dispatchers launch, and what plans say of the same calls.

The dispatchers run on the host: `upstream/launches.cu` calls them on a CUDA runtime that has no device and prints what
it is asked for. Its answers to `REQUESTS` are kept in `tests/data`.
"""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Iterable
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any
from typing import TypeAlias

from attrs import frozen

import policygen.project
from policygen.parity.toolchain import Toolchain
from policygen.plan.device import Device
from policygen.plan.planners import PLANNERS
from policygen.plan.radix_sort_plan import RadixSortPlan
from policygen.plan.radix_sort_plan import SortShape
from policygen.plan.radix_sort_plan import SweepCounts
from policygen.plan.radix_sort_plan import multi_pass_plan
from policygen.plan.radix_sort_plan import trivial_sort
from policygen.plan.target_device import device_from_facts

ROOT = Path(__file__).parents[2]
ANSWERS = ROOT / "tests" / "data" / "launches-cccl-3.5.jsonl"

Launch: TypeAlias = list[int]
"""A grid, a block and its dynamic shared memory."""

_INT32_MAX, _UINT32_MAX = 2**31 - 1, 2**32 - 1


@frozen
class FakeDevice:
    """The device that the dispatchers are told of."""

    capability: int
    sm_count: int
    occupancy: int

    @property
    def device(self) -> Device:
        facts = {name: fact.value for name, fact in _project().target(str(self.capability)).facts.items()}
        facts["sm_count"] = self.sm_count
        return device_from_facts(facts, capability=self.capability, occupancy=self.occupancy)


DEVICES = (FakeDevice(80, 108, 4), FakeDevice(90, 132, 1), FakeDevice(90, 132, 2), FakeDevice(100, 148, 7))


@frozen
class Request:
    """A call: its name in `launches.cu`, the problem size and three more numbers."""

    name: str
    num_items: int
    others: tuple[int, int, int] = (0, 0, 0)

    def __str__(self) -> str:
        return " ".join(map(str, (self.name, self.num_items, *self.others)))

    @classmethod
    def read(cls, text: str) -> Request:
        name, num_items, *others = text.split()
        first, second, third = map(int, others)
        return cls(name, int(num_items), (first, second, third))


def _requests() -> Iterator[Request]:
    bits = ((0, 32), (0, 0), (3, 17), (7, 8), (1, 32))
    for n in (0, 1, 4864, 4865, 9000, 10**6, 2**24, 2**24 + 1, 2**28 - 1, _UINT32_MAX):
        for begin, end in bits:
            for overwrite in (0, 1):
                yield Request("sort-u32", n, (begin, end, overwrite))
                yield Request("sort-u32-passes", n, (begin, end, overwrite))
    for n in (0, 1, 5000, 2**20, 2**33 + 5):
        yield from (Request("sort-u64-v4", n, numbers) for numbers in ((0, 64, 0), (0, 64, 1), (5, 50, 0)))
    for n in (0, 1, 127, 128, 256, 2048, 100_000, 2**27, _UINT32_MAX):
        yield from (Request(name, n, (64, 0, 0)) for name in ("topk-1", "topk-4", "topk-8-v2"))
        yield Request("topk-4-v8-wide", 3 * n, (2**40, 0, 0))
    for n in (0, 1, 6144, 6145, 8192, 10_000, 12_288, 12_289, 10**6, 2**24, _INT32_MAX):
        yield from (Request(f"{name}-{kind}", n) for name in ("reduce", "scan") for kind in ("f32", "f64"))
        yield from (Request(f"{name}-f32-wide", 5 * n) for name in ("reduce", "scan"))
        yield from (
            Request(f"transform-{kind}", n, (aligned, 0, 0)) for kind in ("4", "4-4", "8-1-2") for aligned in (0, 1)
        )
        yield from (Request("generate-4", n, (aligned, 0, 0)) for aligned in (0, 1))
        yield Request("transform-1-wide", 5 * n, (1, 0, 0))
    yield from (Request("copy", n) for n in (0, 1, 512, 513, 65_537, 10**6, 2**29, 2**29 + 1, 2 * 10**9))
    yield from (Request("segments", n) for n in (0, 1, 100_000, _INT32_MAX, _INT32_MAX + 1, 10**10))


REQUESTS = tuple(_requests())


def random_requests(count: int, seed: int) -> list[Request]:
    """Requests of all calls, for sizes that are as often small as large."""
    source = random.Random(seed)
    found = []
    for _ in range(count):
        like = source.choice(REQUESTS)
        most = 2**36 if "wide" in like.name or like.name == "sort-u64-v4" else _INT32_MAX
        others = like.others
        if like.name.startswith("sort"):
            key_bits = 64 if "u64" in like.name else 32
            begin = source.randint(0, key_bits)
            others = (begin, source.randint(begin, key_bits), source.randint(0, 1))
        found.append(Request(like.name, source.randint(0, 2 ** source.randint(0, most.bit_length()) - 1), others))
    return found


def compiled(toolchain: Toolchain, capability: int, folder: Path) -> Path:
    """Compiles the program for one architecture. Its kernels are never run, so that they need no machine code."""
    program = folder / f"launches-{capability}"
    architecture = f"-gencode=arch=compute_{capability},code=compute_{capability}"
    sources = [str(Path(__file__).parent / "upstream" / name) for name in ("launches.cu", "fake_runtime.cpp")]
    includes = [f"-I{include}" for include in toolchain.includes]
    command = [str(toolchain.nvcc), "-std=c++17", "-O0", "-DNDEBUG", architecture, *includes, "-cudart", "none"]
    done = subprocess.run([*command, *sources, "-o", str(program)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return program


def asked(program: Path, fake: FakeDevice, requests: Iterable[Request]) -> list[Any]:
    """The dispatchers' answers."""
    arguments = [str(number) for number in (fake.sm_count, fake.capability, fake.occupancy)]
    lines = "".join(f"{request}\n" for request in requests)
    done = subprocess.run([str(program), *arguments], input=lines, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def line_of(fake: FakeDevice, request: Request, answer: Any) -> str:
    """An answer as it is kept."""
    return json.dumps([fake.capability, fake.sm_count, fake.occupancy, str(request), answer])


def kept() -> list[tuple[FakeDevice, Request, Any]]:
    """The answers that are kept."""
    lines = [json.loads(line) for line in ANSWERS.read_text(encoding="utf-8").splitlines()]
    return [(FakeDevice(*numbers), Request.read(request), answer) for *numbers, request, answer in lines]


def planned(fake: FakeDevice, request: Request) -> list[Any]:
    """What a plan says of a call, as the dispatcher answers."""
    call, _, kind = request.name.partition("-")
    return list(_PLANNED[call](fake, request, kind))


@cache
def _project() -> policygen.project.Project:
    return policygen.project.load(ROOT)


@cache
def _resolver(capability: int, algorithm: str) -> Any:
    return _project().resolver(str(capability), algorithm)


def _launch(fake: FakeDevice, request: Request, name: str, key: dict[str, Any], **arguments: Any) -> tuple[Any, Any]:
    """The policy for a key and the plan."""
    resolution = _resolver(fake.capability, name).resolve(key)
    plan = PLANNERS[name].launch(
        resolution.policy, resolution.key, num_items=request.num_items, device=fake.device, **arguments
    )
    return resolution.policy, plan


def _sort(fake: FakeDevice, request: Request, kind: str) -> tuple[int, list[Launch]]:
    if kind == "u32-passes":
        return _sort_in_passes(fake, request)
    begin, end, overwrite = request.others
    key = {"key_type": "uint32", "offset_size": 4}
    if kind == "u64-v4":
        key = {"key_type": "uint64", "offset_size": 8, "value_size": 4}
    policy, plan = _launch(
        fake, request, "radix_sort", key, begin_bit=begin, end_bit=end, can_overwrite=bool(overwrite)
    )
    launches: list[Launch] = []
    if plan.algorithm == "single_tile":
        launches = [[1, policy.single_tile.threads_per_block, 0]]
    elif plan.algorithm == "onesweep":
        launches = [[plan.init_grid, 256, 0], [plan.histogram_grid, policy.histogram.threads_per_block, 0]]
        launches.append([plan.passes, policy.exclusive_sum.threads_per_block, 0])
        for _ in plan.pass_bits:
            for portion in range(1, plan.portions + 1):
                grid = plan.grid if portion < plan.portions else plan.last_portion_grid
                if plan.dependent_launch:
                    launches.append([-(-(grid << policy.onesweep.radix_bits) // 256), 256, 0])
                launches.append([grid, policy.onesweep.threads_per_block, 0])
        assert len(launches) == plan.launches
    return plan.allocation_bytes, launches


def _sort_in_passes(fake: FakeDevice, request: Request) -> tuple[int, list[Launch]]:
    begin, end, overwrite = request.others
    shape = SortShape(
        key_size=4, value_size=0, offset_size=4, begin_bit=begin, end_bit=end, can_overwrite=bool(overwrite)
    )
    policy = _resolver(fake.capability, "radix_sort").resolve({"key_type": "uint32", "offset_size": 4}).policy
    tiles = {name: counts.threads_per_block * counts.items_per_thread for name, counts in _tiles(policy)}
    residency = fake.device.residency
    trivial = trivial_sort(
        request.num_items,
        shape=shape,
        single_tile_items=tiles["single_tile"],
        digit_bits=policy.single_tile.radix_bits,
        residency=residency,
    )
    if trivial is not None:
        return trivial.allocation_bytes, [[1, policy.single_tile.threads_per_block, 0]] * trivial.launches
    plan = multi_pass_plan(
        request.num_items,
        shape=shape,
        regular=_sweeps(policy.downsweep.radix_bits, tiles["upsweep"], tiles["downsweep"]),
        alternate=_sweeps(policy.alt_downsweep.radix_bits, tiles["alt_upsweep"], tiles["alt_downsweep"]),
        scan_items=policy.scan.lookback.threads_per_block * policy.scan.lookback.items_per_thread,
        residency=residency,
    )
    return plan.allocation_bytes, list(_passes(plan, policy))


def _sweeps(bits: int, upsweep: int, downsweep: int) -> SweepCounts:
    return SweepCounts(radix_bits=bits, upsweep_items=upsweep, downsweep_items=downsweep)


def _tiles(policy: Any) -> Iterator[tuple[str, Any]]:
    for name in ("upsweep", "downsweep", "alt_upsweep", "alt_downsweep", "single_tile"):
        yield name, getattr(policy, name)


def _passes(plan: RadixSortPlan, policy: Any) -> Iterator[Launch]:
    alternate = plan.alternate_passes
    for number in range(plan.passes):
        share, at = (plan.alternate_share, "alt_") if number < alternate else (plan.share, "")
        assert share is not None
        yield [share.grid, getattr(policy, f"{at}upsweep").threads_per_block, 0]
        yield [1, policy.scan.lookback.threads_per_block, 0]
        yield [share.grid, getattr(policy, f"{at}downsweep").threads_per_block, 0]


def _topk(fake: FakeDevice, request: Request, kind: str) -> tuple[int, list[Launch]]:
    key_size, value_size, offset_size = {"1": (1, 0, 4), "4": (4, 0, 4), "8-v2": (8, 2, 4), "4-v8-wide": (4, 8, 8)}[
        kind
    ]
    key = {"key_size": key_size, "offset_size": offset_size}
    policy, plan = _launch(fake, request, "topk", key, k=request.others[0], value_size=value_size)
    middle = [plan.grid] * (len(plan.pass_bits) - 1)
    grids = [plan.histogram_grid, *middle, plan.last_filter_grid]
    assert len(grids) == plan.launches
    return plan.allocation_bytes, [[grid, policy.threads_per_block, 0] for grid in grids]


def _reduce(fake: FakeDevice, request: Request, kind: str) -> tuple[int, list[Launch]]:
    key = {"accum_t": _type(kind), "operation_t": "plus", "offset_size": _offset_size(kind)}
    policy, plan = _launch(fake, request, "reduce", key)
    last = [1, policy.single_tile.threads_per_block, 0]
    first = [] if plan.single_tile else [[plan.grid, policy.multi_tile.threads_per_block, 0]]
    assert len(first) + 1 == plan.passes
    return plan.allocation_bytes, [*first, last]


def _scan(fake: FakeDevice, request: Request, kind: str) -> tuple[int, list[Launch]]:
    key = {"input_type": _type(kind), "operation_t": "plus", "offset_size": _offset_size(kind)}
    policy, plan = _launch(fake, request, "scan", key)
    found = plan.lookback or plan.lookahead
    if plan.lookback is not None:
        main = [found.grid, policy.lookback.threads_per_block, 0]
    else:
        main = [found.grid, 64 * policy.lookahead.reduce_and_scan_warps + 96, found.smem_bytes]
    return found.allocation_bytes, [[-(-found.num_tiles // 128), 128, 0], main] if request.num_items else []


def _transform(fake: FakeDevice, request: Request, kind: str) -> tuple[int, list[Launch]]:
    sizes = () if request.name == "generate-4" else kind.removesuffix("-wide").split("-")
    inputs = [{"value_type_size": int(size)} for size in sizes]
    key = {"inputs": inputs, "output": {"value_type_size": 4}}
    _, plan = _launch(fake, request, "transform", key, aligned=bool(request.others[0]))
    launches = [[plan.grid, plan.threads_per_block, plan.smem_bytes]]
    return -1, launches if request.num_items else []


def _copy(fake: FakeDevice, request: Request, _kind: str) -> tuple[int, list[Launch]]:
    policy, launch = _launch(fake, request, "batch_memcpy", {})
    plan, own = launch.plan, policy.lookback
    launches: list[Launch] = []
    for number in range(1, plan.launches + 1):
        grid = plan.grid if number < plan.launches else plan.last_grid
        launches.append([-(-grid // 128), 128, 0])
        launches.append([grid, own.small_buffer.threads_per_block, 0])
        launches.append([plan.large_grid, own.large_buffer.threads_per_block, 0])
    return plan.allocation_bytes, launches


def _segments(fake: FakeDevice, request: Request, _kind: str) -> tuple[int, list[Launch]]:
    key = {"accum_t": "float32", "operation_t": "plus", "offset_size": 4}
    policy, plan = _launch(fake, request, "segmented_reduce", key)
    grids = [plan.grid] * (plan.launches - 1) + [plan.last_grid] * bool(plan.launches)
    return plan.allocation_bytes or -1, [[grid, policy.large_reduce.threads_per_block, 0] for grid in grids]


def _type(kind: str) -> str:
    return {"f32": "float32", "f64": "float64"}[kind.removesuffix("-wide")]


def _offset_size(kind: str) -> int:
    return 8 if kind.endswith("-wide") else 4


_PLANNED = {
    "sort": _sort,
    "topk": _topk,
    "reduce": _reduce,
    "scan": _scan,
    "transform": _transform,
    "generate": _transform,
    "copy": _copy,
    "segments": _segments,
}
