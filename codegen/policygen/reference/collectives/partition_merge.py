"""Merging partitions of an attention: a block for each row of them (a head of a sequence).

A partition has the maximum of its scores, the sum of exp(score - maximum), and its output, already divided by that sum.
The block reads its row three times, each time tile after tile: thread t takes partitions t, t + threads, ... and
combines them one after the other, then the block reduces what its threads have (`cub::BlockReduce`):

1. the greatest maximum g;
2. the total of the weights exp(maximum - g) x sum;
3. for each number of an output the sum of (weight / total) x output.

A partition that is masked as a whole, or empty, has -infinity and 0. It weighs exactly 0, as exp is not taken of
(-infinity) - (-infinity), and its output is not looked at: so it changes no bit of anything. Where one partition weighs
anything, weight / total is 1, and the result is that partition, bit for bit. Where none does, the output is zeros.

It is the sum that says so. A partition of nothing but NaN has -infinity, too, as NaN loses where maxima are compared,
but a sum of NaN, and that is what is left of it in every result.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from typing import Any
from typing import Final

import torch
from attrs import frozen
from torch import Tensor

from policygen.plan.counts import ceil_div
from policygen.reference.collectives.arrangement import striped
from policygen.reference.collectives.block_reduce import block_additions
from policygen.reference.collectives.block_reduce import block_reduce
from policygen.reference.collectives.softmax_state import rescaling
from policygen.reference.contract.function_errors import DIVISION_ROUNDINGS
from policygen.reference.contract.function_errors import EXP_ROUNDINGS
from policygen.reference.contract.tile_log import TileLog
from policygen.reference.values.elements import ELEMENTS
from policygen.reference.values.operators import Operator
from policygen.reference.values.operators import maximum
from policygen.reference.values.operators import plus

_FLOAT: Final = ELEMENTS["float32"]


@frozen(eq=False)
class Partitions:
    """Rows of partitions, float32.

    Attributes:
        maxima: [rows, partitions].
        sums: [rows, partitions].
        outputs: [rows, partitions, d].
    """

    maxima: Tensor
    sums: Tensor
    outputs: Tensor

    @property
    def count(self) -> int:
        """Partitions of a row."""
        return self.maxima.shape[1]

    def chosen(self, which: Tensor | slice) -> Partitions:
        """Some partitions of each row."""
        return Partitions(self.maxima[:, which], self.sums[:, which], self.outputs[:, which])

    def followed_by(self, others: Partitions) -> Partitions:
        """These, then the others of the same rows."""
        return Partitions(
            torch.cat([self.maxima, others.maxima], dim=1),
            torch.cat([self.sums, others.sums], dim=1),
            torch.cat([self.outputs, others.outputs], dim=1),
        )


@frozen
class PartitionMerge:
    """A block that merges a row.

    Attributes:
        threads: threads of a block.
        items: partitions of a thread in a full tile.
        algorithm: enumerator of `BlockReduceAlgorithm`.
        warp_size: lanes of a warp.
    """

    threads: int
    items: int
    algorithm: str
    warp_size: int

    @property
    def tile_items(self) -> int:
        """Partitions of a full tile."""
        return self.threads * self.items

    def merge(self, partitions: Partitions, counts: Tensor, name: str, log: TileLog) -> Partitions:
        """Merges each row into one partition.

        Args:
            partitions: the rows.
            counts: how many partitions of each row exist, from the first on: [rows].
            name: of the kernel, for the log.
            log: notes the tiles; rows lie one after the other, without what does not exist.

        Returns:
            Rows of one partition each.
        """
        self._record(counts, name, log)
        greatest = self._greatest(partitions, counts)
        weights = partitions.sums * rescaling(partitions.maxima, greatest.unsqueeze(-1))
        total = self._total(weights, counts)
        output = self._output(partitions, weights, total, counts)
        return Partitions(greatest.unsqueeze(1), total.unsqueeze(1), output.unsqueeze(1))

    def roundings(self, count: int) -> int:
        """The most roundings that the weight of a partition, or its share of the output, passes through."""
        additions = ceil_div(count, self.threads) + block_additions(self.threads, self.algorithm, self.warp_size)
        return EXP_ROUNDINGS + 1 + DIVISION_ROUNDINGS + 1 + additions

    def _begins(self, count: int) -> Tensor:
        """Where the tiles of a row begin."""
        return torch.arange(0, count, self.tile_items)

    def _tiles(self, counts: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """Which partitions each thread takes at a time, [threads], and of which rows they exist, [rows, threads]."""
        offsets = striped(self.threads, self.items).to(counts.device)
        longest = int(counts.max()) if counts.numel() else 0
        for begin in self._begins(longest).tolist():
            for index in (begin + offsets)[: ceil_div(longest - begin, self.threads)]:
                yield index, index < counts.unsqueeze(-1)

    def _greatest(self, partitions: Partitions, counts: Tensor) -> Tensor:
        held = torch.full((counts.shape[0], self.threads), float("-inf"), device=counts.device)
        for index, exists in self._tiles(counts):
            maxima = partitions.maxima[:, index.clamp(max=partitions.count - 1)]
            held = torch.where(exists, torch.fmax(held, maxima), held)
        return self._reduced(held, maximum(_FLOAT))

    def _total(self, weights: Tensor, counts: Tensor) -> Tensor:
        held = torch.zeros(counts.shape[0], self.threads, device=counts.device)
        for index, exists in self._tiles(counts):
            held = torch.where(exists, held + weights[:, index.clamp(max=weights.shape[1] - 1)], held)
        return self._reduced(held, plus(_FLOAT))

    def _output(self, partitions: Partitions, weights: Tensor, total: Tensor, counts: Tensor) -> Tensor:
        rows, size = counts.shape[0], partitions.outputs.shape[-1]
        shares = weights / total.unsqueeze(-1)
        held = torch.zeros(rows, self.threads, size, device=counts.device)
        for index, exists in self._tiles(counts):
            at = index.clamp(max=partitions.count - 1)
            parts = shares[:, at].unsqueeze(-1) * partitions.outputs[:, at]
            taken = (exists & (partitions.sums[:, at] != 0)).unsqueeze(-1)
            held = torch.where(taken, held + parts, held)
        # a block reduces one number of the output after the other
        one_by_one = held.transpose(1, 2).reshape(rows * size, self.threads)
        return self._reduced(one_by_one, plus(_FLOAT)).view(rows, size)

    def _reduced(self, held: Tensor, operator: Operator) -> Tensor:
        valid = torch.full((held.shape[0],), self.threads, device=held.device)
        return block_reduce(held, operator, self.algorithm, self.warp_size, valid)

    def _record(self, counts: Tensor, name: str, log: TileLog) -> None:
        before = 0
        for row, count in enumerate(counts.tolist()):
            self.record_row(row, before, count, name, log)
            before += count

    def record_row(self, row: int, before: int, count: int, name: str, log: TileLog) -> None:
        """Notes the tiles of a row with so many partitions in the rows before it."""
        begins = before + self._begins(count)
        log.record_all(name, row, begins, (begins + self.tile_items).clamp(max=before + count))


def merge_of(policy: Mapping[str, Any], warp_size: int) -> PartitionMerge:
    """The block of a `ReducePassPolicy`."""
    return PartitionMerge(
        policy["threads_per_block"], policy["items_per_thread"], policy["reduce_algorithm"], warp_size
    )
