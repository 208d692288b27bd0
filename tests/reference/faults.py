"""Faults planted in reference kernels, each of which validation has to notice.

A fault is an edit of a module's source: `text` occurs in it once, and `instead` takes its place. Each kernel has at
least three.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import field
from attrs import frozen


@frozen
class Fault:
    """A planted fault.

    Attributes:
        kernel: the kernel that has to notice.
        what: what is wrong then.
        module: the module that is edited, below `policygen.reference`.
        text: what is replaced.
        instead: by what.
        given: what the keys of the cases that are run have; all cases, one after the other, by default.
        target: where the kernel is run with its policies.
    """

    kernel: str
    what: str
    module: str
    text: str
    instead: str
    given: Mapping[str, Any] = field(factory=dict)
    target: str = "bi100"

    def __str__(self) -> str:
        return f"{self.kernel}: {self.what}"


FAULTS = (
    Fault(
        kernel="reduce",
        what="a tile's threads read a stride of one thread too many",
        module="collectives.agent_reduce",
        text="return (place // self.vector * self.threads + thread)",
        instead="return (place // self.vector * (self.threads + 1) + thread)",
    ),
    Fault(
        kernel="reduce",
        what="the tail of the last tile is lost",
        module="collectives.agent_reduce",
        text="for step in range(ceil_div(values.shape[0], self.threads)):",
        instead="for step in range(values.shape[0] // self.threads):",
    ),
    Fault(
        kernel="reduce",
        what="lanes past the last valid one are combined",
        module="collectives.warp_reduce",
        text="lane + offset <= last",
        instead="lane + offset <= width",
    ),
    Fault(
        kernel="reduce",
        what="NaN wins against numbers",
        module="values.operators",
        text="torch.fmax(earlier, later)",
        instead="torch.maximum(earlier, later)",
        given={"accum_t": "float32", "operation_t": "max"},
    ),
    Fault(
        kernel="reduce",
        what="the initial value is applied by every block",
        module="reduce",
        text="partials[block]) if block == 0 else partials[block]",
        instead="partials[block])",
        given={"determinism": "not_guaranteed"},
    ),
    Fault(
        kernel="reduce",
        what="blocks stride by one tile less than the grid",
        module="collectives.agent_reduce",
        text="torch.arange(rounds).unsqueeze(-1) * blocks[0].block_stride",
        instead="torch.arange(rounds).unsqueeze(-1) * (blocks[0].block_stride - blocks[0].tile_items)",
    ),
    Fault(
        kernel="reduce",
        what="the second tile of a block forgets the first",
        module="collectives.agent_reduce",
        text="if tile > 0:\n",
        instead="if tile > 1:\n",
    ),
    Fault(
        kernel="scan",
        what="a further window of predecessors is put behind the nearer one",
        module="collectives.lookback",
        text="operator.combine(part, prefix)",
        instead="operator.combine(prefix, part)",
        given={"operation_t": "other"},
    ),
    Fault(
        kernel="scan",
        what="windows of predecessors overlap by a tile",
        module="collectives.lookback",
        text="nearest -= window",
        instead="nearest -= window - 1",
    ),
    Fault(
        kernel="scan",
        what="an inclusive predecessor is taken for a partial one",
        module="collectives.lookback",
        text="values[-1] = inclusive[nearest - lanes + 1]",
        instead="values[-1] = totals[nearest - lanes + 1]",
    ),
    Fault(
        kernel="scan",
        what="the first tile publishes its total without the initial value",
        module="scan",
        text="operator.combine(initial, first.aggregate)",
        instead="first.aggregate",
    ),
    Fault(
        kernel="scan",
        what="the first lane of a warp combines what is not there",
        module="collectives.block_scan",
        text="results = self.operator.element.select(lane == 0, before, results)",
        instead="results = results",
    ),
    Fault(
        kernel="scan",
        what="the last item of each thread is not stored",
        module="scan",
        text="exists = index < n",
        instead="exists = (index < n) & (place < shape.items - 1)",
    ),
    Fault(
        kernel="scan",
        what="a block that goes ahead skips a tile after each step",
        module="collectives.lookahead",
        text="at += count",
        instead="at += count + 1",
        target="sm_100",
    ),
    Fault(
        kernel="scan",
        what="a thread puts what comes before it behind its first item",
        module="collectives.thread_scan",
        text="operator.combine(prefix, items[0])",
        instead="operator.combine(items[0], prefix)",
        given={"operation_t": "other"},
    ),
    Fault(
        kernel="transform",
        what="threads stride by one too few",
        module="transform",
        text="item = torch.arange(plan.items_per_thread).unsqueeze(-1) * plan.threads_per_block",
        instead="item = torch.arange(plan.items_per_thread).unsqueeze(-1) * (plan.threads_per_block - 1)",
    ),
    Fault(
        kernel="transform",
        what="vectors of a thread lie next to each other",
        module="transform",
        text="first = (word + torch.arange(plan.threads_per_block)) * vector",
        instead="first = (word + torch.arange(plan.threads_per_block)) * (vector - 1)",
    ),
    Fault(
        kernel="transform",
        what="the tail of the last tile is lost",
        module="transform",
        text="last[last < problem.num_items]",
        instead="last[last < problem.num_items - 1]",
    ),
    Fault(
        kernel="transform",
        what="vectors are taken though a pointer is not aligned to them",
        module="transform",
        text="return all(x.is_aligned(x.size * _vector(case)) for x in arrays)",
        instead="return any(x.is_aligned(x.size * _vector(case)) for x in arrays)",
    ),
    Fault(
        kernel="transform",
        what="bytes before the first aligned address are not copied",
        module="collectives.async_copy",
        text="(0, before), ",
        instead="",
        target="sm_80",
    ),
    Fault(
        kernel="transform",
        what="bytes after the last whole granule are not copied",
        module="collectives.async_copy",
        text=", (count - after, after)",
        instead="",
        target="sm_80",
    ),
    Fault(
        kernel="transform",
        what="head padding is copied, but looked for in another place",
        module="collectives.async_copy",
        text="return self._bytes[:, self._head",
        instead="end -= self._head\n        return self._bytes[:, 0",
        target="sm_90",
    ),
    Fault(
        kernel="transform",
        what="what a vector store leaves of a tile is lost",
        module="transform",
        text="yield torch.arange(vectors * vector, valid)",
        instead="yield torch.arange(vectors * vector, valid - 1)",
        target="sm_100",
    ),
    Fault(
        kernel="reduce",
        what="an accumulator drops a bin too many when a larger number comes",
        module="collectives.reproducible",
        text="torch.where(source >= 0, counts, 0)",
        instead="torch.where(source >= 1, counts, 0)",
        given={"determinism": "gpu_to_gpu"},
    ),
    Fault(
        kernel="reduce",
        what="units of some bins are doubled",
        module="collectives.reproducible",
        text="self.unit - self.width * bin_ + shift for bin_",
        instead="self.unit - self.width * bin_ + shift + (bin_ + shift) % 2 for bin_",
        given={"determinism": "gpu_to_gpu"},
    ),
)
