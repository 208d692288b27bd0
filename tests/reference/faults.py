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
)
