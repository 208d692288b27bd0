"""Device-wide transform of up to eight inputs into one output (`cub::DeviceTransform`), by `dispatch_transform.cuh`.

Input: arrays of [n] elements, each of its own size. Output: [n] elements, each the operator applied to the elements at
its place; with a predicate (`dense_output` is false) elements where it does not hold stay as they are. Elements are
bytes here, and the operator mixes the bytes of all operands: a byte in the wrong place shows. Results are exact, and
no order is promised or needed. Sizes and alignments are in bytes, counts in items.

A block takes one tile of threads x items; four algorithms move it:

- prefetch: tiles are prefetched into L2 (of no consequence here), then thread t takes items t, t + threads, ... Items a
  thread follow from the bytes in flight, and are fewer where a small problem would leave multiprocessors idle.
- vectorized: where all pointers are aligned to vectors, thread t loads and stores `vec_size` neighbours at
  t * vec_size, (t + threads) * vec_size, ...; a tile that is not full, and every tile where a pointer is not
  aligned, is done as prefetch does it, with the threads of `vectorized`. Unaligned, the items a thread are those of
  prefetch.
  An access of a vector that is not aligned is a fault of the hardware's; here it is counted.
- ldgsts and ublkcp: tiles are copied into shared memory (`collectives.async_copy`), then taken from there as prefetch
  takes them; ublkcp stores vectors of `store_vec_size` where output and inputs are aligned to them, and the rest of a
  tile one by one. Items a thread grow until enough bytes are in flight or shared memory is full.

Non-contiguous iterators are not modelled: they take the same path element by element.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from typing import Final

import torch
from attrs import frozen
from torch import Tensor

from policygen.plan.kernel_resources import KernelResources
from policygen.plan.limits import limits_from_facts
from policygen.plan.occupancy import occupancy
from policygen.plan.residency import Residency
from policygen.plan.transform_plan import ItemBounds
from policygen.plan.transform_plan import TransformPlan
from policygen.plan.transform_plan import async_items_per_thread
from policygen.plan.transform_plan import prefetch_plan
from policygen.plan.transform_plan import spread_out_items_per_thread
from policygen.plan.transform_plan import vectorized_plan
from policygen.reference.collectives.async_copy import GRANULE
from policygen.reference.collectives.async_copy import CopyRules
from policygen.reference.collectives.async_copy import bulk_copy_bytes
from policygen.reference.collectives.async_copy import cp_async_bytes
from policygen.reference.collectives.async_copy import staged
from policygen.reference.contract.case import Case
from policygen.reference.contract.comparison import Exact
from policygen.reference.contract.comparison import Expectation
from policygen.reference.contract.kernel import Given
from policygen.reference.contract.kernel import Problem
from policygen.reference.contract.kernel import ReferenceKernel
from policygen.reference.contract.sizes import BEYOND_INT32
from policygen.reference.contract.sizes import LAST_TILES
from policygen.reference.contract.sizes import sizes
from policygen.reference.contract.tile_log import TileLog
from policygen.reference.values.memory import UNWRITTEN
from policygen.reference.values.memory import Array
from policygen.reference.values.memory import array
from policygen.reference.values.memory import array_bytes
from policygen.reference.values.memory import random_bytes

KERNEL_NAME: Final = "transform_kernel"
_BULK_ALIGNMENTS: Final = (128, 16)


@frozen
class TransformProblem(Problem):
    """A transform.

    Attributes:
        num_items: items to transform.
        misaligned: elements by which the output, then each input, start past an aligned address.
        sm_count: multiprocessors of the device.
        has_data: False for index arithmetic alone.
    """

    num_items: int
    misaligned: tuple[int, ...]
    sm_count: int
    has_data: bool = True


@frozen(eq=False)
class TransformInputs:
    """What a transform is given: its arrays."""

    output: Array
    inputs: tuple[Array, ...]


class TransformKernel(ReferenceKernel[TransformProblem, TransformInputs]):
    """See the module."""

    def keys(self, common: Sequence[Given]) -> Iterator[Given]:
        """The common keys, and such as need another algorithm: predicates, stable addresses, sizes like 3 and 12."""
        yield from common
        one = {"output": {"value_type_size": 4}, "inputs": [{"value_type_size": 4}]}
        yield {**one, "dense_output": False}
        yield {**one, "requires_stable_address": True}
        for size in (3, 12):
            yield {"output": {"value_type_size": size}, "inputs": [{"value_type_size": size}] * 2}
        yield {"output": {"value_type_size": 2}, "inputs": [{"value_type_size": 8}, {"value_type_size": 1}]}

    def problems(self, case: Case, *, quick: bool) -> Iterator[TransformProblem]:
        """See ReferenceKernel."""
        arrays = 1 + len(case.key.inputs)
        aligned, shifted = (0,) * arrays, (1,) * arrays
        mixed = tuple(number % 2 for number in range(1, arrays + 1))
        vector = max(1, case.policy.vectorized.vec_size)
        whole = _plan(case, TransformProblem(1 << 20, aligned, 1), _arrays(case, 0, aligned)).tile_items
        edges = sizes(whole, vector=vector, blocks=2, quick=quick)
        for number, num_items in enumerate(edges):
            if quick:
                yield TransformProblem(num_items, (aligned, shifted, aligned, mixed)[number % 4], 1)
            else:
                placings = dict.fromkeys((aligned, shifted, mixed))  # without inputs two are one
                yield from (TransformProblem(num_items, where, 1) for where in placings)
        # past the vectors that a whole tile has, and before
        yield TransformProblem(5 * whole + vector + 1, aligned, 1)
        yield TransformProblem(5 * whole + vector + 1, shifted, case.residency.sm_count)
        yield TransformProblem(BEYOND_INT32, aligned, case.residency.sm_count, has_data=False)

    def inputs(self, case: Case, problem: TransformProblem, random: torch.Generator) -> TransformInputs:
        """See ReferenceKernel."""
        output, *inputs = _arrays(case, problem.num_items if problem.has_data else 0, problem.misaligned, random)
        return TransformInputs(output, tuple(inputs))

    def run(self, case: Case, problem: TransformProblem, inputs: TransformInputs, log: TileLog) -> Mapping[str, Tensor]:
        """See ReferenceKernel."""
        arrays = (inputs.output, *inputs.inputs)
        plan = _plan(case, problem, arrays)
        begins = torch.arange(_first_block(plan, problem), plan.grid) * plan.tile_items
        ends = (begins + plan.tile_items).clamp(max=problem.num_items)
        log.record_all(KERNEL_NAME, range(_first_block(plan, problem), plan.grid), begins, ends)
        if not problem.has_data:
            return {}
        output = inputs.output.elements.clone()
        if problem.num_items == 0:
            return {"output": output}
        if _is_async(case):
            misaligned = _async(case, plan, inputs, begins, ends, output)
            return {"output": output, "misaligned accesses": torch.tensor(misaligned)}
        misaligned = 0
        full = begins[ends - begins == plan.tile_items]
        if case.policy.algorithm == "vectorized" and _can_vectorize(case, arrays):
            index = _vectors(case, plan, full)
            vector = _vector(case)
            misaligned = sum(not x.is_aligned(x.size * vector) for x in arrays)
        else:
            index = _striped(plan, full)
        rest = begins[ends - begins < plan.tile_items]
        last = _striped(plan, rest)
        for one in (index, last[last < problem.num_items]):
            _apply(case, [x.elements[one] for x in inputs.inputs], one, output)
        return {"output": output, "misaligned accesses": torch.tensor(misaligned)}

    def expected(self, case: Case, problem: TransformProblem, inputs: TransformInputs) -> Mapping[str, Expectation]:
        """See ReferenceKernel."""
        if not problem.has_data:
            return {}
        output = inputs.output.elements.clone()
        rows = [x.elements for x in inputs.inputs]
        results = operator(rows, output.shape)
        output = results if case.key.dense_output else torch.where(predicate(rows).unsqueeze(-1), results, output)
        found: dict[str, Expectation] = {"output": Exact(output)}
        if problem.num_items:
            found["misaligned accesses"] = Exact(torch.tensor(0))
        return found

    def coverage(self, case: Case, problem: TransformProblem) -> Mapping[str, range]:
        """See ReferenceKernel."""
        plan = _plan(case, problem, _arrays(case, 0, problem.misaligned))
        return {KERNEL_NAME: range(_first_block(plan, problem) * plan.tile_items, problem.num_items)}

    def unbound(self, case: Case) -> Mapping[str, str]:
        """See ReferenceKernel."""
        used = {"prefetch": "prefetch", "vectorized": "vectorized"}.get(case.policy.algorithm, "async_copy")
        reason = f"the algorithm is {case.policy.algorithm}"
        return {name: reason for name in ("prefetch", "vectorized", "async_copy") if name != used}


def operator(operands: Sequence[Tensor], shape: Sequence[int], device: torch.device | str = "cpu") -> Tensor:
    """What the transform computes: each byte of a result from a byte of each operand and its own place.

    Args:
        operands: uint8 [..., size] each.
        shape: of the results, [..., size of the output].
        device: where they are, if there are no operands.
    """
    device = operands[0].device if operands else device
    place = torch.arange(shape[-1], dtype=torch.uint8, device=device)
    total = (place * 5 + 7).expand(tuple(shape)).clone()
    for number, operand in enumerate(operands, start=1):
        total += operand[..., place.long() % operand.shape[-1]] * (2 * number + 1)
    return total


def predicate(operands: Sequence[Tensor]) -> Tensor:
    """Where a predicated transform writes: where the operands' first bytes are odd together."""
    total = operands[0][..., 0].clone()
    for operand in operands[1:]:
        total += operand[..., 0]
    return total % 2 == 1


