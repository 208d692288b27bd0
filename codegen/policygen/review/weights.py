"""The order in which work is reported: by what the engine's throughput weighs, decode first.

Weights of the served model's throughput: output 16.796, input 2.799, cache 0.56 (source notes). Within a phase the
order is that of the critical path: of decode score reduction, softmax denominator, top-k, then rows; of prefill
attention, then routing; of the cache its copies.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from attrs import frozen


@frozen
class Phase:
    """A phase of the engine.

    Attributes:
        name: of the phase.
        weight: of its tokens in throughput.
        path: algorithms and tables in the order of its critical path.
        kernels: the engine's reference kernels that belong to it.
    """

    name: str
    weight: float
    path: tuple[str, ...]
    kernels: tuple[str, ...] = ()

    @property
    def share(self) -> float:
        """Of all weights: 0 to 1."""
        return self.weight / sum(phase.weight for phase in PHASES)


PHASES: Final = (
    Phase(
        "decode",
        16.796,
        (
            *("reduce", "attention.decode", "attention.merge", "attention.single_tile", "attention.split_k"),
            *("scan", "topk", "batched_topk", "radix_sort", "sampling.topk"),
            *("transform", "norm.rms", "norm.silu", "norm.rope"),
        ),
        (
            *("paged_attention", "partition_merge", "online_softmax"),
            *("rms_norm", "silu_and_mul", "rotary_embedding"),
        ),
    ),
    Phase(
        "prefill",
        2.799,
        ("attention.prefill", "attention.flash", "select_if", "reduce_by_key", "moe.block_size"),
        ("moe_topk", "moe_align", "moe_combine"),
    ),
    Phase("cache", 0.56, ("batch_memcpy", "kv_cache.copy", "kv_cache.gather", "budget.tokens")),
)
"""By descending weight."""

_POSITIONS: Final[Mapping[str, int]] = {
    name: position for position, name in enumerate(name for phase in PHASES for name in (*phase.path, *phase.kernels))
}


def by_weight(name: str) -> tuple[int, str]:
    """The place of an algorithm, table, module or kernel in a report; what no phase names comes last, by its name.

    A module of tables stands where the first of its tables does.
    """
    place = _POSITIONS.get(name)
    if place is None:
        tables = (position for table, position in _POSITIONS.items() if table.startswith(f"{name}."))
        place = min(tables, default=len(_POSITIONS))
    return place, name


def phase_of(name: str) -> Phase | None:
    """The phase on whose critical path an algorithm or table is; None for any other."""
    return next((phase for phase in PHASES if name in (*phase.path, *phase.kernels)), None)
