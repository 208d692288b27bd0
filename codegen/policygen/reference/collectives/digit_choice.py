"""Which digit the k-th of some keys has: a histogram of digits, its prefix sum, and the bucket that reaches k.

A block loads the histogram blocked, ceil(buckets / threads) counters a thread, scans it (`cub::BlockScan`, inclusive),
and of all buckets exactly one has fewer than k keys before it, and at least k keys up to its end. For k = 0, and where
there is no key, there is none.
"""

from __future__ import annotations

import torch
from attrs import frozen
from torch import Tensor

from policygen.plan.counts import ceil_div
from policygen.reference.collectives.block_scan import block_scan
from policygen.reference.collectives.thread_reduce import Order
from policygen.reference.collectives.thread_reduce import thread_reduce
from policygen.reference.collectives.thread_scan import thread_scan
from policygen.reference.values.elements import Element
from policygen.reference.values.operators import plus


@frozen(eq=False)
class Choice:
    """The bucket of the k-th key, of each histogram: int64 [histograms].

    Attributes:
        bucket: its number.
        before: keys in the buckets before it.
        count: keys in it.
    """

    bucket: Tensor
    before: Tensor
    count: Tensor


@frozen
class DigitChoice:
    """A block that chooses.

    Attributes:
        threads: threads of a block.
        algorithm: of the scan, an enumerator of `BlockScanAlgorithm`.
        counter: type of a counter: an unsigned integer.
        warp_size: lanes of a warp.
    """

    threads: int
    algorithm: str
    counter: Element
    warp_size: int

    def inclusive(self, histograms: Tensor) -> Tensor:
        """Keys up to the end of each bucket: int64 [histograms, buckets]."""
        count, buckets = histograms.shape
        per_thread = ceil_div(buckets, self.threads)
        # what lies past the last bucket is not stored, so that it may be anything
        missing = self.counter.unset(count, self.threads * per_thread - buckets, device=histograms.device)
        items = torch.cat([histograms, missing], dim=1).view(count, self.threads, per_thread).movedim(2, 0)
        operator = plus(self.counter)
        totals = thread_reduce(items, operator, Order.SEQUENTIAL)
        before = block_scan(totals, operator, self.algorithm, self.warp_size).unseeded()
        has_prefix = torch.arange(self.threads, device=items.device) > 0
        scanned = thread_scan(items, operator, before, has_prefix.expand(count, -1), inclusive=True)
        return scanned.movedim(0, 2).flatten(1)[:, :buckets]

    def __call__(self, histograms: Tensor, k: Tensor) -> Choice:
        """Chooses a bucket of each histogram.

        Args:
            histograms: keys by bucket, int64 [histograms, buckets].
            k: which key is looked for, from 1 on: int64 [histograms].

        Raises:
            ValueError: not exactly one bucket reaches k.
        """
        inclusive = self.inclusive(histograms)
        before = torch.nn.functional.pad(inclusive[:, :-1], (1, 0))
        reaches = (before < k.unsqueeze(1)) & (inclusive >= k.unsqueeze(1))
        if not bool((reaches.sum(1) == 1).all()):
            raise ValueError("not exactly one bucket holds the k-th key")
        bucket = reaches.to(torch.int64).argmax(1)
        start = before.gather(1, bucket.unsqueeze(1)).squeeze(1)
        end = inclusive.gather(1, bucket.unsqueeze(1)).squeeze(1)
        return Choice(bucket, start, end - start)
