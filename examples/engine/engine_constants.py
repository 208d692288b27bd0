"""Stands in for a module of an engine that was written for one device: numbers are constants, and tables unknown."""

from __future__ import annotations

PARTITION_SIZE = 256
KV_BLOCK_SIZE = 16
MAX_PARTITIONS = 64
RMS_BLOCK = 4096
RMS_WARPS = 8
FLASH_MAX_HEAD = 64
SPLIT_BLOCK_N = 64
DECODE_KERNEL = "v1"


def partition_table(seq_len: int) -> list[tuple[int, int]]:
    """The tokens [start, end) of each partition of a sequence, as the engine would launch them.

    Args:
        seq_len: tokens.

    Raises:
        ValueError: more partitions than the engine has buffers for.
    """
    starts = range(0, seq_len, PARTITION_SIZE)
    if len(starts) > MAX_PARTITIONS:
        raise ValueError(f"{seq_len} tokens are {len(starts)} partitions; there are buffers for {MAX_PARTITIONS}")
    return [(start, min(start + PARTITION_SIZE, seq_len)) for start in starts]