def _arrays(case: Case, n: int, misaligned: Sequence[int], random: torch.Generator | None = None) -> list[Array]:
    """The output, full of what nobody has written, and the inputs."""
    made: list[Array] = []
    for info, shift in zip((case.key.output, *case.key.inputs), misaligned, strict=True):
        size = info.value_type_size
        count = array_bytes(n, size, shift)
        is_input = bool(made)
        if is_input and random is not None:
            contents = random_bytes(count, random)
        else:
            contents = torch.full((count,), UNWRITTEN, dtype=torch.uint8)
        made.append(array(n, size, info.value_type_alignment, shift, contents.to(case.device)))
    return made


def _first_block(plan: TransformPlan, problem: TransformProblem) -> int:
    """The block from which tiles are looked at: where nothing is loaded, the last ones."""
    return 0 if problem.has_data else max(0, plan.grid - LAST_TILES)


def _is_async(case: Case) -> bool:
    return case.policy.algorithm in ("ldgsts", "ublkcp")


def _can_vectorize(case: Case, arrays: Sequence[Array]) -> bool:
    """Whether all pointers are aligned to vectors; that sizes are powers of two is the policy's to know."""
    return all(x.is_aligned(x.size * _vector(case)) for x in arrays)


def _vector(case: Case) -> int:
    """Elements of a vector. Raises ValueError for one that CUB does not compile."""
    own = case.policy.vectorized
    vector = int(own.vec_size)
    if vector.bit_count() != 1 or own.items_per_thread % vector:
        raise ValueError(f"no vector of {vector} elements divides {own.items_per_thread} items: CUB refuses the policy")
    return vector


