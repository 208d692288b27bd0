"""Faults planted in the kernels that select, count and copy: see `reference.faults`."""

from __future__ import annotations

from reference.faults import Fault

TOPK_FAULTS = (
    Fault(
        kernel="topk",
        what="bits that make no whole digit are left out",
        module="collectives.key_prefix",
        text="return ceil_div(self.key_bits, self.digit_bits)",
        instead="return self.key_bits // self.digit_bits",
        given={"key_size": 4},
    ),
    Fault(
        kernel="topk",
        what="the lower word of a key does not count",
        module="collectives.key_prefix",
        text="return _less(high1, high2, 0) | ((high1 == high2) & _less(low1, low2, 0))",
        instead="return _less(high1, high2, 0)",
        given={"key_size": 16},
    ),
    Fault(
        kernel="topk",
        what="keys of 64 bits are compared with their sign",
        module="collectives.key_prefix",
        text="(first ^ _FLIP) < (second ^ _FLIP)",
        instead="first < second",
        given={"key_size": 8},
    ),
    Fault(
        kernel="topk",
        what="zeros of both signs are equal",
        module="collectives.topk_passes",
        text="zeros_differ=True",
        instead="zeros_differ=False",
        given={"key_size": 4},
    ),
    Fault(
        kernel="topk",
        what="keys in the buckets before do not count",
        module="collectives.topk_passes",
        text="k=counter.k - int(found.before)",
        instead="k=counter.k",
    ),
    Fault(
        kernel="topk",
        what="a pass reads a buffer that nothing was written to",
        module="collectives.topk_passes",
        text="counter.previous_length > self.buffer_length",
        instead="counter.previous_length > 3 * self.buffer_length",
    ),
    Fault(
        kernel="topk",
        what="buffers do not change their roles",
        module="collectives.topk_passes",
        text="read, write = write, read",
        instead="read, write = read, write",
        given={"key_size": 4},
    ),
    Fault(
        kernel="topk",
        what="results are written by passes that keep no candidates, too",
        module="collectives.topk_passes",
        text="""        if counter.length <= self.buffer_length:
            counter = self._to_front(counter, taken.chosen(classes.selected))
""",
        instead="""        counter = self._to_front(counter, taken.chosen(classes.selected))
        if counter.length <= self.buffer_length:
""",
        given={"key_size": 4},
    ),
    Fault(
        kernel="topk",
        what="an early end leaves candidates to the last filter",
        module="collectives.topk_passes",
        text="return evolve(counter, previous_length=0, length=0), prefix",
        instead="return evolve(counter, length=0), prefix",
        given={"key_size": 4},
    ),
    Fault(
        kernel="topk",
        what="of keys that equal the k-th one too many is taken",
        module="collectives.topk_passes",
        text="[: counter.k]",
        instead="[: counter.k + 1]",
    ),
    Fault(
        kernel="topk",
        what="only the first block's counts are looked at",
        module="collectives.topk_passes",
        text="of_blocks.view(-1, buckets).sum(0, keepdim=True)",
        instead="of_blocks.view(-1, buckets)[:1]",
    ),
    Fault(
        kernel="topk",
        what="a bucket is chosen that ends before the k-th key",
        module="collectives.digit_choice",
        text="(before < k.unsqueeze(1)) & (inclusive >= k.unsqueeze(1))",
        instead="(before <= k.unsqueeze(1)) & (inclusive > k.unsqueeze(1))",
    ),
)
