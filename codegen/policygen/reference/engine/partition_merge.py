"""Merge of attention partitions by the logarithms of their sums of exponentials.

Input: for each head the maxima [heads, partitions], the sums of exponentials [heads, partitions] and the outputs
[heads, partitions, d] of some partitions, float32; outputs are already divided by their sums. Output: g [heads], the
greatest maximum, the total [heads] of the sums at g, and the output [heads, 1, d]. Counts are partitions; `threads` and
`items` are the policy's.

One block merges the partitions of a head (`collectives.partition_merge`), with the policy of the single-tile kernel of
a float32 sum (policy_of `reduce`): what `DeviceReduceSingleTileKernel` is to the results of blocks, this is to
partitions.

The result is a partition again, so any grouping does: all at once, one after the other, pairs of pairs, halves, or any
set of them first; a problem's `grouping` says which. Results agree but for rounding. Masked and empty partitions
(-infinity, 0, any output) change no bit; where all are masked, or there are none, the results are -infinity, 0, zeros.

Error: a weight passes through the roundings of `PartitionMerge.roundings` in each level of the grouping; what a level
divides by, the next one multiplies by. See `values.softmax_reference`. g is exact, and all is where one partition is
left.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from itertools import cycle
from typing import Final

import torch
from attrs import frozen
from torch import Tensor

from policygen.reference.collectives.partition_merge import PartitionMerge
from policygen.reference.collectives.partition_merge import Partitions
from policygen.reference.collectives.partition_merge import merge_of
from policygen.reference.contract.case import Case
from policygen.reference.contract.comparison import Close
from policygen.reference.contract.comparison import Exact
from policygen.reference.contract.comparison import Expectation
from policygen.reference.contract.kernel import Given
from policygen.reference.contract.kernel import Problem
from policygen.reference.contract.kernel import ReferenceKernel
from policygen.reference.contract.sizes import BEYOND_INT32
from policygen.reference.contract.sizes import sizes
from policygen.reference.contract.tile_log import TileLog
from policygen.reference.values.scores import SCORE_PATTERNS
from policygen.reference.values.scores import make_scores
from policygen.reference.values.softmax_reference import softmax_average

KERNEL_NAME: Final = "partition_merge"
GROUPINGS: Final = ("all", "halves", "pairs", "chain", "scattered")
BITS_MOVED: Final = "numbers that masked partitions change"

_KEEP_PLACES: Final = ("all", "chain")
"""Groupings that have the same partitions in the same threads if others follow."""
_LONGEST_CHAIN: Final = 9
_LAST_HEADS: Final = 3


@frozen
class PartitionMergeProblem(Problem):
    """A merge.

    Attributes:
        heads: rows of partitions.
        partitions: of each head.
        head_size: numbers of an output.
        grouping: which are merged first, one of `GROUPINGS`.
        pattern: of the maxima.
        has_data: False for index arithmetic alone.
    """

    heads: int
    partitions: int
    head_size: int
    grouping: str
    pattern: str
    has_data: bool = True


@frozen(eq=False)
class PartitionMergeInputs:
    """What is merged, and the order in which `scattered` groups take it: [partitions]."""

    partitions: Partitions
    order: Tensor


class PartitionMergeKernel(ReferenceKernel[PartitionMergeProblem, PartitionMergeInputs]):
    """See the module."""

    policy_of = "reduce"

    def keys(self, common: Sequence[Given]) -> Iterator[Given]:
        """Sums of float32."""
        for given in common:
            if given["accum_t"] == "float32" and given["operation_t"] == "plus":
                yield given

    def problems(self, case: Case, *, quick: bool) -> Iterator[PartitionMergeProblem]:
        """See ReferenceKernel."""
        tile = _merge(case).tile_items
        edges = [n for n in sizes(tile, blocks=1, quick=quick) if n > _LONGEST_CHAIN]
        found: dict[PartitionMergeProblem, None] = {}
        for n, grouping in zip(edges, cycle(("all", "halves", "scattered"))):
            found[PartitionMergeProblem(1, n, 3, grouping, "random")] = None
        groupings = cycle(GROUPINGS)
        for number, pattern in enumerate(SCORE_PATTERNS):
            for grouping in (next(groupings),) if quick else GROUPINGS:
                found[PartitionMergeProblem(4, 1 + (2 + number) % _LONGEST_CHAIN, 16, grouping, pattern)] = None
        for grouping in GROUPINGS:
            for n in (0, _LONGEST_CHAIN) if quick else (0, 1, 2, _LONGEST_CHAIN):
                found[PartitionMergeProblem(2, n, 32, grouping, "random")] = None
            found[PartitionMergeProblem(3, 7, 46, grouping, "masked")] = None
        for head_size in (64, 128, 256):
            found[PartitionMergeProblem(2, 5, head_size, "all", "random")] = None
        yield from found
        yield PartitionMergeProblem(BEYOND_INT32 // tile + 1, tile, 64, "all", "random", has_data=False)

    def inputs(self, case: Case, problem: PartitionMergeProblem, random: torch.Generator) -> PartitionMergeInputs:
        """See ReferenceKernel."""
        n, heads = problem.partitions, problem.heads if problem.has_data else 0
        rows = [make_scores(problem.pattern, n, random) for _ in range(heads)]
        maxima = torch.stack(rows).to(torch.float32) if heads else torch.empty(0, n)
        sums = 1 + 511 * torch.rand(heads, n, generator=random)
        outputs = torch.rand(heads, n, problem.head_size, generator=random) * 2 - 1
        masked = maxima == float("-inf")
        # nobody has written the output of a partition that is masked
        sums, outputs = sums.masked_fill(masked, 0.0), outputs.masked_fill(masked.unsqueeze(-1), float("nan"))
        made = Partitions(maxima.to(case.device), sums.to(case.device), outputs.to(case.device))
        return PartitionMergeInputs(made, torch.randperm(n, generator=random).to(case.device))

    def run(
        self, case: Case, problem: PartitionMergeProblem, inputs: PartitionMergeInputs, log: TileLog
    ) -> Mapping[str, Tensor]:
        """See ReferenceKernel."""
        merge = _merge(case)
        if not problem.has_data:
            for head in range(problem.heads - _LAST_HEADS, problem.heads):
                merge.record_row(head, head * problem.partitions, problem.partitions, KERNEL_NAME, log)
            return {}
        merged = _grouped(merge, problem.grouping, inputs.partitions, inputs.order, KERNEL_NAME, log)
        moved = torch.tensor(0)
        if problem.grouping in _KEEP_PLACES:
            padded = inputs.partitions.followed_by(_masked(inputs.partitions))
            moved = _different(merged, _grouped(merge, problem.grouping, padded, inputs.order, KERNEL_NAME, TileLog()))
        return {
            "g": merged.maxima[:, 0],
            "total": merged.sums[:, 0],
            "output": merged.outputs,
            BITS_MOVED: moved,
        }

    def expected(
        self, case: Case, problem: PartitionMergeProblem, inputs: PartitionMergeInputs
    ) -> Mapping[str, Expectation]:
        """See ReferenceKernel."""
        if not problem.has_data:
            return {}
        given = inputs.partitions
        roundings = _levels(problem) * _merge(case).roundings(problem.partitions)
        found = softmax_average(given.maxima, given.sums, given.outputs, roundings, torch.float32)
        several = (given.maxima != float("-inf")).sum(-1).cpu() > 1
        return {
            "g": Exact(found.maximum.to(torch.float32)),
            "total": Close(found.total, found.total_bound * several),
            "output": Close(found.output.unsqueeze(1), (found.output_bound * several.unsqueeze(-1)).unsqueeze(1)),
            BITS_MOVED: Exact(torch.tensor(0)),
        }

    def coverage(self, case: Case, problem: PartitionMergeProblem) -> Mapping[str, int | range]:  # noqa: ARG002
        """See ReferenceKernel."""
        total = problem.heads * problem.partitions
        if not problem.has_data:
            return {KERNEL_NAME: range(total - _LAST_HEADS * problem.partitions, total)}
        # a grouping reads what it has merged again
        return {KERNEL_NAME: total} if problem.grouping == "all" else {}

    def unbound(self, case: Case) -> Mapping[str, str]:  # noqa: ARG002 - the same for all
        """See ReferenceKernel."""
        return {"multi_tile": "one block merges a head"}


def _merge(case: Case) -> PartitionMerge:
    return merge_of(case.policy.single_tile, case.warp_size)


def _levels(problem: PartitionMergeProblem) -> int:
    """Merges that a partition passes through, at most."""
    n = problem.partitions
    return {"all": 1, "halves": 2, "scattered": 2, "pairs": max(1, (n - 1).bit_length()), "chain": max(1, n - 1)}[
        problem.grouping
    ]


def _grouped(
    merge: PartitionMerge, grouping: str, partitions: Partitions, order: Tensor, name: str, log: TileLog
) -> Partitions:
    """Merges groups of partitions, then the results."""

    def merged(group: Partitions) -> Partitions:
        counts = torch.full(group.maxima.shape[:1], group.count, device=group.maxima.device)
        return merge.merge(group, counts, name, log)

    n = partitions.count
    match grouping:
        case "halves":
            groups = [partitions.chosen(slice(0, n // 2)), partitions.chosen(slice(n // 2, n))]
        case "scattered":
            groups = [partitions.chosen(part) for part in order.tensor_split(3)]
        case "pairs":
            while partitions.count > 2:
                pairs = [partitions.chosen(slice(at, at + 2)) for at in range(0, partitions.count, 2)]
                partitions = _row_of([merged(pair) for pair in pairs])
            return merged(partitions)
        case "chain":
            for _ in range(n - 2):
                partitions = merged(partitions.chosen(slice(0, 2))).followed_by(partitions.chosen(slice(2, n)))
            return merged(partitions)
        case _:
            return merged(partitions)
    return merged(_row_of([merged(group) for group in groups]))


def _row_of(parts: list[Partitions]) -> Partitions:
    row = parts[0]
    for part in parts[1:]:
        row = row.followed_by(part)
    return row


def _masked(partitions: Partitions) -> Partitions:
    """A few partitions of the same rows that are masked as a whole."""
    few = partitions.maxima.new_zeros(partitions.maxima.shape[0], 3)
    outputs = partitions.outputs.new_full((*few.shape, partitions.outputs.shape[-1]), float("nan"))
    return Partitions(few - float("inf"), few, outputs)


def _different(first: Partitions, second: Partitions) -> Tensor:
    """How many numbers differ, NaN being like NaN."""
    pairs = ((first.maxima, second.maxima), (first.sums, second.sums), (first.outputs, second.outputs))
    return torch.stack([((a != b) & ~(torch.isnan(a) & torch.isnan(b))).sum() for a, b in pairs]).sum()


KERNEL: Final = PartitionMergeKernel()
