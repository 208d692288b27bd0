"""Starts an engine with the numbers of the tables in the place of its constants. No file of the engine changes.

    python install.py                          # numbers of bi100
    POLICYGEN_TABLES=h200 python install.py    # of another target that is there
    POLICYGEN_TABLES=off python install.py     # the engine's own: they are not enough

What an engine runs first, a launcher or a plugin, is the place for this: constants that are imported by name before
stay what they were, and the log says where.
"""

from __future__ import annotations

import logging
import sys

from policygen_tables.bi100.install import Number
from policygen_tables.bi100.install import install

import engine_constants

LONGEST = 100_000
"""Tokens that this engine is started for."""

NUMBERS = {
    "PARTITION_SIZE": Number("attention.decode.partition_size", "tokens", seq_len=LONGEST),
    "MAX_PARTITIONS": Number("attention.decode.num_partitions", "partitions", seq_len=LONGEST),
    "KV_BLOCK_SIZE": Number("attention.decode.kv_block_size", "tokens", seq_len=LONGEST),
    "DECODE_KERNEL": Number("attention.decode.kernel", "", seq_len=LONGEST),
    "RMS_BLOCK": Number("norm.rms.block_size", "elements"),
    "RMS_WARPS": Number("norm.rms.num_warps", "warps"),
    "SPLIT_BLOCK_N": Number("attention.split_k.block_n", "tokens", seq_len=LONGEST),
}


def main() -> None:
    """Installs the numbers, shows what they replaced, and lets the engine plan its longest sequence."""
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    installed = install(engine_constants, NUMBERS)
    for one in installed.replaced:
        sys.stdout.write(f"{one.name} = {one.after!r}, was {one.before!r}\n")
    try:
        partitions = engine_constants.partition_table(LONGEST)
    except ValueError as error:
        sys.exit(f"{installed.target}: {error}")
    sys.stdout.write(f"{installed.target}: {len(partitions)} partitions, the last {partitions[-1]}\n")


if __name__ == "__main__":
    main()