def _plan(case: Case, problem: TransformProblem, arrays: Sequence[Array]) -> TransformPlan:
    policy, n = case.policy, problem.num_items
    loaded = sum(x.size for x in arrays[1:])
    residency = Residency(sm_count=problem.sm_count, occupancy=case.residency.occupancy)
    if _is_async(case):
        return _async_plan(case, problem, arrays[1:], loaded)
    own = policy.vectorized if policy.algorithm == "vectorized" else policy.prefetch
    if policy.algorithm == "vectorized" and _can_vectorize(case, arrays):
        return vectorized_plan(
            n, threads_per_block=own.threads_per_block, items_per_thread=own.items_per_thread, residency=residency
        )
    return prefetch_plan(
        n,
        threads_per_block=own.threads_per_block,
        min_bytes_in_flight=policy.min_bytes_in_flight,
        loaded_bytes=loaded,
        residency=residency,
        bounds=_bounds(policy.prefetch),
        items_without_input=policy.prefetch.items_per_thread_no_input,
    )


def _async_plan(case: Case, problem: TransformProblem, inputs: Sequence[Array], loaded: int) -> TransformPlan:
    own = case.policy.async_copy
    threads, bounds = own.threads_per_block, _bounds(own)

    def occupancy_at(items: int) -> int:
        tile = threads * items
        rules = _copy_rules(case)
        needed = bulk_copy_bytes(inputs, tile, rules.alignment) if rules.is_bulk else cp_async_bytes(inputs, tile)
        return _resident_blocks(case, threads, needed)

    wanted = async_items_per_thread(
        case.policy.min_bytes_in_flight,
        occupancy_at=occupancy_at,
        threads_per_block=threads,
        loaded_bytes=loaded,
        bounds=bounds,
    )
    residency = Residency(sm_count=problem.sm_count, occupancy=occupancy_at(wanted))
    items = spread_out_items_per_thread(
        problem.num_items, threads_per_block=threads, items_per_thread=wanted, residency=residency, bounds=bounds
    )
    return vectorized_plan(problem.num_items, threads_per_block=threads, items_per_thread=items, residency=residency)


