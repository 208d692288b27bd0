"""A block's merge of its tile of two sorted sequences (`AgentMerge` of merge sort, `detail::merge::agent_t`).

The block knows which keys of either sequence its tile has. It copies both parts to shared memory, each thread finds by
merge path where it begins, and merges so many keys one by one. Then values are copied, and taken from where their keys
were found; where they lie in another layout (`collectives.two_part_tile`), the places of the second sequence's are
moved.
"""

from __future__ import annotations

import torch
from attrs import frozen

from policygen.reference.collectives.merge_path import Span
from policygen.reference.collectives.merge_path import merge_path
from policygen.reference.collectives.merge_path import serial_merge
from policygen.reference.collectives.pairs import Pairs
from policygen.reference.collectives.two_part_tile import TwoParts
from policygen.reference.contract.tile_log import TileLog
from policygen.reference.values.key_orders import KeyOrder


@frozen
class MergeTile:
    """How a block merges.

    Attributes:
        threads: threads of a block.
        items: keys that a thread merges.
        order: of the keys.
    """

    threads: int
    items: int
    order: KeyOrder

    @property
    def tile_items(self) -> int:
        """Keys of a full tile."""
        return self.threads * self.items

    def merge(
        self, items: Pairs, first: Span, second: Span, out: Pairs, keys_at: TwoParts, values_at: TwoParts
    ) -> None:
        """Merges the tiles of all blocks.

        Args:
            items: memory with all sequences.
            first: what each tile has of the first sequences, [tiles].
            second: what it has of the second ones, [tiles].
            out: where tiles go, one after the other from the first on.
            keys_at: where keys lie in shared memory.
            values_at: where values do.
        """
        device = items.keys.device
        shared = keys_at.loaded(items.keys)
        begin, distance = (keys_at.firsts() + keys_at.begin1).unsqueeze(-1), keys_at.distance.unsqueeze(-1)
        count1, count2 = first.count.unsqueeze(-1), second.count.unsqueeze(-1)
        diagonal = torch.minimum(count1 + count2, torch.arange(self.threads, device=device) * self.items)
        own1 = Span(begin.expand_as(diagonal), count1.expand_as(diagonal))
        # an empty part may begin past the tile's memory, where nobody looks
        begin2 = (begin + distance).clamp(max=shared.shape[0])
        own2 = Span(begin2.expand_as(diagonal), count2.expand_as(diagonal))
        taken = merge_path(shared, own1, own2, diagonal, self.order)
        merged = serial_merge(shared, own1.after(taken), own2.after(diagonal - taken), self.items, self.order)
        # blocked: a thread's keys are neighbours in the output
        found = merged.movedim(0, -1).flatten(1)
        place = torch.arange(self.tile_items, device=device)
        exists = place < count1 + count2
        to = torch.arange(first.begin.shape[0], device=device).unsqueeze(-1) * self.tile_items + place
        values = None
        if items.values is not None:
            index = values_at.of_others(found - begin, keys_at)
            values = values_at.loaded(items.values)[index[exists]]
        out.put(to[exists], Pairs(shared[found[exists]], values))


def record_merge(kernel: str, first: Span, second: Span, log: TileLog, second_base: int = 0) -> None:
    """Notes what each tile has of either sequence.

    Args:
        kernel: name for the log.
        first: of the first sequence, [tiles].
        second: of the second one.
        log: where to.
        second_base: added to places of the second sequence.
    """
    blocks = torch.arange(first.begin.shape[0])
    log.record_all(kernel, blocks, first.begin, first.end)
    log.record_all(kernel, blocks, second.begin + second_base, second.end + second_base)
