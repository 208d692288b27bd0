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
    Fault(
        kernel="batched_topk",
        what="the last worker that fits is taken, whatever it covers",
        module="collectives.segment_workers",
        text="if tile_items(case, number) >= most]",
        instead="]",
    ),
    Fault(
        kernel="batched_topk",
        what="candidates are counted behind the results of one pass, not of all",
        module="collectives.block_topk",
        text="selected[waiting] += choice.before",
        instead="selected[waiting] = choice.before",
        given={"key_size": 4},
    ),
    Fault(
        kernel="batched_topk",
        what="all keys that equal the k-th are taken",
        module="collectives.block_topk",
        text="takes_all = (choice.count == left[waiting])[is_done]",
        instead="takes_all = torch.ones_like(done, dtype=torch.bool)",
        given={"key_size": 4},
    ),
    Fault(
        kernel="batched_topk",
        what="-0.0 comes out as 0.0",
        module="collectives.block_topk",
        text="raw = torch.where(was_minus_zero[tiles], keys.sign, raw)",
        instead="raw = raw.clone()",
        given={"key_size": 4, "value_size": 4},
    ),
    Fault(
        kernel="batched_topk",
        what="what lies past the end of a segment is counted",
        module="collectives.block_topk",
        text="candidates = exists[waiting] & prefix.classes(ordered[waiting]).candidates",
        instead="candidates = prefix.classes(ordered[waiting]).candidates",
    ),
    Fault(
        kernel="batched_topk",
        what="as many are stored as are asked for, though there are fewer",
        module="batched_topk",
        text="return torch.minimum(self.k, self.regions.num_items)",
        instead="return self.k",
    ),
    Fault(
        kernel="batched_topk",
        what="the queue's second part begins anew",
        module="collectives.segment_queue",
        text="running = _TOTAL.combine(running, scan.aggregate)",
        instead="running = _TOTAL.combine(running * 0, scan.aggregate * 0)",
    ),
    Fault(
        kernel="batched_topk",
        what="tiles of several blocks are rounded down",
        module="collectives.segment_queue",
        text="(sizes[ids] + tile_items - 1) // tile_items",
        instead="sizes[ids] // tile_items",
    ),
)