def _resident_blocks(case: Case, threads: int, shared_bytes: int) -> int:
    """Blocks of a multiprocessor; 0 where a block needs more shared memory than one gets that does not opt in."""
    limits = limits_from_facts(case.facts)
    if limits.max_smem_per_block is None or shared_bytes > limits.max_smem_per_block:
        return 0
    kernel = KernelResources(kernel=KERNEL_NAME, threads=threads, static_smem=0, dynamic_smem=shared_bytes)
    return occupancy(limits, kernel).blocks or 0


def _bounds(policy: Mapping[str, Any]) -> ItemBounds:
    return ItemBounds(policy["min_items_per_thread"], policy["max_items_per_thread"])


def _copy_rules(case: Case) -> CopyRules:
    if case.policy.algorithm == "ldgsts":
        return CopyRules(GRANULE, is_bulk=False)
    before, since = _BULK_ALIGNMENTS
    return CopyRules(since if (case.capability or 0) >= 100 else before, is_bulk=True)


def _striped(plan: TransformPlan, begins: Tensor) -> Tensor:
    """Thread t takes items t, t + threads, ... of each tile: int64 [tiles, items, threads]."""
    item = torch.arange(plan.items_per_thread).unsqueeze(-1) * plan.threads_per_block
    in_tile: Tensor = item + torch.arange(plan.threads_per_block)
    return begins.reshape(-1, 1, 1) + in_tile


def _vectors(case: Case, plan: TransformPlan, begins: Tensor) -> Tensor:
    """Thread t takes whole vectors, `threads` vectors apart: int64 [tiles, vectors, threads, vec_size]."""
    vector = _vector(case)
    word = torch.arange(plan.items_per_thread // vector).unsqueeze(-1) * plan.threads_per_block
    first = (word + torch.arange(plan.threads_per_block)) * vector
    in_tile: Tensor = first.unsqueeze(-1) + torch.arange(vector)
    return begins.reshape(-1, 1, 1, 1) + in_tile


def _apply(case: Case, operands: Sequence[Tensor], index: Tensor, output: Tensor) -> None:
    """Stores results at their places, where there is a predicate only if it holds."""
    index = index.to(output.device)
    results = operator(operands, (*index.shape, output.shape[-1]), output.device)
    if case.key.dense_output:
        output[index] = results
    else:
        holds = predicate(operands)
        output[index[holds]] = results[holds]


def _async(
    case: Case, plan: TransformPlan, inputs: TransformInputs, begins: Tensor, ends: Tensor, output: Tensor
) -> int:
    """Tiles through shared memory. Returns how many copies were misaligned."""
    valid = (ends - begins).tolist()
    found = staged(inputs.inputs, begins, valid, plan.tile_items, _copy_rules(case))
    # whole tiles in one go; what is left is the last one
    full = sum(count == plan.tile_items for count in valid)
    for blocks, count in ((slice(0, full), plan.tile_items), (slice(full, None), valid[-1])):
        for place in _places(case, plan, inputs, count):
            operands = [operand[blocks][:, place.to(output.device)] for operand in found.operands]
            _apply(case, operands, begins[blocks].unsqueeze(-1) + place, output)
    return found.misaligned


def _places(case: Case, plan: TransformPlan, inputs: TransformInputs, valid: int) -> Iterator[Tensor]:
    """The items of a tile in the order in which its threads store them."""
    place = _striped(plan, torch.zeros(1, dtype=torch.int64))
    vector = _store_vector(case, inputs)
    if vector == 1:
        yield place[place < valid]
        return
    vectors = valid // vector
    yield (torch.arange(vectors).unsqueeze(-1) * vector + torch.arange(vector)).flatten()
    yield torch.arange(vectors * vector, valid)


def _store_vector(case: Case, inputs: TransformInputs) -> int:
    """Items of a store: more than one in bulk copies of powers of two, where everything is aligned to vectors."""
    if case.policy.algorithm != "ublkcp":
        return 1
    out = inputs.output
    automatic = GRANULE // out.size if 0 < out.size <= GRANULE and out.size.bit_count() == 1 else 1
    vector = int(case.policy.async_copy.store_vec_size) or automatic
    powers = all(x.size.bit_count() == 1 for x in (out, *inputs.inputs))
    if vector == 1 or not powers or not case.key.dense_output or not out.is_aligned(out.size * vector):
        return 1
    alignment = _copy_rules(case).alignment
    heads = all(x.address % alignment % (x.size * vector) == 0 for x in inputs.inputs)
    return vector if heads else 1


KERNEL: Final = TransformKernel()
