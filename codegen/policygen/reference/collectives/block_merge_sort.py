"""A merge sort of the items of a group of threads (`cub::BlockMergeSort`, `cub::WarpMergeSort`).

Each thread sorts its own neighbours by comparing pairs, those that begin at even places and those that begin at odd
places in turn (`cub::StableOddEvenSort`). Then lists are merged pair by pair through shared memory: in round r, 2^r
threads share a list of all their items, and each finds by merge path where it begins (`collectives.merge_path`).
Threads are a power of two.

Of a group that is not full, the first items are valid. In the thread that has the last of them, the places that follow
hold the greatest key that it has; threads with none do not sort, and no merge looks at what is not valid.
"""

from __future__ import annotations

import torch
from torch import Tensor

from policygen.reference.collectives.merge_path import Span
from policygen.reference.collectives.merge_path import merge_path
from policygen.reference.collectives.merge_path import serial_merge
from policygen.reference.values.key_orders import KeyOrder


def merge_sort(keys: Tensor, valid: Tensor, order: KeyOrder, filler: Tensor | None = None) -> Tensor:
    """Sorts the items of each group of threads.

    Args:
        keys: blocked: [groups, threads, items, *element.trailing].
        valid: how many items of each group are valid, [groups].
        order: of the keys.
        filler: a key that comes after all others, where invalid places start from it; else from a thread's first key.

    Returns:
        Which item of its group belongs at each place: int64 [groups, threads x items]. Places that are not valid hold
        anything.
    """
    groups, threads, items = keys.shape[:3]
    place = torch.arange(threads * items, device=keys.device).view(threads, items)
    origins = place.expand(groups, threads, items)
    is_valid = place < valid.view(-1, 1, 1)
    keys = _filled(keys, is_valid, order, filler)
    keys, origins = _odd_even_sorted(keys, origins, is_valid[:, :, :1], order)
    width = 1
    while 2 * width <= threads:
        keys, origins = _merged(keys, origins, valid.view(-1, 1), width, order)
        width *= 2
    return origins.flatten(1)


def _filled(keys: Tensor, is_valid: Tensor, order: KeyOrder, filler: Tensor | None) -> Tensor:
    """Invalid places after a thread's first hold the greatest key so far."""
    greatest = keys[:, :, 0] if filler is None else filler.to(keys.device).expand_as(keys[:, :, 0])
    columns = [keys[:, :, 0]]
    for item in range(1, keys.shape[2]):
        own, counts = keys[:, :, item], is_valid[:, :, item]
        greatest = order.element.select(counts & order.before(greatest, own), own, greatest)
        columns.append(order.element.select(counts, own, greatest))
    return torch.stack(columns, dim=2)


def _odd_even_sorted(keys: Tensor, origins: Tensor, takes_part: Tensor, order: KeyOrder) -> tuple[Tensor, Tensor]:
    keys, origins = keys.clone(), origins.clone()
    items = keys.shape[2]
    for turn in range(items):
        left, right = slice(turn % 2, items - 1, 2), slice(turn % 2 + 1, items, 2)
        swaps = order.before(keys[:, :, right], keys[:, :, left]) & takes_part
        for values, select in ((keys, order.element.select), (origins, torch.where)):
            first, second = values[:, :, left].clone(), values[:, :, right].clone()
            values[:, :, left] = select(swaps, second, first)
            values[:, :, right] = select(swaps, first, second)
    return keys, origins


def _merged(keys: Tensor, origins: Tensor, valid: Tensor, width: int, order: KeyOrder) -> tuple[Tensor, Tensor]:
    """Lists of so many threads, merged pair by pair."""
    groups, threads, items = keys.shape[:3]
    thread = torch.arange(threads, device=keys.device)
    first_thread = thread // (2 * width) * (2 * width)
    begin1 = torch.minimum(valid, first_thread * items)
    end1 = torch.minimum(valid, begin1 + width * items)
    end2 = torch.minimum(valid, end1 + width * items)
    diagonal = torch.minimum(valid, (thread - first_thread) * items)
    # in memory, one group after the other
    group = torch.arange(groups, device=keys.device).unsqueeze(-1) * (threads * items)
    memory = keys.flatten(0, 2)
    first, second = Span(group + begin1, end1 - begin1), Span(group + end1, end2 - end1)
    taken = merge_path(memory, first, second, diagonal, order)
    merged = serial_merge(memory, first.after(taken), second.after(diagonal - taken), items, order)
    index = merged.movedim(0, -1)
    return memory[index], origins.flatten()[index]
