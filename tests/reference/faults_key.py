"""Faults planted in the kernels that work on runs of equal keys: see `reference.faults`."""

from __future__ import annotations

from reference.faults import Fault

KEY_FAULTS = (
    Fault(
        kernel="reduce_by_key",
        what="a run's later part forgets that it has a head",
        module="collectives.segmented_pairs",
        text="self.inner.element.select(heads != 0, own, joined)",
        instead="self.inner.element.select(heads == 1, own, joined)",
    ),
    Fault(
        kernel="reduce_by_key",
        what="a run begins anew in every tile",
        module="collectives.agent_reduce_by_key",
        text="keys[(tiles.begins - 1).clamp(min=0)]",
        instead="keys[tiles.begins.clamp(min=0)]",
    ),
    Fault(
        kernel="reduce_by_key",
        what="the key of a thread's first item is compared with its own thread's last",
        module="collectives.run_heads",
        text="last_items = torch.roll(keys[-1], 1, dims=1)",
        instead="last_items = keys[-1].clone()",
    ),
    Fault(
        kernel="reduce_by_key",
        what="the first key is a head where it is NaN",
        module="collectives.agent_reduce_by_key",
        text="if before is None:\n            heads[0, 0, 0] = False",
        instead="if before is None:\n            heads[0, 0, 0] &= True",
        given={"key_size": 4},
    ),
    Fault(
        kernel="reduce_by_key",
        what="every place behind the end is a head",
        module="collectives.agent_reduce_by_key",
        text="index == tiles.ends.unsqueeze(-1))",
        instead="index >= tiles.ends.unsqueeze(-1))",
    ),
    Fault(
        kernel="reduce_by_key",
        what="the last run of a full last tile is lost",
        module="collectives.agent_reduce_by_key",
        text="if is_last and bool(exists[-1, -1, -1]):",
        instead="if is_last and not bool(exists.any()):",
    ),
    Fault(
        kernel="reduce_by_key",
        what="only the low word of a wide key counts",
        module="collectives.run_heads",
        text="return unequal.any(-1) if element.words else unequal",
        instead="return unequal[..., 0] if element.words else unequal",
        given={"key_size": 16},
    ),
    Fault(
        kernel="reduce_by_key",
        what="runs of a tile are stored as if none came before it",
        module="collectives.agent_reduce_by_key",
        text="to[(earlier[which].unsqueeze(-1) + item)[taken]]",
        instead="to[(0 * earlier[which].unsqueeze(-1) + item)[taken]]",
    ),
    Fault(
        kernel="reduce_by_key",
        what="a run's key is that of the next run",
        module="collectives.agent_reduce_by_key",
        text="Runs(previous, pairs.values(scanned.results)),",
        instead="Runs(own_keys, pairs.values(scanned.results)),",
    ),
    Fault(
        kernel="reduce_by_key",
        what="a tile publishes nothing of what comes before it",
        module="collectives.chained_scan",
        text="in_rest = rest.seeded(before[1:], known_early=False)",
        instead="in_rest = rest.seeded(totals[:-1], known_early=False)",
    ),
    Fault(
        kernel="rle_encode",
        what="a launch does not go on with the run that is open",
        module="collectives.agent_reduce_by_key",
        text="seed = None if before is None else",
        instead="seed = None if keys.shape[0] else",
    ),
    Fault(
        kernel="rle_encode",
        what="a launch stores its runs over those of the one before",
        module="collectives.agent_reduce_by_key",
        text="stored = 0 if before is None else before.runs\n",
        instead="stored = 0\n",
    ),
    Fault(
        kernel="rle_encode",
        what="the first key of a launch is no head",
        module="collectives.agent_reduce_by_key",
        text="if before is None:\n            heads",
        instead="if keys.shape[0]:\n            heads",
    ),
    Fault(
        kernel="rle_encode",
        what="each launch stores its last run",
        module="collectives.agent_reduce_by_key",
        text="if is_last and bool(exists[-1, -1, -1]):",
        instead="if bool(exists[-1, -1, -1]):",
    ),
    Fault(
        kernel="rle_encode",
        what="a launch is one tile too long for offsets of 32 bits",
        module="collectives.launches",
        text="return _GREATEST_OFFSET // tile_items",
        instead="return _GREATEST_OFFSET // tile_items + 1",
    ),
)
